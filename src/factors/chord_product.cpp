#include "matapprox/factors/chord_product.hpp"

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

}  // namespace matapprox
