#include "matapprox/factors/placed_chord.hpp"

namespace matapprox {

void PlacedChord::read(Index first, Index count, double* host) const {
  if (count > 0)
    values_->space()->read_rows(values_->rows(), values_->data(), 1, first, count, host);
}

ChordFactors PlacedChord::to_host() const {
  std::vector<double> values(static_cast<std::size_t>(size()));
  values_->space()->read(values_->data(), size(), values.data());
  return {pattern_, std::move(values)};
}

}  // namespace matapprox
