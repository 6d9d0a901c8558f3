#pragma once

#include <functional>
#include <memory>

#include "device/chord_objective.hpp"
#include "device/processes.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/mpi/program.hpp"
#include "matapprox/operators/covariance.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"
#include "mpi/ranks_space.hpp"

namespace matapprox::mpi {

/// Options for reading a matrix in a file.
struct FilePanels {
  /// Size of a panel, as doubles: at least one row, and whole units of rows if one unit is at most
  /// four times as large. Each panel of a larger unit reads the whole unit again.
  Index bytes = Index{256} << 20;
  bool in_file = false;  ///< read again by each product, even if it fits into memory
};

/// A matrix that is distributed over all processes, as an operator for methods on the leader. It
/// takes its properties from the operator that it was made from, its source, which stays on the
/// leader and also gives columns and rows.
class SpreadOperator final : public RanksOperator,
                             public ChordObjectiveSource,
                             public BlockWorkersSource {
 public:
  /// Distributes the entries of `source`: rows, and columns for the transposed product, with about
  /// as many entries for each process. The columns of a square matrix have the layout of its rows.
  /// Products are bit-identical to the source's. Throws NotAvailable if a process runs out of
  /// memory.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const SparseOperator>& source);
  /// Distributes the points of `source`: about as many tiles of rows for each process. Products are
  /// bit-identical to the source's. Throws likewise.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const KernelOperator>& source);
  /// Distributes the values of `source`, for which is_one_chain() is true: as many rows of each
  /// factor for each process. Products are bit-identical to the source's. Throws likewise.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const FactorProduct>& source);
  /// Distributes the rows of `source` evenly; the leader uses its own rows without a copy. Products
  /// agree with the source's to rounding, with one process to the bit. Throws likewise.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const DenseOperator>& source);
  /// The same for the samples of a covariance.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const CovarianceOperator>& source);
  /// A dense matrix in a file, `source`, which all processes open by its name (Store::open). Each
  /// process reads an equal share of the rows: into memory if they fit on all processes, else from
  /// the file in each product. Products agree with the source's to rounding. Throws likewise, and
  /// FileError or NumericalError if a process cannot read its rows.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::shared_ptr<const LinearOperator>& source,
                 const SharedMatrix& file,
                 const FilePanels& panels = {});

  const LinearOperator& underlying() const override { return source_->underlying(); }
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
  /// Sets the source and the layouts; does not create the matrix on the processes.
  SpreadOperator(const std::shared_ptr<Leader>& leader,
                 const std::vector<Layout>& layouts,
                 std::shared_ptr<const LinearOperator> source);
  void do_columns_at(std::span<const Index> J, Block Y) const override {
    source_->columns_at(J, Y);
  }
  void do_rows_at(std::span<const Index> I, Block Y) const override { source_->rows_at(I, Y); }

  std::shared_ptr<const LinearOperator> source_;
  MultiVector chain_values_;  ///< values of Chord factors
};

/// Returns true if A is one chain P of Chord factors, or (P + P^T) / 2, in natural order.
bool is_one_chain(const FactorProduct& A);

/// Distributes A over all processes; returns null if it is of a kind that stays on the leader.
/// `find_in_file`: see SharedFiles::find; if null, no matrix is in a file. With one process,
/// matrices in files are not distributed.
std::shared_ptr<const LinearOperator> spread(
    const std::shared_ptr<Leader>& leader,
    const std::shared_ptr<const LinearOperator>& A,
    const std::function<SharedMatrix(const LinearOperator& A)>& find_in_file = nullptr);

}  // namespace matapprox::mpi
