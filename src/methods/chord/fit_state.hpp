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

/// f at `values` and, unless null, its gradient, addresses of the memory that the fit's points lie
/// in; not finite where f overflows. Throws Cancelled if the caller's control asked to stop
/// meanwhile.
using Objective = std::function<double(const double* values, double* gradient)>;
struct Cancelled {};

/// The objective for numbers of the host, by way of a vector in `space`, where it is evaluated.
Objective for_host(const Objective& objective,
                   const std::shared_ptr<const MemorySpace>& space,
                   Index size);

/// The same function twice.
struct Objectives {
  Objective in_doubles;
  Objective in_floats;
};

/// Everything that decides how a fit goes on. Between two steps of Adam or of Newton, or between
/// two segments of L-BFGS, a fit that starts from a copy of this ends at the same bits. The vectors
/// of P stored numbers lie where the objective is evaluated.
struct FitState {
  enum class Phase { kAdam, kLbfgs, kNewton };
  Phase phase = Phase::kAdam;
  Index descent = 0;        ///< descents before this one
  Index form = 0;           ///< number of the form that the point is of
  bool coarse = false;      ///< Adam's gradients are computed in floats
  Index earlier_count = 0;  ///< steps and iterations of the descents before
  Index earlier_halvings = 0;
  bool warm = false;  ///< started from the caller's factors
  FormStart start;    ///< of these, and the orderings that the fit has
  MultiVector point;
  Index adam_step = 0;  ///< steps taken
  MultiVector mean;     ///< Adam's running means of the gradient and of its square
  MultiVector square;
  /// Of Adam on the host, in place of `square`; or none.
  RowPreconditioner preconditioner;
  Index halvings = 0;   ///< so often did Adam go back to its best point and halve its steps
  Index iteration = 0;  ///< L-BFGS iterations taken
  Vector costs;         ///< f at L-BFGS iterations 0 .. iteration; empty before the first
  Index newton_step = 0;
  double damping = 0;  ///< of Newton; 0 before the first step
  double damping_growth = 0;

  Index count() const { return earlier_count + adam_step + iteration + newton_step; }
};

/// The numbers of a vector that lies anywhere; none of an empty one.
Vector numbers_of(const MultiVector& vector);
/// A vector in that memory; an empty one of no numbers.
MultiVector vector_at(const std::shared_ptr<const MemorySpace>& space, const Vector& numbers);
/// The array of that name as a vector in that memory.
MultiVector saved_vector(const std::shared_ptr<const MemorySpace>& space,
                         const ResumeState& saved,
                         const std::string& name);
/// An empty vector is.
bool is_finite(const MultiVector& vector);

/// What a saved fit began with. Throws FileError if an entry is missing, InvalidArgument if a
/// pattern or a permutation is none.
FormStart saved_start(const ResumeState& saved, Index order);

/// Appends the state as named arrays and counters.
void save(const FitState& state, ResumeState& saved);
/// Throws FileError if an entry is missing, InvalidArgument if it is of another number of values
/// or contradicts itself; `sampled`: the fit has only Adam steps;
/// `numbers`: how many each form stores.
FitState load_fit_state(const ResumeState& saved,
                        std::span<const Index> numbers,
                        bool sampled,
                        const std::shared_ptr<const MemorySpace>& space);

}  // namespace matapprox::chord_fit
