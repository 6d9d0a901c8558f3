#pragma once

#include <span>

#include "matapprox/factors/factor_product.hpp"

// Operations on the value of one factor: the only place that distinguishes the kinds of values.

namespace matapprox {

Index value_rows(const FactorValue& value);
Index value_cols(const FactorValue& value);
Storage value_storage(const FactorValue& value, Precision precision);
/// Multiplications to apply the value to one vector.
double value_multiplications(const FactorValue& value);
/// Y = F X, or F^T X if `transposed`; no memory for a second Y if F is dense or a block matrix.
void apply_value(const FactorValue& value, bool transposed, const ConstBlock& X, Block Y);
Matrix apply_value(const FactorValue& value, bool transposed, const ConstBlock& X);
/// F(:, J), or F^T(:, J) if `transposed`; gathered without a product if the value is dense or
/// sparse.
Matrix value_columns(const FactorValue& value, bool transposed, std::span<const Index> J);
/// The floating-point numbers that the value stores; none for a random projection, a permutation
/// and a packed or placed value.
std::span<const double> stored_values(const FactorValue& value);
/// The value with every number rounded to that precision; a packed value is unchanged.
FactorValue rounded_value(const FactorValue& value, Precision precision);
/// The number of that precision nearest to x, infinite beyond the largest one; x itself for kDouble
/// and kPacked.
double rounded_number(double x, Precision precision);

}  // namespace matapprox
