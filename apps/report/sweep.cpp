#include "report/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/measure/compare.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "report/findings.hpp"
#include "report/plot.hpp"

namespace matapprox::report {
namespace {

constexpr Index kLargestDense = 2048;
constexpr Index kLeading = 100;

Spectrum leading_values(const LinearOperator& A, double max_seconds, const RunControl& control) {
  RunControl svd_control;
  svd_control.stop = control.stop;
  svd_control.max_seconds = max_seconds;
  try {
    const Approximation svd =
        truncated_svd(A, {.rank = std::min(kLeading, std::min(A.rows(), A.cols()))}, svd_control);
    const Vector values = singular_values_of(svd);
    return {
        values,
        false,
        fmt::format("the leading {}, from truncated_svd ({})", values.size(), svd.summary.form)};
  } catch (const Error& error) {
    return {{}, false, error.what()};
  }
}

}  // namespace

Spectrum spectrum_of(const LinearOperator& A,
                     const Vector& known,
                     double max_seconds,
                     const RunControl& control) {
  const Index count = std::min(A.rows(), A.cols());
  const bool small = count <= kLargestDense && std::max(A.rows(), A.cols()) <= 16 * kLargestDense;
  if (small && !control.should_stop()) {  // after Ctrl-C a page is made of the existing results
    return {kernels::singular_values(A.columns_at(index_range(0, A.cols()))),
            true,
            fmt::format("all {}, by LAPACK", count)};
  }
  if (known.size() > 0) {
    return {
        known, false, fmt::format("the leading {} of {}, from truncated_svd", known.size(), count)};
  }
  return leading_values(A, max_seconds, control);
}

namespace {

/// Packed values are not whole numbers: they count by their bytes, 8 for each number.
Index counted_numbers(const ComparisonRow& row) {
  return row.storage_precision == "packed" ? (row.storage->bytes + 7) / 8 : row.storage->numbers;
}

/// The storage of a comparison in numbers.
double base_storage(const LinearOperator& A,
                    const Comparison& comparison,
                    const ComparisonOptions& options) {
  if (options.rank == 0 && options.target_error == 0) {
    const StorageBudget budget = options.budget.is_set()
                                     ? options.budget
                                     : default_budget(A.rows(), A.cols(), options.precision);
    switch (budget.unit) {
      case StorageBudget::Unit::kShare:
        return budget.amount * static_cast<double>(A.rows()) * static_cast<double>(A.cols());
      case StorageBudget::Unit::kBytes:
        return budget.amount / static_cast<double>(bytes_per_value(options.precision));
      default:
        return budget.amount;
    }
  }
  Index largest = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.ok() && row.method != "as_is") largest = std::max(largest, counted_numbers(row));
  }
  return static_cast<double>(largest);
}

bool was_cut_short(const ComparisonRow& row) {
  return row.interrupted || row.termination == Termination::kMaxSeconds;
}

void add_point(const ComparisonRow& row, std::vector<SweepPoint>& points) {
  if (!row.ok() || row.method == "as_is" || !row.measurement->relative_error) return;
  points.push_back({row.method,
                    row.storage->bytes,
                    *row.measurement->relative_error,
                    row.measurement->error_is_exact,
                    was_cut_short(row)});
}

bool is_iterative(const std::string& name) { return compared_method(name).has_option("factors"); }

/// Storage of Chord without a budget, and the part of one factor; 0 if the caller sets its size or
/// if factors differ.
struct ChordSize {
  double whole = 0;
  double factor = 0;
};

ChordSize chord_size(Index order, const ComparisonOptions& options) try {
  ChordOptions chord;
  for (const MethodSetting& setting : options.settings) {
    if (setting.method != "chord") continue;
    if (setting.option == "factors") return {};
    OptionSetter setter(setting.option, setting.value);
    chord.visit(setter);
  }
  chord.budget = {};
  const bool has_wide_factors =
      chord.pattern == ChordFitPattern::kMixedRadix || chord.pattern == ChordFitPattern::kAuto;
  const bool may_permute = chord.order != ChordOrder::kDefault &&
                           chord.order != ChordOrder::kNatural && chord.order != ChordOrder::kShift;
  if (may_permute) return {};  // a permutation is not a multiple of a factor
  if (chord.offsets.empty() && has_wide_factors) return {};  // the budget decides their width
  const ChordPattern pattern = chord_pattern(order, chord);
  for (Index m = 1; m < pattern.factors(); ++m) {
    if (pattern.links(m) != pattern.links(0)) return {};
  }
  return {static_cast<double>(pattern.stored_numbers()),
          static_cast<double>(order) * static_cast<double>(pattern.links(0))};
} catch (const InvalidArgument&) {
  return {};  // the fit itself will report the error in the pattern
}

/// Share of the time that is reserved for the iterative methods.
constexpr double kIterativeShare = 0.4;

/// One fit to be made.
struct SweepTask {
  std::string method;
  double share;
};

