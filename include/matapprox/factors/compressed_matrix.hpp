#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// A dense m x n matrix of doubles that a file holds without loss in compressed streams (xz, by
/// liblzma): matrices whose entries repeat, or whose exponents are alike. Only the upper triangle
/// of a matrix that equals its transpose is stored.
///
/// Stores the bytes of the streams and 4 for the length of each. They are decompressed once, when
/// the factor is made or first used, into the 8 m n bytes of the matrix: 20 MB/s a thread where
/// little is gained, 900 where nearly all repeats. A product with one vector takes m n
/// multiplications. Results are bit-identical for any number of threads and of other columns.
class CompressedMatrix {
 public:
  /// The content as a file holds it (docs/file-format.md, kind `compressed`).
  struct Content {
    Index rows = 0;
    Index cols = 0;
    bool symmetric = false;
    /// True if a stream has the first bytes of all its entries, then the second bytes, and so on.
    bool by_byte = false;
    std::vector<Index> lengths;      ///< bytes of each stream
    std::vector<std::uint8_t> data;  ///< the streams without gaps
  };
  enum class Decode { kNow, kOnFirstUse };
  /// Throws InvalidArgument if the sizes do not fit together, there are more than 2^25 entries and
  /// more than 32 for each byte of data, a stream is damaged, or a value is not finite, and
  /// NotAvailable if there is not enough memory, or in a build without liblzma
  /// (MATAPPROX_WITH_LZMA). If decompressing is postponed, the first product or column throws for
  /// damage, values and memory.
  explicit CompressedMatrix(Content content, Decode decode = Decode::kNow);

  /// Returns A without loss in at most `most_bytes`; nothing if that is not possible, does not look
  /// possible from the number of different values and a sample of 2048 to 8192 entries, would have
  /// more entries for each byte than the constructor takes, or in a build without liblzma. A must
  /// be finite, which is not checked here. Cost: A once, and if it looks possible up to 0.45 s for
  /// each MB and thread; the result decompresses on its first use. Throws Interrupted within a
  /// StopScope.
  static std::optional<CompressedMatrix> of(
      const Matrix& A, double most_bytes = std::numeric_limits<double>::infinity());

  Index rows() const { return content_.rows; }
  Index cols() const { return content_.cols; }
  const Content& content() const { return content_; }
  /// Number of stored entries, and the bytes of the streams and of their lengths.
  Storage storage() const;
  /// "compressed doubles", "compressed doubles, upper triangle".
  std::string description() const;

  /// Return A X and A^T X. Throw InvalidArgument if X has the wrong number of rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X); }
  /// Returns A(:, J), or A^T(:, J) if `transposed`, without rounding. The indices must be in range.
  Matrix columns(bool transposed, std::span<const Index> J) const;

 private:
  Matrix multiply(bool transposed, const ConstBlock& X) const;
  const Matrix& entries() const;

  struct Decompressed;
  Content content_;
  std::shared_ptr<Decompressed> decompressed_;
};

}  // namespace matapprox
