// Speed of the CUDA kernels on the first card: the table of docs/cuda.md.
//
//   matapprox_cuda_bench            all of it
//   matapprox_cuda_bench --quick    small sizes, to see that it runs
//
// Times are medians of 20 runs after 3 to warm up, by events of the card; data are random and fresh
// for each size. Rates are beside what copying memory reaches in the same run, and each says which
// bytes it counts. Beside each time stands the error against sums in double on the host.

#include <cublas_v2.h>
#include <cusparse.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "backends/cuda/kernels/card_present.hpp"
#include "backends/cuda/kernels/chord_chain.hpp"
#include "backends/cuda/kernels/chord_fit.hpp"
#include "backends/cuda/kernels/device_queue.hpp"
#include "chord_checks.hpp"

namespace matapprox::cuda {
namespace {

constexpr int kWarmUps = 3;
constexpr int kRuns = 20;

void require_library(int status, const char* what) {
  if (status != 0)
    throw std::runtime_error(std::string(what) + " failed, status " + std::to_string(status));
}

/// Median milliseconds of body() on the stream of the queue.
double milliseconds(const DeviceQueue& queue, const std::function<void()>& body) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<float> times;
  for (int run = -kWarmUps; run < kRuns; ++run) {
    check(cudaEventRecord(begin, queue.stream()), "event");
    body();
    check(cudaEventRecord(end, queue.stream()), "event");
    queue.wait();
    float time = 0;
    check(cudaEventElapsedTime(&time, begin, end), "event");
    if (run >= 0) times.push_back(time);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

/// Numbers in -1..1 from a counter.
template <class T>
struct RandomNumbers {
  static constexpr int kThreads = 256;
  T* to = nullptr;
  Index count = 0;
  std::uint64_t seed = 0;
  Index blocks() const { return ceil_div(count, kThreads); }
  MATAPPROX_HD void operator()(Place place) const {
    const Index i = place.block * kThreads + place.thread;
    if (i >= count) return;
    std::uint64_t z =
        (static_cast<std::uint64_t>(i) + seed * 0x100000001B3ULL) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    to[i] = static_cast<T>(static_cast<double>((z ^ (z >> 31U)) >> 11U) / 4503599627370496.0 - 1);
  }
};

template <class T>
DeviceArray<T> random_array(const DeviceQueue& queue, Index count) {
  static std::uint64_t seed = 0;
  DeviceArray<T> array(count);
  // A grid has at most 2^31 - 1 blocks, enough for 2^39 numbers.
  queue.run(RandomNumbers<T>{array.data(), count, ++seed});
  return array;
}

Index free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "memory");
  return static_cast<Index>(free);
}

/// GB/s of a copy within the memory of the card, read and written bytes counted.
double copy_bandwidth(const DeviceQueue& queue) {
  const Index count = std::min(Index{1} << 28, free_memory() / 16);
  const auto from = random_array<float>(queue, count);
  DeviceArray<float> to(count);
  const double ms = milliseconds(queue, [&] { queue.copy(from.data(), count, to.data()); });
  return 2.0 * 4.0 * static_cast<double>(count) / ms / 1e6;
}

/// One factor times a block, some rows of it in double on the host: the largest error over the
/// largest of those numbers.
double product_error(const DeviceQueue& queue,
                     const ChordShape& shape,
                     const float* values,
                     const DeviceArray<float>& x,
                     const float* y,
                     Index columns) {
  const auto& offsets = shape.offsets.front();
  const auto number = [&](const float* array, Index at) {
    float value = 0;
    queue.download(array + at, 1, &value);
    return static_cast<double>(value);
  };
  double largest = 0;
  double error = 0;
  for (Index r = 0; r < 16; ++r) {
    const Index i = (r * 2654435761 + 12345) % shape.order;
    const Index c = (7 * r) % columns;
    double sum = 0;
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      sum += number(values, static_cast<Index>(k) * shape.order + i) *
             number(x.data(), (i + offsets[k]) % shape.order * columns + c);
    }
    largest = std::max(largest, std::abs(sum));
    error = std::max(error, std::abs(sum - number(y, i * columns + c)));
  }
  return error / largest;
}

