#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "io/file_numbers.hpp"
#include "io/hdf5_output.hpp"
#include "io/hdf5_values.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {
namespace {

using hdf5::Handle;
using hdf5::Location;

const std::string kSketchFormat = "matapprox sketch";
constexpr Index kSketchVersion = 1;
constexpr Index kLargestSketchExtent = Index{1} << 47;
constexpr Index kLargestSketchSide = Index{1} << 31;

[[noreturn]] void fail_sketch(const Location& place, const std::string& what) {
  throw FileError(fmt::format("{}: {}: the file is damaged", place.file, what));
}

void write_matrix_rows(const Location& root, const std::string& name, const ConstBlock& A) {
  if (!A.allFinite()) throw NumericalError(fmt::format("{}: {} holds NaN or Inf", root.file, name));
  hdf5::write_values(root,
                     name,
                     {A.rows(), A.cols()},
                     Precision::kDouble,
                     [&](Index first, Index count, double* values) {
                       for (Index i = 0; i < count; ++i) {
                         for (Index j = 0; j < A.cols(); ++j)
                           values[i * A.cols() + j] = A(first + i, j);
                       }
                     });
}

/// Writes Y, whose transpose is in memory in column-major order.
void write_range(const Location& root, const Matrix& transposed, Index rows) {
  if (!transposed.leftCols(rows).allFinite())
    throw NumericalError(fmt::format("{}: Y holds NaN or Inf", root.file));
  const Index k = transposed.rows();
  hdf5::write_values(
      root, "Y", {rows, k}, Precision::kDouble, [&](Index first, Index count, double* values) {
        std::copy_n(transposed.data() + first * k, count * k, values);
      });
}

/// The numbers of a sketch are finite when it is written.
void require_finite(const Location& root,
                    const std::string& name,
                    const double* values,
                    Index count) {
  if (!Eigen::Map<const Vector>(values, count).allFinite())
    fail_sketch(root, name + " holds NaN or Inf");
}

void read_matrix_rows(const Location& root, const std::string& name, Block A) {
  if (A.rows() == 0) return;
  hdf5::read_values(
      root, name, {A.rows(), A.cols()}, [&](Index first, Index count, const double* values) {
        require_finite(root, name, values, count * A.cols());
        for (Index i = 0; i < count; ++i) {
          for (Index j = 0; j < A.cols(); ++j) A(first + i, j) = values[i * A.cols() + j];
        }
      });
}

void read_range(const Location& root, Matrix& transposed, Index rows) {
  if (rows == 0) return;
  const Index k = transposed.rows();
  hdf5::read_values(root, "Y", {rows, k}, [&](Index first, Index count, const double* values) {
    require_finite(root, "Y", values, count * k);
    std::copy_n(values, count * k, transposed.data() + first * k);
  });
}

void write_parts(const Location& root, const std::vector<StreamPart>& parts) {
  const Handle group = hdf5::create_group(root, "parts");
  const Location place{group, root.file};
  hdf5::put_integer(place, "count", static_cast<Index>(parts.size()));
  std::string names;
  std::vector<Index> rows;
  for (const StreamPart& part : parts) {
    require(part.name.find('\n') == std::string::npos,
            "{}: the name of a part contains a line break",
            root.file);
    names += part.name + '\n';
    rows.push_back(part.rows);
  }
  hdf5::write_text(place, "names", names);
  hdf5::write_integers(place, "rows", rows);
}

std::vector<StreamPart> read_parts(const Location& root) {
  const Handle group = hdf5::open_group(root, "parts");
  const Location place{group, root.file};
  const std::vector<Index> rows = hdf5::read_integers(place, "rows");
  const std::string names = hdf5::read_text(place, "names");
  if (hdf5::get_integer(place, "count") != static_cast<Index>(rows.size()))
    fail_sketch(place, "parts with a wrong count");
  std::vector<StreamPart> parts;
  std::size_t at = 0;
  for (const Index count : rows) {
    const std::size_t end = names.find('\n', at);
    if (end == std::string::npos || count < 1) fail_sketch(place, "parts without names or rows");
    parts.push_back({names.substr(at, end - at), count});
    at = end + 1;
  }
  if (at != names.size()) fail_sketch(place, "parts with too many names");
  return parts;
}

Index rows_with_values(const SketchState& state) {
  return state.seen.empty() ? 0 : state.seen.back().first + state.seen.back().count;
}

void write_state(const Location& root, const SketchState& state) {
  const SketchOptions& o = state.options;
  hdf5::put_integer(root, "rows", state.rows);
  hdf5::put_integer(root, "cols", state.cols);
  hdf5::put_integer(root, "rank", o.rank);
  hdf5::put_integer(root, "range_size", o.range_size);
  hdf5::put_integer(root, "core_size", o.core_size);
  hdf5::put_integer(root, "error_samples", o.error_samples);
  hdf5::put_seed(root, "seed", o.seed);
  hdf5::put_integer(root, "general", state.general ? 1 : 0);
  hdf5::put_number(root, "frobenius_norm", state.frobenius_norm);
  std::vector<Index> seen;
  for (const RowRange& range : state.seen) seen.insert(seen.end(), {range.first, range.count});
  hdf5::write_integers(root, "seen", seen);
  write_matrix_rows(root, "X", state.row_sums.topRows(o.range_size));
  if (o.error_samples > 0) write_matrix_rows(root, "W", state.row_sums.bottomRows(o.error_samples));
  write_matrix_rows(root, "Z", state.core);
  const Index rows = rows_with_values(state);
  if (rows > 0) write_range(root, state.range_transposed, rows);
}

/// Reads the ranges and checks what sizes depend on; StreamingSketch checks the rest.
std::vector<RowRange> read_seen(const Location& root, Index rows) {
  const std::vector<Index> numbers = hdf5::read_integers(root, "seen");
  if (numbers.size() % 2 != 0) fail_sketch(root, "rows without their number");
  std::vector<RowRange> seen;
  const Index limit = rows > 0 ? rows : kLargestSketchExtent;
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    const RowRange range{numbers[i], numbers[i + 1]};
    if (range.first < 0 || range.count < 1 || range.count > limit ||
        range.first > limit - range.count) {
      fail_sketch(root, "wrong rows");
    }
    seen.push_back(range);
  }
  return seen;
}

