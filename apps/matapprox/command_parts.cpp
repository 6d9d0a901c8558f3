#include "command_parts.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/methods/chord.hpp"

namespace matapprox::app {

Matrix read_block(const std::string& path, const std::string& variable, Index rows, bool quiet) {
  LoadOptions options;
  options.variable = variable;
  const LoadedMatrix loaded = load(path, options);
  for (const std::string& text : loaded.notes) note(quiet, fmt::format("{}: {}", path, text));
  const LinearOperator& X = *loaded.matrix;
  require_memory(8.0 * static_cast<double>(X.rows()) * static_cast<double>(X.cols()), path);
  Matrix block = X.columns_at(index_range(0, X.cols()));
  if (block.rows() != rows && block.rows() == 1 && block.cols() == rows) block.transposeInPlace();
  return block;
}

void add_output(report::Json& json, const std::string& path, const Matrix& block) {
  json["output"] = nullptr;
  json["values"] = nullptr;
  if (path.empty()) return;
  if (path != "-") {
    json["output"] = actual_output_path(path);
    return;
  }
  report::Json rows = report::Json::array();
  for (Index i = 0; i < block.rows(); ++i) {
    report::Json row = report::Json::array();
    for (Index j = 0; j < block.cols(); ++j) row.push_back(report::number_or_null(block(i, j)));
    rows.push_back(std::move(row));
  }
  json["values"] = std::move(rows);
}

void check_factors_output(const std::string& path) {
  require(path != "-", "-o: factors are written to a file, not to standard output");
  check_hdf5_name("-o",
                  path,
                  "save to a name such as out.h5, then `matapprox export out.h5 out.npz` writes "
                  "the factors for other programs");
}

SavedRecord saved_record(const LoadedMatrix& input,
                         const RunResult& result,
                         const std::optional<Measurement>& measured,
                         bool interrupted,
                         const ResumeState& resume) {
  SavedRecord record;
  record.provenance = input.provenance;
  if (measured) {
    record.error_frobenius = measured->error_frobenius;
    record.relative_error = measured->relative_error;
    record.error_is_exact = measured->error_is_exact;
  }
  record.interrupted = interrupted;
  record.fit_seconds = result.fit_seconds;
  record.resume = resume;
  return record;
}

Measurement measured_with_progress(const LinearOperator& A,
                                   const LinearOperator& B,
                                   const MatrixFacts& facts,
                                   const MeasureOptions& options,
                                   bool quiet,
                                   const std::atomic<bool>* stop) {
  ProgressLine line(quiet);
  line.start("measuring");
  RunControl control;
  control.stop = stop;
  control.progress = [&](const Progress& now) { line.update(now); };
  return measure(A, B, facts, options, control);
}

Fit warm_started_fit(const Method& method,
                     const NamedOptions& options,
                     const std::string& warm_start) {
  require(method.name == "chord", "--warm-start is for chord, not {}", method.name);
  const ChordOptions chord_options = warm_started(options_from<ChordOptions>(options),
                                                  load_approximation(warm_start).approximation,
                                                  "--warm-start " + warm_start);
  return [chord_options](const LinearOperator& A, const RunControl& control) {
    return chord(A, chord_options, control);
  };
}

namespace {

std::vector<GroupedFlags::Group> all_methods() {
  std::vector<GroupedFlags::Group> groups;
  for (const Method& method : methods())
    groups.push_back({std::string(method.name), method.options()});
  return groups;
}

}  // namespace

void check_method_names(const std::vector<std::string>& names,
                        const std::vector<std::string>& legal) {
  for (const std::string& name : names) {
    if (std::find(legal.begin(), legal.end(), name) != legal.end()) continue;
    const std::string nearest = nearest_name(name, legal);
    throw InvalidArgument(
        fmt::format("unknown method '{}'{}; the methods are {}",
                    name,
                    nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                    fmt::join(legal, ", ")));
  }
}

MethodOptions::MethodOptions() : flags_(all_methods()) {}

void MethodOptions::add(const Command& command) {
  command.add_option("method METHOD", name_, "Name of a method; `matapprox methods` lists all")
      .required();
  // Every subcommand adds these itself.
  flags_.add(command, "methods", "method", {"rank", "budget", "seed"});
}

NamedOptions MethodOptions::given(const Method& method) const {
  return flags_.given(std::string(method.name));
}

}  // namespace matapprox::app
