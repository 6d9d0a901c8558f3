#include "matapprox/factors/sum_matrix.hpp"

#include <utility>

#include "factors/factor_value.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/factors/factor_product.hpp"

namespace matapprox {

SumMatrix::SumMatrix(std::vector<Factor> terms) {
  require(terms.size() >= 2, "a sum of {} factors; it needs two at least", terms.size());
  rows_ = factor_rows(terms.front());
  cols_ = factor_cols(terms.front());
  for (const Factor& term : terms) {
    require(factor_rows(term) == rows_ && factor_cols(term) == cols_,
            "a sum of a {} x {} and a {} x {} factor",
            rows_,
            cols_,
            factor_rows(term),
            factor_cols(term));
    require(!term.transposed && !std::holds_alternative<SumMatrix>(*term.value) &&
                !is_placed(*term.value),
            "a term of a sum is transposed, a sum itself, or placed elsewhere");
  }
  terms_ = std::make_shared<const std::vector<Factor>>(std::move(terms));
}

Storage SumMatrix::storage() const {
  Storage all;
  for (const Factor& term : *terms_) {
    const Storage one = value_storage(*term.value, Precision::kDouble);
    all.numbers += one.numbers;
    all.bytes += one.bytes;
  }
  return all;
}

double SumMatrix::multiplications() const {
  double all = 0;
  for (const Factor& term : *terms_) all += value_multiplications(*term.value);
  return all;
}

std::string SumMatrix::description() const {
  std::string text;
  for (const Factor& term : *terms_) {
    if (!text.empty()) text += " + ";
    text += value_description(*term.value);
  }
  return text;
}

Matrix SumMatrix::columns(bool transposed, std::span<const Index> J) const {
  Matrix all = value_columns(*terms_->front().value, transposed, J);
  for (std::size_t k = 1; k < terms_->size(); ++k)
    all += value_columns(*(*terms_)[k].value, transposed, J);
  return all;
}

Matrix SumMatrix::multiply(bool transposed, const ConstBlock& X) const {
  const Index side = transposed ? rows_ : cols_;
  require(X.rows() == side, "a sum of order {} times {} rows", side, X.rows());
  Matrix all = apply_value(*terms_->front().value, transposed, X);
  for (std::size_t k = 1; k < terms_->size(); ++k)
    all += apply_value(*(*terms_)[k].value, transposed, X);
  return all;
}

}  // namespace matapprox
