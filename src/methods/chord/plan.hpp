#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/methods/chord.hpp"
#include "methods/order/orderings.hpp"

namespace matapprox::chord_fit {

using node_order::KnownOrderings;
using node_order::Ordering;

// ------------------------------------------------------------------------------------ Patterns

/// Storage of the permutations of an ordering: `permutations` of n indices each.
Storage permutation_storage(Index n, Index permutations);

/// Throws BudgetTooSmall, stating the storage, unless the budget admits the pattern and what is
/// stored beside it.
void require_within(const ChordPattern& pattern,
                    const StorageBudget& budget,
                    const Storage& beside = {});

/// Returns matapprox::chord_pattern within a budget that must also hold the storage `beside` the
/// factors. Without a budget, mixed_radix is smaller by that storage.
ChordPattern chord_pattern_beside(Index n, const ChordOptions& options, const Storage& beside);

// --------------------------------------------------------------------------------------- Forms

/// One form of the result of a fit: the pattern of the chain, whether the result is the chain P or
/// (P + P^T) / 2, and the order of rows and columns.
struct Form {
  std::string name;  ///< such as "mixed_radix, symmetrized, spectral"
  ChordPattern pattern;
  kernels::ChordForm form = kernels::ChordForm::kProduct;
  std::shared_ptr<const Ordering> ordering = {};  ///< null: natural order
  /// Number of the earlier form that this one reorders; its own number if it reorders none.
  Index base = 0;

  bool symmetrized() const { return form == kernels::ChordForm::kSymmetrized; }
};

/// Start of a fit besides its options: the caller's factors, or those from which a resumed fit was
/// started, and the orderings that it had computed.
struct FormStart {
  std::optional<ChordPattern> pattern;
  std::shared_ptr<const Ordering> ordering;  ///< order of the factors; null: natural
  KnownOrderings known;
};

struct Forms {
  std::vector<Form> list;
  KnownOrderings orderings;  ///< orderings computed for the forms
  bool cut_short = false;    ///< the time for the search ended before all orders were found
};

/// Returns the forms in which `options` requires A to be fitted: that of the start factors, if
/// there are any; else the named one; or, with pattern or order `auto`, the candidates that the
/// budget admits, first those in natural order. Throws as chord_pattern, InvalidArgument if a
/// matrix that is not symmetric is to be symmetrized or options contradict each other, and
/// Interrupted.
Forms forms_of(const LinearOperator& A,
               const ChordOptions& options,
               const FormStart& start,
               const RunControl& control);

// ------------------------------------------------------------------------------------ Schedule

/// One descent: Adam, L-BFGS and Newton from a random start, or Newton from the best point so far.
struct Descent {
  enum class From { kRandom, kBest };
  /// Stands for the form of the best point so far, which earlier descents chose.
  static constexpr Index kBestForm = -1;

  Index form = 0;  ///< number of the form, or kBestForm; unused when starting from the best point
  From from = From::kRandom;
  bool playoff = false;  ///< playoff, only for forms whose screening runs ended near the best
  Index draw = 0;        ///< number of the random start
  Index adam_steps = 0;
  Index lbfgs_iterations = 0;
  Index newton_steps = 0;
  /// Adam's steps use RowPreconditioner, on the host and if there is room.
  bool preconditioned = false;

  Index steps() const { return adam_steps + lbfgs_iterations + newton_steps; }
};

/// The descents of a fit, one after the other; the best point of all is the result.
struct Schedule {
  std::vector<Descent> descents;
  Index columns_per_step = 0;  ///< for Adam; 0: all columns, else a random sample each step
  /// Number of screening runs: the first descents, short ones of each form in turn unless it is not
  /// worth one. As many longer playoff runs between contenders follow. All of these only choose the
  /// form.
  Index screening_runs = 0;

  Index steps() const;
};

/// Makes the schedule from the numbers in `options`; those left open follow from its effort and
/// this order. `warm`: the fit starts from the caller's factors.
///
/// Several forms are compared by screening runs, short descents that Adam anneals within a few
/// hundred steps. A few wide factors descend faster than many narrow ones, so the forms near the
/// best are compared once more in a playoff of up to a thousand steps. Up to order 64, where the
/// best of many descents counts more, the forms take turns instead. `high` begins with the descents
/// of `default`, so that it never ends with a larger error. Throws InvalidArgument for numbers
/// outside their range.
Schedule schedule_of(const ChordOptions& options, std::span<const Form> forms, bool warm);

/// True if an ordering of a form is worth a screening run: the run of the form itself ended within
/// a factor of 1.5 of the best of those in natural order. Always true for a form in natural order.
/// `errors`: those of the screening runs so far, in the order of `forms`.
bool is_worth_screening(std::span<const Form> forms, std::span<const double> errors, Index form);

/// True if a form takes part in the playoff: its screening run and that of another form ended
/// within a factor of two of the best, and it is the best order of its pattern or one of the two
/// best of all. `errors`: those of all screening runs, infinite for skipped ones.
bool is_contender(std::span<const Form> forms, std::span<const double> errors, Index form);

}  // namespace matapprox::chord_fit
