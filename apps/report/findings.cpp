#include "report/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <variant>

#include "report/plot.hpp"

namespace matapprox::report {
namespace {

using Rows = std::vector<const ComparisonRow*>;

bool by_target(const Comparison& comparison) { return comparison.basis.rfind("least", 0) == 0; }

double error_of(const ComparisonRow& row) { return *row.measurement->relative_error; }

/// Rows with an error, the best first. With a target error, the rows that reached it, least storage
/// first.
Rows ranked_rows(const Comparison& comparison) {
  Rows rows;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.ok() && row.method != "as_is" && row.measurement->relative_error) rows.push_back(&row);
  }
  if (!by_target(comparison)) {
    std::stable_sort(
        rows.begin(), rows.end(), [](auto* a, auto* b) { return error_of(*a) < error_of(*b); });
    return rows;
  }
  const auto reached = [](const ComparisonRow* row) {
    return row->termination == Termination::kTargetReached ||
           row->message.find("not reached") == std::string::npos;
  };
  std::erase_if(rows, [&](const ComparisonRow* row) { return !reached(row); });
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) {
    return a->storage->bytes < b->storage->bytes;
  });
  return rows;
}

std::string times_text(double ratio) {
  if (ratio >= 1000) return tick_label(std::round(ratio / 100) * 100);
  return fmt::format("{:.{}f}", ratio, ratio < 9.95 ? 1 : 0);
}

constexpr double kClose = 1.05;
/// Results of which one has more than this many times the bytes of the other are not said to be
/// close, and the bytes are told.
constexpr double kSimilarBytes = 1.25;

/// "The next, CUR (0.068), has 1.4 times that."
std::string lead(double best,
                 double next,
                 const std::string& who,
                 const std::string& figure,
                 bool similar_bytes = true) {
  if (next <= kClose * best) {
    return similar_bytes ? fmt::format("{} ({}) is close behind.", who, figure)
                         : fmt::format("The next is {}, {}.", who, figure);
  }
  if (best == 0) return fmt::format("The next, {}, has {}.", who, figure);
  return fmt::format("The next, {} ({}), has {} times that.", who, figure, times_text(next / best));
}

std::string headline_by_error(const Comparison& comparison, const Rows& rows) {
  const ComparisonRow& best = *rows.front();
  std::string text =
      fmt::format("{} has the smallest error: a relative error of {} with {} stored bytes.",
                  shown_name(best.method),
                  spoken_error(*best.measurement),
                  grouped(best.storage->bytes));
  if (comparison.basis.rfind("rank", 0) == 0) text += fmt::format(" ({}.)", comparison.basis);
  if (error_of(best) >= 1) return text + " That is no better than the zero matrix.";
  if (rows.size() < 2) return text;
  const ComparisonRow& next = *rows[1];
  const auto bytes = static_cast<double>(next.storage->bytes);
  const auto best_bytes = static_cast<double>(best.storage->bytes);
  const bool similar_bytes =
      std::max(bytes, best_bytes) <= kSimilarBytes * std::min(bytes, best_bytes);
  const std::string figure = spoken_error(*next.measurement);
  return text + " " +
         lead(error_of(best),
              error_of(next),
              shown_name(next.method),
              similar_bytes ? figure
                            : fmt::format("{} with {} bytes", figure, grouped(next.storage->bytes)),
              similar_bytes);
}

std::string headline_by_storage(const Comparison& comparison, const Rows& rows) {
  const ComparisonRow& best = *rows.front();
  std::string text = fmt::format("{} needs the fewest bytes, {} ({}).",
                                 shown_name(best.method),
                                 grouped(best.storage->bytes),
                                 comparison.basis);
  if (rows.size() < 2) return text;
  const ComparisonRow& next = *rows[1];
  return text + " " +
         lead(static_cast<double>(best.storage->bytes),
              static_cast<double>(next.storage->bytes),
              shown_name(next.method),
              grouped(next.storage->bytes));
}

std::string headline(const Comparison& comparison, const Rows& rows) {
  if (rows.empty()) return "No method produced a result.";
  return by_target(comparison) ? headline_by_storage(comparison, rows)
                               : headline_by_error(comparison, rows);
}

/// Adds the matrix as it is given, if that takes fewer bytes than the winner.
void add_as_is(const Comparison& comparison, const Rows& rows, std::vector<std::string>& findings) {
  const auto as_is = std::find_if(comparison.rows.begin(),
                                  comparison.rows.end(),
                                  [](const ComparisonRow& row) { return row.method == "as_is"; });
  if (as_is == comparison.rows.end() || !as_is->storage || rows.empty()) return;
  const auto given = static_cast<double>(as_is->storage->bytes);
  const auto winner = static_cast<double>(rows.front()->storage->bytes);
  if (given >= winner || given <= 0) return;
  findings.push_back(
      fmt::format("But the matrix in its given form ({}) takes only {} bytes, {} times fewer, and "
                  "has no error.",
                  as_is->form,
                  grouped(as_is->storage->bytes),
                  times_text(winner / given)));
}

