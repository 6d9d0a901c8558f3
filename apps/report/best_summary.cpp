#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "matapprox/measure/compare.hpp"
#include "report/best_page.hpp"
#include "report/findings.hpp"
#include "report/terminal_table.hpp"

namespace matapprox::report {
namespace {

/// Longest verdict within the table; longer ones stand below it.
constexpr std::size_t kShortVerdict = 22;

std::string error_digits(const std::optional<double>& error) {
  return error ? fmt::format("{:.2e}", *error) : "-";
}

/// One line of figures, as `measure` prints them.
std::string labeled(std::string_view label, const std::string& text) {
  return wrapped(fmt::format("{:<20}{}", label, text), 20);
}

std::string norm_symbol(CertifiedNorm norm) {
  return norm == CertifiedNorm::kSpectral ? "|A|_2" : "|A|_F";
}

/// Options of a candidate for `approximate`: "order = spectral, precision = packed".
std::string options_text(const BestCandidate& candidate) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  };
  for (const auto& [name, value] : candidate.options) add(name, value);
  if (candidate.precision != Precision::kDouble) add("precision", enum_name(candidate.precision));
  return text;
}

std::string stored_text(const BestContents& contents) {
  const Storage storage = contents.result.approximation.storage();
  const double share = share_of_doubles(storage, contents.result.facts);
  std::string text =
      fmt::format("{} bytes, {} of the matrix in doubles", storage.bytes, share_text(share));
  if (contents.options.budget.unit == StorageBudget::Unit::kNumbers)
    text += fmt::format("; {} numbers", storage.numbers);
  return text;
}

/// True if there are bounds that say more than an exact error does.
bool has_bounds(const Measurement& measured) {
  return measured.certificate && measured.certificate->products > 0;
}

std::string target_line(const BestContents& contents) {
  const BestResult& result = contents.result;
  if (contents.options.target_error == 0) return "";
  const BestCandidate& chosen = chosen_candidate(result);
  const auto& certified = chosen.certified_error;
  if (!certified && !chosen.error_is_exact) {
    return labeled("target error",
                   fmt::format("{:g} is not certified: no time was left for a bound",
                               contents.options.target_error));
  }
  const std::string by = certified ? fmt::format("certified |A - B| <= {:.3g} {}",
                                                 *certified,
                                                 norm_symbol(contents.options.norm))
                                   : "by the exact error";
  return labeled("target error",
                 fmt::format("{:g} {}, {}",
                             contents.options.target_error,
                             result.target_is_met ? "is met" : "is missed",
                             by));
}

std::string lower_bound_line(const BestResult& result) {
  if (!result.lower_bound) return "";
  std::string text = fmt::format("{:.6e}  (expected", *result.lower_bound);
  if (result.measurement.relative_error && *result.lower_bound > 0) {
    text += fmt::format("; the result is {:.3g} times that",
                        *result.measurement.relative_error / *result.lower_bound);
  }
  return labeled(
      "lower bound",
      text + ": no choice of blocks, ranks and bits is closer with the same number of bytes)");
}

std::vector<std::string> candidate_cells(const BestCandidate& candidate) {
  std::string measured = error_digits(candidate.relative_error);
  if (candidate.relative_error && !candidate.error_is_exact) measured.insert(0, "~");
  return {candidate.name,
          error_digits(candidate.predicted_error),
          measured,
          error_digits(candidate.certified_error),
          candidate.storage ? fmt::format("{}", candidate.storage->bytes) : "-",
          short_number(candidate.seconds),
          candidate.verdict};
}

std::string candidate_table(const BestResult& result) {
  std::vector<TerminalColumn> columns{{"candidate", 9, true, true},
                                      {"at least"},
                                      {"rel. error"},
                                      {"certified"},
                                      {"bytes"},
                                      {"seconds"},
                                      {"verdict", 7, true}};
  std::vector<std::vector<std::string>> rows;
  std::string notes;
  std::size_t count = 0;
  for (const BestCandidate& candidate : result.candidates) {
    rows.push_back(candidate_cells(candidate));
    std::string& verdict = rows.back().back();
    if (verdict.size() <= kShortVerdict) continue;
    notes += wrapped(fmt::format("[{}] {}: {}", ++count, candidate.name, candidate.verdict), 4);
    verdict = fmt::format("[{}]", count);
  }
  // Columns without any entry are left out.
  for (std::size_t c = columns.size() - 1; c-- > 1;) {
    if (std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row[c] != "-"; }))
      continue;
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(c));
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
  }
  return terminal_table(columns, rows) + (notes.empty() ? "" : "\n" + notes);
}

