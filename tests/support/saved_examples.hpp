#pragma once

#include <string>
#include <vector>

#include "matapprox/factors/approximation.hpp"

namespace matapprox::test {

struct SavedExample {
  std::string name;
  Approximation approximation;
};

/// One small approximation for each kind of factor value, sharing, flag and precision.
std::vector<SavedExample> saved_examples();

}  // namespace matapprox::test
