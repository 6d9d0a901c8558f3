#include "mpi/spread_operator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "core/overloaded.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "mpi/block_workers.hpp"
#include "mpi/chord_fit.hpp"
#include "mpi/kernel_rows.hpp"
#include "mpi/sparse_rows.hpp"
#include "mpi/spread_chain.hpp"

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
    : RanksOperator(leader, layouts), source_(std::move(source)) {}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const SparseOperator>& source)
    : SpreadOperator(leader, layouts_of(*source, leader->processes()), source) {
  const SparseMatrix& values = source->values();
  const bool symmetric = source->equals_transpose();
  const SparseMatrix transposed = symmetric ? SparseMatrix() : SparseMatrix(values.transpose());
  leader->run(AddSparse{number(),
                        ranks().layout_number(rows()),
                        ranks().layout_number(cols()),
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
  leader->run(AddKernel{number(),
                        ranks().layout_number(rows()),
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
  leader->run(AddChord{.matrix = number(),
                       .rows = ranks().layout_number(rows()),
                       .values = where->part(chain_values_.data(), numbers),
                       .transposed = factor.transposed,
                       .symmetrized = source->symmetrized(),
                       .pattern = &chain.pattern});
}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const DenseOperator>& source)
    : SpreadOperator(leader, {}, source) {
  leader->run(AddDense{number(),
                       ranks().layout_number(rows()),
                       ranks().layout_number(cols()),
                       /*is_covariance=*/false,
                       source->values().data()});
}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const CovarianceOperator>& source)
    : SpreadOperator(leader, {}, source) {
  const Matrix& samples = source->centered_samples();
  leader->run(AddDense{number(),
                       ranks().layout_number(samples.rows()),
                       ranks().layout_number(samples.cols()),
                       /*is_covariance=*/true,
                       samples.data()});
}

SpreadOperator::SpreadOperator(const std::shared_ptr<Leader>& leader,
                               const std::shared_ptr<const LinearOperator>& source,
                               const SharedMatrix& file,
                               const FilePanels& panels)
    : SpreadOperator(leader, {}, source) {
  leader->run(AddFile{number(),
                      ranks().layout_number(rows()),
                      ranks().layout_number(cols()),
                      panel_rows(panels, cols(), file.unit_rows),
                      panels.in_file,
                      &file.name});
}

std::string SpreadOperator::description() const {
  return fmt::format("{}, over {} processes", source_->description(), leader()->processes());
}

std::unique_ptr<DeviceChordObjective> SpreadOperator::chord_objective(
    const ChordPattern& pattern, Index max_columns, const ChordTarget& target) const {
  return chord_objective_if_worth_it(leader(), pattern, max_columns, target);
}

std::unique_ptr<const BlockWorkers> SpreadOperator::block_workers(const MessageBytes& setup) const {
  if (leader()->processes() == 1) return nullptr;
  return make_block_workers(leader(), setup);
}

PlacedChord SpreadOperator::placed_chord(const ChordPattern& pattern,
                                         std::shared_ptr<const MultiVector> values) const {
  return spread_chord(leader(), pattern, std::move(values));
}

bool is_one_chain(const FactorProduct& A) {
  return A.factors().size() == 1 &&
         std::holds_alternative<ChordFactors>(*A.factors().front().value);
}

std::shared_ptr<const LinearOperator> spread(
    const std::shared_ptr<Leader>& leader,
    const std::shared_ptr<const LinearOperator>& A,
    const std::function<SharedMatrix(const LinearOperator& A)>& find_in_file) {
  using Spread = std::shared_ptr<const LinearOperator>;
  const auto spread_as = [&]<class T>(const T* matrix) -> Spread {
    return std::make_shared<const SpreadOperator>(leader, std::shared_ptr<const T>(A, matrix));
  };
  return std::visit(
      Overloaded{[&](const SparseOperator* sparse) { return spread_as(sparse); },
                 [&](const KernelOperator* kernel) { return spread_as(kernel); },
                 [&](const DenseOperator* dense) { return spread_as(dense); },
                 [&](const CovarianceOperator* covariance) { return spread_as(covariance); },
                 [&](const FactorProduct* product) {
                   return is_one_chain(*product) ? spread_as(product) : nullptr;
                 },
                 [&](const auto&) -> Spread {
                   if (!find_in_file || leader->processes() == 1) return nullptr;
                   const SharedMatrix file = find_in_file(*A);
                   if (file.name.empty()) return nullptr;
                   return std::make_shared<const SpreadOperator>(leader, A, file);
                 }},
      stored_as(*A));
}

}  // namespace matapprox::mpi
