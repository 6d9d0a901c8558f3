#include "reproduce/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "matapprox/measure/measure.hpp"
#include "matapprox/measure/run.hpp"

namespace matapprox::reproduction {
namespace {

MeasureOptions exact_and_nothing_else() {
  MeasureOptions options;
  options.always_exact = true;
  options.spectral_iterations = 0;
  options.time_products = false;
  return options;
}

Approximation low_rank(const LinearOperator& A,
                       const NamedOptions& options,
                       const RunControl& control) {
  return run(find_method("truncated_svd"), A, options, Precision::kDouble, control).approximation;
}

ReproducedError measured_low_rank(const LinearOperator& A,
                                  const MatrixFacts& facts,
                                  const Approximation& B,
                                  const RunControl& control) {
  const Measurement measured = measure(A, B, facts, exact_and_nothing_else(), control);
  return {B.summary.rank, measured.error_frobenius, B.storage().numbers};
}

void fill_facts(ReproducedRow& row, const MatrixFacts& facts) {
  row.n = facts.rows;
  row.nonzeros = facts.nonzeros.value_or(0);
  row.symmetric = facts.symmetric;
  row.frobenius_norm = facts.frobenius_norm;
}

Measurement fill_chord(ReproducedRow& row,
                       const LinearOperator& A,
                       const MatrixFacts& facts,
                       const RunResult& result,
                       const RunControl& control) {
  const Measurement measured =
      measure(A, result.approximation, facts, exact_and_nothing_else(), control);
  row.chord_error = measured.error_frobenius;
  row.chord_numbers = result.approximation.storage().numbers;
  row.seconds = result.fit_seconds;
  const Summary& summary = result.approximation.summary;
  row.iterations = summary.iterations;
  row.termination = summary.termination;
  row.message = summary.message;
  row.history = summary.history;
  return measured;
}

/// Fills in all approximations that Chord is compared with; `tsvd` is that of the paper.
void fill_rivals(ReproducedRow& row,
                 const LinearOperator& A,
                 const MatrixFacts& facts,
                 const Approximation& tsvd,
                 const RunControl& control) {
  const std::string budget = fmt::format("{}", row.chord_numbers);
  row.tsvd = measured_low_rank(A, facts, tsvd, control);
  row.tsvd_fit = measured_low_rank(A, facts, low_rank(A, {{"budget", budget}}, control), control);
  if (facts.symmetric) {
    const NamedOptions halved = {{"budget", budget}, {"symmetric_storage", "true"}};
    row.tsvd_symmetric = measured_low_rank(A, facts, low_rank(A, halved, control), control);
  }
  row.largest_entries =
      keep_largest_entries(A.columns_at(index_range(0, A.cols())), row.chord_numbers / 2);
}

/// Control of one of several fits, whose progress is a part of the row's progress.
RunControl part_of(const RunControl& control, std::size_t part, std::size_t parts) {
  RunControl row_control = control;
  if (control.progress) {
    row_control.progress = [&control, part, parts](Progress now) {
      now.fraction_done =
          (static_cast<double>(part) + now.fraction_done) / static_cast<double>(parts);
      control.progress(now);
    };
  }
  return row_control;
}

OtherPattern fit_other(const std::string& pattern,
                       const LinearOperator& A,
                       const MatrixFacts& facts,
                       const ReproductionOptions& options,
                       const RunControl& control) {
  ReproductionOptions other = options;
  other.pattern = pattern;
  const RunResult result = run(find_method("chord"), A, other.chord(), Precision::kDouble, control);
  const Summary& summary = result.approximation.summary;
  if (summary.termination == Termination::kInterrupted) control.throw_if_stopped("reproduce");
  const Measurement measured =
      measure(A, result.approximation, facts, exact_and_nothing_else(), control);
  return {pattern,
          summary.form,
          measured.error_frobenius,
          result.approximation.storage().numbers,
          result.fit_seconds,
          summary.message};
}

}  // namespace

ReproducedError keep_largest_entries(const Matrix& A, Index count) {
  std::vector<double> sizes;
  for (const double value : A.reshaped()) {
    if (value != 0) sizes.push_back(std::abs(value));
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  const Index kept = std::min<Index>(count, static_cast<Index>(sizes.size()));
  // Summed from the smallest up, in units of the largest omitted size: no square over- or
  // underflows.
  double sum = 0;
  const double unit =
      kept < static_cast<Index>(sizes.size()) ? sizes[static_cast<std::size_t>(kept)] : 1;
  for (std::size_t i = sizes.size(); i > static_cast<std::size_t>(kept); --i)
    sum += (sizes[i - 1] / unit) * (sizes[i - 1] / unit);
  return {kept, unit * std::sqrt(sum), 2 * kept};
}

RowResult reproduce_row(ReproducedRow& row,
                        const LinearOperator& A,
                        const ReproductionOptions& options,
                        const RunControl& control) {
  RunControl others;  // checkpoints are of the Chord fit alone
  others.stop = control.stop;
  const MatrixFacts facts = describe(A, exact_and_nothing_else(), others);
  fill_facts(row, facts);
  const std::size_t fits = 1 + options.other_patterns.size();
  RunResult fitted =
      run(find_method("chord"), A, options.chord(), Precision::kDouble, part_of(control, 0, fits));
  const Measurement measured = fill_chord(row, A, facts, fitted, others);
  if (row.termination != Termination::kInterrupted) {
    others.progress = control.progress;
    for (const std::string& pattern : options.other_patterns) {
      const RunControl part = part_of(others, 1 + row.others.size(), fits);
      row.others.push_back(fit_other(pattern, A, facts, options, part));
    }
    others.progress = {};
  }
  Approximation tsvd = low_rank(A, {{"rank", fmt::format("{}", paper_rank(row.n))}}, others);
  fill_rivals(row, A, facts, tsvd, others);
  return {std::move(tsvd), std::move(fitted.approximation), measured.relative_error.value_or(0)};
}

}  // namespace matapprox::reproduction
