#include "mpi/spread_operator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mpi/block_workers.hpp"
#include "mpi/chord_fit.hpp"
#include "mpi/kernel_rows.hpp"
#include "mpi/sparse_rows.hpp"
#include "mpi/spread_chain.hpp"
#include "mpi/spread_chord.hpp"

namespace matapprox::mpi {
namespace {

/// Returns the layouts of the rows and of the columns; a square matrix has one layout for both.
std::vector<Layout> layouts_of(const SparseOperator& A, int processes) {
  std::vector<Layout> layouts{layout_by_entries(A.values(), processes)};
  if (A.rows() != A.cols()) layouts.push_back(columns_by_entries(A.values(), processes));
  return layouts;
}

std::vector<Layout> layouts_of(const KernelOperator& A, int processes) {
  return {layout_by_tiles(A.rows(), A.points().cols(), processes)};
}

/// Returns the number of rows of `cols` entries that are read at a time.
Index panel_rows(const FilePanels& panels, Index cols, Index unit_rows) {
  constexpr Index kMaxPanelsOfAUnit = 4;
  const Index rows =
      std::max<Index>(1, panels.bytes / Index{sizeof(double)} / std::max<Index>(1, cols));
  return unit_rows > kMaxPanelsOfAUnit * rows ? rows
                                              : std::max<Index>(1, rows / unit_rows) * unit_rows;
}

}  // namespace

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::vector<Layout>& layouts,
                               std::shared_ptr<const LinearOperator> source)
    : source_(std::move(source)),
      ranks_(std::make_shared<const RanksSpace>(leader, layouts)),
      space_(ranks_),
      matrix_(leader->next_number()) {}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const SparseOperator>& source)
    : SpreadOperator(leader, layouts_of(*source, leader->processes()), source) {
  const SparseMatrix& values = source->values();
  const bool symmetric = source->equals_transpose();
  const SparseMatrix transposed = symmetric ? SparseMatrix() : SparseMatrix(values.transpose());
  leader->run(AddSparse{matrix_,
                        ranks_->layout_number(rows()),
                        ranks_->layout_number(cols()),
                        symmetric,
                        &values,
                        &transposed});
}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const KernelOperator>& source)
    : SpreadOperator(leader, layouts_of(*source, leader->processes()), source) {
  const Matrix& points = source->points();
  const bool cosine = source->options().function == KernelFunction::kCosine;
  const Matrix directions = cosine ? unit_directions(points) : Matrix();
  leader->run(AddKernel{matrix_,
                        ranks_->layout_number(rows()),
                        tile_kernel(source->options(), points.cols()),
                        points.cols(),
                        (cosine ? directions : points).data()});
}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const FactorProduct>& source)
    : SpreadOperator(leader, {even_layout(source->rows(), leader->processes())}, source) {
  const Factor& factor = source->factors().front();
  const auto& chain = std::get<ChordFactors>(*factor.value);
  const auto where = std::make_shared<const RanksSpace>(
      leader, std::vector{chain_layout(even_layout(rows(), leader->processes()), chain.pattern)});
  const Index numbers = chain.pattern.stored_numbers();
  chain_values_ = MultiVector(where, Eigen::Map<const Matrix>(chain.values.data(), numbers, 1));
  leader->run(AddChord{.matrix = matrix_,
                       .rows = ranks_->layout_number(rows()),
                       .values = where->part(chain_values_.data(), numbers),
                       .transposed = factor.transposed,
                       .symmetrized = source->symmetrized(),
                       .pattern = &chain.pattern});
}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const DenseOperator>& source)
    : SpreadOperator(leader, {}, source) {
  leader->run(AddDense{matrix_,
                       ranks_->layout_number(rows()),
                       ranks_->layout_number(cols()),
                       /*is_covariance=*/false,
                       source->values().data()});
}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const CovarianceOperator>& source)
    : SpreadOperator(leader, {}, source) {
  const Matrix& samples = source->centered_samples();
  leader->run(AddDense{matrix_,
                       ranks_->layout_number(samples.rows()),
                       ranks_->layout_number(samples.cols()),
                       /*is_covariance=*/true,
                       samples.data()});
}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const LinearOperator>& source,
                               const SharedMatrix& file,
                               const FilePanels& panels)
    : SpreadOperator(leader, {}, source) {
  leader->run(AddFile{matrix_,
                      ranks_->layout_number(rows()),
                      ranks_->layout_number(cols()),
                      panel_rows(panels, cols(), file.unit_rows),
                      panels.in_file,
                      &file.name});
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

std::unique_ptr<const BlockWorkers> SpreadOperator::block_workers(const MessageBytes& setup) const {
  if (ranks_->leader()->processes() == 1) return nullptr;
  return make_block_workers(ranks_->leader(), setup);
}

PlacedChord SpreadOperator::placed_chord(const ChordPattern& pattern,
                                         std::shared_ptr<const MultiVector> values) const {
  return spread_chord(ranks_->leader(), pattern, std::move(values));
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

bool is_one_chain(const FactorProduct& A) {
  return A.factors().size() == 1 &&
         std::holds_alternative<ChordFactors>(*A.factors().front().value);
}

std::shared_ptr<const LinearOperator> spread(
    const std::shared_ptr<Leader>& leader,
    const std::shared_ptr<const LinearOperator>& A,
    const std::function<SharedMatrix(const LinearOperator& A)>& find_in_file) {
  if (const auto sparse = std::dynamic_pointer_cast<const SparseOperator>(A))
    return std::make_shared<const SpreadOperator>(leader, sparse);
  if (const auto kernel = std::dynamic_pointer_cast<const KernelOperator>(A))
    return std::make_shared<const SpreadOperator>(leader, kernel);
  if (const auto dense = std::dynamic_pointer_cast<const DenseOperator>(A))
    return std::make_shared<const SpreadOperator>(leader, dense);
  if (const auto covariance = std::dynamic_pointer_cast<const CovarianceOperator>(A))
    return std::make_shared<const SpreadOperator>(leader, covariance);
  if (find_in_file && leader->processes() > 1) {
    if (const SharedMatrix file = find_in_file(*A); !file.name.empty())
      return std::make_shared<const SpreadOperator>(leader, A, file);
  }
  const auto product = std::dynamic_pointer_cast<const FactorProduct>(A);
  if (product && is_one_chain(*product))
    return std::make_shared<const SpreadOperator>(leader, product);
  return nullptr;
}

}  // namespace matapprox::mpi
