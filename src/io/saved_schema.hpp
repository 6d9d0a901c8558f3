#pragma once

#include <array>
#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

// Names in a saved approximation; docs/file-format.md is their definition.
namespace matapprox::schema {

inline const std::string kFormat = "matapprox approximation";
constexpr Index kVersion = 1;

/// Kinds of value, in the order of the alternatives of FactorValue.
constexpr std::array<std::string_view, 5> kKinds{"dense", "sparse", "diagonal", "chord", "random"};

/// Column indices of a sparse matrix with fewer columns are stored in 32 bits.
constexpr Index kNarrowColumns = Index{1} << 31;

}  // namespace matapprox::schema
