#pragma once

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <cstdint>

namespace matapprox {

/// Every size, index and count: 64 bits, also where a library underneath uses 32.
using Index = std::int64_t;

using Matrix = Eigen::MatrixXd;  ///< dense, column-major
using Vector = Eigen::VectorXd;
/// Compressed rows; `rows() + 1` pointers and one column index per stored value.
using SparseMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor, Index>;

/// A "block" is a dense matrix of a few columns; any outer stride, contiguous columns.
using ConstBlock = Eigen::Ref<const Matrix, 0, Eigen::OuterStride<>>;
using Block = Eigen::Ref<Matrix, 0, Eigen::OuterStride<>>;

/// The same of another scalar type.
template <class T>
using MatrixOf = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using ConstBlockOf = Eigen::Ref<const MatrixOf<T>, 0, Eigen::OuterStride<>>;
template <class T>
using BlockOf = Eigen::Ref<MatrixOf<T>, 0, Eigen::OuterStride<>>;

/// The precision in which a saved approximation holds its values. kPacked: each component of a
/// low-rank product, or each factor of a Chord chain, in as few bits as it is worth.
enum class Precision { kDouble, kFloat, kFloat16, kBfloat16, kPacked };

/// Bytes of one stored value; of kPacked, whose values take fewer, those of a double.
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