class Sweeper {
 public:
  Sweeper(const LinearOperator& A,
          const Comparison& comparison,
          const ComparisonOptions& options,
          double max_seconds,
          RunControl control,
          const ComparisonEvents& events)
      : A_(A),
        comparison_(comparison),
        options_(options),
        max_seconds_(max_seconds),
        control_(std::move(control)),
        events_(events) {
    sweep_.base_numbers = base_storage(A, comparison, options);
    options_.rank = 0;
    options_.target_error = 0;
    options_.measure.spectral_iterations = 0;
    options_.measure.time_products = false;
    options_.measure.certificate.reset();
    control_.checkpoint = nullptr;
    control_.resume = nullptr;
    control_.restart_clock();
  }

  StorageSweep run() {
    for (const ComparisonRow& row : comparison_.rows) add_point(row, sweep_.points);
    sweep_.shares = {1};
    if (max_seconds_ > 0 && sweep_.base_numbers >= 1) {
      const std::vector<SweepTask> tasks = plan();
      for (std::size_t i = 0; i < tasks.size(); ++i) fit(tasks[i], tasks.size() - i);
    }
    sweep_.seconds = control_.seconds();
    for (const auto& [reason, methods] : absences_) {
      std::vector<std::string> parts;
      for (const auto& [name, shares] : methods)
        parts.push_back(fmt::format("{} at {}", name, fmt::join(shares, ", ")));
      sweep_.absences.push_back(fmt::format("{} (not shown: {})", reason, fmt::join(parts, "; ")));
    }
    std::sort(sweep_.shares.begin(), sweep_.shares.end());
    return std::move(sweep_);
  }

 private:
  /// Closed-form methods come first: they take little time, and the rest goes to the iterative
  /// ones.
  std::vector<SweepTask> plan() {
    std::vector<SweepTask> tasks;
    std::vector<SweepTask> later;
    const double full = static_cast<double>(A_.rows()) * static_cast<double>(A_.cols());
    for (const double share : {0.125, 0.25, 0.5, 2.0}) {
      if (share * sweep_.base_numbers > full || share * sweep_.base_numbers < 1) continue;
      sweep_.shares.push_back(share);
      for (const ComparisonRow& row : comparison_.rows) {
        if (row.method == "as_is") continue;
        SweepTask task{row.method, share};
        (is_iterative(task.method) ? later : tasks).push_back(task);
      }
    }
    tasks.insert(tasks.end(), later.begin(), later.end());
    return tasks;
  }

  void fit(const SweepTask& task, std::size_t fits_left) {
    const double left = max_seconds_ - control_.seconds();
    if (control_.interrupted()) return absent(task, "interrupted");
    const bool iterative = is_iterative(task.method);
    const double mine = iterative ? left : left - kIterativeShare * max_seconds_;
    if (mine <= 0) return absent(task, "the time limit for these fits was reached");
    ComparisonOptions options = options_;
    options.max_seconds =
        std::min(options_.max_seconds, iterative ? mine / static_cast<double>(fits_left) : mine);
    const double numbers = std::floor(task.share * sweep_.base_numbers);
    options.budget = {StorageBudget::Unit::kNumbers, numbers, options.precision};
    if (iterative) use_fewer_factors(numbers, options);
    const ComparisonRow row =
        compare_one(A_, task.method, comparison_.facts, options, control_, events_);
    if (row.ok()) {
      add_point(row, sweep_.points);
    } else {
      absent(task, row.status);
    }
  }

  void use_fewer_factors(double numbers, ComparisonOptions& options) {
    const ChordSize size = chord_size(A_.rows(), options_);
    if (size.factor == 0 || numbers >= size.whole || numbers < size.factor) return;
    options.settings.push_back(
        {"chord", "factors", fmt::format("{:.0f}", std::floor(numbers / size.factor))});
    sweep_.has_fewer_factors = true;
  }

  void absent(const SweepTask& task, const std::string& reason) {
    // Messages of a method start with its name.
    const std::string prefix = std::string(compared_method(task.method).name) + ": ";
    const bool named = reason.rfind(prefix, 0) == 0;
    absences_[named ? reason.substr(prefix.size()) : reason][shown_name(task.method)].push_back(
        share_name(task.share));
  }

  const LinearOperator& A_;
  const Comparison& comparison_;
  ComparisonOptions options_;
  double max_seconds_;
  RunControl control_;
  const ComparisonEvents& events_;
  StorageSweep sweep_;
  /// Shares by reason and method.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> absences_;
};

}  // namespace

StorageSweep sweep_storage(const LinearOperator& A,
                           const Comparison& comparison,
                           const ComparisonOptions& options,
                           double max_seconds,
                           const RunControl& control,
                           const ComparisonEvents& events) {
  return Sweeper(A, comparison, options, max_seconds, control, events).run();
}

std::vector<SweepPoint> pareto_front(std::vector<SweepPoint> points) {
  std::sort(points.begin(), points.end(), [](const SweepPoint& a, const SweepPoint& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.relative_error < b.relative_error;
  });
  std::vector<SweepPoint> front;
  for (const SweepPoint& point : points) {
    if (front.empty() || point.relative_error < front.back().relative_error) front.push_back(point);
  }
  return front;
}

std::string share_name(double share) {
  return share < 1 ? fmt::format("1/{:.0f}", 1 / share) : fmt::format("{:g}", share);
}

}  // namespace matapprox::report
