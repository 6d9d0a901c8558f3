#include "report/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "report/palette.hpp"
#include "report/row_text.hpp"
#include "report/ticks.hpp"

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

/// "The next, CUR (0.068), has 1.4 times that."
std::string lead(double best, double next, const std::string& who, const std::string& figure) {
  if (best == 0 || next / best < 1.05) return fmt::format("{} ({}) is close behind.", who, figure);
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
  return text + " " +
         lead(error_of(best),
              error_of(next),
              shown_name(next.method),
              spoken_error(*next.measurement));
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
    findings.push_back(fmt::format("{} stores {} of the {} numbers of the full matrix.",
                                   shown_name(rows.front()->method),
                                   share_text(*rows.front()->storage_share),
                                   entries));
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

}  // namespace matapprox::report
