#include "support/attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/random.hpp"
#include "support/paths.hpp"

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

namespace {

attention::AttentionShape shape_for(const attention::TokenMatrix<double>& X,
                                    Index heads,
                                    bool causal,
                                    double attention_dropout) {
  attention::AttentionShape shape;
  shape.width = X.cols();
  shape.heads = heads;
  shape.length = X.rows();
  shape.causal = causal;
  shape.attention_dropout = attention_dropout;
  return shape;
}

}  // namespace

AttentionExample::AttentionExample(const std::string& mechanism,
                                   const attention::TokenMatrix<double>& tokens,
                                   Index heads,
                                   const NamedOptions& options,
                                   bool causal,
                                   double attention_dropout)
    : X(tokens),
      shape(shape_for(tokens, heads, causal, attention_dropout)),
      layer(attention::make_attention<double>(mechanism, list, "a", shape, options)),
      run(*layer, list, layer->width_out()) {}

Matrix AttentionExample::effective(Index head, attention::Mask mask) {
  const Index n = X.rows();
  attention::TokenMatrix<double> E(n, n);
  const attention::TokenMatrix<double> I = attention::TokenMatrix<double>::Identity(n, n);
  layer->apply_map(run.context(mask), X, head, I, E, run.cache);
  return E;
}

Matrix AttentionExample::part(const std::string& name, Index head) const {
  const Index p = shape.head_width();
  return linear_of(run, name, X).middleCols(head * p, p);
}

double AttentionExample::scale() const {
  return 1 / std::sqrt(static_cast<double>(shape.head_width()));
}

attention::TokenMap<double> AttentionExample::parameter(const std::string& name) {
  const attention::Parameter& p = list.find(name);
  return {run.parameters.data() + p.offset, p.rows, p.cols};
}

void expect_same_matrix(const Matrix& actual, const Matrix& expected) {
  EXPECT_LT((actual - expected).norm(), 1e-12 * expected.norm());
}

Arguments operator+(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

ProgramResult run_attention(const Arguments& arguments) {
  return run_program(Arguments{"attention"} + arguments);
}

const Arguments kSmallRun{"train",
                          "--task",
                          "adding",
                          "--length",
                          "16",
                          "--block",
                          "bare",
                          "--value-width",
                          "8",
                          "--pool",
                          "flatten",
                          "--evaluation-samples",
                          "200",
                          "--test-samples",
                          "200"};

Arguments small_run(const std::string& output, const Arguments& more) {
  return kSmallRun + Arguments{"--steps", "100", "--evaluate-every", "20", "-o", output} + more;
}

std::string parameters_of(const std::string& model) {
  const std::string path = model + ".safetensors";
  const ProgramResult written = run_attention({"weights", model, "-o", path, "--force"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  return read_file(path);
}

void expect_refusal(const ProgramResult& result, int exit_code, const std::string& text) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::HasSubstr(text));
  EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("internal error")));
}

std::string tiny_token_file() {
  const std::string folder = temporary_dir();
  std::string text = "\"1\",\"Title\",\"some text\"\n\"2\",\"Other\",\"text\"\n";
  write_file(folder + "/train.csv", text + text + text);
  write_file(folder + "/test.csv", text);
  const ProgramResult made =
      run_attention({"data", "import", "ag_news", folder, "-o", folder + "/tokens.h5"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out,
              testing::HasSubstr("8 sequences of up to 15 tokens, 256 token ids, 4 classes"));
  return folder + "/tokens.h5";
}

}  // namespace matapprox::test
