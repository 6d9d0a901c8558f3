#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "matapprox/core/options.hpp"

// What the modules of the package share.

namespace matapprox::python {

namespace nb = nanobind;

/// Errors of the library become those of python/matapprox/_errors.py.
void register_errors();

/// An options struct as a list of tuples (name, type, default, choices, help).
nb::list option_tuples(const std::vector<OptionText>& options);

}  // namespace matapprox::python
