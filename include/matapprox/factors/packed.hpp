#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"
#include "matapprox/factors/chord_factors.hpp"

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

/// Storage of the values of a packed sparse matrix.
enum class SparseValues {
  kDictionary,  ///< a list of the distinct values, and an index into it for each entry
  kIntegers,    ///< unit * (q + offset) with q of 1 to 16 bits
  kNumbers,     ///< unit * f with f an IEEE number of 32 or 64 bits
};

template <>
struct EnumNames<SparseValues> {
  static constexpr std::array<std::string_view, 3> values{"dictionary", "integers", "numbers"};
};

/// A sparse m x n matrix, stored without loss in few bytes: only the upper triangle if it is
/// symmetric, column indices as distances, and values as indices into a list of the distinct
/// values, as small integers, or unchanged.
///
/// `structure` has, row after row, the number of entries and then, for each entry, the distance of
/// its column from the previous one, less 1; the first one is counted from -1 (from row - 1 if
/// symmetric). All are in base 128 with the least significant digit first and the highest bit of a
/// byte set if another byte follows. `data` has the values in the order of the entries, `bits` bits
/// each, the least significant bit first. For a dictionary and for integers these are a two's
/// complement q, for index q + 2^(bits - 1) or value unit * (q + offset). A dictionary of one value
/// has no bits.
///
/// A product with one vector reads the bytes once and takes nnz multiplications; an entry of a
/// symmetric matrix also represents its mirror image. Only one row at a time is unpacked. Results
/// are bit-identical for any number of threads.
class PackedSparse {
 public:
  /// The content as a file holds it (docs/file-format.md, kind `packed_sparse`).
  struct Content {
    Index rows = 0;
    Index cols = 0;
    Index entries = 0;  ///< number of stored entries
    bool symmetric = false;
    SparseValues kind = SparseValues::kNumbers;
    int bits = 64;
    double unit = 1;
    double offset = 0;
    std::vector<double> dictionary;
    std::vector<std::uint8_t> structure;
    std::vector<std::uint8_t> data;
  };
  /// Throws InvalidArgument if the structure does not end at the last row, a column is outside the
  /// matrix, the widths, the dictionary and the data are inconsistent, or a value is not finite.
  explicit PackedSparse(Content content);

  /// Returns A without loss, in the smallest of these forms; only the upper triangle if A equals
  /// its transpose. Entries stored as 0 are dropped. Cost: O(nnz log nnz), and twice the memory of
  /// A. Throws InvalidArgument for an empty matrix or an entry that is not finite.
  static PackedSparse packed(const SparseMatrix& A);

  Index rows() const { return content_.rows; }
  Index cols() const { return content_.cols; }
  bool symmetric() const { return content_.symmetric; }
  const Content& content() const { return content_; }  ///< its data has 16 extra bytes, all 0
  std::span<const std::uint8_t> data() const { return {content_.data.data(), data_bytes_}; }
  /// Number of nonzero entries of the matrix, including mirror images.
  Index nonzeros() const { return nonzeros_; }
  /// Number of stored values, and bytes of all arrays.
  Storage storage() const;
  /// Short description: "upper triangle, 3 values", "integers of 4 bits".
  std::string description() const;

  Matrix apply(const ConstBlock& X) const;            ///< A X
  Matrix apply_transpose(const ConstBlock& X) const;  ///< A^T X
  /// Returns A in compressed rows. Throws NotAvailable if memory does not suffice.
  SparseMatrix unpacked() const;

 private:
  /// Position at which a block of rows begins.
  struct RowBlock {
    std::size_t structure = 0;
    Index entry = 0;
  };
  class RowReader;
  void check_values();
  void read_structure();
  template <class Visit>
  void for_entries(Index first_row, Index end_row, const Visit& visit) const;
  Matrix scattered(const ConstBlock& X, bool both) const;

  Content content_;
  std::size_t data_bytes_ = 0;
  Index nonzeros_ = 0;
  std::vector<RowBlock> blocks_;
};

/// A Chord chain W_1 ... W_M of order N in a few bits per value, multiplied in packed form. Each
/// link of each factor is a column of an N x L packed matrix, L = sum of links, factor after
/// factor: entry (i, l) is W_m[i, (i + offset) mod N] of the l-th of all links. 64 rows of a link
/// share a scale, so that an 8-bit value takes 8.5 bits.
///
/// A product with one vector reads the bytes once and takes N L multiplications. Only segments of
/// 1024 rows of a factor are unpacked at a time. Results are bit-identical for any number of
/// threads.
class PackedChord {
 public:
  /// Throws InvalidArgument if the pattern is invalid or the values are not N x L.
  PackedChord(ChordPattern pattern, PackedMatrix values);
  /// Returns the chain rounded to `bits` bits per value, 1 to 16. Throws InvalidArgument for other
  /// widths or a value that is not finite.
  static PackedChord rounded(const ChordFactors& chain, int bits);

  const ChordPattern& pattern() const { return pattern_; }
  const PackedMatrix& values() const { return values_; }
  Index rows() const { return pattern_.order; }
  Index cols() const { return pattern_.order; }
  /// Number of values, and bytes including 8 for each offset and each number of links.
  Storage storage() const;

  Matrix apply(const ConstBlock& X) const;            ///< A X
  Matrix apply_transpose(const ConstBlock& X) const;  ///< A^T X
  ChordFactors unpacked() const;                      ///< the chain in doubles

 private:
  Matrix multiply(Index factor, const Matrix& X) const;
  Matrix multiply_transpose(Index factor, const Matrix& X) const;

  ChordPattern pattern_;
  PackedMatrix values_;
  std::vector<Index> first_links_;  ///< first column of each factor in values_
};

}  // namespace matapprox
