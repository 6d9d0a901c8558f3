// Benchmarks of the Chord kernels against a chain of Eigen's sparse matrices and against the time
// to read the weights; scripts/bench/chord.py runs these beside SciPy:
//   matapprox_bench --benchmark_filter=chord --benchmark_repetitions=5
// Figures are for one thread; MATAPPROX_THREADS=n sets more.

#include <benchmark/benchmark.h>

#include <Eigen/SparseCore>
#include <algorithm>
#include <array>
#include <vector>

#include "bench_state.hpp"
#include "matapprox/kernels/chord.hpp"

namespace matapprox::kernels {
namespace {

template <class T>
using VectorOf = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/// Values of a chain whose products keep the magnitude of the block.
template <class T>
VectorOf<T> chain_values(const ChordPattern& pattern) {
  return VectorOf<T>::Random(pattern.stored_numbers()) * T(0.4);
}

double product_flops(const ChordPattern& pattern, Index columns) {
  return 2.0 * static_cast<double>(pattern.stored_numbers()) * static_cast<double>(columns);
}

template <class T>
void chord_product(benchmark::State& state) {
  use_threads();
  const ChordPattern pattern = chord_reference_pattern(state.range(0));
  const VectorOf<T> values = chain_values<T>(pattern);
  const MatrixOf<T> X = MatrixOf<T>::Random(state.range(0), state.range(1));
  const bool transposed = state.range(2) != 0;
  MatrixOf<T> Y(X.rows(), X.cols());
  for ([[maybe_unused]] auto _ : state) {
    if (transposed) {
      chord_apply_transpose(pattern, values.data(), X, Y);
    } else {
      chord_apply(pattern, values.data(), X, Y);
    }
    benchmark::DoNotOptimize(Y.data());
  }
  count_rate(state, "flop/s", product_flops(pattern, X.cols()));
}

/// The same product with a chain of CSR matrices on a row-major block, the layout that suits CSR
/// best.
template <class T>
void chord_eigen_product(benchmark::State& state) {
  const ChordPattern pattern = chord_reference_pattern(state.range(0));
  const Index n = pattern.order;
  const VectorOf<T> values = chain_values<T>(pattern);
  std::vector<Eigen::SparseMatrix<T, Eigen::RowMajor, int>> factors;
  for (Index m = 0; m < pattern.factors(); ++m) {
    std::vector<Eigen::Triplet<T, int>> entries;
    Index p = pattern.first_value(m);
    for (Index i = 0; i < n; ++i) {
      for (const Index offset : pattern.offsets[m]) {
        entries.emplace_back(static_cast<int>(i), static_cast<int>((i + offset) % n), values[p++]);
      }
    }
    factors.emplace_back(static_cast<int>(n), static_cast<int>(n));
    factors.back().setFromTriplets(entries.begin(), entries.end());
  }
  const auto run = [&](const auto& X) {
    auto from = X;
    auto to = X;
    for ([[maybe_unused]] auto _ : state) {
      from = X;
      for (auto W = factors.rbegin(); W != factors.rend(); ++W) {
        to.noalias() = *W * from;
        std::swap(from, to);
      }
      benchmark::DoNotOptimize(from.data());
    }
  };
  if (state.range(1) == 1) {
    run(VectorOf<T>(VectorOf<T>::Random(n)));
  } else {
    using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    run(RowMajor(RowMajor::Random(n, state.range(1))));
  }
  count_rate(state, "flop/s", product_flops(pattern, state.range(1)));
}

/// Sums the numbers as fast as vector instructions can load them.
__attribute__((target_clones("default", "avx2", "avx512f"))) float sum_of(const float* numbers,
                                                                          Index count) {
  constexpr Index kSums = 64;
  std::array<float, kSums> sums{};
  for (Index i = 0; i + kSums <= count; i += kSums) {
    for (Index k = 0; k < kSums; ++k) sums[k] += numbers[i + k];
  }
  float sum = 0;
  for (const float s : sums) sum += s;
  return sum;
}

/// Lower bound on the time of a product with a vector: sums as many numbers as the chain stores.
void chord_read_values(benchmark::State& state) {
  const VectorOf<float> values = chain_values<float>(chord_reference_pattern(state.range(0)));
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(sum_of(values.data(), values.size()));
  }
  count_rate(state, "bytes/s", static_cast<double>(values.size() * Index{sizeof(float)}));
}

/// Evaluates f and its gradient over the given number of columns, spread evenly; 0: all columns.
template <class T>
void chord_objective_rate(benchmark::State& state) {
  use_threads();
  const Index n = state.range(0);
  const Index columns = state.range(1) == 0 ? n : state.range(1);
  const ChordPattern pattern = chord_reference_pattern(n);
  const VectorOf<T> values = chain_values<T>(pattern);
  std::vector<Index> J;
  for (Index c = 0; c < columns; ++c) J.push_back(c * n / columns);
  const MatrixOf<T> rows = MatrixOf<T>::Random(columns, n);  // column i is row i of the target
  const TargetPanelOf<T> target = [&](Index first, Index count, T* panel) {
    for (Index i = 0; i < n; ++i) {
      std::copy_n(rows.data() + i * columns + first, count, panel + i * count);
    }
  };
  VectorOf<T> gradient(pattern.stored_numbers());
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(chord_objective(pattern, values.data(), J, target, gradient.data()));
  }
  count_rate(state, "flop/s", 3.0 * product_flops(pattern, columns));
}

template <class T>
void chord_gauss_newton_rate(benchmark::State& state) {
  use_threads();
  const ChordPattern pattern = chord_reference_pattern(state.range(0));
  const VectorOf<T> values = chain_values<T>(pattern);
  const VectorOf<T> direction = chain_values<T>(pattern);
  VectorOf<T> result(pattern.stored_numbers());
  for ([[maybe_unused]] auto _ : state) {
    chord_gauss_newton_product(pattern, values.data(), direction.data(), result.data());
    benchmark::DoNotOptimize(result.data());
  }
  count_rate(state, "flop/s", 4.0 * product_flops(pattern, pattern.order));
}

void product_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "columns", "transposed"})->UseRealTime();
  bench->ArgsProduct({{64, 256, 1024, 4096, 16384}, {1, 16, 64}, {0}});
  bench->ArgsProduct({{1024, 16384}, {1, 64}, {1}});
  bench->Args({1048576, 1, 0})->Args({1048576, 8, 0});
}
BENCHMARK(chord_product<double>)->Apply(product_sizes);
BENCHMARK(chord_product<float>)->Apply(product_sizes);

BENCHMARK(chord_eigen_product<float>)
    ->ArgNames({"n", "columns"})
    ->ArgsProduct({{64, 16384}, {1, 64}})
    ->UseRealTime();

BENCHMARK(chord_read_values)->ArgName("n")->Arg(64)->Arg(16384)->Arg(1048576)->UseRealTime();

void objective_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "columns"})->UseRealTime();
  bench->ArgsProduct({{64, 128, 256, 512, 1024, 2048, 4096}, {0}});
  bench->ArgsProduct({{64, 256, 1024, 4096, 16384}, {32}});
}
BENCHMARK(chord_objective_rate<double>)->Apply(objective_sizes);
BENCHMARK(chord_objective_rate<float>)->Apply(objective_sizes);

BENCHMARK(chord_gauss_newton_rate<double>)
    ->ArgName("n")
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->UseRealTime();

}  // namespace
}  // namespace matapprox::kernels
