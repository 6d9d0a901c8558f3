#include "measure/scaled_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "factors/factor_value.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox {
namespace {

/// Matrices with |A|_F within 2 to plus or minus this power are not scaled: fourth powers of
/// entries, down to rounding of the largest, are far inside the range of doubles.
constexpr int kFarExponent = 100;

/// The operator 2^exponent A. Multiplies by half of the power before a product and by the other
/// half after it, so that neither step overflows unless the result does.
class PowerOfTwoTimes final : public LinearOperator {
 public:
  PowerOfTwoTimes(const LinearOperator& A, int exponent)
      : A_(A),
        exponent_(exponent),
        before_(std::ldexp(1.0, exponent / 2)),
        behind_(std::ldexp(1.0, exponent - exponent / 2)) {}

  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  Vector diagonal() const override { return (A_.diagonal() * before_) * behind_; }
  Cost cost() const override { return A_.cost(); }
  KnownFacts known_facts() const override {
    KnownFacts facts = A_.known_facts();
    facts.averaged_asymmetry = std::ldexp(facts.averaged_asymmetry, exponent_);
    if (facts.frobenius_norm) facts.frobenius_norm = std::ldexp(*facts.frobenius_norm, exponent_);
    if (facts.largest_entry) facts.largest_entry = std::ldexp(*facts.largest_entry, exponent_);
    return facts;
  }
  std::string description() const override { return A_.description(); }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override {
    A_.apply(Matrix(X * before_), Y);
    Y *= behind_;
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override {
    A_.apply_transpose(Matrix(X * before_), Y);
    Y *= behind_;
  }
  void do_columns_at(std::span<const Index> J, Block Y) const override {
    A_.columns_at(J, Y);
    multiply_by_power_of_two(Y, exponent_);
  }
  void do_rows_at(std::span<const Index> I, Block Y) const override {
    A_.rows_at(I, Y);
    multiply_by_power_of_two(Y, exponent_);
  }

  const LinearOperator& A_;
  int exponent_;
  double before_;
  double behind_;
};

/// Exponent of 2 by which A is scaled. It is even, so that a factor that occurs twice can take half
/// of it each time. 0 if |A|_F is not far from 1 or not known, or if the matrix is not in host
/// memory.
int far_exponent(const LinearOperator& A) {
  const double norm = A.known_facts().frobenius_norm.value_or(0);
  if (!(norm > 0) || !std::isfinite(norm) || A.memory_space() != host_space()) return 0;
  int exponent = 0;
  std::frexp(norm, &exponent);
  return std::abs(exponent) <= kFarExponent ? 0 : 2 * (exponent / 2);
}

bool is_finite(const FactorValue& value) {
  const std::span<const double> numbers = stored_values(value);
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

/// Multiplies the value of factors[p] wherever it occurs. Returns false if that is impossible.
bool multiply_factor(std::vector<Factor>& factors, std::size_t p, int exponent) {
  const auto old = factors[p].value;
  const auto value = multiplied_value(*old, exponent);
  if (value == nullptr || !is_finite(*value)) return false;
  for (Factor& factor : factors) {
    if (factor.value == old) factor.value = value;
  }
  return true;
}

Index times_there(const std::vector<Factor>& factors, std::size_t p) {
  return std::count_if(factors.begin(), factors.end(), [&](const Factor& factor) {
    return factor.value == factors[p].value;
  });
}

/// Multiplies a product C U R or C W C^T. C and R are taken from A itself, so U is in units of 1 /
/// A. Returns false and changes nothing if the result is beyond the range of doubles.
bool multiply_ends(std::vector<Factor>& factors, int exponent) {
  std::vector<Factor> changed = factors;
  if (changed.size() != 3 || !multiply_factor(changed, 0, exponent) ||
      !multiply_factor(changed, 1, -exponent))
    return false;
  const bool shared = factors[0].value == factors[2].value;
  if (!shared && !multiply_factor(changed, 2, exponent)) return false;
  factors = std::move(changed);
  return true;
}

/// Multiplies the product by 2^exponent: a diagonal that occurs once, otherwise its first factor
/// that consists of numbers.
void multiply_product(std::vector<Factor>& factors, int exponent) {
  for (std::size_t p = 0; p < factors.size(); ++p) {
    const bool is_once =
        std::holds_alternative<Vector>(*factors[p].value) && times_there(factors, p) == 1;
    if (is_once && multiply_factor(factors, p, exponent)) return;
  }
  for (std::size_t p = 0; p < factors.size(); ++p) {
    const Index times = times_there(factors, p);
    if (times <= 2 && multiply_factor(factors, p, exponent / static_cast<int>(times))) return;
  }
  throw NumericalError("the factors of the result are beyond the range of doubles");
}

}  // namespace

ScaledMatrix::ScaledMatrix(const LinearOperator& A) : A_(A), exponent_(far_exponent(A)) {
  if (exponent_ == 0) return;
  if (const SparseMatrix* sparse = sparse_values(A)) {
    SparseMatrix values = *sparse;
    multiply_by_power_of_two(values.coeffs(), -exponent_);
    scaled_ = std::make_shared<const SparseOperator>(std::move(values));
  } else {
    scaled_ = std::make_shared<const PowerOfTwoTimes>(A, -exponent_);
  }
}

RunControl ScaledMatrix::control_for_fit(const RunControl& control) const {
  RunControl scaled_control = control;
  if (is_scaled() && control.checkpoint) {
    scaled_control.checkpoint = [this, &control](const Approximation& best,
                                                 const ResumeState& state) {
      control.checkpoint(unscaled(best), state);
    };
  }
  return scaled_control;
}

Approximation ScaledMatrix::unscaled(const Approximation& fitted) const {
  if (!is_scaled()) return fitted;
  std::vector<Factor> factors = fitted.factors();
  const bool of_columns = !fitted.summary.chosen_columns.empty();
  if (!of_columns || !multiply_ends(factors, exponent_)) multiply_product(factors, exponent_);
  return {std::move(factors), fitted.summary, fitted.symmetrized(), fitted.precision()};
}

}  // namespace matapprox
