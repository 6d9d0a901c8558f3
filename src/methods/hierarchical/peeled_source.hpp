#pragma once

#include <memory>
#include <optional>

#include "methods/hierarchical/peeled_blocks.hpp"

namespace matapprox::blocks {

struct PeeledSource {
  std::unique_ptr<PeeledBlocks> blocks;
  double scale = 1;   ///< factor by which the entries were multiplied
  double missed = 0;  ///< |A - peeled|_F^2, scaled, estimated from 8 vectors
};

/// True if columns of A cost about as much as products and are so many that peeling pays.
bool is_worth_peeling(const LinearOperator& A);

/// Peels A for a relative error of `tolerance`, or, if that is 0, for a result of `bytes` bytes.
/// Returns nothing if that would take more products than half the columns. Throws Interrupted,
/// NumericalError, NotAvailable if memory does not suffice.
std::optional<PeeledSource> peeled_source(const LinearOperator& A,
                                          Index leaf,
                                          double tolerance,
                                          double bytes,
                                          std::uint64_t seed,
                                          const RunControl& control);

}  // namespace matapprox::blocks
