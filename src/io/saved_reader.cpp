#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/hdf5_values.hpp"
#include "io/saved_schema.hpp"
#include "io/saved_values.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

namespace {

using hdf5::Handle;
using hdf5::Location;
using schema::choice;
using schema::fail;
using schema::flag;
using schema::kLargest;
using schema::size_attribute;

std::vector<Factor> read_factors(const Location& root) {
  const Handle values_group = hdf5::open_group(root, "values");
  const Handle factors_group = hdf5::open_group(root, "factors");
  const Location values_place{values_group, root.file};
  const Location factors_place{factors_group, root.file};
  const Index value_count = hdf5::get_integer(values_place, "count", 1, 1 << 20);
  std::vector<std::shared_ptr<const FactorValue>> values;
  for (Index v = 1; v <= value_count; ++v) {
    const Handle group = hdf5::open_group(values_place, std::to_string(v));
    values.push_back(std::make_shared<const FactorValue>(read_value({group, root.file})));
  }
  const Index factor_count = hdf5::get_integer(factors_place, "count", 1, 1 << 20);
  std::vector<Factor> factors;
  for (Index f = 1; f <= factor_count; ++f) {
    const Handle group = hdf5::open_group(factors_place, std::to_string(f));
    const Location place{group, root.file};
    const Index value = hdf5::get_integer(place, "value", 1, value_count);
    factors.push_back({hdf5::get_text(place, "name"),
                       values[static_cast<std::size_t>(value - 1)],
                       flag(place, "transposed")});
  }
  return factors;
}

std::vector<HistoryPoint> read_history(const Location& place) {
  const std::vector<Index> extents = hdf5::extents_of(place, "history");
  if (extents.size() != 2 || extents[1] != 3) fail(place, "a history without three columns");
  const std::vector<double> rows = hdf5::read_values(place, "history");
  std::vector<HistoryPoint> history;
  for (std::size_t i = 0; i + 2 < rows.size(); i += 3) {
    if (!(rows[i] >= 0 && rows[i] < 9e15)) fail(place, "a history with a wrong iteration");
    if (!(rows[i + 1] >= 0 && std::isfinite(rows[i + 1])))
      fail(place, fmt::format("a history with a time of {} s", rows[i + 1]));
    if (!(rows[i + 2] >= 0)) fail(place, fmt::format("a history with an error of {}", rows[i + 2]));
    history.push_back({static_cast<Index>(rows[i]), rows[i + 1], rows[i + 2]});
  }
  return history;
}

Summary read_summary(const Location& root) {
  const Handle group = hdf5::open_group(root, "summary");
  const Location place{group, root.file};
  Summary summary;
  summary.method = hdf5::get_text(place, "method");
  summary.form = hdf5::get_text(place, "form");
  summary.termination = choice<Termination>(place, "termination", "termination");
  summary.message = hdf5::get_text(place, "message");
  summary.rank = hdf5::get_integer(place, "rank", 0, kLargest);
  summary.iterations = hdf5::get_integer(place, "iterations", 0, kLargest);
  summary.seed = hdf5::get_seed(place, "seed");
  summary.history = read_history(place);
  const Handle options = hdf5::open_group(place, "options");
  const Location options_place{options, root.file};
  for (const std::string& name : hdf5::member_names(options_place)) {
    summary.options.push_back({name, hdf5::read_text(options_place, name), {}, {}});
  }
  return summary;
}

/// Reads an error or a time, which must be finite and not negative.
double size_of(const Location& place, const std::string& name) {
  const double value = hdf5::get_number(place, name);
  if (!(value >= 0 && std::isfinite(value)))
    fail(place, fmt::format("attribute '{}' is {}; it must be finite and at least 0", name, value));
  return value;
}

std::optional<double> size_if_present(const Location& place, const std::string& name) {
  if (!hdf5::has_attribute(place, name)) return std::nullopt;
  return size_of(place, name);
}

std::vector<double> read_fingerprint(const Location& place) {
  std::vector<double> numbers = hdf5::read_values(place, "fingerprint");
  for (const double number : numbers) {
    if (!std::isfinite(number)) fail(place, "a fingerprint with NaN or Inf");
  }
  return numbers;
}

SavedRecord read_record(const Location& root) {
  const Handle result = hdf5::open_group(root, "result");
  const Location place{result, root.file};
  SavedRecord record;
  record.error_frobenius = size_if_present(place, "error_frobenius");
  record.relative_error = size_if_present(place, "relative_error");
  record.error_is_exact = flag(place, "error_is_exact");
  record.interrupted = flag(place, "interrupted");
  record.fit_seconds = size_of(place, "fit_seconds");
  const Handle source = hdf5::open_group(root, "provenance");
  const Location origin{source, root.file};
  record.provenance.path = hdf5::get_text(origin, "path");
  record.provenance.kind = hdf5::get_text(origin, "kind");
  record.provenance.rows = hdf5::get_integer(origin, "rows", 0, kLargest);
  record.provenance.cols = hdf5::get_integer(origin, "cols", 0, kLargest);
  record.provenance.fingerprint = read_fingerprint(origin);
  return record;
}

/// Arrays of a state with at least this many numbers, 8 MB, stay in the file.
constexpr Index kLongArray = Index{1} << 20;

bool stays_in_the_file(const Location& group, const std::string& name) {
  return hdf5::ValueReader::can_read(group, name) &&
         hdf5::extents_of(group, name).front() >= kLongArray;
}

StateBlock block_of_the_file(const Location& group, const std::string& name) {
  const auto reader = std::make_shared<hdf5::ValueReader>(group, name);
  if (in_trial_read()) {
    double end = 0;
    reader->read(0, 1, &end);
    reader->read(reader->size() - 1, 1, &end);
  }
  return {reader->size(), {}, [reader](Index first, Index count, double* numbers) {
            reader->read(first, count, numbers);
          }};
}

ResumeState read_resume(const Location& root) {
  ResumeState state;
  if (!hdf5::has_link(root, "resume")) return state;
  const Handle resume = hdf5::open_group(root, "resume");
  const Handle arrays = hdf5::open_group({resume, root.file}, "arrays");
  const Location arrays_place{arrays, root.file};
  for (const std::string& name : hdf5::member_names(arrays_place)) {
    if (stays_in_the_file(arrays_place, name)) {
      state.blocks.emplace_back(name, block_of_the_file(arrays_place, name));
      continue;
    }
    const std::vector<double> values = hdf5::read_values(arrays_place, name);
    state.arrays.emplace_back(
        name, Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size())));
  }
  const Handle counters = hdf5::open_group({resume, root.file}, "counters");
  const Location counters_place{counters, root.file};
  for (const std::string& name : hdf5::member_names(counters_place)) {
    const std::vector<Index> value = hdf5::read_integers(counters_place, name);
    if (value.size() != 1) fail(counters_place, "a counter that is not one number");
    state.counters.emplace_back(name, value.front());
  }
  return state;
}

