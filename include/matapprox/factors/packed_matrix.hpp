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

/// A dense m x n matrix whose columns are stored in a few bits per value and multiplied in packed
/// form. A value is unit * scale * (q + offset) with a two's complement integer q of 1 to 16 bits,
/// or unit * scale * f with an IEEE number f of 32 or 64 bits. A column of 0 bits is 0 and stores
/// nothing. Every `group` rows of a column share a scale.
///
/// Stores ceil(m b_j / 8) bytes for column j, 4 for each scale and 1 for each b_j. A product with
/// one vector reads the bytes once and takes m n multiplications. With 8 columns or more, panels of
/// 64 columns are unpacked, never the whole matrix.
class PackedMatrix {
 public:
  /// The content as a file holds it (docs/file-format.md, kind `packed`).
  struct Content {
    Index rows = 0;
    Index cols = 0;
    Index group = 0;  ///< a multiple of 8, or at least rows
    double unit = 1;  ///< a power of 2 in matrices made by the library
    double offset = 0;
    std::vector<std::uint8_t> bits;  ///< bits per value of each column, n numbers
    std::vector<float> scales;       ///< ceil(m / group) for each column, one column after another
    std::vector<std::uint8_t> data;  ///< columns, each starting at a whole byte
  };
  /// Throws InvalidArgument if the numbers of bits, scales or bytes do not match the shape, for
  /// bits other than 0..16, 32 and 64, or for a scale, unit or offset that is not finite.
  explicit PackedMatrix(Content content);

  /// Returns A with each column rounded to its number of bits at the scale of about the least
  /// squared error. `group`: rows that share a scale; 0: the whole column. Cost: m n operations, a
  /// few dozen times.
  static PackedMatrix rounded(const Matrix& A, std::span<const std::uint8_t> bits, Index group = 0);
  /// Returns A, exactly, in the fewest bits if its entries are integers within 2^31 whose range is
  /// below 2^16; otherwise nothing.
  static std::optional<PackedMatrix> exact_integers(const Matrix& A);

  Index rows() const { return content_.rows; }
  Index cols() const { return content_.cols; }
  const Content& content() const { return content_; }  ///< its data has 16 extra bytes, all 0
  /// Bytes of the columns, without the extra bytes at the end.
  std::span<const std::uint8_t> data() const { return {content_.data.data(), data_bytes_}; }
  /// Number of values of more than 0 bits, and bytes of all arrays.
  Storage storage() const;

  Matrix apply(const ConstBlock& X) const;            ///< A X
  Matrix apply_transpose(const ConstBlock& X) const;  ///< A^T X
  Matrix columns(std::span<const Index> J) const;     ///< A(:, J)
  /// Unpacks A(first .. first + count - 1, column) into `values`; `first` must be a multiple of 8.
  void unpack(Index column, Index first, Index count, double* values) const;

 private:
  /// Rows of one group that form one task.
  struct Segment {
    Index first = 0;
    Index count = 0;
    Index group = 0;
  };
  Index groups() const { return 1 + (content_.rows - 1) / content_.group; }
  double scale(Index column, Index group) const;
  const std::uint8_t* column_data(Index column) const;
  kernels::simd::PackedRun run(Index column) const;
  /// Tasks of a product: rows per task, and number of tasks per group.
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
  std::vector<std::size_t> begins_;  ///< position of each column in data
};

}  // namespace matapprox