SketchState read_state(const Location& root) {
  SketchState state;
  SketchOptions& o = state.options;
  state.rows = hdf5::get_integer(root, "rows", 0, kLargestSketchExtent);
  state.cols = hdf5::get_integer(root, "cols", 1, kLargestSketchExtent);
  o.rank = hdf5::get_integer(root, "rank", 1, kLargestSketchSide);
  o.range_size = hdf5::get_integer(root, "range_size", 1, kLargestSketchSide);
  o.core_size = hdf5::get_integer(root, "core_size", 1, kLargestSketchSide);
  o.error_samples = hdf5::get_integer(root, "error_samples", 0, kLargestSketchSide);
  o.seed = hdf5::get_seed(root, "seed");
  state.general = hdf5::get_integer(root, "general", 0, 1) == 1;
  state.frobenius_norm = hdf5::get_number(root, "frobenius_norm");
  state.seen = read_seen(root, state.rows);
  const Index rows = rows_with_values(state);
  const Index room = state.rows > 0 ? state.rows : rows;
  const auto number = [](Index size) { return static_cast<double>(size); };
  require_memory(
      8 * (number(o.range_size + o.error_samples) * number(state.cols) +
           number(o.range_size) * number(room) + number(o.core_size) * number(o.core_size) +
           number(state.cols) * number(o.range_size + o.core_size)),
      root.file + ": a sketch");
  state.row_sums = Matrix::Zero(o.range_size + o.error_samples, state.cols);
  state.range_transposed = Matrix::Zero(o.range_size, room);
  state.core = Matrix::Zero(o.core_size, o.core_size);
  read_matrix_rows(root, "X", state.row_sums.topRows(o.range_size));
  read_matrix_rows(root, "W", state.row_sums.bottomRows(o.error_samples));
  read_matrix_rows(root, "Z", state.core);
  read_range(root, state.range_transposed, rows);
  return state;
}

void require_sketch(const Location& root) {
  if (!hdf5::has_attribute(root, "format") || hdf5::get_text(root, "format") != kSketchFormat) {
    throw FileError(fmt::format("{}: an HDF5 file, but not a saved sketch", root.file));
  }
  const Index version = hdf5::get_integer(root, "format_version", 1, kLargestSketchExtent);
  if (version > kSketchVersion) {
    throw FileError(
        fmt::format("{}: format version {} is newer than {}, the newest this program reads",
                    root.file,
                    version,
                    kSketchVersion));
  }
}

/// Content of a file, before a sketch is made from it.
struct SketchContent {
  SketchState state;
  StreamPosition position;
};

SketchContent read_sketch_file(const std::string& path) {
  const hdf5::ErrorSilencer silencer;
  const Handle file = hdf5::open_file(path);
  const Location root{file, path};
  require_sketch(root);
  SketchContent content;
  content.state = read_state(root);
  StreamPosition& position = content.position;
  position.source = hdf5::get_text(root, "source");
  position.parts = read_parts(root);
  position.seconds = hdf5::get_number(root, "seconds");
  if (!(position.seconds >= 0 && std::isfinite(position.seconds)))
    fail_sketch(root, "wrong seconds");
  return content;
}

}  // namespace

void save_sketch(const std::string& path,
                 const StreamingSketch& sketch,
                 const StreamPosition& position) {
  const hdf5::ErrorSilencer silencer;
  hdf5::OutputFile output(path);
  const Location root{output.file(), path};
  hdf5::put_text(root, "format", kSketchFormat);
  hdf5::put_integer(root, "format_version", kSketchVersion);
  hdf5::put_text(root, "writer", "matapprox " MATAPPROX_VERSION);
  hdf5::put_text(root, "source", position.source);
  hdf5::put_number(root, "seconds", position.seconds);
  write_state(root, sketch.state());
  write_parts(root, position.parts);
  output.commit();
}

SavedSketch load_sketch(const std::string& path) {
  try_read({path, "HDF5", [&] { read_sketch_file(path); }});
  SketchContent content = read_sketch_file(path);
  try {
    return {StreamingSketch(std::move(content.state)), std::move(content.position)};
  } catch (const InvalidArgument& misfit) {
    throw FileError(fmt::format("{}: {}: the file is damaged", path, misfit.what()));
  }
}

}  // namespace matapprox
