#include "methods/chord/evaluation.hpp"

#include <algorithm>

#include "device/operator_source.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/stop_scope.hpp"
#include "matapprox/kernels/chord.hpp"

namespace matapprox::chord_fit {
namespace {

/// Returns the result of `work`. Throws Cancelled within a piece of a long loop once `control`
/// requests a stop.
template <class Work>
double unless_stopped(const RunControl& control, const Work& work) {
  try {
    const StopScope scope(control, "chord");
    return work();
  } catch (const Interrupted&) {
    throw Cancelled();
  }
}

}  // namespace

Evaluation::Evaluation(const Form& form,
                       const Target& target,
                       Index max_columns,
                       const RunControl& control,
                       const ChordObjectiveMaker& on_gpu)
    : form_(form), target_(target), control_(control), all_(index_range(0, form.pattern.order)) {
  const auto* source = source_of<ChordObjectiveSource>(target.matrix());
  if (source == nullptr && !(control.on_device && on_gpu)) return;
  const auto columns = [this](std::span<const Index> J, double* panel) {
    if (control_.should_stop()) throw Cancelled();
    target_.columns(J, panel);
  };
  const ChordTarget its_target{
      target.matrix(), target.unit(), columns, target.is_ordered(), form.symmetrized()};
  placed_ = source != nullptr ? source->chord_objective(form.pattern, max_columns, its_target)
                              : on_gpu(form.pattern, max_columns, its_target);
}

const std::shared_ptr<const MemorySpace>& Evaluation::space() const {
  return placed_ ? placed_->space() : host_space();
}

double Evaluation::in_place(std::span<const Index> J, const double* values, double* gradient) {
  if (control_.should_stop()) throw Cancelled();
  return unless_stopped(control_, [&] { return placed_->evaluate(J, values, gradient); });
}

double Evaluation::of_all(const double* values, double* gradient) {
  if (placed_) return in_place(all_, values, gradient);
  const kernels::TargetPanel panel = [this](Index first, Index count, double* out) {
    if (control_.should_stop()) throw Cancelled();
    target_.columns(first, count, out);
  };
  return unless_stopped(control_, [&] {
    return kernels::chord_objective(form_.pattern, values, panel, gradient, form_.form);
  });
}

double Evaluation::of_all_in_floats(const double* values, double* gradient) {
  const auto numbers = static_cast<std::size_t>(form_.pattern.stored_numbers());
  float_values_.assign(values, values + numbers);
  float_gradient_.resize(gradient == nullptr ? 0 : numbers);
  const kernels::TargetPanelOf<float> panel = [this](Index first, Index count, float* out) {
    if (control_.should_stop()) throw Cancelled();
    target_.columns(first, count, out);
  };
  const double f = unless_stopped(control_, [&] {
    return kernels::chord_objective(form_.pattern,
                                    float_values_.data(),
                                    panel,
                                    gradient == nullptr ? nullptr : float_gradient_.data(),
                                    form_.form);
  });
  if (gradient != nullptr) std::copy(float_gradient_.begin(), float_gradient_.end(), gradient);
  return f;
}

double Evaluation::of_sample(std::span<const Index> columns,
                             const double* values,
                             double* gradient) {
  const std::vector<Index> places = target_.places_of(columns);
  const std::span<const Index> J(places);
  const kernels::TargetPanel panel = [this, J](Index first, Index count, double* out) {
    if (control_.should_stop()) throw Cancelled();
    target_.columns(J.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
                    out);
  };
  const double f = placed_ ? in_place(J, values, gradient) : unless_stopped(control_, [&] {
    return kernels::chord_objective(form_.pattern, values, J, panel, gradient, form_.form);
  });
  const double weight = static_cast<double>(form_.pattern.order) / static_cast<double>(J.size());
  if (gradient != nullptr) space()->scale(gradient, form_.pattern.stored_numbers(), weight);
  return weight * f;
}

}  // namespace matapprox::chord_fit
