#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

namespace kernels::simd {
struct PackedRun;
}

/// A dense m x n matrix whose columns are stored in a few bits per value, and multiplied by as they
/// are: a value is unit * scale * (q + offset) with q a two's complement integer of 1 to 16 bits,
/// or unit * scale * f with f an IEEE number of 32 or 64. A column of 0 bits is 0 and stores
/// nothing. Every `group` rows of a column have a scale of their own.
///
/// Stores ceil(m b_j / 8) bytes for column j, 4 for each scale and 1 for each b_j. A product with
/// one vector reads the bytes once and takes m n multiplications; with 8 columns or more, panels of
/// 64 columns are unpacked, never the whole.
class PackedMatrix {
 public:
  /// The content as a file holds it (docs/file-format.md, kind `packed`).
  struct Content {
    Index rows = 0;
    Index cols = 0;
    Index group = 0;  ///< a multiple of 8, or at least rows
    double unit = 1;  ///< a power of 2 in what the library makes
    double offset = 0;
    std::vector<std::uint8_t> bits;  ///< n
    std::vector<float> scales;       ///< ceil(m / group) for each column, one column after another
    std::vector<std::uint8_t> data;  ///< columns, each from a whole byte on
  };
  /// Throws InvalidArgument for another number of bits, scales or bytes than the shape asks for,
  /// bits other than 0..16, 32 and 64, or a scale, unit or offset that is not finite.
  explicit PackedMatrix(Content content);

  /// Each column of A rounded to its number of bits at the scale that suits it best; a scale for
  /// every `group` rows, 0: for the whole column. Cost: m n operations, a few dozen times.
  static PackedMatrix rounded(const Matrix& A, std::span<const std::uint8_t> bits, Index group = 0);
  /// A, exactly, in the fewest bits, where its entries are integers within 2^31 whose range is
  /// below 2^16; else nothing.
  static std::optional<PackedMatrix> exact_integers(const Matrix& A);

  Index rows() const { return content_.rows; }
  Index cols() const { return content_.cols; }
  const Content& content() const { return content_; }  ///< its data has 16 bytes more, all 0
  /// Bytes of the columns, without what is behind them.
  std::span<const std::uint8_t> data() const { return {content_.data.data(), data_bytes_}; }
  /// Values of more than 0 bits, and all bytes of the arrays.
  Storage storage() const;

  Matrix apply(const ConstBlock& X) const;            ///< A X
  Matrix apply_transpose(const ConstBlock& X) const;  ///< A^T X
  Matrix columns(std::span<const Index> J) const;     ///< A(:, J)
  /// A(first .. first + count - 1, column), `first` being a multiple of 8, into `values`.
  void unpack(Index column, Index first, Index count, double* values) const;

 private:
  /// Rows of one group that one task takes.
  struct Segment {
    Index first = 0;
    Index count = 0;
    Index group = 0;
  };
  Index groups() const { return 1 + (content_.rows - 1) / content_.group; }
  double scale(Index column, Index group) const;
  const std::uint8_t* column_data(Index column) const;
  kernels::simd::PackedRun run(Index column) const;
  /// The tasks of a product: rows of each, and how many a group has.
  struct Segments {
    Index rows = 0;
    Index per_group = 0;
  };
  Segments segments() const;
  Segment segment(const Segments& segments, Index number) const;
  Segment group(Index number) const;
  void add_segment(const Segment& part, const double* x, double* y) const;
  bool are_integers(Index column) const;
  void dot_four_columns(Index column, const double* x, double* y) const;
  double dot_column(Index column, const double* x) const;
  Matrix unpacked(Index first, Index count) const;

  Content content_;
  std::size_t data_bytes_ = 0;
  std::vector<std::size_t> begins_;  ///< of each column in data
};

}  // namespace matapprox
