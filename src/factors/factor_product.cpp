#include "matapprox/factors/factor_product.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "core/small_float.hpp"
#include "factors/factor_value.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace {

/// Y = F_1 ... F_p X, from the right to the left, or Y = F_p^T ... F_1^T X if `transposed`.
void chain_apply(const std::vector<Factor>& factors,
                 bool transposed,
                 const ConstBlock& X,
                 const Block& Y) {
  Matrix between;
  for (std::size_t k = 0; k < factors.size(); ++k) {
    const Factor& factor = factors[transposed ? k : factors.size() - 1 - k];
    const bool mirrored = factor.transposed != transposed;
    const ConstBlock read = k == 0 ? X : ConstBlock(between);
    if (k + 1 == factors.size()) {
      apply_value(*factor.value, mirrored, read, Y);
    } else {
      between = apply_value(*factor.value, mirrored, read);
    }
  }
}

/// Y = (Z X + Z^T X) / 2, Z the chain.
void symmetrized_apply(const std::vector<Factor>& factors, const ConstBlock& X, Block Y) {
  Matrix other(Y.rows(), Y.cols());
  chain_apply(factors, false, X, Y);
  chain_apply(factors, true, X, other);
  Y = 0.5 * (Y + other);
}

Matrix chain_columns(const std::vector<Factor>& factors, std::span<const Index> J) {
  Matrix X = value_columns(*factors.back().value, factors.back().transposed, J);
  for (auto factor = std::next(factors.rbegin()); factor != factors.rend(); ++factor) {
    X = apply_value(*factor->value, factor->transposed, X);
  }
  return X;
}

Matrix chain_rows(const std::vector<Factor>& factors, std::span<const Index> I) {
  Matrix X = value_columns(*factors.front().value, !factors.front().transposed, I);
  for (auto factor = std::next(factors.begin()); factor != factors.end(); ++factor) {
    X = apply_value(*factor->value, !factor->transposed, X);
  }
  return X;
}

/// Y = F_1 ... F_p X, or F_p^T ... F_1^T X, with X and Y in the memory space of the placed factors.
/// Blocks between two placed matrices are small, and on the host.
void chain_apply_in_place(const std::vector<Factor>& factors,
                          bool transposed,
                          const ConstMultiVectorView& X,
                          const MultiVectorView& Y) {
  MultiVector placed(X.space->shared_from_this(), X.rows, X.cols);
  copy(X, placed.columns());
  Matrix small;
  bool block_is_placed = true;
  const auto step = [&](const Factor& factor) {
    const bool mirrored = factor.transposed != transposed;
    const auto* F = std::get_if<PlacedMatrix>(factor.value.get());
    if (F != nullptr && mirrored && block_is_placed) {
      small = transpose_product(F->numbers(), placed.columns());
      block_is_placed = false;
    } else if (F != nullptr && !mirrored && !block_is_placed) {
      placed = product(F->numbers(), small);
      block_is_placed = true;
    } else if (const auto* W = std::get_if<PlacedChord>(factor.value.get())) {
      if (!block_is_placed) placed = MultiVector(W->space(), small);
      placed = mirrored ? W->product().apply_transpose(placed.columns())
                        : W->product().apply(placed.columns());
      block_is_placed = true;
    } else {
      if (block_is_placed) small = to_host(placed.columns());
      small = apply_value(*factor.value, mirrored, small);
      block_is_placed = false;
    }
  };
  if (transposed) {
    std::for_each(factors.begin(), factors.end(), step);
  } else {
    std::for_each(factors.rbegin(), factors.rend(), step);
  }
  if (block_is_placed) return copy(placed.columns(), Y);
  Y.space->write(small.data(), small.size(), Y.data);
}

/// `count` rows from `first` on of a dense factor, or of its transpose.
Matrix dense_rows(const Factor& factor, bool transposed, Index first, Index count) {
  const auto& F = std::get<Matrix>(*factor.value);
  if (factor.transposed != transposed) return F.middleCols(first, count).transpose();
  return F.middleRows(first, count);
}

/// True if the product is its own transpose by construction: the same values mirrored around a
/// diagonal in the middle or around nothing (F F^T).
bool mirrored(const std::vector<Factor>& factors) {
  std::size_t left = 0;
  std::size_t right = factors.size() - 1;
  for (; left < right; ++left, --right) {
    const bool diagonal = std::holds_alternative<Vector>(*factors[left].value);
    const bool opposite = factors[left].transposed != factors[right].transposed;
    if (factors[left].value != factors[right].value || !(opposite || diagonal)) return false;
  }
  return left > right || std::holds_alternative<Vector>(*factors[left].value);
}

}  // namespace

Index factor_rows(const Factor& factor) {
  return factor.transposed ? value_cols(*factor.value) : value_rows(*factor.value);
}

Index factor_cols(const Factor& factor) {
  return factor.transposed ? value_rows(*factor.value) : value_cols(*factor.value);
}

