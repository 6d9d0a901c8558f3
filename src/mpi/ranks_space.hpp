#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/chord_objective.hpp"
#include "io/positioned_write.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "mpi/leader.hpp"
#include "mpi/reserved_numbers.hpp"

namespace matapprox::mpi {

/// The distributed memory of all processes. Each process has its rows of a block and works on them
/// as host_space() does; with one process the results are bit-identical to those of host_space().
/// The object exists on the leader.
///
/// An address points into a range that the leader reserves, as large as the whole block: pointer
/// arithmetic works, but reading ends the program. Operations take whole columns; scale() also
/// takes some rows of one column. Allocation throws NotAvailable if a process runs out of memory or
/// the leader out of addresses.
class RanksSpace final : public AdamSpace, public BlockWriter {
 public:
  /// A block has the layout in `layouts` with the same number of rows, else an even one. Two
  /// layouts with the same number of rows must be equal.
  RanksSpace(std::shared_ptr<Leader> leader, const std::vector<Layout>& layouts);
  ~RanksSpace() override;
  RanksSpace(const RanksSpace&) = delete;
  RanksSpace(RanksSpace&&) = delete;
  RanksSpace& operator=(const RanksSpace&) = delete;
  RanksSpace& operator=(RanksSpace&&) = delete;

  const std::shared_ptr<Leader>& leader() const { return leader_; }
  /// Returns the number of the layout of blocks with this many rows.
  Index layout_number(Index rows) const;
  /// Returns the part of `count` numbers from `numbers` on: must be whole columns of a block.
  Part part(const double* numbers, Index count) const;

  bool on_host() const override { return false; }
  bool is_distributed() const override { return true; }
  double* allocate(Index rows, Index cols) const override;
  void release(double* numbers) const noexcept override;
  void write(const double* host, Index count, double* to) const override;
  void read(const double* from, Index count, double* host) const override;
  void read_rows(
      Index n, const double* A, Index a, Index first, Index count, double* host) const override;
  void write_rows(
      Index n, double* A, Index a, Index first, Index count, const double* host) const override;
  std::optional<std::uint32_t> write_to_file(Index n,
                                             const double* A,
                                             Index a,
                                             const FilePlace& place) const override;
  void copy(const double* from, Index count, double* to) const override;
  void zero(double* numbers, Index count) const override;
  void fill_normal(std::uint64_t seed,
                   RandomStream stream,
                   Index first_column,
                   Index n,
                   Index a,
                   double* X) const override;
  Matrix transpose_product(
      Index n, const double* A, Index a, const double* B, Index b) const override;
  void add_product(Index n,
                   double alpha,
                   const double* A,
                   Index a,
                   const ConstBlock& S,
                   double beta,
                   double* Y) const override;
  Vector column_norms(Index n, const double* A, Index a) const override;
  double largest(const double* numbers, Index count) const override;
  void scale(double* numbers, Index count, double factor) const override;
  void adam_step(const kernels::AdamStep& step,
                 const double* gradient,
                 Index count,
                 double* mean,
                 double* square,
                 double* x) const override;

 private:
  struct Reserved {
    Index block = 0;
    Index rows = 0;
    Index cols = 0;
    ReservedNumbers addresses;
  };

  /// The block that contains an address, and the position in it.
  struct Address {
    Index block = 0;
    Index rows = 0;
    Index cols = 0;
    Index first = 0;
  };
  Address address(const double* numbers) const;

  std::shared_ptr<Leader> leader_;
  mutable std::mutex mutex_;                ///< guards the members below
  mutable std::map<Index, Index> layouts_;  ///< number of the layout for each number of rows
  mutable std::map<const double*, Reserved> blocks_;
};

/// A matrix that all processes have under a number, as an operator for methods on the leader.
class RanksOperator : public LinearOperator {
 public:
  const std::shared_ptr<const MemorySpace>& memory_space() const final { return space_; }

 protected:
  /// `layouts`: those of the rows and of the columns, see RanksSpace. Without a `number`, the
  /// derived class creates the matrix under number(). The destructor removes it.
  RanksOperator(const std::shared_ptr<Leader>& leader,
                const std::vector<Layout>& layouts,
                std::optional<Index> number = std::nullopt);

  const RanksSpace& ranks() const { return static_cast<const RanksSpace&>(*space_); }
  const std::shared_ptr<Leader>& leader() const { return matrix_.leader(); }
  Index number() const { return matrix_.number(); }

 private:
  void do_apply(const ConstBlock& X, Block Y) const final { apply_host(false, X, Y); }
  void do_apply_transpose(const ConstBlock& X, Block Y) const final { apply_host(true, X, Y); }
  void do_apply_in_place(bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const final;
  void apply_host(bool transposed, const ConstBlock& X, Block& Y) const;

  std::shared_ptr<const MemorySpace> space_;
  SharedObject matrix_;
};

}  // namespace matapprox::mpi
