#include "backends/chord_objective.hpp"

#include "backends/cuda/card_errors.hpp"
#include "backends/cuda/device_chord_fit.hpp"

namespace matapprox {
namespace {

class ObjectiveOnCard final : public DeviceChordObjective {
 public:
  ObjectiveOnCard(const ChordPattern& pattern, Index most_columns, const ChordTargetColumns& target)
      : fit_(cuda::ChordShape{pattern.order, pattern.offsets},
             most_columns,
             [target](const Index* J, Index count, double* panel) {
               target({J, static_cast<std::size_t>(count)}, panel);
             }) {}

  double evaluate(std::span<const Index> J, const double* values, double* gradient) override {
    return cuda::on_card("chord: the fit", [&] {
      return fit_.evaluate(J.data(), static_cast<Index>(J.size()), values, gradient);
    });
  }

 private:
  cuda::DeviceChordFit fit_;
};

}  // namespace

std::unique_ptr<DeviceChordObjective> make_device_chord_objective(
    const ChordPattern& pattern, Index most_columns, const ChordTargetColumns& target) {
  return cuda::on_card("chord: the fit", [&] {
    return std::make_unique<ObjectiveOnCard>(pattern, most_columns, target);
  });
}

}  // namespace matapprox
