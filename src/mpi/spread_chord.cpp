#include "mpi/spread_chord.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "mpi/ranks_space.hpp"

namespace matapprox::mpi {
namespace {

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

PlacedChord spread_chord(const std::shared_ptr<Leader>& leader,
                         const ChordPattern& pattern,
                         std::shared_ptr<const MultiVector> values) {
  auto product = std::make_shared<const SpreadChord>(leader, pattern, values);
  return {pattern, std::move(values), std::move(product)};
}

}  // namespace matapprox::mpi
