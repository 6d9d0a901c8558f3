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
/// whose probabilities depend on neighbors; that is about as many bits as they have entropy.
///
/// Content is what a file stores; it is decoded once, when the factor is made. In memory each band
/// of coefficients is a dense matrix, or a list of its nonzero entries if at most a third are not
/// zero: 8 bytes or 12 bytes each. A product with one vector takes a multiplication for each of
/// these, and about 7 (m + n). Results are bit-identical for any number of threads and of other
/// columns.
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
    std::vector<Index> lengths;  ///< bytes of each stream (docs/file-format.md)
    std::vector<std::uint8_t> data;
  };
  /// Decodes the content. Throws InvalidArgument if sizes do not match or the step is not positive
  /// and finite, and NotAvailable if there is not enough memory.
  explicit WaveletMatrix(Content content);

  const Content& content() const { return content_; }
  Index rows() const { return content_.rows; }
  Index cols() const { return content_.cols; }
  /// Number of nonzero coefficients, and the bytes of lengths and data.
  Storage storage() const;
  double multiplications() const;
  /// "5 levels of wavelets, 1034 coefficients".
  std::string description() const;
  /// The same matrix times a power of two, whose coefficients it shares.
  WaveletMatrix multiplied(int exponent) const;

  /// Return A X and A^T X. Throw InvalidArgument if X has the wrong number of rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X, false); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X, false); }
  /// A(:, J), or A^T(:, J) if `transposed`: about 100 m multiplications for each column.
  Matrix columns(bool transposed, std::span<const Index> J) const;

 private:
  struct Bands;
  Matrix multiply(bool transposed, const ConstBlock& X, bool mostly_zeros) const;

  Content content_;
  std::shared_ptr<const Bands> bands_;
};

}  // namespace matapprox
