#pragma once

#include "io/hdf5_handle.hpp"
#include "matapprox/factors/factor_product.hpp"

// Values of factors in a saved approximation, one group each: attribute `kind` and the content of
// that kind (docs/file-format.md).

namespace matapprox {

/// First version of the format that has this kind of value.
Index version_of(const FactorValue& value);
/// Writes the kind and the content. Throws NumericalError for NaN or Inf, InvalidArgument for
/// numbers that `precision` does not represent.
void write_value(const hdf5::Location& group, const FactorValue& value, Precision precision);
/// Throws FileError if the file is damaged, and InvalidArgument if its arrays are inconsistent.
FactorValue read_value(const hdf5::Location& group);

}  // namespace matapprox
