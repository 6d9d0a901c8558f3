#include "solve/system.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"

namespace matapprox::krylov {
namespace {

/// Sizes within 2 to plus or minus this power are not scaled: squares and products of a few of them
/// stay within the range of doubles.
constexpr int kSafeExponent = 100;
/// Exponent of the power of two for another try if the first product overflowed or was zero.
constexpr int kProbeExponent = 512;
constexpr std::uint64_t kSeed = 0x5ca1e;

/// Exponent of a zero matrix, below that of any other.
constexpr int kZeroExponent = -4000;

/// The binary exponent of |A g| / |g| for a random g, about that of |A|_F / sqrt(n).
int exponent_of(const LinearOperator& A, const char* message) {
  const Vector g = random_normal_matrix(kSeed, RandomStream::kSketch, A.cols(), 1);
  const int of_g = std::ilogb(g.norm());
  for (const int probe : {0, -kProbeExponent, kProbeExponent}) {
    const Vector y = A.apply(std::ldexp(1.0, probe) * g);
    if (!y.allFinite()) {
      if (probe == 0) continue;
      throw NumericalError(message);
    }
    const double largest = y.size() == 0 ? 0.0 : y.cwiseAbs().maxCoeff();
    // The norm of y is at most sqrt(n) times this, which is close enough.
    if (largest > 0) return std::ilogb(largest) - of_g - probe;
  }
  return kZeroExponent;
}

}  // namespace

ScaledProduct::ScaledProduct(const LinearOperator& A, double shift, const char* message)
    : A_(A), shift_(shift), message_(message) {
  if (A.cols() == 0) return;
  int size = exponent_of(A, message);
  if (shift != 0) size = std::max(size, std::ilogb(shift));
  if (std::abs(size) <= kSafeExponent || size == kZeroExponent) return;
  exponent_ = -size;
  before_ = std::ldexp(1.0, exponent_ / 2);
  after_ = std::ldexp(1.0, exponent_ - exponent_ / 2);
}

Vector ScaledProduct::times(const Vector& x, bool transposed) const {
  const Vector scaled = before_ * x;
  Vector y = transposed ? A_.apply_transpose(scaled) : A_.apply(scaled);
  y *= after_;
  if (shift_ != 0) y += (shift_ * before_ * after_) * x;
  if (!y.allFinite()) throw NumericalError(message_);
  return y;
}

System::System(const LinearOperator& A, double shift, const LinearOperator* M)
    : matrix_(A, shift, "solve: a product with the matrix holds NaN or Inf") {
  if (M != nullptr)
    preconditioner_.emplace(*M, 0, "solve: a product with the preconditioner holds NaN or Inf");
}

Vector System::apply(const Vector& x) {
  Vector y = matrix_.times(x);
  if (const double size = x.norm(); size > 0) norm_ = std::max(norm_, y.norm() / size);
  return y;
}

Vector System::precondition(const Vector& r) const {
  return preconditioner_ ? preconditioner_->times(r) : r;
}

}  // namespace matapprox::krylov
