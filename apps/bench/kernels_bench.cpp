// Rates of the kernels, with the BLAS's own product beside ours:
//   matapprox_bench --benchmark_filter=gemm --benchmark_repetitions=5
// Figures are for one thread; MATAPPROX_THREADS=n sets more.

#include <benchmark/benchmark.h>

#include <random>

#include "bench_state.hpp"
#include "kernels/sparse.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::kernels {
namespace {

double multiply_flops(Index m, Index n, Index k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

void gemm_rate(benchmark::State& state) {
  use_threads();
  const Index m = state.range(0);
  const Index n = state.range(1);
  const Index k = state.range(2);
  const bool transposed = state.range(3) != 0;
  const Matrix A = transposed ? Matrix::Random(k, m) : Matrix::Random(m, k);
  const Matrix B = Matrix::Random(k, n);
  Matrix C(m, n);
  for ([[maybe_unused]] auto _ : state) {
    gemm(transposed ? Trans::kYes : Trans::kNo, A, Trans::kNo, B, C);
    benchmark::DoNotOptimize(C.data());
  }
  count_rate(state, "flop/s", multiply_flops(m, n, k));
  state.SetLabel(instruction_set());
}
BENCHMARK(gemm_rate)
    ->ArgNames({"m", "n", "k", "transposed"})
    ->Args({32, 32, 32, 0})
    ->Args({512, 512, 512, 0})
    ->Args({1024, 1024, 1024, 0})
    ->Args({2048, 2048, 2048, 0})
    ->Args({2048, 60, 2048, 0})
    ->Args({2048, 60, 2048, 1})
    ->Args({2048, 1, 2048, 0})
    ->Args({2048, 1, 2048, 1})
    ->Args({100, 100, 100000, 1})
    ->UseRealTime();

void blas_gemm_rate(benchmark::State& state) {
  const Index m = state.range(0);
  const Index n = state.range(1);
  const Index k = state.range(2);
  const Matrix A = Matrix::Random(m, k);
  const Matrix B = Matrix::Random(k, n);
  Matrix C(m, n);
  for ([[maybe_unused]] auto _ : state) {
    blas_gemm(A, B, C);
    benchmark::DoNotOptimize(C.data());
  }
  count_rate(state, "flop/s", multiply_flops(m, n, k));
  state.SetLabel(blas_info().library + " " + blas_info().core);
}
BENCHMARK(blas_gemm_rate)
    ->ArgNames({"m", "n", "k"})
    ->Args({32, 32, 32})
    ->Args({512, 512, 512})
    ->Args({1024, 1024, 1024})
    ->Args({2048, 2048, 2048})
    ->Args({2048, 60, 2048})
    ->Args({2048, 1, 2048})
    ->UseRealTime();

void sparse_apply_rate(benchmark::State& state) {
  use_threads();
  const Index n = state.range(0);
  const Index per_row = 10;
  std::mt19937_64 generator(1);
  SparseMatrix A(n, n);
  A.reserve(Eigen::Matrix<Index, Eigen::Dynamic, 1>::Constant(n, per_row));
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < per_row; ++k) {
      A.coeffRef(i, static_cast<Index>(generator() % static_cast<std::uint64_t>(n))) = 1.0;
    }
  }
  A.makeCompressed();
  const Matrix X = Matrix::Random(n, state.range(1));
  Matrix Y(n, state.range(1));
  for ([[maybe_unused]] auto _ : state) {
    sparse_apply(A, X, Y);
    benchmark::DoNotOptimize(Y.data());
  }
  count_rate(
      state, "flop/s", 2.0 * static_cast<double>(A.nonZeros()) * static_cast<double>(X.cols()));
}
BENCHMARK(sparse_apply_rate)
    ->ArgNames({"n", "columns"})
    ->ArgsProduct({{1000, 1000000}, {1, 8, 64}})
    ->UseRealTime();

}  // namespace
}  // namespace matapprox::kernels
