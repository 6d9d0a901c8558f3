#include "matapprox/factors/placed_matrix.hpp"

namespace matapprox {

Matrix PlacedMatrix::apply(const ConstBlock& X) const { return product_to_host(numbers(), X); }

Matrix PlacedMatrix::apply_transpose(const ConstBlock& X) const {
  return transpose_product(numbers(), MultiVector(space(), X).columns());
}

Matrix PlacedMatrix::columns_at(std::span<const Index> J) const {
  Matrix columns(rows(), std::ssize(J));
  for (Index c = 0; c < columns.cols(); ++c) {
    const ConstMultiVectorView column = numbers_->columns(J[static_cast<std::size_t>(c)], 1);
    space()->read(column.data, rows(), columns.col(c).data());
  }
  return columns;
}

Matrix PlacedMatrix::rows_at(std::span<const Index> J) const {
  Matrix found(cols(), std::ssize(J));
  for (Index c = 0; c < found.cols(); ++c)
    found.col(c) = middle_rows(J[static_cast<std::size_t>(c)], 1).transpose();
  return found;
}

Matrix PlacedMatrix::middle_rows(Index first, Index count) const {
  Matrix found(count, cols());
  const ConstMultiVectorView all = numbers();
  if (found.size() > 0)
    space()->read_rows(all.rows, all.data, all.cols, first, count, found.data());
  return found;
}

}  // namespace matapprox
