#include "device/chord_objective.hpp"

#include "matapprox/operators/lazy.hpp"

namespace matapprox {

const ChordObjectiveSource* chord_objective_source(const LinearOperator& A) {
  const auto* counter = dynamic_cast<const CountedOperator*>(&A);
  return dynamic_cast<const ChordObjectiveSource*>(counter == nullptr ? &A : &counter->inner());
}

}  // namespace matapprox
