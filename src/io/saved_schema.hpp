#pragma once

#include <array>
#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

// Names in a saved approximation; docs/file-format.md is their definition.
namespace matapprox::schema {

inline const std::string kFormat = "matapprox approximation";
/// The newest that is read, and written where a file needs it.
constexpr Index kVersion = 2;
/// What there was before permutations and packed values is written as this, so that older readers
/// read it.
constexpr Index kVersionOfPlainFactors = 1;

/// Kinds of value, in the order of the alternatives of FactorValue; a placed matrix is saved as a
/// dense one, a placed chain as any other.
constexpr std::array<std::string_view, 10> kKinds{"dense",
                                                  "sparse",
                                                  "diagonal",
                                                  "chord",
                                                  "random",
                                                  "permutation",
                                                  "packed",
                                                  "blocks",
                                                  "packed_chord",
                                                  "packed_sparse"};

/// Column indices of a sparse matrix with fewer columns are stored in 32 bits.
constexpr Index kNarrowColumns = Index{1} << 31;

}  // namespace matapprox::schema
