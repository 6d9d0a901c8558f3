#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <cstdint>

namespace matapprox {

/// Type of all sizes, indices and counts: 64 bits, even if an underlying library uses 32.
using Index = std::int64_t;

using Matrix = Eigen::MatrixXd;  ///< dense, column-major
using Vector = Eigen::VectorXd;
/// Compressed rows; `rows() + 1` pointers and one column index per stored value.
using SparseMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor, Index>;

/// A "block" is a dense matrix of a few columns; any outer stride, contiguous columns.
using ConstBlock = Eigen::Ref<const Matrix, 0, Eigen::OuterStride<>>;
using Block = Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>;

/// The same for another scalar type.
template <class T>
using MatrixOf = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using ConstBlockOf = Eigen::Ref<const MatrixOf<T>, 0, Eigen::OuterStride<>>;
template <class T>
using BlockOf = Eigen::Ref<MatrixOf<T>, 0, Eigen::OuterStride<>>;

/// Precision of the values of a saved approximation. kPacked: a few bits per value; each component
/// of a low-rank product has its own number of bits, chosen by its contribution.
enum class Precision { kDouble, kFloat, kFloat16, kBfloat16, kPacked };

/// Bytes of a stored value. For kPacked, whose values take fewer, those of a double.
constexpr Index bytes_per_value(Precision precision) {
  switch (precision) {
    case Precision::kFloat:
      return 4;
    case Precision::kFloat16:
    case Precision::kBfloat16:
      return 2;
    default:
      return 8;
  }
}

}  // namespace matapprox