std::string factor_kind(const Factor& factor) { return value_description(*factor.value); }

FactorProduct::FactorProduct(std::vector<Factor> factors, bool symmetrized, Precision precision)
    : factors_(std::move(factors)), symmetrized_(symmetrized), precision_(precision) {
  require(!factors_.empty(), "factor product: it needs at least one factor");
  for (std::size_t p = 0; p + 1 < factors_.size(); ++p) {
    require(factor_cols(factors_[p]) == factor_rows(factors_[p + 1]),
            "factor product: {} has {} columns, but {} after it has {} rows",
            factors_[p].name,
            factor_cols(factors_[p]),
            factors_[p + 1].name,
            factor_rows(factors_[p + 1]));
  }
  require(!symmetrized_ || rows() == cols(),
          "factor product: {} x {} cannot be symmetrized; it is not square",
          rows(),
          cols());
  for (const Factor& factor : factors_) {
    require(!is_placed(*factor.value) || value_space(*factor.value) == memory_space(),
            "factor product: {} is not in the memory space of the other factors",
            factor.name);
  }
}

Storage FactorProduct::storage() const {
  Storage total;
  std::set<const FactorValue*> counted;
  for (const Factor& factor : factors_) {
    if (!counted.insert(factor.value.get()).second) continue;
    const Storage one = value_storage(*factor.value, precision_);
    total.numbers += one.numbers;
    total.bytes += one.bytes;
  }
  return total;
}

const std::shared_ptr<const MemorySpace>& FactorProduct::memory_space() const {
  for (const Factor& factor : factors_) {
    if (is_placed(*factor.value)) return value_space(*factor.value);
  }
  return host_space();
}

Index FactorProduct::rows() const { return factor_rows(factors_.front()); }
Index FactorProduct::cols() const { return factor_cols(factors_.back()); }

Cost FactorProduct::cost() const {
  const Storage stored = storage();
  double apply = 0;
  for (const Factor& factor : factors_) apply += value_multiplications(*factor.value);
  const Factor& last = factors_.back();
  const bool gathered = std::holds_alternative<Matrix>(*last.value) ||
                        (std::holds_alternative<RandomProjection>(*last.value) && !last.transposed);
  double column = gathered ? apply - value_multiplications(*last.value) : apply;
  if (symmetrized_) {
    column += apply;
    apply *= 2;
  }
  const auto* left = std::get_if<Matrix>(factors_.front().value.get());
  const auto* right = std::get_if<Matrix>(factors_.back().value.get());
  const bool dense_ends = factors_.size() > 1 && left != nullptr && right != nullptr;
  const double diagonal = dense_ends ? static_cast<double>(std::min(rows(), cols())) *
                                           static_cast<double>(factor_cols(factors_.front())) *
                                           static_cast<double>(factor_rows(factors_.back()))
                                     : -1.0;
  return {stored.numbers, stored.bytes, apply, column, diagonal};
}

/// For dense factors at both ends, diag(L M R) is the row sums of (L M) o R^T, in panels of rows.
Vector FactorProduct::diagonal() const {
  if (cost().multiplications_for_diagonal < 0) return LinearOperator::diagonal();
  const std::vector<Factor> inner(factors_.begin() + 1, factors_.end() - 1);
  const Index width = factor_rows(factors_.back());
  Matrix M(factor_cols(factors_.front()), width);
  if (!inner.empty()) chain_apply(inner, false, Matrix::Identity(width, width), M);
  constexpr Index kPanelRows = 512;
  Vector result(std::min(rows(), cols()));
  parallel_for((result.size() + kPanelRows - 1) / kPanelRows, [&](Index panel) {
    const Index first = panel * kPanelRows;
    const Index count = std::min(kPanelRows, result.size() - first);
    Matrix L = dense_rows(factors_.front(), false, first, count);
    if (!inner.empty()) L = kernels::product(L, M);
    const Matrix R = dense_rows(factors_.back(), true, first, count);
    result.segment(first, count) = L.cwiseProduct(R).rowwise().sum();
  });
  return result;
}

KnownFacts FactorProduct::known_facts() const {
  KnownFacts facts;
  if (rows() != cols()) facts.symmetric = false;
  if (symmetrized_ || mirrored(factors_)) facts.symmetric = true;
  return facts;
}

std::string FactorProduct::description() const {
  std::vector<std::string> names;
  for (const Factor& factor : factors_)
    names.push_back(factor.transposed ? factor.name + "^T" : factor.name);
  const std::string product = fmt::format("{}", fmt::join(names, " "));
  return symmetrized_ ? fmt::format("(Z + Z^T)/2, Z = {}", product) : product;
}

void FactorProduct::do_apply(const ConstBlock& X, Block Y) const {
  if (symmetrized_) return symmetrized_apply(factors_, X, Y);
  chain_apply(factors_, false, X, Y);
}

void FactorProduct::do_apply_transpose(const ConstBlock& X, Block Y) const {
  if (symmetrized_) return symmetrized_apply(factors_, X, Y);
  chain_apply(factors_, true, X, Y);
}

