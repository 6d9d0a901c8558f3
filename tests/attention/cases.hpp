#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "matapprox/attention/mechanisms/registry.hpp"

namespace matapprox::test {

/// A mechanism in one configuration, as the contract tests make it.
struct AttentionCase {
  std::string label;  ///< label of the test
  std::string mechanism;
  NamedOptions options = {};
  Index heads = 2;
  bool causal = false;
};

/// GoogleTest prints each case at every program start; without this function, byte by byte.
inline void PrintTo(const AttentionCase& tested, std::ostream* out) { *out << tested.label; }

/// Each registered mechanism, with each option that changes what is computed.
std::vector<AttentionCase> attention_cases();

}  // namespace matapprox::test
