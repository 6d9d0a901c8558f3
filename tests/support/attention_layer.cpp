#include "support/attention_layer.hpp"

#include "matapprox/core/random.hpp"

namespace matapprox::test {

attention::TokenMatrix<double> random_tokens(Index n, Index d, std::uint64_t seed) {
  return random_normal_matrix(seed, RandomStream::kGenerator, n, d);
}

Vector flat(const attention::TokenMatrix<double>& A) {
  return Eigen::Map<const Vector>(A.data(), A.size());
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

void expect_layer_adjoint(LayerRun<double>& run,
                          const attention::TokenMatrix<double>& X,
                          const attention::TokenMatrix<double>& v,
                          const attention::TokenMatrix<double>& u,
                          attention::Mask mask) {
  const auto count = static_cast<Index>(run.parameters.size());
  Vector direction(v.size() + count);
  direction << flat(v), random_normal_matrix(9, RandomStream::kGenerator, count, 1);
  for (const attention::Parameter& p : run.list.parameters()) {
    if (!p.trained) direction.segment(v.size() + p.offset, p.size()).setZero();
  }
  const std::vector<double> start = run.parameters;
  const auto along = [&](double t) {
    for (Index i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      run.parameters[at] = start[at] + t * direction(v.size() + i);
    }
    return flat(run.forward(X + t * v, mask));
  };
  along(0);  // the forward pass that the backward pass needs
  std::fill(run.gradient.begin(), run.gradient.end(), 0.0);
  const attention::TokenMatrix<double> dX = run.backward(X, u, mask);
  Vector pulled(direction.size());
  pulled << flat(dX), Eigen::Map<const Vector>(run.gradient.data(), count);
  expect_adjoint(along, flat(u), direction, pulled);
  run.parameters = start;
}

}  // namespace matapprox::test