void FactorProduct::do_columns_at(std::span<const Index> J, Block Y) const {
  Y = chain_columns(factors_, J);
  if (symmetrized_) Y = 0.5 * (Y + chain_rows(factors_, J));
}

void FactorProduct::do_rows_at(std::span<const Index> I, Block Y) const {
  Y = chain_rows(factors_, I);
  if (symmetrized_) Y = 0.5 * (Y + chain_columns(factors_, I));
}

void FactorProduct::do_apply_in_place(bool transposed,
                                      const ConstMultiVectorView& X,
                                      const MultiVectorView& Y) const {
  if (memory_space()->on_host()) {
    return transposed ? do_apply_transpose(on_host(X), on_host(Y))
                      : do_apply(on_host(X), on_host(Y));
  }
  chain_apply_in_place(factors_, transposed, X, Y);
  if (!symmetrized_) return;
  MultiVector other(memory_space(), Y.rows, Y.cols);
  chain_apply_in_place(factors_, !transposed, X, other.columns());
  const Matrix half = 0.5 * Matrix::Identity(Y.cols, Y.cols);
  add_product(1.0, other.columns(), half, 0.5, Y);
}

std::vector<Factor> host_factors(std::vector<Factor> factors) {
  std::map<const FactorValue*, std::shared_ptr<const FactorValue>> copies;
  for (Factor& factor : factors) {
    if (!is_placed(*factor.value)) continue;
    auto& copy = copies[factor.value.get()];
    if (!copy) copy = std::make_shared<const FactorValue>(host_value(*factor.value));
    factor.value = copy;
  }
  return factors;
}

std::string_view storage_precision(const FactorProduct& product) {
  for (const Factor& factor : product.factors()) {
    if (is_packed(*factor.value)) return "packed";
  }
  return enum_name(product.precision());
}

namespace {

/// Largest number of a precision, smallest normal one, and machine epsilon.
struct NumberRange {
  double largest = 0;
  double least_normal = 0;
  double rounding = 0;
};

NumberRange range_of(Precision precision) {
  if (precision == Precision::kFloat) {
    using Limits = std::numeric_limits<float>;
    return {static_cast<double>(Limits::max()),
            static_cast<double>(Limits::min()),
            static_cast<double>(Limits::epsilon())};
  }
  const SmallFloat& format = precision == Precision::kFloat16 ? kFloat16 : kBfloat16;
  return {format.largest(), format.least_normal(), std::ldexp(1.0, -format.mantissa_bits)};
}

/// Throws NumericalError if the precision cannot represent the factor: if a value becomes infinite,
/// or if so much of the factor underflows that it loses more than by rounding. Single entries that
/// vanish beside large ones do not matter. Scaling is no alternative: the scale of a product of
/// 1e-300 fits into no float, factors share values, and a random projection has no values to scale.
void require_in_range(const Factor& factor, const FactorValue& rounded, Precision precision) {
  const NumberRange range = range_of(precision);
  const std::string_view name = enum_name(precision);
  const std::span<const double> exact = stored_values(*factor.value);
  const std::span<const double> stored = stored_values(rounded);
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!std::isfinite(stored[i])) {
      throw NumericalError(
          fmt::format("precision {0}: factor {1} has the value {2:.3g}, but the largest {0} is "
                      "{3:.3g}; store doubles or divide the matrix by a number",
                      name,
                      factor.name,
                      exact[i],
                      range.largest));
    }
    largest = std::max(largest, std::abs(exact[i]));
  }
  if (largest == 0) return;
  double lost = 0;
  double all = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double size = exact[i] / largest;
    const double difference = (exact[i] - stored[i]) / largest;
    all += size * size;
    lost += difference * difference;
  }
  if (std::sqrt(lost) <= range.rounding * std::sqrt(all)) return;
  throw NumericalError(fmt::format(
      "precision {0}: the values of factor {1}, at most {2:.3g}, are too small for {0}s, whose "
      "smallest normal value is {3:.3g}; store doubles or multiply the matrix by a number",
      name,
      factor.name,
      largest,
      range.least_normal));
}

}  // namespace

std::vector<Factor> round_factors(const std::vector<Factor>& factors, Precision precision) {
  if (precision == Precision::kDouble || precision == Precision::kPacked) return factors;
  const std::vector<Factor> exact = host_factors(factors);
  std::vector<Factor> rounded = exact;
  for (std::size_t p = 0; p < exact.size(); ++p) {
    std::size_t first = 0;  // a shared value stays shared
    while (exact[first].value != exact[p].value) ++first;
    if (first < p) {
      rounded[p].value = rounded[first].value;
      continue;
    }
    rounded[p].value =
        std::make_shared<const FactorValue>(rounded_value(*exact[p].value, precision));
    require_in_range(exact[p], *rounded[p].value, precision);
  }
  return rounded;
}

}  // namespace matapprox
