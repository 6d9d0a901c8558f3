#pragma once

#include <utility>
#include <vector>

#include "matapprox/methods/cur.hpp"

namespace matapprox {

/// Columns and rows of A in order of preference; the first k of an order found for more than k are
/// a selection of k.
struct CurOrder {
  std::vector<Index> columns;
  std::vector<Index> rows;
};

/// Orders at least `count` columns and rows.
CurOrder cur_order(const LinearOperator& A,
                   Index count,
                   const CurOptions& options,
                   const RunControl& control);

}  // namespace matapprox
