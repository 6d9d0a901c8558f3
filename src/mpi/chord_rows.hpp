#pragma once

#include <utility>

#include "mpi/spread_chain.hpp"
#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// A chain of Chord factors P = W_1 ... W_M, or (P + P^T) / 2, by rows of each factor. Products
/// have the bits of kernels::chord_apply on the whole chain. [KYCY22, Sec. 3]
///
/// Memory beside its values, while it multiplies: two panels, for whose N rows addresses are
/// reserved; those of this process and the ones that it is linked to take memory. The transposed
/// product asks for the values of each factor's columns, which takes the memory of one factor's
/// rows more.
class ChordRows final : public SpreadMatrix {
 public:
  /// `values`: of this process's rows, as SpreadChain says; they must outlive it.
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
