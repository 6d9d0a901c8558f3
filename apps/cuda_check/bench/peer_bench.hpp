#pragma once

#include <cublas_v2.h>
#include <cusparse.h>

#include "backends/cuda/kernels/chord_chain.hpp"
#include "chord_checks.hpp"
#include "table.hpp"

namespace matapprox::cuda {

inline void require_library(int status, const char* what) {
  if (status != 0)
    throw std::runtime_error(std::string(what) + " failed, status " + std::to_string(status));
}

/// A chain of cuSPARSE products in compressed rows, with the fastest of its algorithms.
inline double cusparse_chain(const DeviceQueue& queue, const ChordShape& shape, Index columns) {
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
  auto device_rows = queue.array<int>(n + 1);
  auto device_places = queue.array<int>(n * links);
  queue.upload(rows.data(), n + 1, device_rows.data());
  queue.upload(places.data(), n * links, device_places.data());
  auto values = random_array<float>(queue, shape.stored_numbers());
  auto x = random_array<float>(queue, n * columns);
  auto y = queue.array<float>(n * columns);
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
    auto buffer = queue.array<char>(static_cast<Index>(bytes) + 1);
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

/// The chain in double on the host.
inline std::vector<double> chain_by_definition(const ChordShape& shape,
                                               const std::vector<float>& values,
                                               const std::vector<float>& X,
                                               Index columns) {
  std::vector<double> Y(X.begin(), X.end());
  for (Index m = shape.factors() - 1; m >= 0; --m)
    Y = multiply_by_definition(shape, m, values, Y, columns, false);
  return Y;
}

inline void bench_peers(const DeviceQueue& queue, Table& table, bool quick) {
  const Index n = quick ? 1024 : 16384;
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
  const double sparse = cusparse_chain(queue, shape, kColumns);
  const double dense = cublas_dense(queue, n, kColumns);
  table.head(text("The chain beside NVIDIA's libraries, float, N = %lld, %lld columns",
                  static_cast<long long>(n),
                  static_cast<long long>(kColumns)));
  table.add("cuSPARSE SpMM of every factor, best algorithm", sparse, "");
  table.add("cuBLAS SGEMM of the dense matrix, no TF32", dense, "");
  table.add({"Chord chain, against cuSPARSE",
             own,
             text("%.1f x", sparse / own),
             error,
             1e-5,
             "3 x",
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
