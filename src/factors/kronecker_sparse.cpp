#include "matapprox/factors/kronecker_sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

/// Sizes are limited so that their product does not overflow.
constexpr Index kLargestSize = Index{1} << 40;

/// True if the product of the sizes is at most kLargestSize.
bool fits(const KroneckerSparse::Pattern& p) {
  Index product = 1;
  for (const Index size : {p.blocks, p.rows, p.cols, p.order}) {
    if (size < 1 || size > kLargestSize / product) return false;
    product *= size;
  }
  return true;
}

/// Adds one column of A x to y. Diagonals of a larger order are multiplied as a whole; those of
/// order 1 form dense blocks.
void add_to_product(const KroneckerSparse::Pattern& p,
                    const Matrix& V,
                    const double* x,
                    double* y) {
  const Index in_block = p.rows * p.order;
  for (Index block = 0; block < p.blocks; ++block) {
    for (Index j = 0; j < p.cols; ++j) {
      const double* from = x + (block * p.cols + j) * p.order;
      const double* values = V.col(j).data() + block * in_block;
      double* to = y + block * in_block;
      for (Index i = 0; i < p.rows; ++i) {
        for (Index k = 0; k < p.order; ++k)
          to[i * p.order + k] += values[i * p.order + k] * from[k];
      }
    }
  }
}

void add_to_transpose_product(const KroneckerSparse::Pattern& p,
                              const Matrix& V,
                              const double* x,
                              double* y) {
  const Index in_block = p.rows * p.order;
  for (Index block = 0; block < p.blocks; ++block) {
    for (Index j = 0; j < p.cols; ++j) {
      const double* from = x + block * in_block;
      const double* values = V.col(j).data() + block * in_block;
      double* to = y + (block * p.cols + j) * p.order;
      for (Index i = 0; i < p.rows; ++i) {
        for (Index k = 0; k < p.order; ++k)
          to[k] += values[i * p.order + k] * from[i * p.order + k];
      }
    }
  }
}

}  // namespace

KroneckerSparse::KroneckerSparse(Pattern pattern, PackedMatrix values)
    : pattern_(pattern), values_(std::move(values)) {
  const Pattern& p = pattern_;
  require(fits(p) && values_.rows() == p.blocks * p.rows * p.order && values_.cols() == p.cols,
          "Kronecker-sparse factor: {} x {} values for {} blocks of {} x {} diagonals of order {}",
          values_.rows(),
          values_.cols(),
          p.blocks,
          p.rows,
          p.cols,
          p.order);
}

double KroneckerSparse::multiplications() const {
  return static_cast<double>(values_.rows()) * static_cast<double>(values_.cols());
}

std::string KroneckerSparse::description() const {
  const Pattern& p = pattern_;
  const std::string blocks = p.blocks == 1 ? "" : fmt::format("{} blocks of ", p.blocks);
  if (p.order == 1) return fmt::format("{}{} x {} numbers", blocks, p.rows, p.cols);
  return fmt::format("{}{} x {} diagonals of order {}", blocks, p.rows, p.cols, p.order);
}

Matrix KroneckerSparse::multiply(bool transposed, const ConstBlock& X) const {
  const Index read = transposed ? rows() : cols();
  require(X.rows() == read,
          "Kronecker-sparse factor: a block of {} rows where {} are needed",
          X.rows(),
          read);
  const Matrix V = values_.columns(index_range(0, pattern_.cols));
  Matrix Y = Matrix::Zero(transposed ? cols() : rows(), X.cols());
  const auto& add = transposed ? add_to_transpose_product : add_to_product;
  parallel_for(X.cols(), [&](Index c) {
    const Vector x = X.col(c);
    add(pattern_, V, x.data(), Y.col(c).data());
  });
  return Y;
}

}  // namespace matapprox
