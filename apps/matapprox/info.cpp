#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "command_line/interrupt.hpp"
#include "command_parts.hpp"
#include "matapprox/best/structure.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "other_programs.hpp"
#include "report/findings.hpp"

namespace matapprox::app {
namespace {

report::Json factors_json(const Approximation& approximation) {
  report::Json factors = report::Json::array();
  for (const Factor& factor : approximation.factors()) {
    factors.push_back({{"name", factor.name},
                       {"kind", factor_kind(factor)},
                       {"rows", factor_rows(factor)},
                       {"cols", factor_cols(factor)},
                       {"transposed", factor.transposed}});
  }
  return factors;
}

report::Json saved_json(const std::string& path, const SavedApproximation& saved) {
  const Approximation& B = saved.approximation;
  const SavedRecord& record = saved.record;
  const Storage storage = B.storage();
  report::Json json = report::document_head(B.summary.seed, threads());
  json["kind"] = "approximation";
  json["path"] = path;
  json["rows"] = B.rows();
  json["cols"] = B.cols();
  json["method"] = B.summary.method;
  json["form"] = B.summary.form;
  json["rank"] = B.summary.rank > 0 ? report::Json(B.summary.rank) : report::Json(nullptr);
  json["options"] = report::Json::object();
  for (const OptionText& option : B.summary.options) json["options"][option.name] = option.value;
  json["stored_numbers"] = storage.numbers;
  json["stored_bytes"] = storage.bytes;
  json["storage_precision"] = storage_precision(B);
  json["symmetrized"] = B.symmetrized();
  json["factors"] = factors_json(B);
  json["error_frobenius"] = or_null(record.error_frobenius);
  json["relative_error"] = or_null(record.relative_error);
  json["error_is_exact"] = record.error_is_exact;
  json["fit_seconds"] = record.fit_seconds;
  json["iterations"] = B.summary.iterations;
  json["termination"] = enum_name(B.summary.termination);
  json["message"] = B.summary.message;
  json["interrupted"] = record.interrupted;
  json["resumable"] = !record.resume.empty();
  json["source"] = {{"path", record.provenance.path},
                    {"kind", record.provenance.kind},
                    {"rows", record.provenance.rows},
                    {"cols", record.provenance.cols},
                    {"fingerprint", record.provenance.fingerprint}};
  return json;
}

std::string saved_text(const std::string& path, const SavedApproximation& saved) {
  const Approximation& B = saved.approximation;
  const Storage storage = B.storage();
  std::string text =
      fmt::format("{}: saved approximation, {} x {}\n", visible_text(path), B.rows(), B.cols());
  text += fmt::format("method       {}{}{}\n",
                      visible_text(B.summary.method),
                      B.summary.form.empty() ? "" : ", " + visible_text(B.summary.form),
                      B.summary.rank > 0 ? fmt::format(", rank {}", B.summary.rank) : "");
  text += fmt::format("stores       {} numbers, {} bytes ({})\n",
                      storage.numbers,
                      storage.bytes,
                      storage_precision(B));
  for (const Factor& factor : B.factors()) {
    text += fmt::format("factor       {}{}: {} x {}, {}\n",
                        visible_text(factor.name),
                        factor.transposed ? "^T" : "",
                        factor_rows(factor),
                        factor_cols(factor),
                        factor_kind(factor));
  }
  if (saved.record.error_frobenius) {
    text += fmt::format("error        {:.6e} ({})",
                        *saved.record.error_frobenius,
                        saved.record.error_is_exact ? "exact" : "estimated");
    if (saved.record.relative_error)
      text += fmt::format(", relative {:.6e}", *saved.record.relative_error);
    text += "\n";
  }
  text += fmt::format(
      "fit          {:.3g} s, {}", saved.record.fit_seconds, enum_name(B.summary.termination));
  if (saved.record.interrupted) text += ", interrupted";
  if (!saved.record.resume.empty()) text += ", can be resumed";
  text += fmt::format("\nmade from    {} ({}), {} x {}\n",
                      visible_text(saved.record.provenance.path),
                      visible_text(saved.record.provenance.kind),
                      saved.record.provenance.rows,
                      saved.record.provenance.cols);
  for (const OptionText& option : B.summary.options) {
    if (!option.value.empty()) {
      text += fmt::format(
          "option       {} = {}\n", visible_text(option.name), visible_text(option.value));
    }
  }
  return text;
}

/// Structure is looked for only in matrices of at most this many entries in memory: that takes up
/// to two seconds.
constexpr double kMaxSearched = 0x1p22;

/// Nothing if it is not looked for.
std::optional<std::vector<Structure>> structure_of(const LinearOperator& A, std::uint64_t seed) {
  const SparseMatrix* sparse = sparse_values(A);
  if (sparse == nullptr && dense_values(A) == nullptr) return std::nullopt;
  const double entries = sparse != nullptr
                             ? static_cast<double>(sparse->nonZeros())
                             : static_cast<double>(A.rows()) * static_cast<double>(A.cols());
  if (entries > kMaxSearched || A.rows() == 0 || A.cols() == 0) return std::nullopt;
  RunControl control;
  control.stop = &catch_interrupts();
  return find_structure(A, seed, control);
}

report::Json structure_json(const std::optional<std::vector<Structure>>& structure) {
  if (!structure) return nullptr;
  report::Json list = report::Json::array();
  for (const Structure& found : *structure) {
    list.push_back(
        {{"text", found.text}, {"bytes", found.bytes}, {"relative_error", found.relative_error}});
  }
  return list;
}

std::string structure_text(const MatrixFacts& facts,
                           const std::optional<std::vector<Structure>>& structure) {
  if (!structure) return "structure    not looked for in a matrix of this size or kind\n";
  if (structure->empty()) return "structure    none found\n";
  std::string text;
  for (const Structure& found : *structure) {
    const double doubles = 8.0 * static_cast<double>(facts.rows) * static_cast<double>(facts.cols);
    text += fmt::format("{:<13}{}: {:.0f} bytes ({:.3g} % of the doubles), {}\n",
                        text.empty() ? "structure" : "",
                        found.text,
                        found.bytes,
                        100 * found.bytes / doubles,
                        found.relative_error == 0
                            ? "without loss"
                            : fmt::format("to a relative error of {:.1e}", found.relative_error));
  }
  return text;
}

report::Json matrix_json(const InfoOptions& command,
                         const LoadedMatrix& loaded,
                         const MatrixFacts& facts) {
  const Cost cost = loaded.matrix->cost();
  report::Json json = report::document_head(command.common.seed(), threads());
  json["kind"] = "matrix";
  json["matrix"] = report::to_json(facts, command.input.path());
  json["matrix"]["description"] = loaded.matrix->description();
  json["matrix"]["read_as"] = loaded.provenance.kind;
  json["matrix"]["stored_numbers"] = cost.stored_numbers;
  json["matrix"]["stored_bytes"] = cost.stored_bytes;
  json["notes"] = loaded.notes;
  json["default_budget_numbers"] =
      static_cast<Index>(default_budget(facts.rows, facts.cols).amount);
  return json;
}

std::string matrix_text(const InfoOptions& command,
                        const LoadedMatrix& loaded,
                        const MatrixFacts& facts) {
  const Cost cost = loaded.matrix->cost();
  std::string text =
      fmt::format("{}: {} x {}\n", visible_text(command.input.path()), facts.rows, facts.cols);
  text += fmt::format("description  {}\n", visible_text(loaded.matrix->description()));
  if (facts.nonzeros) {
    const double share = static_cast<double>(*facts.nonzeros) /
                         (static_cast<double>(facts.rows) * static_cast<double>(facts.cols));
    text += fmt::format("nonzeros     {} ({:.3g} %)\n", *facts.nonzeros, 100 * share);
  } else {
    text += "nonzeros     not counted, as this would take too long; --exact-error counts them\n";
  }
  text += fmt::format(
      "symmetric    {}{}\n", facts.symmetric ? "yes" : "no", report::rounding_note(facts));
  text += fmt::format(
      "|A|_F        {:.10g}{}\n", facts.frobenius_norm, facts.norm_is_exact ? "" : " (estimated)");
  text +=
      fmt::format("stores       {} numbers, {} bytes\n", cost.stored_numbers, cost.stored_bytes);
  text += fmt::format("compare uses {:.0f} numbers by default\n",
                      default_budget(facts.rows, facts.cols).amount);
  return text;
}

/// Description of the file, as JSON and as text.
struct Described {
  report::Json json;
  std::string text;
};

Described describe_approximation(const std::string& path) {
  const SavedApproximation saved = load_approximation(path);
  return {saved_json(path, saved), saved_text(path, saved)};
}

Described describe_matrix(const InfoOptions& command) {
  LoadedMatrix loaded = command.input.load(command.common.quiet());
  loaded.matrix = command.device.place(loaded.matrix, command.common.quiet()).matrix;
  const MatrixFacts facts =
      describe(*loaded.matrix, command.measuring.options(command.common.seed()));
  const auto structure = structure_of(*loaded.matrix, command.common.seed());
  report::Json json = matrix_json(command, loaded, facts);
  json["structure"] = structure_json(structure);
  return {std::move(json), matrix_text(command, loaded, facts) + structure_text(facts, structure)};
}

Described describe_file(const InfoOptions& command) {
  const std::string& path = command.input.path();
  std::error_code ignored;  // for a file that cannot be accessed, the reader reports the reason
  const bool whole = !command.input.changed() && std::filesystem::is_regular_file(path, ignored);
  if (whole && is_saved_approximation(path)) return describe_approximation(path);
  if (whole && is_saved_model(path)) start_attention_program(path + ": a saved model");
  return describe_matrix(command);
}

int run_info(const InfoOptions& command) {
  command.check();
  const Described described = describe_file(command);
  command.json.show(described.json, described.text);
  return kDone;
}

}  // namespace

void add_info(const Command& program) {
  auto command = std::make_shared<InfoOptions>();
  const Command sub =
      program.add_command("info", "Describes a matrix, a saved approximation or a saved model");
  command->add(sub);
  sub.footer("Examples:\n  matapprox info matrices/mesh2d.mtx\n  matapprox info chord.h5 --json -");
  sub.action([command] { return run_info(*command); });
}

}  // namespace matapprox::app
