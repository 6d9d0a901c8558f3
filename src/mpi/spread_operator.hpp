#pragma once

#include <functional>
#include <memory>

#include "device/block_workers.hpp"
#include "device/chord_objective.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/mpi/program.hpp"
#include "matapprox/operators/covariance.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"
#include "mpi/ranks_space.hpp"

namespace matapprox::mpi {

/// How a matrix in a file is read.
struct FilePanels {
  /// As doubles, at a time: a row at least, and whole units of rows if one is at most four times as
  /// large. Of larger units each panel reads the whole one again.
  Index bytes = Index{256} << 20;
  bool in_file = false;  ///< by each product, even if it fits into memory
};

/// A matrix that lies on all processes, as methods on the leader see it: what such a one knows from
/// the operator that it was made from, its source, which stays on the leader and gives columns and
/// rows.
class SpreadOperator final : public LinearOperator,
                             public ChordObjectiveSource,
                             public BlockWorkersSource {
 public:
  /// The entries of `source` to all processes: rows, and columns for the transposed product, with
  /// about as many entries for each; columns of a square matrix as its rows. Products have the bits
  /// of the source's. Throws NotAvailable where a process has no memory.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const SparseOperator>& source);
  /// The points of `source` to all processes: about as many tiles of rows for each. Products have
  /// the bits of the source's. Throws likewise.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const KernelOperator>& source);
  /// The values of `source`, for which is_one_chain() is true, to all processes: as many rows of
  /// each factor to each. Products have the bits of the source's. Throws likewise.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const FactorProduct>& source);
  /// The rows of `source` to all processes, as many to each; the first uses its own where they are.
  /// Products agree with the source's to rounding, with one process to the bit. Throws likewise.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const DenseOperator>& source);
  /// The same for the samples.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const CovarianceOperator>& source);
  /// A dense matrix in a file, `source`, which all processes open by its name (Store::open); each
  /// reads as many rows, into memory where they fit on all, else from the file at each product.
  /// Products agree with the source's to rounding. Throws likewise, and FileError or NumericalError
  /// where a process cannot read its rows.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const LinearOperator>& source,
                 const SharedMatrix& file,
                 const FilePanels& panels = {});
  ~SpreadOperator() override;
  SpreadOperator(const SpreadOperator&) = delete;
  SpreadOperator(SpreadOperator&&) = delete;
  SpreadOperator& operator=(const SpreadOperator&) = delete;
  SpreadOperator& operator=(SpreadOperator&&) = delete;

  const LinearOperator& underlying() const override { return source_->underlying(); }
  const std::shared_ptr<const MemorySpace>& memory_space() const override { return space_; }
  Index rows() const override { return source_->rows(); }
  Index cols() const override { return source_->cols(); }
  Vector diagonal() const override { return source_->diagonal(); }
  Cost cost() const override { return source_->cost(); }
  KnownFacts known_facts() const override { return source_->known_facts(); }
  std::string description() const override;
  std::unique_ptr<DeviceChordObjective> chord_objective(const ChordPattern& pattern,
                                                        Index max_columns,
                                                        const ChordTarget& target) const override;
  std::unique_ptr<const BlockWorkers> block_workers(const MessageBytes& setup) const override;
  PlacedChord placed_chord(const ChordPattern& pattern,
                           std::shared_ptr<const MultiVector> values) const override;

 private:
  /// Of that source, without the matrix on the processes.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::vector<Layout>& layouts,
                 std::shared_ptr<const LinearOperator> source);
  void do_apply(const ConstBlock& X, Block Y) const override { apply_host(false, X, Y); }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { apply_host(true, X, Y); }
  void do_columns_at(std::span<const Index> J, Block Y) const override {
    source_->columns_at(J, Y);
  }
  void do_rows_at(std::span<const Index> I, Block Y) const override { source_->rows_at(I, Y); }
  void do_apply_in_place(bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const override;
  void apply_host(bool transposed, const ConstBlock& X, Block& Y) const;

  std::shared_ptr<const LinearOperator> source_;
  std::shared_ptr<const RanksSpace> ranks_;
  std::shared_ptr<const MemorySpace> space_;
  Index matrix_;
  MultiVector chain_values_;  ///< of Chord factors
};

/// Whether it is one chain of Chord factors, or half of that with its transpose, in natural order
/// of rows and columns.
bool is_one_chain(const FactorProduct& A);

/// A on all processes; null if it is of a kind that stays on the first. `find_in_file`: see
/// SharedFiles::find; null: no matrix is in a file. One process leaves matrices in files alone.
std::shared_ptr<const LinearOperator> spread(
    const std::shared_ptr<Leader>& leader,
    const std::shared_ptr<const LinearOperator>& A,
    const std::function<SharedMatrix(const LinearOperator& A)>& find_in_file = nullptr);

}  // namespace matapprox::mpi
