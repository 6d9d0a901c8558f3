#include <cmath>

#include "io/text_output.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {
namespace {

bool all_finite(const double* values, Index count) {
  for (Index k = 0; k < count; ++k) {
    if (!std::isfinite(values[k])) return false;
  }
  return true;
}

void require_writable(Index rows, Index cols, bool finite, const std::string& path) {
  require(rows > 0 && cols > 0,
          "{}: a {} x {} matrix cannot be written, sizes start at 1",
          path,
          rows,
          cols);
  require(finite, "{}: a matrix with NaN or Inf cannot be written", path);
}

/// Calls function(row, col, value) for the stored entries, only on and below the diagonal if
/// `lower`.
template <class Function>
void for_entries(const SparseMatrix& A, bool lower, const Function& function) {
  for (Index row = 0; row < A.rows(); ++row) {
    for (SparseMatrix::InnerIterator entry(A, row); entry; ++entry) {
      if (!lower || entry.col() <= row) function(row, entry.col(), entry.value());
    }
  }
}

}  // namespace

void write_matrix_market(const std::string& path, const Matrix& A) {
  require_writable(A.rows(), A.cols(), all_finite(A.data(), A.size()), path);
  TextOutput out(path);
  out.write("%%MatrixMarket matrix array real general\n");
  out.write(A.rows());
  out.write(" ");
  out.write(A.cols());
  out.write("\n");
  for (Index k = 0; k < A.size(); ++k) {
    out.write(A.data()[k]);
    out.write("\n");
  }
  out.finish();
}

void write_matrix_market(const std::string& path, const SparseMatrix& A, bool symmetric) {
  bool finite = true;
  Index count = 0;
  for_entries(A, symmetric, [&](Index, Index, double value) {
    finite = finite && std::isfinite(value);
    ++count;
  });
  require_writable(A.rows(), A.cols(), finite, path);
  require(!symmetric || A.rows() == A.cols(),
          "{}: a {} x {} matrix is not symmetric",
          path,
          A.rows(),
          A.cols());
  TextOutput out(path);
  out.write("%%MatrixMarket matrix coordinate real ");
  out.write(symmetric ? "symmetric\n" : "general\n");
  out.write(A.rows());
  out.write(" ");
  out.write(A.cols());
  out.write(" ");
  out.write(count);
  out.write("\n");
  for_entries(A, symmetric, [&](Index row, Index col, double value) {
    out.write(row + 1);
    out.write(" ");
    out.write(col + 1);
    out.write(" ");
    out.write(value);
    out.write("\n");
  });
  out.finish();
}

}  // namespace matapprox
