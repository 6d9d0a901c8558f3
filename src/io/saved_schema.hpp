#pragma once

#include <array>
#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"
#include "matapprox/io/saved_approximation.hpp"

// Names in a saved approximation; docs/file-format.md is their definition.
namespace matapprox::schema {

inline const std::string kFormat = "matapprox approximation";
/// Newest version that is read; written only if a file needs it.
constexpr Index kVersion = 2;
/// Version written for files without permutations and packed values, so that older readers can read
/// them.
constexpr Index kVersionOfPlainFactors = 1;

/// Kinds of value, in the order of the alternatives of FactorValue. A placed matrix is saved as a
/// dense one, a placed chain as an ordinary chain.
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

namespace matapprox {

/// Same as load_approximation without a trial, for callers whose whole work is a trial.
SavedApproximation read_saved_file(const std::string& path);

}  // namespace matapprox
