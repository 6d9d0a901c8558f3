#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "device/cuda/libraries.hpp"
#include "device/cuda/sparse_factor.hpp"

namespace matapprox::cuda {
namespace {

void check_cusparse(cusparseStatus_t status, const char* what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  const bool full =
      status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
  throw DeviceError(
      std::string(what) + " of cuSPARSE (" + cusparse_library().error_string(status) + ")",
      full ? cudaErrorMemoryAllocation : cudaErrorUnknown);
}

class Cusparse {
 public:
  explicit Cusparse(const DeviceQueue& queue) {
    check_cusparse(cusparse_library().create(&handle_), "start");
    cusparse_library().set_stream(handle_, queue.stream());
  }
  ~Cusparse() { cusparse_library().destroy(handle_); }
  Cusparse(const Cusparse&) = delete;
  Cusparse& operator=(const Cusparse&) = delete;
  operator cusparseHandle_t() const { return handle_; }

 private:
  cusparseHandle_t handle_ = nullptr;
};

/// The cuSPARSE descriptor of a row-major block.
class DenseDescription {
 public:
  DenseDescription(double* values, Index rows, Index columns) {
    check_cusparse(
        cusparse_library().create_dense(
            &description_, rows, columns, columns, values, CUDA_R_64F, CUSPARSE_ORDER_ROW),
        "description of a block");
  }
  ~DenseDescription() { cusparse_library().destroy_dense(description_); }
  DenseDescription(const DenseDescription&) = delete;
  DenseDescription& operator=(const DenseDescription&) = delete;
  operator cusparseDnMatDescr_t() const { return description_; }

 private:
  cusparseDnMatDescr_t description_ = nullptr;
};

/// Compressed rows on the GPU, with 32-bit indices if they fit.
class SparseRows {
 public:
  SparseRows(const DeviceQueue& queue, const HostSparse& matrix)
      : queue_(queue), rows_(matrix.rows), cols_(matrix.cols) {
    const Index stored = matrix.stored();
    values_ = copied(queue, matrix.values, stored);
    if (std::max({stored, rows_, cols_}) <= std::numeric_limits<std::int32_t>::max()) {
      take_short_indices(matrix);
      describe(stored, short_starts_.data(), short_columns_.data(), CUSPARSE_INDEX_32I);
    } else {
      long_starts_ = copied(queue, matrix.row_starts, rows_ + 1);
      long_columns_ = copied(queue, matrix.columns, stored);
      describe(stored, long_starts_.data(), long_columns_.data(), CUSPARSE_INDEX_64I);
    }
  }
  ~SparseRows() { cusparse_library().destroy_sparse(description_); }
  SparseRows(const SparseRows&) = delete;
  SparseRows& operator=(const SparseRows&) = delete;

  /// Computes Y = A X with the algorithm that adds in the same order each time.
  void multiply(const Cusparse& handle, double* x, double* y, Index columns) const {
    const DenseDescription X(x, cols_, columns);
    const DenseDescription Y(y, rows_, columns);
    const double one = 1;
    const double zero = 0;
    std::size_t bytes = 0;
    check_cusparse(cusparse_library().buffer_size(handle,
                                                  CUSPARSE_OPERATION_NON_TRANSPOSE,
                                                  CUSPARSE_OPERATION_NON_TRANSPOSE,
                                                  &one,
                                                  description_,
                                                  X,
                                                  &zero,
                                                  Y,
                                                  CUDA_R_64F,
                                                  CUSPARSE_SPMM_CSR_ALG3,
                                                  &bytes),
                   "workspace");
    auto workspace = queue_.array<char>(static_cast<Index>(bytes));
    check_cusparse(cusparse_library().multiply(handle,
                                               CUSPARSE_OPERATION_NON_TRANSPOSE,
                                               CUSPARSE_OPERATION_NON_TRANSPOSE,
                                               &one,
                                               description_,
                                               X,
                                               &zero,
                                               Y,
                                               CUDA_R_64F,
                                               CUSPARSE_SPMM_CSR_ALG3,
                                               workspace.data()),
                   "product");
  }

 private:
  void take_short_indices(const HostSparse& matrix) {
    const std::vector<std::int32_t> starts(matrix.row_starts, matrix.row_starts + rows_ + 1);
    const std::vector<std::int32_t> columns(matrix.columns, matrix.columns + matrix.stored());
    short_starts_ = copied(queue_, starts.data(), static_cast<Index>(starts.size()));
    short_columns_ = copied(queue_, columns.data(), static_cast<Index>(columns.size()));
  }
  void describe(Index stored, void* starts, void* columns, cusparseIndexType_t type) {
    check_cusparse(cusparse_library().create_csr(&description_,
                                                 rows_,
                                                 cols_,
                                                 stored,
                                                 starts,
                                                 columns,
                                                 values_.data(),
                                                 type,
                                                 type,
                                                 CUSPARSE_INDEX_BASE_ZERO,
                                                 CUDA_R_64F),
                   "description of a matrix");
  }

  const DeviceQueue& queue_;
  Index rows_;
  Index cols_;
  DeviceArray<double> values_;
  DeviceArray<std::int32_t> short_starts_;
  DeviceArray<std::int32_t> short_columns_;
  DeviceArray<Index> long_starts_;
  DeviceArray<Index> long_columns_;
  cusparseSpMatDescr_t description_ = nullptr;
};

class SparseFactor final : public GpuFactor {
 public:
  SparseFactor(const DeviceQueue& queue, const HostSparsePair& factor)
      : queue_(queue),
        handle_(queue),
        rows_(factor.matrix.rows),
        cols_(factor.matrix.cols),
        stored_(factor.matrix.stored()),
        matrix_(queue, factor.matrix) {
    if (factor.transposed.row_starts != nullptr)
      transposed_ = std::make_unique<SparseRows>(queue, factor.transposed);
  }

  Index rows() const override { return rows_; }
  Index cols() const override { return cols_; }
  double* multiply(double* x, double* y, Index columns, bool transposed) const override {
    if (stored_ == 0) {
      queue_.zero(y, (transposed ? cols_ : rows_) * columns);
      return y;
    }
    const SparseRows& rows = transposed && transposed_ ? *transposed_ : matrix_;
    rows.multiply(handle_, x, y, columns);
    return y;
  }

 private:
  const DeviceQueue& queue_;
  Cusparse handle_;
  Index rows_;
  Index cols_;
  Index stored_;
  SparseRows matrix_;
  std::unique_ptr<SparseRows> transposed_;
};

}  // namespace

std::unique_ptr<GpuFactor> make_sparse_factor(const DeviceQueue& queue,
                                              const HostSparsePair& factor) {
  return std::make_unique<SparseFactor>(queue, factor);
}

}  // namespace matapprox::cuda
