#pragma once

#include <memory>
#include <string>

#include "matapprox/factors/chord_factors.hpp"
#include "mpi/ranks_space.hpp"

namespace matapprox::mpi {

/// A chain of Chord factors whose values remain distributed over all processes after a fit.
/// Products are computed there, bit-identical to kernels::chord_apply.
class SpreadChord final : public LinearOperator {
 public:
  /// `values`: one column of a RanksSpace with the layout chain_layout() of even rows. Throws
  /// NotAvailable if a process runs out of memory.
  SpreadChord(const std::shared_ptr<Leader>& leader,
              const ChordPattern& pattern,
              std::shared_ptr<const MultiVector> values);
  ~SpreadChord() override;
  SpreadChord(const SpreadChord&) = delete;
  SpreadChord(SpreadChord&&) = delete;
  SpreadChord& operator=(const SpreadChord&) = delete;
  SpreadChord& operator=(SpreadChord&&) = delete;

  const std::shared_ptr<const MemorySpace>& memory_space() const override { return space_; }
  Index rows() const override { return order_; }
  Index cols() const override { return order_; }
  Cost cost() const override;
  std::string description() const override;

 private:
  void do_apply(const ConstBlock& X, Block Y) const override { apply_host(false, X, Y); }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { apply_host(true, X, Y); }
  void do_apply_in_place(bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const override;
  void apply_host(bool transposed, const ConstBlock& X, Block& Y) const;

  Index order_;
  std::shared_ptr<const MultiVector> values_;
  std::shared_ptr<const RanksSpace> ranks_;
  std::shared_ptr<const MemorySpace> space_;
  Index matrix_;
};

/// Returns the same chain as a factor whose values stay distributed.
PlacedChord spread_chord(const std::shared_ptr<Leader>& leader,
                         const ChordPattern& pattern,
                         std::shared_ptr<const MultiVector> values);

}  // namespace matapprox::mpi
