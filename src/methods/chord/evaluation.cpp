#include "methods/chord/evaluation.hpp"

#include "core/stop_scope.hpp"
#include "kernels/chord.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/linear_operator.hpp"

namespace matapprox::chord_fit {
namespace {

/// What `work` gives. It ends within a piece of a long loop, by Stopped, once `control` asks.
template <class Work>
double unless_stopped(const RunControl& control, const Work& work) {
  try {
    const StopScope scope(control, "chord");
    return work();
  } catch (const Interrupted&) {
    throw Stopped();
  }
}

}  // namespace

Evaluation::Evaluation(const ChordPattern& pattern,
                       const Target& target,
                       Index most_columns,
                       const RunControl& control,
                       const ChordObjectiveMaker& on_card)
    : pattern_(pattern), target_(target), control_(control), all_(index_range(0, pattern.order)) {
  if (!control.on_device) return;
  const auto columns = [this](std::span<const Index> J, double* panel) {
    if (control_.should_stop()) throw Stopped();
    target_.columns(J, panel);
  };
  card_ = on_card(pattern, most_columns, {target.matrix(), target.unit(), columns});
}

const std::shared_ptr<const BlockPlace>& Evaluation::place() const {
  return card_ ? card_->place() : host_place();
}

double Evaluation::on_card(std::span<const Index> J, const double* values, double* gradient) {
  if (control_.should_stop()) throw Stopped();
  return unless_stopped(control_, [&] { return card_->evaluate(J, values, gradient); });
}

double Evaluation::of_all(const double* values, double* gradient) {
  if (card_) return on_card(all_, values, gradient);
  const kernels::TargetPanel panel = [this](Index first, Index count, double* out) {
    if (control_.should_stop()) throw Stopped();
    target_.columns(first, count, out);
  };
  return unless_stopped(
      control_, [&] { return kernels::chord_objective(pattern_, values, panel, gradient); });
}

double Evaluation::of_sample(std::span<const Index> J, const double* values, double* gradient) {
  const kernels::TargetPanel panel = [this, J](Index first, Index count, double* out) {
    if (control_.should_stop()) throw Stopped();
    target_.columns(J.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
                    out);
  };
  const double f = card_ ? on_card(J, values, gradient) : unless_stopped(control_, [&] {
    return kernels::chord_objective(pattern_, values, J, panel, gradient);
  });
  const double weight = static_cast<double>(pattern_.order) / static_cast<double>(J.size());
  if (gradient != nullptr) place()->scale(gradient, pattern_.stored_numbers(), weight);
  return weight * f;
}

}  // namespace matapprox::chord_fit
