// Products with values stored in few bits, compared with the same products in doubles and with the
// time to read the bytes; scripts/bench/packed_product.py runs these beside SciPy's dgemv:
//   matapprox_bench --benchmark_filter=packed --benchmark_repetitions=5
// Figures are for one thread; MATAPPROX_THREADS=n sets more.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bench_state.hpp"
#include "matapprox/factors/block_matrix.hpp"
#include "matapprox/factors/packed.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/operators/dense.hpp"

namespace matapprox {
namespace {

/// Reads the bytes in one pass, eight at a time, into eight sums.
std::uint64_t sum_of_words(const std::vector<std::uint8_t>& data) {
  constexpr std::size_t kSums = 8;
  std::uint64_t sums[kSums] = {};
  for (std::size_t i = 0; i + 8 * kSums <= data.size(); i += 8 * kSums) {
    for (std::size_t k = 0; k < kSums; ++k) {
      std::uint64_t word = 0;
      std::memcpy(&word, data.data() + i + 8 * k, sizeof(word));
      sums[k] += word;
    }
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t part : sums) sum += part;
  return sum;
}

PackedMatrix packed_matrix(Index n, int bits) {
  const std::vector<std::uint8_t> widths(static_cast<std::size_t>(n),
                                         static_cast<std::uint8_t>(bits));
  return PackedMatrix::rounded(Matrix::Random(n, n), widths);
}

void packed_product(benchmark::State& state) {
  use_threads();
  const PackedMatrix A = packed_matrix(state.range(0), static_cast<int>(state.range(1)));
  const Matrix x = Matrix::Random(A.cols(), 1);
  const bool transposed = state.range(2) != 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(transposed ? A.apply_transpose(x) : A.apply(x));
  }
  count_rate(state, "bytes/s", static_cast<double>(A.storage().bytes));
}

void packed_dense_product(benchmark::State& state) {
  use_threads();
  const Matrix A = Matrix::Random(state.range(0), state.range(0));
  const Matrix x = Matrix::Random(A.cols(), 1);
  const bool transposed = state.range(1) != 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(transposed ? kernels::transpose_product(A, x)
                                        : kernels::product(A, x));
  }
  count_rate(state, "bytes/s", 8.0 * static_cast<double>(A.size()));
}

/// Block matrix of exp(-|i - j| / 20) + cos((i + j) / 100) with relative error 10^-digits.
BlockMatrix blocks_of(Index n, Index digits) {
  Matrix A(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      A(i, j) = std::exp(-std::abs(static_cast<double>(i - j)) / 20) +
                std::cos(0.01 * static_cast<double>(i + j));
    }
  }
  HierarchicalOptions options;
  options.frobenius_tolerance = std::pow(10.0, -static_cast<double>(digits));
  const Approximation found = hierarchical(DenseOperator(std::move(A)), options);
  return std::get<BlockMatrix>(*found.factors().front().value);
}

void packed_blocks_product(benchmark::State& state) {
  use_threads();
  const BlockMatrix H = blocks_of(state.range(0), state.range(1));
  const Matrix x = Matrix::Random(H.cols(), 1);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(H.apply(x));
  count_rate(state, "bytes/s", static_cast<double>(H.storage().bytes));
}

/// Lower bound on the time of both products: reads each byte once.
void packed_read(benchmark::State& state) {
  const std::vector<std::uint8_t> data(static_cast<std::size_t>(state.range(0)), 1);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(sum_of_words(data));
  count_rate(state, "bytes/s", static_cast<double>(data.size()));
}

void product_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "bits", "transposed"})->UseRealTime();
  bench->ArgsProduct({{64, 2048, 8192}, {3, 4, 6, 8, 12, 16}, {0, 1}});
}
BENCHMARK(packed_product)->Apply(product_sizes);
BENCHMARK(packed_dense_product)
    ->ArgNames({"n", "transposed"})
    ->ArgsProduct({{64, 2048, 8192}, {0, 1}})
    ->UseRealTime();
BENCHMARK(packed_blocks_product)
    ->ArgNames({"n", "digits"})
    ->ArgsProduct({{64, 4096}, {2, 4}})
    ->UseRealTime();
BENCHMARK(packed_read)
    ->ArgName("m")
    ->Arg(1000)
    ->Arg(1 << 18)
    ->Arg(1 << 22)
    ->Arg(1 << 25)
    ->Arg(1 << 26)
    ->UseRealTime();

}  // namespace
}  // namespace matapprox
