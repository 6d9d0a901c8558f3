#pragma once

#include <span>
#include <vector>

#include "methods/chord/forms.hpp"

namespace matapprox::chord_fit {

/// One descent: Adam, L-BFGS and Newton from a random start, or Newton from the best point so far.
struct Descent {
  enum class From { kRandom, kBest };
  /// The form of the best point so far: what earlier descents chose.
  static constexpr Index kBestForm = -1;

  Index form = 0;  ///< number of the form, or kBestForm; of no meaning from the best point
  From from = From::kRandom;
  bool contest = false;  ///< only of the forms whose first pilots ended near the best
  Index draw = 0;        ///< number of the random start
  Index adam_steps = 0;
  Index lbfgs_iterations = 0;
  Index newton_steps = 0;
  /// Adam's steps are: by RowPreconditioner, on the host and where there is room.
  bool preconditioned = false;

  Index steps() const { return adam_steps + lbfgs_iterations + newton_steps; }
};

/// What a fit does: one descent after the other; the best point of all is the result.
struct Schedule {
  std::vector<Descent> descents;
  Index columns_per_step = 0;  ///< of Adam; 0: all columns, else a random sample each step
  /// So many of the descents, the first ones, only choose the form: `pilots` short ones, one of
  /// each form in turn unless it is not worth one, and as many longer ones between contenders.
  Index pilots = 0;

  Index steps() const;
};

/// The numbers that `options` gives, and for those that it leaves open what its effort stands for
/// at this order; `warm`: from the caller's factors.
///
/// Among several forms the choice is by pilots, short descents that Adam anneals within a few
/// hundred steps. A few wide factors come down faster than many narrow ones, so those that are near
/// the best after that are compared once more after a thousand; up to order 64, where the best of
/// many descents counts more, the forms take turns instead. `high` begins with the descents of
/// `default`, so that it never ends above it. Throws InvalidArgument for numbers outside their
/// range.
Schedule schedule_of(const ChordOptions& options, std::span<const Form> forms, bool warm);

/// Whether to try an ordering of a form: if the form itself ended its pilot within a factor of 1.5
/// of the best of those in natural order. `errors`: of the pilots so far, in the order of `forms`.
/// True for a form in natural order.
bool is_worth_a_pilot(std::span<const Form> forms, std::span<const double> errors, Index form);

/// Whether a form is compared once more: if its pilot ended within a factor of two of the best, so
/// did another one's, and it is the best order of its pattern or the second best of all. `errors`:
/// of all pilots, infinite of those that there were not.
bool is_contender(std::span<const Form> forms, std::span<const double> errors, Index form);

}  // namespace matapprox::chord_fit
