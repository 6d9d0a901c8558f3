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

namespace matapprox {

/// Storage of the values of a packed sparse matrix.
enum class SparseValues {
  kDictionary,  ///< a list of the distinct values, and an index into it for each entry
  kIntegers,    ///< unit * (q + offset) with q of 1 to 16 bits
  kNumbers,     ///< IEEE numbers of 32 or 64 bits
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

}  // namespace matapprox
