#pragma once

#include <utility>

#include "mpi/spread_chain.hpp"
#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// A chain of Chord factors P = W_1 ... W_M, or (P + P^T) / 2, distributed by rows of each factor.
/// Products are bit-identical to kernels::chord_apply on the whole chain. [KYCY22, Sec. 3]
///
/// Memory in addition to the values, during a product: two panels. Addresses are reserved for all N
/// rows of a panel; only the rows of this process and those that it is linked to take memory. The
/// transposed product fetches the values of each factor's columns, which takes one more factor's
/// rows.
class ChordRows final : public SpreadMatrix {
 public:
  /// `values`: those of this process's rows, as in SpreadChain; they must outlive the object.
  ChordRows(SpreadChain chain, const double* values, bool transposed, bool symmetrized)
      : chain_(std::move(chain)),
        values_(values),
        transposed_(transposed),
        symmetrized_(symmetrized) {}

  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  class Product;

  SpreadChain chain_;
  const double* values_;
  bool transposed_;
  bool symmetrized_;
};

}  // namespace matapprox::mpi
