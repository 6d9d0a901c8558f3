#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/hdf5_values.hpp"
#include "io/packed_values.hpp"
#include "io/saved_schema.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

namespace {

using hdf5::Handle;
using hdf5::Location;

constexpr Index kLargest = Index{1} << 48;

[[noreturn]] void fail(const Location& place, const std::string& what) {
  throw FileError(fmt::format("{}: {}: the file is damaged", place.file, what));
}

Index size_attribute(const Location& place, const std::string& name) {
  return hdf5::get_integer(place, name, 1, kLargest);
}

bool flag(const Location& place, const std::string& name) {
  return hdf5::get_integer(place, name, 0, 1) == 1;
}

/// Returns the position of `text` in `names`; throws if there is none.
template <class Names>
int choice(const Location& place,
           const std::string& what,
           const std::string& text,
           const Names& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) fail(place, fmt::format("unknown {} '{}'", what, text));
  return static_cast<int>(found - names.begin());
}

void require_finite(const Location& place, const double* values, Index count) {
  for (Index i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) fail(place, "a factor holds NaN or Inf");
  }
}

std::vector<double> finite_values(const Location& group) {
  std::vector<double> values = hdf5::read_values(group, "values");
  require_finite(group, values.data(), static_cast<Index>(values.size()));
  return values;
}

Matrix read_dense(const Location& group) {
  const std::vector<Index> extents = hdf5::extents_of(group, "values");
  if (extents.size() != 2 || extents[0] < 1 || extents[1] < 1) {
    fail(group, "a dense factor without two dimensions");
  }
  require_memory(8.0 * static_cast<double>(extents[0]) * static_cast<double>(extents[1]),
                 group.file + ": a dense factor");
  Matrix A(extents[0], extents[1]);
  hdf5::read_values(group, "values", extents, [&](Index first, Index count, const double* rows) {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    require_finite(group, rows, count * A.cols());
    A.middleRows(first, count) = Eigen::Map<const RowMajor>(rows, count, A.cols());
  });
  return A;
}

/// Throws unless these are compressed rows: pointers that do not decrease, ascending columns in a
/// row.
void check_sparse(const Location& group,
                  Index cols,
                  const std::vector<Index>& pointers,
                  const std::vector<Index>& columns) {
  if (pointers.front() != 0 || pointers.back() != static_cast<Index>(columns.size()) ||
      !std::is_sorted(pointers.begin(), pointers.end())) {
    fail(group, "a sparse factor with wrong row pointers");
  }
  for (std::size_t row = 0; row + 1 < pointers.size(); ++row) {
    Index previous = -1;
    for (Index k = pointers[row]; k < pointers[row + 1]; ++k) {
      const Index column = columns[static_cast<std::size_t>(k)];
      if (column <= previous || column >= cols) {
        fail(group, "a sparse factor with wrong column indices");
      }
      previous = column;
    }
  }
}

SparseMatrix read_sparse(const Location& group) {
  const Index rows = size_attribute(group, "rows");
  const Index cols = size_attribute(group, "cols");
  const std::vector<Index> pointers = hdf5::read_integers(group, "row_pointers");
  if (static_cast<Index>(pointers.size()) != rows + 1) {
    fail(group, "a sparse factor with the wrong number of row pointers");
  }
  const std::vector<Index> columns = hdf5::read_integers(group, "columns");
  check_sparse(group, cols, pointers, columns);
  const std::vector<double> values = finite_values(group);
  if (values.size() != columns.size()) fail(group, "a sparse factor with missing values");
  return Eigen::Map<const SparseMatrix>(rows,
                                        cols,
                                        static_cast<Index>(values.size()),
                                        pointers.data(),
                                        columns.data(),
                                        values.data());
}

Vector read_diagonal(const Location& group) {
  const std::vector<double> values = finite_values(group);
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

ChordPattern read_pattern(const Location& group) {
  ChordPattern pattern;
  pattern.order = size_attribute(group, "order");
  const std::vector<Index> links = hdf5::read_integers(group, "links");
  const std::vector<Index> offsets = hdf5::read_integers(group, "offsets");
  auto next = offsets.begin();
  for (const Index count : links) {
    if (count < 1 || count > offsets.end() - next) fail(group, "a Chord chain with wrong links");
    pattern.offsets.emplace_back(next, next + count);
    next += count;
  }
  if (next != offsets.end()) fail(group, "a Chord chain with more offsets than links");
  pattern.validate();
  return pattern;
}

ChordFactors read_chord(const Location& group) {
  ChordFactors chain{read_pattern(group), finite_values(group)};
  double links = 0;
  for (const auto& offsets : chain.pattern.offsets) links += static_cast<double>(offsets.size());
  const double wanted = static_cast<double>(chain.pattern.order) * links;
  if (static_cast<double>(chain.values.size()) != wanted) {
    fail(group, "a Chord chain with the wrong number of values");
  }
  return chain;
}

RandomProjection read_random(const Location& group) {
  const auto kind = static_cast<ProjectionKind>(choice(group,
                                                       "distribution",
                                                       hdf5::get_text(group, "distribution"),
                                                       EnumNames<ProjectionKind>::values));
  return {kind,
          hdf5::get_seed(group, "seed"),
          size_attribute(group, "rows"),
          size_attribute(group, "cols")};
}

Permutation read_permutation(const Location& group) {
  return Permutation(hdf5::read_integers(group, "sources"));
}

std::shared_ptr<const FactorValue> read_value(const Location& group) {
  const int kind = choice(group, "kind of factor", hdf5::get_text(group, "kind"), schema::kKinds);
  const auto share = [](auto value) {
    return std::make_shared<const FactorValue>(std::move(value));
  };
  switch (kind) {
    case 0:
      return share(read_dense(group));
    case 1:
      return share(read_sparse(group));
    case 2:
      return share(read_diagonal(group));
    case 3:
      return share(read_chord(group));
    case 4:
      return share(read_random(group));
    case 5:
      return share(read_permutation(group));
    case 6:
      return share(read_packed(group));
    case 7:
      return share(read_blocks(group));
    case 8:
      return share(PackedChord(read_pattern(group), read_packed(group)));
    default:
      return share(read_packed_sparse(group));
  }
}

std::vector<Factor> read_factors(const Location& root) {
  const Handle values_group = hdf5::open_group(root, "values");
  const Handle factors_group = hdf5::open_group(root, "factors");
  const Location values_place{values_group, root.file};
  const Location factors_place{factors_group, root.file};
  const Index value_count = hdf5::get_integer(values_place, "count", 1, 1 << 20);
  std::vector<std::shared_ptr<const FactorValue>> values;
  for (Index v = 1; v <= value_count; ++v) {
    const Handle group = hdf5::open_group(values_place, std::to_string(v));
    values.push_back(read_value({group, root.file}));
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
  summary.termination = static_cast<Termination>(choice(
      place, "termination", hdf5::get_text(place, "termination"), EnumNames<Termination>::values));
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
  return static_cast<Precision>(
      choice(root, "precision", hdf5::get_text(root, "precision"), EnumNames<Precision>::values));
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
