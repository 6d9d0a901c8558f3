#include "reproduce/row.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "matapprox/core/error.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/measure/run.hpp"
#include "report/build_info.hpp"
#include "reproduce/paper_tables.hpp"

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

namespace {

namespace fs = std::filesystem;

// Ending of the checkpoint of an unfinished row.
constexpr const char* kUnfinished = ".unfinished.h5";

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json nullable_text(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

void add_error(Json& json,
               const std::string& name,
               const std::string& size,
               const ReproducedError* e) {
  json[name + "_" + size] = e != nullptr ? Json(e->size) : Json(nullptr);
  json[name + "_error"] = e != nullptr ? report::number_or_null(e->error) : Json(nullptr);
  json["stored_" + name] = e != nullptr ? Json(e->numbers) : Json(nullptr);
}

ReproducedError error_from(const Json& json, const std::string& name, const std::string& size) {
  return {json.at(name + "_" + size).get<Index>(),
          json.at(name + "_error").get<double>(),
          json.at("stored_" + name).get<Index>()};
}

Termination termination_from(const std::string& text) {
  const auto& names = EnumNames<Termination>::values;
  const auto found = std::find(names.begin(), names.end(), text);
  return found == names.end() ? Termination::kCompleted
                              : static_cast<Termination>(found - names.begin());
}

/// Everything that a row depends on besides the code.
Json made_with(const ReproducedRow& row, const ReproductionOptions& options) {
  Json json = {{"version", version()}, {"sha256", row.sha256}};
  for (const auto& [name, value] : options.chord()) json[name] = value;
  json["other_patterns"] = options.other_patterns.empty()
                               ? "none"
                               : fmt::format("{}", fmt::join(options.other_patterns, ","));
  return json;
}

std::string value_text(const Json& object, const std::string& key) {
  if (!object.contains(key)) return "none";
  return object[key].is_string() ? object[key].get<std::string>() : object[key].dump();
}

std::string difference(const Json& cached, const Json& wanted) {
  for (const auto& both : {wanted, cached}) {
    for (const auto& item : both.items()) {
      const std::string was = value_text(cached, item.key());
      const std::string is = value_text(wanted, item.key());
      if (was != is) return fmt::format("{} {}, now {}", item.key(), was, is);
    }
  }
  return {};
}

void fill_from(ReproducedRow& row, const Json& json) {
  row.n = json.at("n").get<Index>();
  row.nonzeros = json.at("nonzeros").get<Index>();
  row.symmetric = json.at("symmetric").get<bool>();
  row.frobenius_norm = json.at("frobenius_norm").get<double>();
  row.tsvd = error_from(json, "tsvd", "rank");
  row.tsvd_fit = error_from(json, "tsvd_fit", "rank");
  if (!json.at("tsvd_symmetric_error").is_null())
    row.tsvd_symmetric = error_from(json, "tsvd_symmetric", "rank");
  row.largest_entries = error_from(json, "largest_entries", "kept");
  row.chord_error = json.at("chord_error").get<double>();
  row.chord_numbers = json.at("stored_chord").get<Index>();
  row.seconds = json.at("seconds").get<double>();
  row.iterations = json.at("iterations").get<Index>();
  row.termination = termination_from(json.at("termination").get<std::string>());
  row.message = json.at("message").get<std::string>();
  row.residual_scale =
      json.at("residual_scale").is_null() ? 0 : json["residual_scale"].get<double>();
  for (const Json& other : json.at("other_patterns")) {
    row.others.push_back({other.at("pattern").get<std::string>(),
                          other.at("form").get<std::string>(),
                          other.at("error").get<double>(),
                          other.at("stored").get<Index>(),
                          other.at("seconds").get<double>(),
                          other.at("message").get<std::string>()});
  }
  for (const Json& point : json.at("history"))
    row.history.push_back({point.at(0), point.at(1), point.at(2)});
}

Json history_json(const std::vector<HistoryPoint>& history) {
  Json json = Json::array();
  for (const HistoryPoint& point : history) {
    if (std::isfinite(point.relative_error))
      json.push_back({point.iteration, point.seconds, point.relative_error});
  }
  return json;
}

}  // namespace

Json to_json(const ReproducedRow& row) {
  Json json = {{"name", row.paper.name},
               {"category", row.paper.category},
               {"n", row.n},
               {"nonzeros", row.nonzeros},
               {"symmetric", row.symmetric},
               {"frobenius_norm", row.frobenius_norm}};
  json["paper_tsvd"] = or_null(row.paper.paper_tsvd());
  add_error(json, "tsvd", "rank", &row.tsvd);
  json["paper_sf"] = or_null(row.paper.paper_sf());
  json["chord_error"] = report::number_or_null(row.chord_error);
  json["stored_chord"] = row.chord_numbers;
  json["winner_then"] = nullable_text(row.winner_then());
  json["winner_now"] = row.winner_now();
  json["within_paper_sf"] = or_null(row.within_paper());
  json["tsvd_as_printed"] = or_null(row.tsvd_as_printed());
  json["no_compression"] = row.no_compression();
  add_error(json, "tsvd_fit", "rank", &row.tsvd_fit);
  add_error(json, "tsvd_symmetric", "rank", row.tsvd_symmetric ? &*row.tsvd_symmetric : nullptr);
  add_error(json, "largest_entries", "kept", &row.largest_entries);
  json["seconds"] = row.seconds;
  json["iterations"] = row.iterations;
  json["termination"] = enum_name(row.termination);
  json["message"] = row.message;
  json["other_patterns"] = Json::array();
  for (const OtherPattern& other : row.others) {
    json["other_patterns"].push_back({{"pattern", other.pattern},
                                      {"form", other.form},
                                      {"error", report::number_or_null(other.error)},
                                      {"stored", other.numbers},
                                      {"seconds", other.seconds},
                                      {"message", other.message}});
  }
  json["path"] = row.path;
  json["sha256"] = row.sha256;
  json["sha256_is_known"] = row.sha256_is_known;
  json["saved_to"] = nullable_text(row.saved_to);
  json["image"] = nullable_text(row.image);
  json["residual_scale"] = row.image.empty() ? Json(nullptr) : Json(row.residual_scale);
  json["reused"] = row.reused;
  json["history"] = history_json(row.history);
  return json;
}

std::string cached_path(const ReproductionOptions& options,
                        const PaperMatrix& matrix,
                        const std::string& ending) {
  return (fs::path(options.folder) / (matrix.file_name() + ending)).string();
}

void cache_row(ReproducedRow& row,
               const LoadedMatrix& loaded,
               const RowResult& result,
               const ReproductionOptions& options) {
  SavedRecord record;
  record.provenance = loaded.provenance;
  record.error_frobenius = row.chord_error;
  record.relative_error = result.relative_error;
  record.fit_seconds = row.seconds;
  // The row is removed while its factors are replaced, so that they cannot be taken for its own.
  const std::string listed = cached_path(options, row.paper, ".json");
  std::error_code ignored;
  fs::remove(listed, ignored);
  row.saved_to = cached_path(options, row.paper, ".h5");
  save(row.saved_to, result.chord, record);
  if (row.paper.table() == PaperTable::kFigure4) {
    row.image = cached_path(options, row.paper, ".png");
    row.residual_scale = write_contact_sheet(row.image, *loaded.matrix, result.tsvd, result.chord);
  }
  const Json json = {{"made_with", made_with(row, options)}, {"row", to_json(row)}};
  AtomicOutput output(listed);
  output.write(report::to_text(json));
  output.commit();
  fs::remove(cached_path(options, row.paper, kUnfinished), ignored);
}

void keep_checkpoint(const ReproducedRow& row,
                     const LoadedMatrix& loaded,
                     const Approximation& best,
                     const ResumeState& state,
                     double seconds,
                     const ReproductionOptions& options) {
  SavedRecord record;
  record.provenance = loaded.provenance;
  record.interrupted = true;
  record.fit_seconds = seconds;
  record.resume = state;
  save(cached_path(options, row.paper, kUnfinished), best, record);
}

std::optional<SavedFit> take_checkpoint(const ReproducedRow& row,
                                        const LoadedMatrix& loaded,
                                        const ReproductionOptions& options,
                                        std::string& reason) {
  const std::string path = cached_path(options, row.paper, kUnfinished);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  try {
    SavedFit saved =
        load_checkpoint(path, find_method("chord"), options.chord(), Precision::kDouble);
    refuse_other_matrix(path, saved, loaded);
    // A damaged checkpoint is detected here.
    saved.record.resume = saved.record.resume.with_own_numbers();
    return saved;
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

bool take_cached_row(ReproducedRow& row, const ReproductionOptions& options, std::string& reason) {
  const std::string path = cached_path(options, row.paper, ".json");
  std::ifstream file(path);
  if (!file) return false;
  try {
    const Json json = Json::parse(file);
    reason = difference(json.at("made_with"), made_with(row, options));
    if (!reason.empty()) return false;
    ReproducedRow cached = row;
    cached.saved_to = cached_path(options, row.paper, ".h5");
    if (row.paper.table() == PaperTable::kFigure4)
      cached.image = cached_path(options, row.paper, ".png");
    for (const std::string& beside : {cached.saved_to, cached.image}) {
      std::error_code ignored;
      if (beside.empty() || fs::exists(beside, ignored)) continue;
      reason = beside + " is missing";
      return false;
    }
    fill_from(cached, json.at("row"));
    const SavedApproximation saved = load_approximation(cached.saved_to);
    if (saved.approximation.storage().numbers != cached.chord_numbers ||
        saved.record.error_frobenius != cached.chord_error) {
      reason = cached.saved_to + " belongs to another fit";
      return false;
    }
    cached.reused = true;
    row = std::move(cached);
    return true;
  } catch (const FileError& error) {
    reason = error.what();
    return false;
  } catch (const Json::exception&) {
    reason = path + " is damaged";
    return false;
  }
}

}  // namespace matapprox::reproduction