bool says_that_it_is_ours(const Location& root) {
  return hdf5::has_attribute(root, "format") && hdf5::has_attribute(root, "format_version") &&
         hdf5::get_text(root, "format") == schema::kFormat;
}

bool says_that_it_is_a_model(const Location& root) {
  return hdf5::has_attribute(root, "format") && hdf5::get_text(root, "format") == "matapprox model";
}

void require_readable_version(const Location& root) {
  if (!says_that_it_is_ours(root)) {
    if (says_that_it_is_a_model(root)) {
      throw FileError(fmt::format(
          "{}: a model that `attention train` saved, not a saved approximation; `attention map` "
          "writes its matrices",
          root.file));
    }
    throw FileError(
        fmt::format("{}: an HDF5 file of another program, not a saved approximation", root.file));
  }
  const Index version = hdf5::get_integer(root, "format_version", 1, kLargest);
  if (version > schema::kVersion) {
    throw FileError(
        fmt::format("{}: format version {} is newer than {}, the newest this program "
                    "reads",
                    root.file,
                    version,
                    schema::kVersion));
  }
}

Precision read_precision(const Location& root) {
  return choice<Precision>(root, "precision", "precision");
}

Approximation assemble(const Location& root) {
  const bool symmetrized = flag(root, "symmetrized");
  const Precision precision = read_precision(root);
  Approximation approximation(read_factors(root), read_summary(root), symmetrized, precision);
  if (approximation.rows() != size_attribute(root, "rows") ||
      approximation.cols() != size_attribute(root, "cols")) {
    fail(root, "the factors do not multiply to the stated size");
  }
  return approximation;
}

/// True if the root of an HDF5 file satisfies `test`; false for any other file.
bool root_says(const std::string& path, bool (*test)(const Location&)) {
  const auto probe = [&] {
    const hdf5::ErrorSilencer silencer;
    try {
      const Handle file = hdf5::open_file(path);
      return test({file, path});
    } catch (const FileError&) {
      return false;
    }
  };
  try_read({path, "HDF5", [&] { probe(); }});
  return probe();
}

}  // namespace

SavedApproximation read_saved_file(const std::string& path) {
  const hdf5::ErrorSilencer silencer;
  const Handle file = hdf5::open_file(path);
  const Location root{file, path};
  require_readable_version(root);
  try {
    SavedApproximation saved{assemble(root), read_record(root)};
    saved.record.resume = read_resume(root);
    return saved;
  } catch (const InvalidArgument& error) {  // a factor refuses its content
    throw FileError(fmt::format("{}: {}: the file is damaged", path, error.what()));
  }
}

SavedApproximation load_approximation(const std::string& path) {
  try_read({path, "HDF5", [&] { read_saved_file(path); }});
  return read_saved_file(path);
}

SavedFit read_saved_fit(const std::string& path) {
  const auto read = [&] {
    const hdf5::ErrorSilencer silencer;
    const Handle file = hdf5::open_file(path);
    const Location root{file, path};
    require_readable_version(root);
    SavedFit fit{read_summary(root), read_precision(root), read_record(root)};
    fit.record.resume = read_resume(root);
    return fit;
  };
  try_read({path, "HDF5", [&] { read(); }});
  return read();
}

bool is_saved_approximation(const std::string& path) {
  return root_says(path, says_that_it_is_ours);
}

bool is_saved_model(const std::string& path) { return root_says(path, says_that_it_is_a_model); }

}  // namespace matapprox
