#pragma once

#include <list>
#include <memory>
#include <vector>

#include "backends/cuda/card_operator.hpp"
#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// What an operator consists of, as the card takes it. Refers to the operator's numbers.
struct CardLinks {
  std::vector<cuda::ChainLink> links;
  bool symmetrized = false;
  // Numbers that the operator does not hold in the form that the card wants.
  std::list<Matrix> own_dense;
  std::list<SparseMatrix> own_sparse;
};

/// Empty links if the operator is of a kind that cannot be placed.
CardLinks card_links(const LinearOperator& A);

/// What a product takes and what lies on the card, without making anything.
struct CardWork {
  double flops = 0;      ///< of a block of `columns` columns
  double read = 0;       ///< bytes that such a product reads of the matrix
  Index card_bytes = 0;  ///< of the matrix on the card
  Index longest = 0;     ///< largest number of rows that a block has on the way
};

/// For A that is_placeable.
CardWork card_work(const LinearOperator& A, Index columns);

}  // namespace matapprox