std::string joined_names(const Rows& rows) {
  std::vector<std::string> names;
  for (const ComparisonRow* row : rows) names.push_back(shown_name(row->method));
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_compression(const Comparison& comparison,
                     const Rows& rows,
                     std::vector<std::string>& findings) {
  const double full =
      static_cast<double>(comparison.facts.rows) * static_cast<double>(comparison.facts.cols);
  Rows full_size;
  for (const ComparisonRow* row : rows) {
    if (row->no_compression()) full_size.push_back(row);
  }
  if (rows.empty()) return;
  const std::string entries = grouped(static_cast<long long>(full));
  if (full_size.size() == rows.size()) {
    findings.push_back(
        fmt::format("Nothing is compressed here: the full matrix has only {} numbers.", entries));
  } else if (!full_size.empty()) {
    findings.push_back(
        fmt::format("No compression: {} stores at least the {} numbers of the full "
                    "matrix.",
                    joined_names(full_size),
                    entries));
  } else {
    findings.push_back(fmt::format("{} stores {} of the bytes of the full matrix in doubles.",
                                   shown_name(rows.front()->method),
                                   share_text(*rows.front()->storage_share)));
  }
}

void add_failures(const Comparison& comparison, std::vector<std::string>& findings) {
  Rows worse;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.ok()) {
      findings.push_back(
          fmt::format("{} produced no result: {}.", shown_name(row.method), row.status));
    } else if (row.measurement && row.measurement->worse_than_zero) {
      worse.push_back(&row);
    }
  }
  if (!worse.empty())
    findings.push_back(fmt::format("Worse than the zero matrix: {}.", joined_names(worse)));
  if (comparison.interrupted()) findings.emplace_back("The comparison was interrupted.");
}

}  // namespace

std::vector<std::string> findings_of(const Comparison& comparison) {
  const Rows rows = ranked_rows(comparison);
  std::vector<std::string> findings{headline(comparison, rows)};
  add_as_is(comparison, rows, findings);
  add_compression(comparison, rows, findings);
  add_failures(comparison, findings);
  for (std::string& finding : findings) {
    finding[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(finding[0])));
  }
  return findings;
}

const ComparisonRow* winner_of(const Comparison& comparison) {
  const Rows rows = ranked_rows(comparison);
  return rows.empty() ? nullptr : rows.front();
}

std::string spoken_error(const Measurement& measured) {
  const std::string digits = three_digits(measured.relative_error.value_or(0));
  return measured.error_is_exact ? digits : "about " + digits;
}

Vector singular_values_of(const Approximation& svd) {
  for (const Factor& factor : svd.factors()) {
    const Vector* diagonal = std::get_if<Vector>(factor.value.get());
    if (diagonal == nullptr) continue;
    Vector values = diagonal->cwiseAbs();
    std::sort(values.begin(), values.end(), std::greater<>());
    return values;
  }
  return {};
}

void FitRecords::add(const ComparisonRow& row, const RunResult& result) {
  const Approximation& B = result.approximation;
  records_.push_back(
      {row.method, image_cells(B, plan_), difference_cells(A_, B, plan_), B.summary.history});
  if (B.summary.method != "truncated_svd") return;
  Vector values = singular_values_of(B);
  if (values.size() > singular_values_.size()) singular_values_ = std::move(values);
}

const FitRecord* FitRecords::find(const std::string& method) const {
  const auto found = std::find_if(records_.begin(), records_.end(), [&](const FitRecord& record) {
    return record.method == method;
  });
  return found == records_.end() ? nullptr : &*found;
}

namespace {

std::string certified_line(const char* norm, const std::optional<CertifiedBound>& bound) {
  if (!bound) return "";
  return fmt::format("certified {} <= {:.6e}  ({})\n", norm, bound->value, confidence_text(*bound));
}

std::string certificate_lines(const Measurement& measured) {
  if (!measured.certificate) return "";
  const Certificate& certificate = *measured.certificate;
  std::string text;
  if (certificate.relative) {
    text += fmt::format("certified relative  {:.6e}  ({})\n",
                        *certificate.relative,
                        confidence_text(*certificate.frobenius));
  }
  text += certified_line("|A - B|_F", certificate.frobenius);
  text += certified_line("|A - B|_2", certificate.spectral);
  if (certificate.products > 0) {
    text +=
        fmt::format("certificate from    {} products in {:g} passes, {:.1e} allowed for rounding\n",
                    certificate.products,
                    certificate.passes,
                    certificate.rounding);
  }
  return text;
}

}  // namespace

std::string short_number(double value) {
  if (value == 0) return "0";
  if (value >= 1e7 || value < 1e-3) return fmt::format("{:.1e}", value);
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  return fmt::format("{:#.3g}", value);
}

std::string milliseconds_text(const std::optional<double>& seconds) {
  return seconds ? short_number(1e3 * *seconds) : "-";
}

