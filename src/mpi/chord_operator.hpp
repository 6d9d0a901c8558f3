#pragma once

#include <memory>

#include "matapprox/factors/factor_product.hpp"
#include "mpi/ranks_space.hpp"

namespace matapprox::mpi {

/// A chain of Chord factors that lies on all processes, as methods on the leader see it; what is no
/// product, and columns and rows, come from its source, which stays on the leader.
class ChordOperator final : public LinearOperator {
 public:
  /// Whether it is one chain, or that with its transpose, in natural order of rows and columns.
  static bool takes(const LinearOperator& A);

  /// The values of `source`, which it takes, to all processes: as many rows of each factor to each.
  /// Products have the bits of the source's. Throws NotAvailable where a process has no memory.
  ChordOperator(std::shared_ptr<Leader> leader, std::shared_ptr<const FactorProduct> source);
  ~ChordOperator() override;
  ChordOperator(const ChordOperator&) = delete;
  ChordOperator(ChordOperator&&) = delete;
  ChordOperator& operator=(const ChordOperator&) = delete;
  ChordOperator& operator=(ChordOperator&&) = delete;

  const LinearOperator& underlying() const override { return source_->underlying(); }
  const std::shared_ptr<const MemorySpace>& memory_space() const override { return space_; }
  Index rows() const override { return source_->rows(); }
  Index cols() const override { return source_->cols(); }
  Vector diagonal() const override { return source_->diagonal(); }
  Cost cost() const override { return source_->cost(); }
  KnownFacts known_facts() const override { return source_->known_facts(); }
  std::string description() const override;

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override {
    source_->columns_at(J, Y);
  }
  void do_rows_at(std::span<const Index> I, Block Y) const override { source_->rows_at(I, Y); }
  void do_apply_in_place(bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const override;

  std::shared_ptr<const FactorProduct> source_;
  std::shared_ptr<const RanksSpace> ranks_;
  std::shared_ptr<const MemorySpace> space_;
  Index matrix_;
};

/// Rows of the factors of a chain as `rows` deals them: the layout of its values.
Layout chain_layout(const Layout& rows, const ChordPattern& pattern);

}  // namespace matapprox::mpi
