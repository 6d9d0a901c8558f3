#pragma once

#include <fmt/format.h>

#include <utility>

#include "matapprox/core/error.hpp"

namespace matapprox {

/// Throws InvalidArgument with the formatted message unless `condition` holds.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw InvalidArgument(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace matapprox
