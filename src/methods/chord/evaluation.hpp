#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/chord_objective.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/chord/fit_state.hpp"
#include "methods/chord/forms.hpp"
#include "methods/chord/target.hpp"

namespace matapprox::chord_fit {

/// The objective of one fit: where the matrix lies on several processes and makes it there, on
/// these; else where control.on_device, on a GPU; else on the CPU.
///
/// All functions throw Cancelled once the caller's control asks to stop, NotAvailable if the GPU
/// fails or a process has no memory.
class Evaluation {
 public:
  /// `max_columns`: of one evaluation. `on_gpu` makes the GPU's objective; null: there is none.
  /// Throws NotAvailable if the GPU cannot be used or a process has no memory.
  Evaluation(const Form& form,
             const Target& target,
             Index max_columns,
             const RunControl& control,
             const ChordObjectiveMaker& on_gpu);

  /// Where values and gradients lie.
  const std::shared_ptr<const MemorySpace>& space() const;
  /// From here on all of it is on the CPU.
  void leave_gpu() { placed_.reset(); }

  /// f of all columns and, unless null, its gradient.
  double of_all(const double* values, double* gradient);
  /// The same from floats, on the host.
  double of_all_in_floats(const double* values, double* gradient);
  /// (N / |J|) times the part of the columns J of A.
  double of_sample(std::span<const Index> J, const double* values, double* gradient);

 private:
  double in_place(std::span<const Index> J, const double* values, double* gradient);

  const Form& form_;
  const Target& target_;
  const RunControl& control_;
  std::vector<Index> all_;
  std::unique_ptr<DeviceChordObjective> placed_;  ///< null: on the CPU
  std::vector<float> float_values_;
  std::vector<float> float_gradient_;
};

}  // namespace matapprox::chord_fit
