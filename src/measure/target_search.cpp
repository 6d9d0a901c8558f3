#include "measure/target_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "matapprox/core/error.hpp"

namespace matapprox::report {
namespace {

/// The fits made so far: the smallest that reached the target, and the largest that did not.
class Search {
 public:
  Search(const LinearOperator& A, const SizedFit& fit, const RunControl& control)
      : A_(A), fit_(fit), control_(control), facts_(describe(A, {}, control)) {}

  /// True if this size reaches the target.
  bool reaches(Index size) {
    Approximation candidate = fit_(size);
    MeasureOptions error_only;
    error_only.spectral_iterations = 0;
    error_only.time_products = false;
    const Measurement measured = [&] {
      try {
        return measure(A_, candidate, facts_, error_only, measuring());
      } catch (const Interrupted&) {
        // It is a result all the same, if there is no better one.
        if (!has_any()) largest_failing_ = std::move(candidate);
        throw;
      }
    }();
    const bool reached =
        measured.relative_error && *measured.relative_error <= control_.target_error;
    if (reached) {
      smallest_reaching_ = std::move(candidate);
    } else {
      best_error_ = measured.relative_error;
      largest_failing_ = std::move(candidate);
    }
    return reached;
  }

  const Approximation& latest() const {
    return smallest_reaching_ ? *smallest_reaching_ : *largest_failing_;
  }
  bool has_any() const { return smallest_reaching_ || largest_failing_; }
  bool stopped() const { return control_.should_stop(); }

  Approximation result(bool cut_short) const {
    Approximation chosen = latest();
    Summary& summary = chosen.summary;
    if (cut_short) {
      summary.termination =
          control_.interrupted() ? Termination::kInterrupted : Termination::kMaxSeconds;
      add_message(summary, "the search for the target error was cut short");
    } else if (smallest_reaching_) {
      summary.termination = Termination::kTargetReached;
    }
    if (!smallest_reaching_) {
      add_message(
          summary,
          fmt::format("target error {:g} not reached, {}",
                      control_.target_error,
                      best_error_ ? fmt::format("the largest size tried has {:.3g}", *best_error_)
                      : cut_short ? std::string("no error is known")
                                  : std::string("the matrix is zero")));
    }
    return chosen;
  }

 private:
  /// A fit that was interrupted is measured; a request that comes only then ends the measuring.
  RunControl measuring() const {
    RunControl control;
    if (!control_.interrupted()) control.stop = control_.stop;
    return control;
  }

  static void add_message(Summary& summary, const std::string& text) {
    summary.message += (summary.message.empty() ? "" : "; ") + text;
  }

  const LinearOperator& A_;
  const SizedFit& fit_;
  const RunControl& control_;
  MatrixFacts facts_;
  std::optional<Approximation> smallest_reaching_;
  std::optional<Approximation> largest_failing_;
  std::optional<double> best_error_;
};

void double_then_bisect(Search& search,
                        const std::function<Index(const Approximation&)>& largest_size) {
  if (search.reaches(1)) return;
  const Index largest = largest_size(search.latest());
  Index failing = 1;
  Index reaching = 0;
  while (reaching == 0 && failing < largest && !search.stopped()) {
    const Index size = std::min(2 * failing, largest);
    (search.reaches(size) ? reaching : failing) = size;
  }
  while (reaching - failing > 1 && !search.stopped()) {
    const Index size = failing + (reaching - failing) / 2;
    (search.reaches(size) ? reaching : failing) = size;
  }
}

}  // namespace

Approximation search_target(const LinearOperator& A,
                            const SizedFit& fit,
                            const std::function<Index(const Approximation& smallest)>& largest_size,
                            const RunControl& control) {
  Search search(A, fit, control);
  try {
    double_then_bisect(search, largest_size);
  } catch (const Interrupted&) {
    if (!search.has_any()) throw;
  }
  return search.result(search.stopped());
}

}  // namespace matapprox::report
