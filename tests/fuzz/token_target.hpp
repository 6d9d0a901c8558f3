#pragma once

#include "attention/tasks/import/importers.hpp"
#include "fuzz_target.hpp"

namespace matapprox::fuzz {

/// Checks the guarantees of every importer for the set that it returns.
inline void demand_sound(const tasks::TokenSet& set) {
  try {
    tasks::check_tokens(set, "fuzz");
  } catch (const Error&) {
    demand(false);
  }
}

}  // namespace matapprox::fuzz
