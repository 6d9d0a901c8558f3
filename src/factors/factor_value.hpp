#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string>

#include "matapprox/factors/factor_product.hpp"

// Operations on the value of one factor. Each is one set of overloads for the kinds of FactorValue
// (docs/adding-a-factor.md); the remaining sets are those that save, export and place values.

namespace matapprox {

Index value_rows(const FactorValue& value);
Index value_cols(const FactorValue& value);
Storage value_storage(const FactorValue& value, Precision precision);
/// Short description for people: "dense", "chord chain of 10".
std::string value_description(const FactorValue& value);
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
/// True if the value is stored in a few bits per number, which no precision applies to.
bool is_packed(const FactorValue& value);
/// True if the numbers stay in the memory space where they were computed.
bool is_placed(const FactorValue& value);
/// Memory space of the blocks that a placed value multiplies; the host's for any other value.
const std::shared_ptr<const MemorySpace>& value_space(const FactorValue& value);
/// True if A equals its transpose to the bit, so that one triangle stores it without loss.
bool equals_transpose(const Matrix& A);
/// A copy in host memory of a placed value, or of any other.
FactorValue host_value(const FactorValue& value);
/// The value times 2^exponent, or null if a value of its kind cannot be multiplied. The numbers may
/// become infinite.
std::shared_ptr<const FactorValue> multiplied_value(const FactorValue& value, int exponent);
/// The number of that precision nearest to x, infinite beyond the largest one; x itself for kDouble
/// and kPacked.
double rounded_number(double x, Precision precision);

/// X *= 2^exponent without intermediate overflow. Returns true.
template <class Values>
bool multiply_by_power_of_two(Values&& X, int exponent) {
  const int half = exponent / 2;
  X *= std::ldexp(1.0, half);
  X *= std::ldexp(1.0, exponent - half);
  return true;
}

}  // namespace matapprox
