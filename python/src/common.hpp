#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "matapprox/core/options.hpp"

// Code shared by the modules of the package.

namespace matapprox::python {

namespace nb = nanobind;

/// Translates errors of the library into those of python/matapprox/_errors.py.
void register_errors();

/// Returns an options struct as a list of tuples (name, type, default, choices, help).
nb::list option_tuples(const std::vector<OptionText>& options);

}  // namespace matapprox::python