Json candidate_json(const BestCandidate& candidate) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? number_or_null(*value) : Json(nullptr);
  };
  Json json{{"name", candidate.name}, {"method", candidate.method}, {"options", Json::object()}};
  for (const auto& [name, value] : candidate.options) json["options"][name] = value;
  json["precision"] = enum_name(candidate.precision);
  json["predicted_error"] = or_null(candidate.predicted_error);
  json["relative_error"] = or_null(candidate.relative_error);
  json["error_is_exact"] =
      candidate.relative_error ? Json(candidate.error_is_exact) : Json(nullptr);
  json["certified_error"] = or_null(candidate.certified_error);
  json["stored_numbers"] = candidate.storage ? Json(candidate.storage->numbers) : Json(nullptr);
  json["stored_bytes"] = candidate.storage ? Json(candidate.storage->bytes) : Json(nullptr);
  json["seconds"] = candidate.seconds;
  json["chosen"] = candidate.chosen;
  json["verdict"] = candidate.verdict;
  return json;
}

}  // namespace

double share_of_doubles(const Storage& storage, const MatrixFacts& facts) {
  return static_cast<double>(storage.bytes) /
         (8 * static_cast<double>(facts.rows) * static_cast<double>(facts.cols));
}

std::string request_text(const BestOptions& options, const MatrixFacts& facts) {
  std::string text;
  if (options.target_error > 0) {
    text = fmt::format("the fewest bytes with |A - B| <= {:g} {}",
                       options.target_error,
                       norm_symbol(options.norm));
  }
  const std::string joint = text.empty() ? "the least error with at most" : ", at most";
  switch (options.budget.unit) {
    case StorageBudget::Unit::kUnset:
      break;
    case StorageBudget::Unit::kNumbers:
      text += fmt::format("{} {:.0f} numbers", joint, options.budget.amount);
      break;
    case StorageBudget::Unit::kBytes:
      text += fmt::format("{} {:.0f} bytes", joint, options.budget.amount);
      break;
    case StorageBudget::Unit::kShare:
      text += fmt::format("{} {} of the bytes of doubles, {:.0f}",
                          joint,
                          share_text(options.budget.amount),
                          options.budget.bytes(facts.rows, facts.cols));
      break;
  }
  return text;
}

const BestCandidate& chosen_candidate(const BestResult& result) {
  return result.candidates[result.chosen];
}

std::string chosen_text(const BestResult& result) {
  const BestCandidate& candidate = chosen_candidate(result);
  if (candidate.name.starts_with(candidate.method)) return candidate.name;
  return candidate.method + ", " + candidate.name;
}

std::string best_text(const BestContents& contents, bool explain) {
  const BestResult& result = contents.result;
  const BestCandidate& chosen = chosen_candidate(result);
  std::string text = wrapped(matrix_text(result.facts, contents.path), 2) +
                     wrapped(request_text(contents.options, result.facts), 2) + "\n";
  if (explain) text += candidate_table(result) + "\n";
  text += labeled("chosen", chosen_text(result));
  const std::string named = options_text(chosen);
  if (!named.empty()) text += labeled("options", named);
  text += labeled("stores", stored_text(contents));
  Measurement shown = result.measurement;
  if (!has_bounds(shown)) shown.certificate.reset();
  text += measurement_lines(shown);
  text += lower_bound_line(result);
  text += target_line(contents);
  text +=
      labeled("time",
              fmt::format("{:.3g} s, {:.3g} passes over the matrix{}",
                          result.seconds,
                          result.passes,
                          result.interrupted ? "; stopped before all candidates were tried" : ""));
  if (contents.saved_to) text += labeled("saved to", *contents.saved_to);
  return text;
}

Json to_json(const BestContents& contents) {
  const BestResult& result = contents.result;
  const BestCandidate& chosen = chosen_candidate(result);
  const bool has_budget = contents.options.budget.is_set();
  const bool in_numbers = contents.options.budget.unit == StorageBudget::Unit::kNumbers;
  Json json = document_head(contents.options.seed, contents.threads);
  json["matrix"] = to_json(result.facts, contents.path);
  json["matrix"]["description"] = contents.description;
  json["options"] = Json::object();
  BestOptions options = contents.options;
  for (const OptionText& option : list_options(options))
    json["options"][option.name] = option.value;
  json["budget_bytes"] =
      has_budget && !in_numbers
          ? Json(contents.options.budget.bytes(result.facts.rows, result.facts.cols))
          : Json(nullptr);
  RunResult run{result.approximation, result.seconds};
  run.passes = result.passes;
  ComparisonRow row = comparison_row(chosen.method, run, result.measurement, result.interrupted);
  row.saved_to = contents.saved_to;
  json["result"] = to_json(row);
  json["byte_share"] = share_of_doubles(result.approximation.storage(), result.facts);
  json["target_is_met"] =
      contents.options.target_error > 0 ? Json(result.target_is_met) : Json(nullptr);
  json["lower_bound"] = result.lower_bound ? number_or_null(*result.lower_bound) : Json(nullptr);
  json["chosen"] = result.chosen;
  json["candidates"] = Json::array();
  for (const BestCandidate& candidate : result.candidates)
    json["candidates"].push_back(candidate_json(candidate));
  json["singular_values"] = Json::array();
  for (const double value : result.singular_values) json["singular_values"].push_back(value);
  json["seconds"] = result.seconds;
  json["passes"] = result.passes;
  json["interrupted"] = result.interrupted;
  return json;
}

}  // namespace matapprox::report
