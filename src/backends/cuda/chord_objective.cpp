#include "backends/chord_objective.hpp"

#include <fmt/format.h>

#include "backends/cuda/device_chord_fit.hpp"
#include "backends/cuda/kernels/check.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

/// body(), with what CUDA says as NotAvailable.
template <class Body>
auto on_card(const Body& body) {
  try {
    return body();
  } catch (const cuda::DeviceError& error) {
    throw NotAvailable(fmt::format("chord: the fit cannot use the card ({}){}",
                                   error.what(),
                                   error.out_of_memory() ? "; its memory is full" : ""));
  }
}

class ObjectiveOnCard final : public DeviceChordObjective {
 public:
  ObjectiveOnCard(const ChordPattern& pattern, Index most_columns, const ChordTargetColumns& target)
      : fit_(cuda::ChordShape{pattern.order, pattern.offsets},
             most_columns,
             [target](const Index* J, Index count, double* panel) {
               target({J, static_cast<std::size_t>(count)}, panel);
             }) {}

  double evaluate(std::span<const Index> J, const double* values, double* gradient) override {
    return on_card(
        [&] { return fit_.evaluate(J.data(), static_cast<Index>(J.size()), values, gradient); });
  }

 private:
  cuda::DeviceChordFit fit_;
};

}  // namespace

std::unique_ptr<DeviceChordObjective> make_device_chord_objective(
    const ChordPattern& pattern, Index most_columns, const ChordTargetColumns& target) {
  return on_card([&] { return std::make_unique<ObjectiveOnCard>(pattern, most_columns, target); });
}

}  // namespace matapprox
