#pragma once

#include <cublas_v2.h>
#include <cusparse.h>

#include <limits>
#include <memory>

#include "chord_checks.hpp"
#include "device/cuda/kernels/chord_chain.hpp"
#include "table.hpp"

namespace matapprox::cuda {

inline void require_library(int status, const char* what) {
  if (status != 0)
    throw std::runtime_error(std::string(what) + " failed, status " + std::to_string(status));
}

/// The factors of a chain in compressed rows, and a block with its product, in the form that
/// cuSPARSE expects.
class CusparseChain {
 public:
  CusparseChain(const DeviceQueue& queue, const ChordShape& shape, Index columns)
      : queue_(queue),
        shape_(shape),
        columns_(columns),
        rows_(queue.array<int>(shape.order + 1)),
        places_(queue.array<int>(shape.order * shape.links(0))),
        values_(random_array<float>(queue, shape.stored_numbers())),
        x_(random_array<float>(queue, shape.order * columns)),
        y_(queue.array<float>(shape.order * columns)) {
    const Index n = shape.order;
    const Index links = shape.links(0);
    std::vector<int> rows;
    std::vector<int> places;
    for (Index i = 0; i <= n; ++i) rows.push_back(static_cast<int>(i * links));
    for (Index i = 0; i < n; ++i) {
      for (const Index offset : shape.offsets.front())
        places.push_back(static_cast<int>((i + offset) % n));
      std::sort(places.end() - links, places.end());
    }
    queue.upload(rows.data(), rows_.size(), rows_.data());
    queue.upload(places.data(), places_.size(), places_.data());
    require_library(cusparseCreate(&handle_), "cusparseCreate");
    cusparseSetStream(handle_, queue.stream());
  }
  ~CusparseChain() { cusparseDestroy(handle_); }
  CusparseChain(const CusparseChain&) = delete;
  CusparseChain& operator=(const CusparseChain&) = delete;

  /// Returns milliseconds per product of the chain; each factor is analyzed once beforehand. Throws
  /// if cuSPARSE refuses the algorithm.
  double time(cusparseSpMMAlg_t algorithm) {
    std::vector<std::shared_ptr<cusparseSpMatDescr>> factors;
    // One buffer per factor: its products read what the analysis has stored there.
    std::vector<DeviceArray<char>> buffers;
    auto X = described(x_.data());
    auto Y = described(y_.data());
    for (Index m = 0; m < shape_.factors(); ++m) {
      factors.push_back(factor(m));
      std::size_t bytes = 0;
      require_library(call(cusparseSpMM_bufferSize, factors.back(), X, Y, algorithm, &bytes),
                      "cusparseSpMM_bufferSize");
      buffers.push_back(queue_.array<char>(static_cast<Index>(bytes) + 1));
      require_library(
          call(cusparseSpMM_preprocess, factors.back(), X, Y, algorithm, buffers.back().data()),
          "cusparseSpMM_preprocess");
    }
    return milliseconds(queue_, [&] {
      for (std::size_t m = 0; m < factors.size(); ++m) {
        require_library(call(cusparseSpMM, factors[m], X, Y, algorithm, buffers[m].data()),
                        "cusparseSpMM");
        std::swap(X, Y);
      }
    });
  }

 private:
  std::shared_ptr<cusparseSpMatDescr> factor(Index m) {
    const Index n = shape_.order;
    cusparseSpMatDescr_t made = nullptr;
    require_library(cusparseCreateCsr(&made,
                                      n,
                                      n,
                                      places_.size(),
                                      rows_.data(),
                                      places_.data(),
                                      values_.data() + m * places_.size(),
                                      CUSPARSE_INDEX_32I,
                                      CUSPARSE_INDEX_32I,
                                      CUSPARSE_INDEX_BASE_ZERO,
                                      CUDA_R_32F),
                    "cusparseCreateCsr");
    return {made, cusparseDestroySpMat};
  }
  std::shared_ptr<cusparseDnMatDescr> described(float* block) const {
    cusparseDnMatDescr_t made = nullptr;
    require_library(
        cusparseCreateDnMat(
            &made, shape_.order, columns_, columns_, block, CUDA_R_32F, CUSPARSE_ORDER_ROW),
        "cusparseCreateDnMat");
    return {made, cusparseDestroyDnMat};
  }
  /// Y = F X; `last` is the buffer, or the address that receives its size.
  template <class Function, class Last>
  cusparseStatus_t call(const Function& function,
                        const std::shared_ptr<cusparseSpMatDescr>& F,
                        const std::shared_ptr<cusparseDnMatDescr>& X,
                        const std::shared_ptr<cusparseDnMatDescr>& Y,
                        cusparseSpMMAlg_t algorithm,
                        Last last) const {
    constexpr auto kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const float one = 1;
    const float zero = 0;
    return function(
        handle_, kAsIs, kAsIs, &one, F.get(), X.get(), &zero, Y.get(), CUDA_R_32F, algorithm, last);
  }

