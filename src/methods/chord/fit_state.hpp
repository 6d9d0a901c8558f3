#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/chord_factors.hpp"
#include "methods/chord/forms.hpp"
#include "methods/chord/row_preconditioner.hpp"

namespace matapprox::chord_fit {

/// Returns f at `values` and, unless null, computes its gradient; both are addresses in the memory
/// space of the fit's points. The value is not finite where f overflows. Throws Cancelled if the
/// caller's control requests a stop meanwhile.
using Objective = std::function<double(const double* values, double* gradient)>;
struct Cancelled {};

/// Returns the objective for vectors on the host, which are copied to `space`, where it is
/// evaluated.
Objective for_host(const Objective& objective,
                   const std::shared_ptr<const MemorySpace>& space,
                   Index size);

/// The same function in two precisions.
struct Objectives {
  Objective in_doubles;
  Objective in_floats;
};

/// Everything that determines how a fit continues. Between two steps of Adam or of Newton, or
/// between two segments of L-BFGS, a fit that starts from a copy of this ends at the same bits. The
/// vectors of P stored numbers are in the memory space where the objective is evaluated.
struct FitState {
  enum class Phase { kAdam, kLbfgs, kNewton };
  Phase phase = Phase::kAdam;
  Index descent = 0;        ///< number of earlier descents
  Index form = 0;           ///< number of the form of the point
  bool coarse = false;      ///< Adam's gradients are computed in floats
  Index earlier_count = 0;  ///< steps and iterations of earlier descents
  Index earlier_halvings = 0;
  bool warm = false;  ///< started from the caller's factors
  FormStart start;    ///< these factors' pattern and order, and the orderings computed
  MultiVector point;
  Index adam_step = 0;  ///< Adam steps taken
  MultiVector mean;     ///< Adam's running means of the gradient and of its square
  MultiVector square;
  /// Preconditioner of Adam on the host, in place of `square`; may be empty.
  RowPreconditioner preconditioner;
  Index halvings = 0;   ///< times Adam restarted from its best point with half the step size
  Index iteration = 0;  ///< L-BFGS iterations taken
  Vector costs;         ///< f at L-BFGS iterations 0 .. iteration; empty before the first
  Index newton_step = 0;
  double damping = 0;  ///< damping of Newton; 0 before the first step
  double damping_growth = 0;

  Index count() const { return earlier_count + adam_step + iteration + newton_step; }
};

/// Copies a vector from any memory space to the host; an empty vector gives no numbers.
Vector numbers_of(const MultiVector& vector);
/// Copies numbers into a vector in `space`; no numbers give an empty vector.
MultiVector vector_at(const std::shared_ptr<const MemorySpace>& space, const Vector& numbers);
/// Returns the saved array of that name as a vector in `space`.
MultiVector saved_vector(const std::shared_ptr<const MemorySpace>& space,
                         const ResumeState& saved,
                         const std::string& name);
/// True if all entries are finite; true for an empty vector.
bool is_finite(const MultiVector& vector);

/// Returns the start of a saved fit. Throws FileError if an entry is missing, InvalidArgument if a
/// pattern or a permutation is invalid.
FormStart saved_start(const ResumeState& saved, Index order);

/// Appends the state as named arrays and counters.
void save(const FitState& state, ResumeState& saved);
/// Reads a saved state. `numbers`: stored numbers of each form; `sampled`: the fit has only Adam
/// steps. Throws FileError if an entry is missing, InvalidArgument if the state has another number
/// of values or contradicts itself.
FitState load_fit_state(const ResumeState& saved,
                        std::span<const Index> numbers,
                        bool sampled,
                        const std::shared_ptr<const MemorySpace>& space);

}  // namespace matapprox::chord_fit
