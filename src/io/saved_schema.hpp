#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "io/hdf5_values.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/types.hpp"
#include "matapprox/io/saved_approximation.hpp"

// Names, versions and limits of a saved approximation; docs/file-format.md is their definition.
namespace matapprox::schema {

inline const std::string kFormat = "matapprox approximation";
/// Newest version that is read. Each file is written in the first version that has all it needs, so
/// that older readers can read it.
constexpr Index kVersion = 3;
constexpr Index kVersionOfPlainFactors = 1;
constexpr Index kVersionOf16Bits = 2;

/// Column indices of a sparse matrix with fewer columns are stored in 32 bits.
constexpr Index kNarrowColumns = Index{1} << 31;
/// Largest size of a matrix.
constexpr Index kLargest = Index{1} << 48;

[[noreturn]] inline void fail(const hdf5::Location& place, const std::string& what) {
  throw FileError(fmt::format("{}: {}: the file is damaged", place.file, what));
}

inline Index size_attribute(const hdf5::Location& place, const std::string& name) {
  return hdf5::get_integer(place, name, 1, kLargest);
}

inline bool flag(const hdf5::Location& place, const std::string& name) {
  return hdf5::get_integer(place, name, 0, 1) == 1;
}

/// Returns the enumerator that the text attribute `name` holds; throws if there is none.
template <class Enum>
Enum choice(const hdf5::Location& place, const std::string& name, const std::string& what) {
  const std::string text = hdf5::get_text(place, name);
  const auto& names = EnumNames<Enum>::values;
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) fail(place, fmt::format("unknown {} '{}'", what, text));
  return static_cast<Enum>(found - names.begin());
}

}  // namespace matapprox::schema

namespace matapprox {

/// Same as load_approximation without a trial, for callers whose whole work is a trial.
SavedApproximation read_saved_file(const std::string& path);

}  // namespace matapprox