  const DeviceQueue& queue_;
  const ChordShape& shape_;
  Index columns_;
  DeviceArray<int> rows_;
  DeviceArray<int> places_;
  DeviceArray<float> values_;
  DeviceArray<float> x_;
  DeviceArray<float> y_;
  cusparseHandle_t handle_ = nullptr;
};

/// Milliseconds of a chain of cuSPARSE products with its fastest algorithm; infinity if all are
/// refused.
inline double cusparse_chain(const DeviceQueue& queue, const ChordShape& shape, Index columns) {
  CusparseChain chain(queue, shape, columns);
  double best = std::numeric_limits<double>::infinity();
  int number = 0;
  for (const auto algorithm :
       {CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3}) {
    ++number;
    try {
      best = std::min(best, chain.time(algorithm));
    } catch (const std::runtime_error& error) {
      Table::skip(text("cuSPARSE SpMM, algorithm %d", number), error.what());
    }
  }
  return best;
}

inline double cublas_dense(const DeviceQueue& queue, Index n, Index columns) {
  const auto A = random_array<float>(queue, n * n);
  const auto X = random_array<float>(queue, n * columns);
  auto Y = queue.array<float>(n * columns);
  cublasHandle_t handle = nullptr;
  require_library(cublasCreate(&handle), "cublasCreate");
  cublasSetStream(handle, queue.stream());
  cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH);  // no TF32
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

/// Applies the chain in double on the host.
inline std::vector<double> chain_by_definition(const ChordShape& shape,
                                               const std::vector<float>& values,
                                               const std::vector<float>& X,
                                               Index columns) {
  std::vector<double> Y(X.begin(), X.end());
  for (Index m = shape.factors() - 1; m >= 0; --m)
    Y = multiply_by_definition(shape, m, values, Y, columns, false);
  return Y;
}

inline void bench_peers(const DeviceQueue& queue, Table& table) {
  const Index n = table.quick() ? 1024 : 16384;
  constexpr Index kColumns = 64;
  const ChordShape shape = reference_shape(n);
  const auto values = random_array<float>(queue, shape.stored_numbers());
  auto x = random_array<float>(queue, n * kColumns);
  auto y = queue.array<float>(n * kColumns);
  auto rows = queue.array<float>(values.size());
  const ChordChain<float, DeviceQueue> chain(queue, shape);
  chain.to_host_layout(values.data(), rows.data());
  const auto wanted = chain_by_definition(shape,
                                          on_host(queue, rows.data(), rows.size()),
                                          on_host(queue, x.data(), x.size()),
                                          kColumns);
  const float* result = chain.apply(values.data(), x.data(), y.data(), kColumns, false);
  const double error = relative_error(on_host(queue, result, x.size()), wanted);
  const double own =
      milliseconds(queue, [&] { chain.apply(values.data(), x.data(), y.data(), kColumns, false); });
  table.head(text("The chain beside NVIDIA's libraries, float, N = %ld, %ld columns", n, kColumns));
  const double sparse = cusparse_chain(queue, shape, kColumns);
  const double dense = cublas_dense(queue, n, kColumns);
  table.add({"cuSPARSE SpMM of every factor, best algorithm", sparse, ""});
  table.add({"cuBLAS SGEMM of the dense matrix, no TF32", dense, ""});
  // Without cuSPARSE there is nothing to compare with.
  table.add({"Chord chain, against cuSPARSE",
             own,
             text("%.1f x", sparse / own),
             error,
             1e-5,
             std::isfinite(sparse) ? "3 x" : "",
             sparse / own >= 3});
  table.add({"Chord chain, against cuBLAS",
             own,
             text("%.1f x", dense / own),
             error,
             1e-5,
             "4 x",
             dense / own >= 4});
}

}  // namespace matapprox::cuda
