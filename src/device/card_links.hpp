#pragma once

#include <limits>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/card_operator.hpp"
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

/// Free memory of a card that has room for everything.
inline constexpr Index kAnyBytes = std::numeric_limits<Index>::max();

/// Empty links if the operator is of a kind that cannot be placed. Chord factors that a card with
/// so much free memory has no room for, with a column of a block beside them, stay on the host.
CardLinks card_links(const LinearOperator& A, Index card_free_bytes = kAnyBytes);

/// What a product takes and what lies on the card, without making anything.
struct CardWork {
  double flops = 0;      ///< of a block of `columns` columns
  double read = 0;       ///< bytes that such a product reads of the matrix
  Index card_bytes = 0;  ///< of the matrix on the card
  Index host_bytes = 0;  ///< of Chord factors that stay on the host
  double streamed = 0;   ///< bytes of those that such a product sends to the card
  Index longest = 0;     ///< largest number of rows that a block has on the way
};

/// For A that is_placeable, on a card as for card_links.
CardWork card_work(const LinearOperator& A, Index columns, Index card_free_bytes = kAnyBytes);

/// What a user has to know of host_bytes, in one sentence; empty if there are none.
std::string streaming_note(Index host_bytes);

}  // namespace matapprox