void bench_products(const DeviceQueue& queue, double copy, bool quick) {
  std::printf(
      "\nChord product, float, reference pattern; bytes: every value once, the block once in "
      "and once out for each factor\n%10s %8s %8s %10s %10s %8s %10s\n",
      "N",
      "columns",
      "factors",
      "ms",
      "GB/s",
      "of copy",
      "error");
  for (int power = quick ? 14 : 20; power <= (quick ? 15 : 24); ++power) {
    ChordShape shape = reference_shape(Index{1} << power);
    const Index all = shape.factors();
    for (const Index columns : {1, 8, 64}) {
      shape.offsets.resize(static_cast<std::size_t>(all), shape.offsets.front());
      const Index block = shape.order * columns;
      // As many factors as there is room for.
      const Index room = (free_memory() - 8 * block) / 4 - (Index{1} << 28);
      const Index fit = room / (shape.order * shape.links(0));
      if (fit < 1) {
        std::printf("%10lld %8lld: no room\n",
                    static_cast<long long>(shape.order),
                    static_cast<long long>(columns));
        continue;
      }
      shape.offsets.resize(static_cast<std::size_t>(std::min(all, fit)));
      const auto values = random_array<float>(queue, shape.stored_numbers());
      auto x = random_array<float>(queue, block);
      DeviceArray<float> y(block);
      const ChordChain<float, DeviceQueue> chain(queue, shape);
      chain.multiply(0, values.data(), x.data(), y.data(), columns, false, false);
      const double error = product_error(queue, shape, values.data(), x, y.data(), columns);
      const double ms = milliseconds(
          queue, [&] { chain.apply(values.data(), x.data(), y.data(), columns, false); });
      const double bytes =
          4.0 * (static_cast<double>(shape.stored_numbers()) +
                 2.0 * static_cast<double>(shape.factors()) * static_cast<double>(block));
      const double rate = bytes / ms / 1e6;
      std::printf("%10lld %8lld %8lld %10.3f %10.0f %7.0f%% %10.1e\n",
                  static_cast<long long>(shape.order),
                  static_cast<long long>(columns),
                  static_cast<long long>(shape.factors()),
                  ms,
                  rate,
                  100 * rate / copy,
                  error);
    }
  }
}

/// A chain of cuSPARSE products in compressed rows, with the fastest of its algorithms.
double cusparse_chain(const DeviceQueue& queue, const ChordShape& shape, Index columns) {
  const Index n = shape.order;
  const Index links = shape.links(0);
  std::vector<int> rows(static_cast<std::size_t>(n) + 1);
  std::vector<int> places(static_cast<std::size_t>(n * links));
  for (Index i = 0; i <= n; ++i) rows[static_cast<std::size_t>(i)] = static_cast<int>(i * links);
  for (Index i = 0; i < n; ++i) {
    std::vector<int> own;
    for (const Index offset : shape.offsets.front())
      own.push_back(static_cast<int>((i + offset) % n));
    std::sort(own.begin(), own.end());
    std::copy(own.begin(), own.end(), places.begin() + i * links);
  }
  DeviceArray<int> device_rows(n + 1);
  DeviceArray<int> device_places(n * links);
  queue.upload(rows.data(), n + 1, device_rows.data());
  queue.upload(places.data(), n * links, device_places.data());
  auto values = random_array<float>(queue, shape.stored_numbers());
  auto x = random_array<float>(queue, n * columns);
  DeviceArray<float> y(n * columns);
  queue.wait();

  cusparseHandle_t handle = nullptr;
  require_library(cusparseCreate(&handle), "cusparseCreate");
  cusparseSetStream(handle, queue.stream());
  const float one = 1;
  const float zero = 0;
  double best = 1e300;
  for (const auto algorithm :
       {CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3}) {
    std::vector<cusparseSpMatDescr_t> factors(static_cast<std::size_t>(shape.factors()));
    for (std::size_t m = 0; m < factors.size(); ++m) {
      require_library(cusparseCreateCsr(&factors[m],
                                        n,
                                        n,
                                        n * links,
                                        device_rows.data(),
                                        device_places.data(),
                                        values.data() + static_cast<Index>(m) * n * links,
                                        CUSPARSE_INDEX_32I,
                                        CUSPARSE_INDEX_32I,
                                        CUSPARSE_INDEX_BASE_ZERO,
                                        CUDA_R_32F),
                      "cusparseCreateCsr");
    }
    cusparseDnMatDescr_t X = nullptr;
    cusparseDnMatDescr_t Y = nullptr;
    require_library(
        cusparseCreateDnMat(&X, n, columns, columns, x.data(), CUDA_R_32F, CUSPARSE_ORDER_ROW),
        "X");
    require_library(
        cusparseCreateDnMat(&Y, n, columns, columns, y.data(), CUDA_R_32F, CUSPARSE_ORDER_ROW),
        "Y");
    std::size_t bytes = 0;
    require_library(cusparseSpMM_bufferSize(handle,
                                            CUSPARSE_OPERATION_NON_TRANSPOSE,
                                            CUSPARSE_OPERATION_NON_TRANSPOSE,
                                            &one,
                                            factors[0],
                                            X,
                                            &zero,
                                            Y,
                                            CUDA_R_32F,
                                            algorithm,
                                            &bytes),
                    "cusparseSpMM_bufferSize");
    DeviceArray<char> buffer(static_cast<Index>(bytes) + 1);
    best = std::min(best, milliseconds(queue, [&] {
                      for (const auto& factor : factors) {
                        require_library(cusparseSpMM(handle,
                                                     CUSPARSE_OPERATION_NON_TRANSPOSE,
                                                     CUSPARSE_OPERATION_NON_TRANSPOSE,
                                                     &one,
                                                     factor,
                                                     X,
                                                     &zero,
                                                     Y,
                                                     CUDA_R_32F,
                                                     algorithm,
                                                     buffer.data()),
                                        "cusparseSpMM");
                        std::swap(X, Y);
                      }
                    }));
    for (auto& factor : factors) cusparseDestroySpMat(factor);
    cusparseDestroyDnMat(X);
    cusparseDestroyDnMat(Y);
  }
  cusparseDestroy(handle);
  return best;
}

