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

/// y += A x for one vector.
void add_to_product(const KroneckerSparse::Pattern& p,
                    const Matrix& V,
                    const double* x,
                    double* y) {
  const Index height = p.rows * p.order;
  for (Index block = 0; block < p.blocks; ++block) {
    Eigen::Map<Vector> to(y + block * height, height);
    for (Index j = 0; j < p.cols; ++j) {
      const double* from = x + (block * p.cols + j) * p.order;
      const auto values = V.col(j).segment(block * height, height);
      if (p.order == 1) {
        to += from[0] * values;
        continue;
      }
      const Eigen::Map<const Vector> diagonal(from, p.order);
      for (Index i = 0; i < p.rows; ++i) {
        to.segment(i * p.order, p.order).array() +=
            values.segment(i * p.order, p.order).array() * diagonal.array();
      }
    }
  }
}

/// y += A^T x for one vector.
void add_to_transpose_product(const KroneckerSparse::Pattern& p,
                              const Matrix& V,
                              const double* x,
                              double* y) {
  const Index height = p.rows * p.order;
  for (Index block = 0; block < p.blocks; ++block) {
    const Eigen::Map<const Vector> from(x + block * height, height);
    for (Index j = 0; j < p.cols; ++j) {
      Eigen::Map<Vector> to(y + (block * p.cols + j) * p.order, p.order);
      const auto values = V.col(j).segment(block * height, height);
      if (p.order == 1) {
        to(0) += values.dot(from);
        continue;
      }
      for (Index i = 0; i < p.rows; ++i) {
        to.array() += values.segment(i * p.order, p.order).array() *
                      from.segment(i * p.order, p.order).array();
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
