#pragma once

#include <span>

#include "matapprox/factors/factor_product.hpp"

// What a FactorProduct asks of one factor's value: the only place that tells the kinds apart.

namespace matapprox {

Index value_rows(const FactorValue& value);
Index value_cols(const FactorValue& value);
Storage value_storage(const FactorValue& value, Precision precision);
/// Multiplications to apply the value to one vector.
double value_multiplications(const FactorValue& value);
/// Y = F X, or F^T X if `transposed`; where F is dense or of blocks, without memory for a second Y.
void apply_value(const FactorValue& value, bool transposed, const ConstBlock& X, Block Y);
Matrix apply_value(const FactorValue& value, bool transposed, const ConstBlock& X);
/// F(:, J), or F^T(:, J) if `transposed`: a gather where the value is dense, not a product.
Matrix value_columns(const FactorValue& value, bool transposed, std::span<const Index> J);
/// The floating-point numbers that the value stores; none for a random projection, a permutation
/// and what is packed or placed.
std::span<const double> stored_values(const FactorValue& value);
/// Every number rounded to that precision; what is packed stays as it is.
FactorValue rounded_value(const FactorValue& value, Precision precision);
/// The number of that precision nearest to x, infinite where it is beyond the largest; of kDouble
/// and kPacked x itself.
double rounded_number(double x, Precision precision);

}  // namespace matapprox
