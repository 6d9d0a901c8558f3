#include "support/attention_layer.hpp"

#include "matapprox/core/random.hpp"

namespace matapprox::test {

attention::TokenMatrix<double> random_tokens(Index n, Index d, std::uint64_t seed) {
  return random_normal_matrix(seed, RandomStream::kGenerator, n, d);
}

Matrix parameter_of(const LayerRun<double>& run, const std::string& name) {
  const attention::Parameter& p = run.list.find(name);
  return attention::ConstTokenMap<double>(run.parameters.data() + p.offset, p.rows, p.cols);
}

Matrix linear_of(const LayerRun<double>& run, const std::string& name, const Matrix& X) {
  const Matrix bias = parameter_of(run, name + ".bias");
  return (X * parameter_of(run, name + ".weight")).rowwise() + bias.row(0);
}

Matrix row_softmax(const Matrix& S) {
  Matrix P = S.array().exp();
  for (Index i = 0; i < P.rows(); ++i) P.row(i) /= P.row(i).sum();
  return P;
}

double adjoint_defect(LayerRun<double>& real,
                      LayerRun<Dual>& dual,
                      const attention::TokenMatrix<double>& X,
                      const attention::TokenMatrix<double>& v,
                      const attention::TokenMatrix<double>& u,
                      attention::Mask mask) {
  const auto count = static_cast<Index>(real.parameters.size());
  Vector direction = random_normal_matrix(9, RandomStream::kGenerator, count, 1);
  for (const attention::Parameter& p : real.list.parameters()) {
    if (!p.trained) direction.segment(p.offset, p.size()).setZero();
  }
  for (Index i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    dual.parameters[at] = Dual(real.parameters[at]);
    dual.parameters[at].v[0] = direction(i);
  }
  attention::TokenMatrix<Dual> X_dual(X.rows(), X.cols());
  for (Index i = 0; i < X.size(); ++i) {
    X_dual.data()[i] = Dual(X.data()[i]);
    X_dual.data()[i].v[0] = v.data()[i];
  }
  const attention::TokenMatrix<Dual> Y = dual.forward(X_dual, mask);
  double left = 0;
  double size = 0;
  for (Index i = 0; i < Y.size(); ++i) {
    left += u.data()[i] * Y.data()[i].v[0];
    size += std::abs(u.data()[i] * Y.data()[i].v[0]);
  }
  real.forward(X, mask);
  std::fill(real.gradient.begin(), real.gradient.end(), 0.0);
  const attention::TokenMatrix<double> dX = real.backward(X, u, mask);
  double right = (dX.array() * v.array()).sum();
  size += (dX.array() * v.array()).abs().sum();
  for (Index i = 0; i < count; ++i) {
    const double part = real.gradient[static_cast<std::size_t>(i)] * direction(i);
    right += part;
    size += std::abs(part);
  }
  return size == 0 ? 0 : std::abs(left - right) / size;
}

}  // namespace matapprox::test
