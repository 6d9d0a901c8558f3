#include "device/block_workers.hpp"

#include "matapprox/operators/lazy.hpp"

namespace matapprox {

const BlockWorkersSource* block_workers_source(const LinearOperator& A) {
  const auto* counter = dynamic_cast<const CountedOperator*>(&A);
  return dynamic_cast<const BlockWorkersSource*>(counter == nullptr ? &A : &counter->inner());
}

}  // namespace matapprox
