#include "methods/chord/evaluation.hpp"

#include <fmt/format.h>

#include "kernels/chord.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/linear_operator.hpp"

namespace matapprox::chord_fit {

Evaluation::Evaluation(const ChordPattern& pattern,
                       const Target& target,
                       Index most_columns,
                       const RunControl& control)
    : pattern_(pattern), target_(target), control_(control), all_(index_range(0, pattern.order)) {
  if (!control.on_device) return;
  card_ = make_device_chord_objective(
      pattern, most_columns, [this](std::span<const Index> J, double* panel) {
        columns(J, panel);
      });
}

void Evaluation::columns(std::span<const Index> J, double* panel) const {
  if (control_.should_stop()) throw Stopped();
  target_.columns(J, panel);
}

bool Evaluation::on_card(std::span<const Index> J,
                         const double* values,
                         double* gradient,
                         double& f) {
  if (!card_) return false;
  if (control_.should_stop()) throw Stopped();
  try {
    f = card_->evaluate(J, values, gradient);
    card_has_worked_ = true;
    return true;
  } catch (const NotAvailable& error) {
    if (!card_has_worked_) throw;
    note_ = fmt::format("the rest of the fit is on the processor: {}", error.what());
    card_.reset();
    return false;
  }
}

double Evaluation::of_all(const double* values, double* gradient) {
  double f = 0;
  if (on_card(all_, values, gradient, f)) return f;
  const kernels::TargetPanel panel = [this](Index first, Index count, double* out) {
    if (control_.should_stop()) throw Stopped();
    target_.columns(first, count, out);
  };
  return kernels::chord_objective(pattern_, values, panel, gradient);
}

double Evaluation::of_sample(std::span<const Index> J, const double* values, double* gradient) {
  double f = 0;
  if (!on_card(J, values, gradient, f)) {
    const kernels::TargetPanel panel = [this, J](Index first, Index count, double* out) {
      columns(J.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), out);
    };
    f = kernels::chord_objective(pattern_, values, J, panel, gradient);
  }
  const double weight = static_cast<double>(pattern_.order) / static_cast<double>(J.size());
  if (gradient != nullptr) Eigen::Map<Vector>(gradient, pattern_.stored_numbers()) *= weight;
  return weight * f;
}

}  // namespace matapprox::chord_fit
