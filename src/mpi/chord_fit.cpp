#include "mpi/chord_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/chord_chain.hpp"
#include "matapprox/operators/lazy.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "mpi/ranks_space.hpp"
#include "mpi/spread_chain.hpp"

namespace matapprox::mpi {
namespace {

/// Returns the entries of a sparse target if all of them are finite and its rows and columns are in
/// the order of the target; else null.
const SparseMatrix* entries_of(const ChordTarget& target) {
  const SparseMatrix* values = sparse_values(target.matrix);
  if (values == nullptr || target.ordered) return nullptr;
  const Eigen::Map<const Vector> numbers(values->valuePtr(), values->nonZeros());
  return values->isCompressed() && numbers.allFinite() ? values : nullptr;
}

class SpreadChordObjective final : public DeviceChordObjective {
 public:
  SpreadChordObjective(std::shared_ptr<Leader> leader,
                       const ChordPattern& pattern,
                       Index max_columns,
                       const ChordTarget& target)
      : order_(pattern.order), fit_(std::move(leader)) {
    const Layout rows = even_layout(order_, fit_.leader()->processes());
    const std::vector values{chain_layout(rows, pattern)};
    ranks_ = std::make_shared<const RanksSpace>(fit_.leader(), values);
    space_ = ranks_;
    values_ = pattern.stored_numbers();
    const RanksSpace panels(fit_.leader(), {rows});
    const SparseMatrix* entries = entries_of(target);
    if (entries == nullptr) {
      columns_ = target.columns;
    } else {
      counter_ = counter_of(target.matrix);
    }
    fit_.leader()->run(AddChordFit{fit_.number(),
                                   panels.layout_number(order_),
                                   max_columns,
                                   target.symmetrized,
                                   entries != nullptr,
                                   &pattern,
                                   entries,
                                   target.unit});
  }

  const std::shared_ptr<const MemorySpace>& space() const override { return space_; }

  double evaluate(std::span<const Index> J, const double* values, double* gradient) override {
    const Index count = std::ssize(J);
    if (counter_ != nullptr) counter_->add_columns(count);
    const Index width = kernels::objective_width<double>(order_, count);
    EvaluateChordPanel evaluate{};
    evaluate.fit = fit_.number();
    evaluate.panels = (count + width - 1) / width;
    evaluate.values = ranks_->part(values, values_);
    if (gradient != nullptr) evaluate.gradient = ranks_->part(gradient, values_);
    std::vector<double> parts(static_cast<std::size_t>(evaluate.panels));
    for (Index p = 0; p < evaluate.panels; ++p) {
      const std::span<const Index> columns =
          J.subspan(static_cast<std::size_t>(p * width),
                    static_cast<std::size_t>(std::min(width, count - p * width)));
      evaluate.panel = p;
      evaluate.J = columns.data();
      evaluate.columns = std::ssize(columns);
      if (columns_) {
        panel_.resize(static_cast<std::size_t>(order_) * columns.size());
        columns_(columns, panel_.data());
      }
      evaluate.target = panel_.data();
      evaluate.result = &parts[static_cast<std::size_t>(p)];
      fit_.leader()->run(evaluate);
    }
    return std::accumulate(parts.begin(), parts.end(), 0.0);
  }

 private:
  Index order_;
  Index values_ = 0;  ///< number of values
  SharedObject fit_;
  std::shared_ptr<const RanksSpace> ranks_;
  std::shared_ptr<const MemorySpace> space_;
  std::function<void(std::span<const Index> J, double* panel)> columns_;
  const CountedOperator* counter_ = nullptr;
  std::vector<double> panel_;
};

class SpreadChord final : public RanksOperator {
 public:
  SpreadChord(const std::shared_ptr<Leader>& leader,
              const ChordPattern& pattern,
              std::shared_ptr<const MultiVector> values)
      : RanksOperator(leader, {even_layout(pattern.order, leader->processes())}),
        order_(pattern.order),
        values_(std::move(values)) {
    const auto& where = dynamic_cast<const RanksSpace&>(*values_->space());
    leader->run(AddChord{.matrix = number(),
                         .rows = ranks().layout_number(order_),
                         .values = where.part(values_->data(), values_->size()),
                         .transposed = false,
                         .symmetrized = false,
                         .pattern = &pattern});
  }

  Index rows() const override { return order_; }
  Index cols() const override { return order_; }
  Cost cost() const override {
    const Index numbers = values_->size();
    const auto multiplications = static_cast<double>(numbers);
    return {.stored_numbers = numbers,
            .stored_bytes = numbers * bytes_per_value(Precision::kDouble),
            .multiplications_per_apply = multiplications,
            .multiplications_per_column = multiplications};
  }
  std::string description() const override {
    return fmt::format("Chord factors, over {} processes", leader()->processes());
  }

 private:
  Index order_;
  std::shared_ptr<const MultiVector> values_;
};

}  // namespace

std::unique_ptr<DeviceChordObjective> make_spread_chord_objective(std::shared_ptr<Leader> leader,
                                                                  const ChordPattern& pattern,
                                                                  Index max_columns,
                                                                  const ChordTarget& target) {
  return std::make_unique<SpreadChordObjective>(std::move(leader), pattern, max_columns, target);
}

std::unique_ptr<DeviceChordObjective> chord_objective_if_worth_it(std::shared_ptr<Leader> leader,
                                                                  const ChordPattern& pattern,
                                                                  Index max_columns,
                                                                  const ChordTarget& target) {
  // A smaller exact fit keeps a copy of the matrix, and its gradients in floats, which is faster.
  constexpr Index kLargestExactOrder = 4096;
  const bool sampled = max_columns < pattern.order;
  if (leader->processes() == 1 || (!sampled && pattern.order <= kLargestExactOrder)) return nullptr;
  return make_spread_chord_objective(std::move(leader), pattern, max_columns, target);
}

PlacedChord spread_chord(const std::shared_ptr<Leader>& leader,
                         const ChordPattern& pattern,
                         std::shared_ptr<const MultiVector> values) {
  auto product = std::make_shared<const SpreadChord>(leader, pattern, values);
  return {pattern, std::move(values), std::move(product)};
}

}  // namespace matapprox::mpi
