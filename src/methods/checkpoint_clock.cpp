#include "methods/checkpoint_clock.hpp"

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

/// Copies in memory: the state, the caller's copy, the written data and the factors made of it.
constexpr Index kCopies = 4;

}  // namespace

bool CheckpointClock::is_wanted(Index numbers) const {
  if (!control_.checkpoint) return false;
  const Index available = available_memory_bytes();
  return available == 0 || kCopies * Index{sizeof(double)} * numbers < available;
}

void require_consistent(bool consistent, const char* method) {
  require(consistent, "{}: the state to resume is inconsistent", method);
}

bool CheckpointClock::is_due(Index numbers) const {
  return control_.checkpoint && control_.seconds() - last_ >= control_.checkpoint_seconds &&
         is_wanted(numbers);
}

}  // namespace matapprox
