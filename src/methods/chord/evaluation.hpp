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

/// The objective of one fit. It is evaluated by several processes if the matrix is distributed over
/// them and provides an objective; else on a GPU if control.on_device; else on the CPU.
///
/// All functions throw Cancelled once the caller's control requests a stop, NotAvailable if the GPU
/// fails or a process runs out of memory.
class Evaluation {
 public:
  /// `max_columns`: largest number of columns in one evaluation. `on_gpu` makes the GPU's
  /// objective; null if there is none. Throws NotAvailable if the GPU cannot be used or a process
  /// runs out of memory.
  Evaluation(const Form& form,
             const Target& target,
             Index max_columns,
             const RunControl& control,
             const ChordObjectiveMaker& on_gpu);

  /// Memory space of values and gradients.
  const std::shared_ptr<const MemorySpace>& space() const;
  /// Evaluates on the CPU from here on.
  void leave_gpu() { placed_.reset(); }

  /// Returns f of all columns and, unless null, computes its gradient.
  double of_all(const double* values, double* gradient);
  /// The same in floats, on the host.
  double of_all_in_floats(const double* values, double* gradient);
  /// Returns (N / |J|) times the part of f from the columns J of A and, unless null, computes its
  /// gradient.
  double of_sample(std::span<const Index> J, const double* values, double* gradient);

 private:
  double in_place(std::span<const Index> J, const double* values, double* gradient);

  const Form& form_;
  const Target& target_;
  const RunControl& control_;
  std::vector<Index> all_;
  std::unique_ptr<DeviceChordObjective> placed_;  ///< null if evaluated on the CPU
  std::vector<float> float_values_;
  std::vector<float> float_gradient_;
};

}  // namespace matapprox::chord_fit