double cublas_dense(const DeviceQueue& queue, Index n, Index columns) {
  const auto A = random_array<float>(queue, n * n);
  const auto X = random_array<float>(queue, n * columns);
  DeviceArray<float> Y(n * columns);
  cublasHandle_t handle = nullptr;
  require_library(cublasCreate(&handle), "cublasCreate");
  cublasSetStream(handle, queue.stream());
  cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH);  // no TF32
  const float one = 1;
  const float zero = 0;
  const double ms = milliseconds(queue, [&] {
    require_library(cublasSgemm(handle,
                                CUBLAS_OP_N,
                                CUBLAS_OP_N,
                                static_cast<int>(n),
                                static_cast<int>(columns),
                                static_cast<int>(n),
                                &one,
                                A.data(),
                                static_cast<int>(n),
                                X.data(),
                                static_cast<int>(n),
                                &zero,
                                Y.data(),
                                static_cast<int>(n)),
                    "cublasSgemm");
  });
  cublasDestroy(handle);
  return ms;
}

void bench_peers(const DeviceQueue& queue, bool quick) {
  const Index n = quick ? 1024 : 16384;
  constexpr Index kColumns = 64;
  const ChordShape shape = reference_shape(n);
  const auto values = random_array<float>(queue, shape.stored_numbers());
  auto x = random_array<float>(queue, n * kColumns);
  DeviceArray<float> y(n * kColumns);
  const ChordChain<float, DeviceQueue> chain(queue, shape);
  const double own =
      milliseconds(queue, [&] { chain.apply(values.data(), x.data(), y.data(), kColumns, false); });
  const double sparse = cusparse_chain(queue, shape, kColumns);
  const double dense = cublas_dense(queue, n, kColumns);
  std::printf(
      "\nN = %lld, %lld columns, float: Chord chain %.3f ms; cuSPARSE chain, best algorithm, %.3f "
      "ms "
      "(%.1f x); cuBLAS SGEMM of the dense matrix, no TF32, %.3f ms (%.1f x)\n",
      static_cast<long long>(n),
      static_cast<long long>(kColumns),
      own,
      sparse,
      sparse / own,
      dense,
      dense / own);
}

void bench_fit(const DeviceQueue& queue, bool quick) {
  const Index n = quick ? 256 : 4096;
  const ChordShape shape = reference_shape(n);
  const auto values = random_array<double>(queue, shape.stored_numbers());
  const auto target = random_array<double>(queue, n * n);
  DeviceArray<double> gradient(shape.stored_numbers());
  std::vector<Index> all(static_cast<std::size_t>(n));
  for (Index c = 0; c < n; ++c) all[static_cast<std::size_t>(c)] = c;
  DeviceArray<Index> columns(n);
  queue.upload(all.data(), n, columns.data());
  ChordObjective<double, DeviceQueue> objective(
      queue, shape, panel_width(shape, n, free_memory() / 4));
  const DenseColumns<double> source{target.data(), n, objective.width(), columns.data()};
  const double ms = milliseconds(queue, [&] {
    objective.evaluate(values.data(), columns.data(), n, source, gradient.data());
  });
  std::printf(
      "\nObjective and gradient, N = %lld, double: %.2f ms, %.2f TF/s of 6 M N^2 K flops, panels "
      "of %lld\n",
      static_cast<long long>(n),
      ms,
      6.0 * static_cast<double>(shape.stored_numbers()) * static_cast<double>(n) / ms / 1e9,
      static_cast<long long>(objective.width()));
}

int run(bool quick) {
  cudaDeviceProp card{};
  check(cudaGetDeviceProperties(&card, 0), "card");
  const DeviceQueue queue;
  const double copy = copy_bandwidth(queue);
  std::printf("%s, compute capability %d.%d, %.0f GB; copy %.0f GB/s (read and written)\n",
              card.name,
              card.major,
              card.minor,
              static_cast<double>(card.totalGlobalMem) / 1e9,
              copy);
  bench_products(queue, copy, quick);
  bench_peers(queue, quick);
  bench_fit(queue, quick);
  return 0;
}

}  // namespace
}  // namespace matapprox::cuda

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 2 || (argc == 2 && !quick)) {
    std::fprintf(stderr, "usage: matapprox_cuda_bench [--quick]\n");
    return 2;
  }
  try {
    if (const std::string why = matapprox::cuda::why_there_is_no_card(); !why.empty()) {
      std::printf("skipped: %s\n", why.c_str());
      return 77;
    }
    return matapprox::cuda::run(quick);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "matapprox_cuda_bench: %s\n", error.what());
    return 1;
  }
}
