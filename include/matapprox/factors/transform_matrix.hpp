#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Orthogonal bases with a fast transform. T(i, k) is entry i of basis vector k, for order n and i,
/// k = 0 .. n - 1.
enum class TransformKind {
  kCosine,   ///< c_k cos(pi (2 i + 1) k / (2 n)), c_0 = sqrt(1 / n), else sqrt(2 / n): DCT-III
  kSine,     ///< sqrt(2 / (n + 1)) sin(pi (i + 1) (k + 1) / (n + 1)): DST-I
  kFourier,  ///< 1 / sqrt(n); sqrt(2 / n) times cos(2 pi i f / n) for k = 2 f - 1 and sin(2 pi i f
             ///< / n) for k = 2 f; if n is even, the last one is (-1)^i / sqrt(n)
  kHadamard  ///< (-1)^(number of ones that i and k share as binary numbers) / sqrt(n), n = 2^p
};

template <>
struct EnumNames<TransformKind> {
  static constexpr std::array<std::string_view, 4> values{"cosine", "sine", "fourier", "hadamard"};
};

/// An orthogonal matrix T of one of these kinds. It stores its kind and its order n, and no number:
/// T^T x has the coefficients of x in the basis.
///
/// A product with one vector takes about 2 L log2 L multiplications, by a Fourier transform of
/// length L = n (cosine, fourier) or 2 (n + 1) (sine); if L has a prime factor above 13, it takes
/// two complex transforms of about twice that length [Blu70]; hadamard takes n log2 n additions.
/// Its error is a few eps log2(L) |x|. Results are bit-identical for any number of threads and of
/// other columns. [GVL13, Sec. 1.4 and 4.8] [Mak80]
class TransformMatrix {
 public:
  /// True if the kind exists for this order: n <= 2^26, a power of two for hadamard.
  static bool exists(TransformKind kind, Index order);
  /// Throws InvalidArgument unless exists(kind, order).
  TransformMatrix(TransformKind kind, Index order);

  TransformKind kind() const { return kind_; }
  Index rows() const { return order_; }
  Index cols() const { return order_; }
  Index size() const { return 0; }
  /// Multiplications of a product with one vector.
  double multiplications() const;
  /// "cosine transform".
  std::string description() const;

  /// Return T X and T^T X. Throw InvalidArgument if X does not have n rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X); }
  /// Returns T(:, J), or T^T(:, J) if `transposed`, each entry within 2 eps. The indices must be in
  /// range.
  Matrix columns(bool transposed, std::span<const Index> J) const;

 private:
  Matrix multiply(bool transposed, const ConstBlock& X) const;
  double entry(Index i, Index k) const;

  TransformKind kind_;
  Index order_;
};

}  // namespace matapprox
