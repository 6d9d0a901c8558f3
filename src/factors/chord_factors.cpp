#include "matapprox/factors/chord_factors.hpp"

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/chord.hpp"

namespace matapprox {
namespace {

void check_chain(const ChordPattern& pattern, std::size_t values) {
  pattern.validate();
  require(static_cast<Index>(values) == pattern.stored_numbers(),
          "chord product: {} values, the pattern stores {}",
          values,
          pattern.stored_numbers());
}

}  // namespace

// Y is written to: a Ref by value, as in every function that fills a block.
// NOLINTBEGIN(performance-unnecessary-value-param)

void chord_product(const ChordPattern& pattern,
                   std::span<const double> values,
                   const ConstBlock& X,
                   Block Y) {
  check_chain(pattern, values.size());
  kernels::chord_apply(pattern, values.data(), X, Y);
}

void chord_product(const ChordPattern& pattern,
                   std::span<const float> values,
                   const ConstBlockOf<float>& X,
                   BlockOf<float> Y) {
  check_chain(pattern, values.size());
  kernels::chord_apply(pattern, values.data(), X, Y);
}

void chord_transpose_product(const ChordPattern& pattern,
                             std::span<const double> values,
                             const ConstBlock& X,
                             Block Y) {
  check_chain(pattern, values.size());
  kernels::chord_apply_transpose(pattern, values.data(), X, Y);
}

void chord_transpose_product(const ChordPattern& pattern,
                             std::span<const float> values,
                             const ConstBlockOf<float>& X,
                             BlockOf<float> Y) {
  check_chain(pattern, values.size());
  kernels::chord_apply_transpose(pattern, values.data(), X, Y);
}

// NOLINTEND(performance-unnecessary-value-param)

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
