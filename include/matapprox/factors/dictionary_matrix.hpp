#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// A dense m x n matrix with few different values: a list of them, and for each entry its position
/// in the list, in as few bits as the longest position takes. Only the upper triangle of a matrix
/// that equals its transpose is stored.
///
/// Stores 2, 4 or 8 bytes for each value of the list, the fewest that hold all of them without
/// rounding, and in memory ceil(e b / 8) bytes for e entries of b
/// bits. A file has these or, if it takes fewer, an arithmetic code whose probabilities depend on
/// neighbors and repetitions: photographs take a half to two thirds of the bytes. It is decoded
/// once, when the factor is made or first used, in about 0.2 us for an entry. A product with one
/// vector takes m n multiplications; panels of 64 columns are unpacked, never the whole matrix.
/// Results are bit-identical for any number of threads and of other columns.
class DictionaryMatrix {
 public:
  /// The content as a file holds it (docs/file-format.md, kind `dictionary`).
  struct Content {
    Index rows = 0;
    Index cols = 0;
    bool symmetric = false;
    int bits = 0;                     ///< per entry; 0 only if there is one value
    std::vector<double> values;       ///< the list, 1 to 2^bits numbers
    std::vector<std::uint8_t> data;   ///< columns without gaps; of a symmetric matrix the triangle
    std::vector<Index> lengths = {};  ///< bytes of each coded stream; empty if data are not coded
  };
  enum class Decode { kNow, kOnFirstUse };
  /// Throws InvalidArgument if the sizes do not fit together, for more than 16 bits, for a position
  /// beyond the list, or for a value that is not finite, and NotAvailable if there is not enough
  /// memory to decode; the latter perhaps later if that is postponed.
  explicit DictionaryMatrix(Content content, Decode decode = Decode::kNow);

  /// Returns A without loss; nothing if A has more than 2^12 different values, as most matrices
  /// show within a few thousand entries, or one that is not finite. Values count as different if a
  /// bit differs; the list is ascending. Cost: about 0.2 us for an entry, mostly that of coding.
  static std::optional<DictionaryMatrix> of(const Matrix& A);

  Index rows() const { return content_.rows; }
  Index cols() const { return content_.cols; }
  const Content& content() const { return content_; }  ///< its data has 16 extra bytes, all 0
  /// Bytes of the entries as in a file, without the extra bytes at the end.
  std::span<const std::uint8_t> data() const { return {content_.data.data(), data_bytes_}; }
  /// IEEE numbers of 16, 32 or 64 bits, which hold the list in a file without rounding.
  Precision list_precision() const;
  /// Number of stored entries and of values in the list, and the bytes of both in a file.
  Storage storage() const;
  /// "1 bit, 2 values", "upper triangle, 4 bits, 10 values, coded".
  std::string description() const;
  /// The same matrix times a power of two, with the same entries in the list.
  DictionaryMatrix multiplied(int exponent) const;

  /// Return A X and A^T X. Throw InvalidArgument if X has the wrong number of rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X); }
  /// Returns A(:, J), or A^T(:, J) if `transposed`, without rounding. The indices must be in range.
  Matrix columns(bool transposed, std::span<const Index> J) const;

 private:
  Index entries() const;
  Index first_entry(Index column) const;
  double entry(Index row, Index column) const;
  void unpack_column(Index column, double* to) const;
  Matrix multiply(bool transposed, const ConstBlock& X) const;

  struct Decoded;
  const std::uint8_t* packed() const;

  Content content_;
  std::size_t data_bytes_ = 0;
  std::shared_ptr<Decoded> decoded_;  ///< null if the data are not coded
};

}  // namespace matapprox
