#include "mpi/spread_operator.hpp"

#include <fmt/format.h>

#include "mpi/chord_fit.hpp"
#include "mpi/sparse_rows.hpp"

namespace matapprox::mpi {
namespace {

bool is_known_symmetric(const SparseOperator& A) {
  return A.known_facts().symmetric.value_or(false);
}

/// Of its rows, and of its columns unless those are the rows of the same matrix.
std::vector<Layout> layouts_of(const SparseOperator& A,
                               const SparseMatrix& transposed,
                               int processes) {
  std::vector<Layout> layouts{layout_by_entries(A.values(), processes)};
  // Blocks of as many rows have one layout.
  if (A.rows() != A.cols()) layouts.push_back(layout_by_entries(transposed, processes));
  return layouts;
}

}  // namespace

SpreadOperator::SpreadOperator(std::shared_ptr<Leader> leader,
                               std::shared_ptr<const SparseOperator> source)
    : source_(std::move(source)), matrix_(leader->next_number()) {
  const SparseMatrix& values = source_->values();
  const bool symmetric = is_known_symmetric(*source_);
  const SparseMatrix transposed = symmetric ? SparseMatrix() : SparseMatrix(values.transpose());
  ranks_ = std::make_shared<const RanksSpace>(
      leader, layouts_of(*source_, transposed, leader->processes()));
  space_ = ranks_;
  leader->run(AddSparse{matrix_,
                        ranks_->layout_number(rows()),
                        ranks_->layout_number(cols()),
                        symmetric,
                        &values,
                        &transposed});
}

SpreadOperator::~SpreadOperator() { ranks_->leader()->run_to_end(RemoveMatrix{matrix_}); }

std::string SpreadOperator::description() const {
  return fmt::format(
      "{}, over {} processes", source_->description(), ranks_->leader()->processes());
}

std::unique_ptr<DeviceChordObjective> SpreadOperator::chord_objective(
    const ChordPattern& pattern, Index max_columns, const ChordTarget& target) const {
  return chord_objective_if_worth_it(ranks_->leader(), pattern, max_columns, target);
}

void SpreadOperator::do_apply_in_place(bool transposed,
                                       const ConstMultiVectorView& X,
                                       const MultiVectorView& Y) const {
  multiply(*ranks_, matrix_, transposed, X, Y);
}

void SpreadOperator::apply_host(bool transposed, const ConstBlock& X, Block& Y) const {
  const MultiVector x(space_, X);
  const MultiVector y = transposed ? apply_transpose(x.columns()) : apply(x.columns());
  Y = to_host(y.columns());
}

}  // namespace matapprox::mpi
