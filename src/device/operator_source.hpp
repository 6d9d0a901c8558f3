#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox {

/// Returns A, possibly wrapped in a CountedOperator, as a ChordObjectiveSource or
/// BlockWorkersSource; null if it is none.
template <class Source>
const Source* source_of(const LinearOperator& A) {
  const auto* counter = dynamic_cast<const CountedOperator*>(&A);
  return dynamic_cast<const Source*>(counter == nullptr ? &A : &counter->inner());
}

}  // namespace matapprox
