#include "mpi/spread_chord.hpp"

#include <fmt/format.h>

#include <utility>

namespace matapprox::mpi {

SpreadChord::SpreadChord(const std::shared_ptr<Leader>& leader,
                         const ChordPattern& pattern,
                         std::shared_ptr<const MultiVector> values)
    : order_(pattern.order),
      values_(std::move(values)),
      ranks_(std::make_shared<const RanksSpace>(
          leader, std::vector{even_layout(order_, leader->processes())})),
      space_(ranks_),
      matrix_(leader->next_number()) {
  const auto& where = dynamic_cast<const RanksSpace&>(*values_->space());
  leader->run(AddChord{.matrix = matrix_,
                       .rows = ranks_->layout_number(order_),
                       .values = where.part(values_->data(), values_->size()),
                       .transposed = false,
                       .symmetrized = false,
                       .pattern = &pattern});
}

SpreadChord::~SpreadChord() { ranks_->leader()->run_to_end(RemoveMatrix{matrix_}); }

Cost SpreadChord::cost() const {
  const Index numbers = values_->size();
  const auto multiplications = static_cast<double>(numbers);
  return {.stored_numbers = numbers,
          .stored_bytes = numbers * bytes_per_value(Precision::kDouble),
          .multiplications_per_apply = multiplications,
          .multiplications_per_column = multiplications};
}

std::string SpreadChord::description() const {
  return fmt::format("Chord factors, over {} processes", ranks_->leader()->processes());
}

void SpreadChord::do_apply_in_place(bool transposed,
                                    const ConstMultiVectorView& X,
                                    const MultiVectorView& Y) const {
  multiply(*ranks_, matrix_, transposed, X, Y);
}

void SpreadChord::apply_host(bool transposed, const ConstBlock& X, Block& Y) const {
  const MultiVector x(space_, X);
  const MultiVector y = transposed ? apply_transpose(x.columns()) : apply(x.columns());
  Y = to_host(y.columns());
}

PlacedChord spread_chord(const std::shared_ptr<Leader>& leader,
                         const ChordPattern& pattern,
                         std::shared_ptr<const MultiVector> values) {
  auto product = std::make_shared<const SpreadChord>(leader, pattern, values);
  return {pattern, std::move(values), std::move(product)};
}

}  // namespace matapprox::mpi