std::string error_text(const Measurement& measured) {
  if (!measured.relative_error) return "-";
  const double error = *measured.relative_error;
  const std::string digits = error == 0 ? "0" : fmt::format("{:.3e}", error);
  return measured.error_is_exact ? digits : "~" + digits;
}

std::string sample_text(const Measurement& measured) {
  return fmt::format("{} {}",
                     measured.error_samples,
                     measured.error_basis == ErrorBasis::kColumns ? "columns" : "vectors");
}

std::string share_text(double share) {
  const double percent = 100 * share;
  if (percent >= 100) return fmt::format("{:.0f} %", percent);
  return fmt::format("{:.{}g} %", percent, percent >= 99 ? 3 : 2);
}

std::string rounding_note(const MatrixFacts& facts) {
  if (facts.averaged_asymmetry == 0) return "";
  return fmt::format(" to rounding (mirror images that differ by up to {:.2g} count as equal)",
                     facts.averaged_asymmetry);
}

std::string confidence_text(const CertifiedBound& bound) {
  if (bound.confidence == 1) return "exact";
  return fmt::format("confidence {:.10g} %", 100 * bound.confidence);
}

std::string certificate_text(const Certificate& certificate) {
  std::string text;
  const auto add = [&](const char* norm, const std::optional<CertifiedBound>& bound) {
    if (!bound) return;
    text += fmt::format("{}{} <= {:.4g} ({})",
                        text.empty() ? "certified " : ", ",
                        norm,
                        bound->value,
                        confidence_text(*bound));
  };
  add("|A - B|_F", certificate.frobenius);
  add("|A - B|_2", certificate.spectral);
  return text;
}

std::string measurement_lines(const Measurement& measured) {
  const std::string how =
      measured.error_is_exact ? "exact" : "estimated from " + sample_text(measured);
  std::string text;
  if (measured.relative_error) {
    text += fmt::format("relative error      {:.6e}  ({})\n", *measured.relative_error, how);
  } else {
    text += "relative error      undefined, the matrix is zero\n";
  }
  text += fmt::format("|A - B|_F           {:.6e}  ({})\n", measured.error_frobenius, how);
  if (const auto& interval = measured.error_interval) {
    text +=
        fmt::format("95 % interval       {:.6e} .. {:.6e}\n", interval->first, interval->second);
  }
  if (measured.spectral_error_lower)
    text += fmt::format("|A - B|_2 at least  {:.6e}\n", *measured.spectral_error_lower);
  text += certificate_lines(measured);
  if (measured.apply_seconds_1 && measured.apply_seconds_64) {
    text += fmt::format("product             {:.3g} ms with 1 column, {:.3g} ms with 64\n",
                        1e3 * *measured.apply_seconds_1,
                        1e3 * *measured.apply_seconds_64);
  }
  if (measured.worse_than_zero)
    text += "the zero matrix is closer to the matrix than this approximation\n";
  return text;
}

std::string matrix_text(const MatrixFacts& facts, const std::string& path) {
  std::string text = fmt::format("{}: {} x {}", path, facts.rows, facts.cols);
  if (facts.nonzeros) text += fmt::format(", {} nonzeros", *facts.nonzeros);
  text += facts.symmetric ? ", symmetric" + rounding_note(facts) : "";
  text += fmt::format(", |A|_F {} {:.6g}", facts.norm_is_exact ? "=" : "~", facts.frobenius_norm);
  return text;
}

std::vector<std::string> row_notes(const ComparisonRow& row) {
  std::vector<std::string> notes;
  if (!row.ok()) return {row.status};
  if (row.interrupted) notes.emplace_back("interrupted");
  if (row.no_compression()) notes.emplace_back("no compression");
  const bool already_said = row.message.find("worse than the zero matrix") != std::string::npos;
  if (row.measurement && row.measurement->worse_than_zero && !already_said)
    notes.emplace_back("worse than the zero matrix");
  if (row.termination == Termination::kMaxSeconds) notes.emplace_back("stopped by --max-seconds");
  if (row.termination == Termination::kMaxIterations)
    notes.emplace_back("stopped by max_iterations");
  if (row.measurement && row.measurement->error_interval) {
    const auto& interval = *row.measurement->error_interval;
    notes.push_back(fmt::format("|A - B|_F from {}, 95 % interval {:.4g} .. {:.4g}",
                                sample_text(*row.measurement),
                                interval.first,
                                interval.second));
  }
  const bool is_certified = row.measurement && row.measurement->certificate;
  if (is_certified && row.method != "as_is")
    notes.push_back(certificate_text(*row.measurement->certificate));
  if (!row.measurement) {
    notes.emplace_back("not measured");
  } else if (!row.measurement->relative_error) {
    notes.push_back(fmt::format("absolute error {:.3e}", row.measurement->error_frobenius));
  }
  if (!row.message.empty()) notes.push_back(row.message);
  return notes;
}

}  // namespace matapprox::report
