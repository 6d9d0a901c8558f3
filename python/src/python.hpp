#pragma once

#include <fmt/ranges.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common.hpp"
#include "lock.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox::python {

using InputArray = nb::ndarray<const double, nb::device::cpu>;
using OutputArray = nb::ndarray<double, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, double>;
using ConstArray = nb::ndarray<nb::numpy, const double>;

/// Python's reference to an operator. Every call that multiplies releases the interpreter's lock.
struct Handle {
  std::shared_ptr<const LinearOperator> matrix;
};

/// A reference to the result of a fit.
struct ApproximationHandle : Handle {
  std::shared_ptr<const Approximation> approximation;
};

ApproximationHandle handle_of(Approximation approximation);

/// Returns the matrix as an array that owns it.
Array to_array(Matrix values);

/// Makes a reference that any thread may release.
std::shared_ptr<const void> keep_alive(nb::object object);

/// Returns the enumerator with this name. Throws InvalidArgument with `what` and the valid names.
template <class Enum>
Enum enum_of(const char* what, const std::string& name) {
  const auto& names = EnumNames<Enum>::values;
  const auto found = std::find(names.begin(), names.end(), name);
  const std::vector<std::string> known(names.begin(), names.end());
  require(found != names.end(),
          "{} '{}' is not one of {}{}",
          what,
          name,
          fmt::join(names, ", "),
          suggestion(name, known));
  return static_cast<Enum>(found - names.begin());
}

void bind_operators(nb::module_& m);
void bind_results(nb::module_& m);
void bind_fits(nb::module_& m);
void bind_lapack(nb::module_& m);
void bind_program(nb::module_& m);

}  // namespace matapprox::python
