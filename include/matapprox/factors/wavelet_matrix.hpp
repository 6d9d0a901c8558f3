#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// An m x n matrix B = S_m C S_n^T, where S_n is the synthesis of the wavelets CDF 9/7 and C has
/// the two-dimensional coefficients: every level splits the smooth part of the one before (the
/// nonstandard form [BCR91]). Coefficients are multiples of a step, stored by an arithmetic code
/// whose probabilities depend on neighbors; that takes about as many bits as their entropy.
///
/// Content is what a file stores; it is decoded once, when the factor is made or first used. In
/// memory each band of coefficients is a dense matrix, or a list of its nonzero entries if at most
/// a third are not zero: 8 bytes or 12 bytes each. A product with one vector takes a multiplication
/// for each of these, and about 6 (m + n). Results are bit-identical for any number of threads and
/// of other columns.
class WaveletMatrix {
 public:
  struct Content {
    Index rows = 0;
    Index cols = 0;
    bool symmetric = false;  ///< only coefficients on and below the diagonal are stored
    Index levels = 0;
    double step = 1;
    /// Coefficients q of absolute values 1, 2 and above stand for q + shift / 256 steps, away from
    /// zero if the shift is positive.
    std::array<std::int8_t, 3> shifts{};
    Index nonzeros = 0;          ///< number of coefficients that are not 0
    std::vector<Index> lengths;  ///< bytes of each stream (docs/file-format.md)
    std::vector<std::uint8_t> data;
  };
  enum class Decode { kNow, kOnFirstUse };
  /// Throws InvalidArgument if sizes do not match, the step is not positive and finite, or entries
  /// would overflow, and NotAvailable if there is not enough memory; later if decoding is
  /// postponed.
  explicit WaveletMatrix(Content content, Decode decode = Decode::kNow);

  const Content& content() const { return content_; }
  Index rows() const { return content_.rows; }
  Index cols() const { return content_.cols; }
  /// Number of nonzero coefficients, and the bytes of lengths and data.
  Storage storage() const;
  double multiplications() const;
  /// "5 levels of wavelets, 1034 coefficients".
  std::string description() const;
  /// The same matrix times a power of two, whose coefficients it shares. Throws NumericalError if
  /// the step would be no normal number.
  WaveletMatrix multiplied(int exponent) const;

  /// Return A X and A^T X. Throw InvalidArgument if X has the wrong number of rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X, false); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X, false); }
  /// A(:, J), or A^T(:, J) if `transposed`. A column of A takes about 100 m multiplications; one of
  /// A^T as many as a product.
  Matrix columns(bool transposed, std::span<const Index> J) const;

 private:
  struct Bands;
  struct Decoded;
  const Bands& bands() const;
  Matrix multiply(bool transposed, const ConstBlock& X, bool mostly_zeros) const;

  Content content_;
  std::shared_ptr<Decoded> decoded_;
};

}  // namespace matapprox
