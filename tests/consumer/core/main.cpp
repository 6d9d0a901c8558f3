#include <cstdio>
#include <utility>

#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/kernel.hpp"

// Runs three methods on a kernel matrix of 200 points; exit code 1 if one of them is no better than
// zero.
int main() {
  using namespace matapprox;
  const Index n = 200;
  Matrix points(n, 2);
  for (Index i = 0; i < n; ++i) points.row(i) << 0.01 * static_cast<double>(i), (i % 7) * 0.1;
  const KernelOperator A(std::move(points), {.bandwidth = 0.2});
  const MatrixFacts facts = describe(A);
  int worse = 0;
  const auto show = [&](const char* name, const Approximation& B) {
    const double error = measure(A, B, facts).relative_error.value_or(1);
    std::printf("%s: relative error %.3g\n", name, error);
    if (error > 0.5) worse = 1;
  };
  show("truncated_svd", truncated_svd(A, {.rank = 40}));
  show("nystrom", nystrom(A, {.rank = 40}));
  show("chord", chord(A, {.starts = 1, .adam_steps = 100, .max_iterations = 100}));
  return worse;
}
