#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/hdf5_output.hpp"
#include "io/hdf5_values.hpp"
#include "io/trial_read.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::tasks {
namespace {

using hdf5::Location;

const std::string kTokenFormat = "matapprox tokens";
/// Version 1 has token ids and one class per row, no features and no sets of labels; files without
/// those are written as version 1.
constexpr Index kTokenVersion = 2;
constexpr Index kLargestId = std::numeric_limits<std::int32_t>::max();

void write_token_names(const Location& root,
                       const std::string& name,
                       const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::string text;
  for (const std::string& one : names) {
    require(one.find_first_of(std::string_view("\n\0", 2)) == std::string::npos,
            "{}: a name with a line end or a zero byte cannot be written",
            root.file);
    text += one + "\n";
  }
  hdf5::write_text(root, name, text);
}

/// Returns a function for reading or writing a table of `width` columns a few rows at a time, which
/// calls take(row, values) for each of them.
template <class Take>
auto row_by_row(Index width, const Take& take) {
  return [width, take](Index first, Index count, auto* values) {
    for (Index i = 0; i < count; ++i) take(first + i, values + i * width);
  };
}

/// Writes one number per row.
template <class Value>
void write_token_column(const Location& root,
                        const std::string& name,
                        Index rows,
                        hdf5::IntegerType type,
                        const Value& value) {
  hdf5::write_integer_rows(root, name, {rows}, type, row_by_row(1, [&](Index row, double* to) {
                             *to = static_cast<double>(value(row));
                           }));
}

void write_token_table(const Location& root, const TokenSet& set) {
  const Index width = set.longest();
  const auto take_row = [&](Index row, double* values) {
    const auto sequence = set.sequence(row);
    std::fill(std::copy(sequence.begin(), sequence.end(), values), values + width, 0.0);
  };
  hdf5::write_integer_rows(
      root, "tokens", {set.size(), width}, hdf5::IntegerType::kInt32, row_by_row(width, take_row));
}

void write_feature_table(const Location& root, const TokenSet& set) {
  const Index width = set.longest() * set.features;
  const auto take_row = [&](Index row, double* values) {
    const auto rows = set.feature_rows(row);
    std::fill(std::copy(rows.begin(), rows.end(), values), values + width, 0.0);
  };
  hdf5::write_values(
      root, "features", {set.size(), width}, Precision::kFloat, row_by_row(width, take_row));
}

void write_targets(const Location& root, const TokenSet& set) {
  const auto take_row = [&](Index row, double* values) {
    const auto target = set.target(row);
    std::copy(target.begin(), target.end(), values);
  };
  hdf5::write_integer_rows(root,
                           "targets",
                           {set.size(), set.classes},
                           hdf5::IntegerType::kInt8,
                           row_by_row(set.classes, take_row));
}

/// Reads a column of n integers, each of which must be in low..high.
template <class Take>
void read_token_column(const Location& root,
                       const std::string& name,
                       const std::string& what,
                       Index rows,
                       Index low,
                       Index high,
                       const Take& take) {
  const auto take_row = [&](Index row, const double* from) {
    const double value = *from;
    if (!(value >= static_cast<double>(low) && value <= static_cast<double>(high))) {
      throw FileError(fmt::format(
          "{}: row {}: {} {} is outside {}..{}", root.file, row, what, value, low, high));
    }
    take(static_cast<std::int32_t>(value));
  };
  hdf5::read_integer_rows(root, name, {rows}, row_by_row(1, take_row));
}

void read_token_table(const Location& root, Index width, TokenSet& set) {
  set.tokens.reserve(static_cast<std::size_t>(set.ends.back()));
  const auto ids = static_cast<double>(set.vocabulary);
  const auto take_row = [&](Index row, const double* values) {
    const auto at = static_cast<std::size_t>(row);
    const Index length = set.ends[at] - (row == 0 ? 0 : set.ends[at - 1]);
    for (Index k = 0; k < length; ++k) {
      if (!(values[k] >= 0 && values[k] < ids)) {
        throw FileError(fmt::format("{}: row {}: token {} is {}, outside 0..{}",
                                    root.file,
                                    row,
                                    k,
                                    values[k],
                                    set.vocabulary - 1));
      }
      set.tokens.push_back(static_cast<std::int32_t>(values[k]));
    }
  };
  hdf5::read_integer_rows(root, "tokens", {set.size(), width}, row_by_row(width, take_row));
}

/// Reads rows of N tokens, the features of each token one after the other.
void read_feature_table(const Location& root, Index width, TokenSet& set) {
  set.values.reserve(static_cast<std::size_t>(set.ends.back() * set.features));
  const auto take_row = [&](Index row, const double* values) {
    for (Index k = 0; k < set.length(row) * set.features; ++k) {
      const auto value = static_cast<float>(values[k]);
      if (!std::isfinite(value)) {
        throw FileError(fmt::format("{}: row {}: feature {} of token {} is not a finite float",
                                    root.file,
                                    row,
                                    k % set.features,
                                    k / set.features));
      }
      set.values.push_back(value);
    }
  };
  hdf5::read_values(root, "features", {set.size(), width}, row_by_row(width, take_row));
}

/// The largest N of a file, from its table of ids or of features.
Index read_width(const Location& root, const TokenSet& set, const std::string& table) {
  const std::vector<Index> extents = hdf5::extents_of(root, table);
  const Index numbers = std::max<Index>(1, set.features);
  const bool fits = extents.size() == 2 && extents[0] >= 1 && extents[1] >= 1 &&
                    extents[1] % numbers == 0 && extents[1] / numbers <= kLongestSequence;
  if (fits) return extents[1] / numbers;
  throw FileError(fmt::format(
      "{}: dataset '{}' must have two extents, n and {} with N in 1..{}, both at least 1",
      root.file,
      table,
      set.features > 0 ? fmt::format("{} N", set.features) : "N",
      kLongestSequence));
}

/// Reads the `count` lines of a text dataset; none if there is no such dataset.
std::vector<std::string> read_token_names(const Location& root,
                                          const std::string& name,
                                          Index count) {
  std::vector<std::string> names;
  if (!hdf5::has_link(root, name)) return names;
  const std::string text = hdf5::read_text(root, name);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    names.push_back(text.substr(at, stop - at));
    at = stop + 1;
  }
  if (std::ssize(names) != count) {
    throw FileError(
        fmt::format("{}: dataset '{}' has {} lines, not {}", root.file, name, names.size(), count));
  }
  return names;
}

void require_token_format(const Location& root) {
  const bool ours = hdf5::has_attribute(root, "format") &&
                    hdf5::has_attribute(root, "format_version") &&
                    hdf5::get_text(root, "format") == kTokenFormat;
  if (!ours) {
    throw FileError(fmt::format(
        "{}: not a token file, which has the attributes format = '{}' and format_version",
        root.file,
        kTokenFormat));
  }
  const Index version = hdf5::get_integer(root, "format_version", 1, kLargestId);
  if (version > kTokenVersion) {
    throw FileError(
        fmt::format("{}: format version {} is newer than {}, the newest this program "
                    "reads",
                    root.file,
                    version,
                    kTokenVersion));
  }
}

/// Reads rows of 0 and 1, one number per label.
void read_targets(const Location& root, Index rows, TokenSet& set) {
  require_memory(static_cast<double>(rows) * static_cast<double>(set.classes), root.file);
  set.targets.reserve(static_cast<std::size_t>(rows * set.classes));
  const auto take_row = [&](Index row, const double* values) {
    for (Index c = 0; c < set.classes; ++c) {
      if (values[c] != 0 && values[c] != 1) {
        throw FileError(
            fmt::format("{}: row {}: target {} is {}, not 0 or 1", root.file, row, c, values[c]));
      }
      set.targets.push_back(values[c] == 1 ? 1 : 0);
    }
  };
  hdf5::read_integer_rows(root, "targets", {rows, set.classes}, row_by_row(set.classes, take_row));
}

/// Reads classes or sets of labels.
void read_answers(const Location& root, Index rows, TokenSet& set) {
  if (hdf5::has_link(root, "targets")) {
    if (hdf5::has_link(root, "labels"))
      throw FileError(fmt::format("{}: both datasets 'labels' and 'targets'", root.file));
    return read_targets(root, rows, set);
  }
  read_token_column(root, "labels", "label", rows, 0, set.classes - 1, [&](std::int32_t label) {
    set.labels.push_back(label);
  });
}

TokenSet read_token_rows(const Location& root) {
  TokenSet set;
  if (hdf5::has_attribute(root, "features")) {
    set.features = hdf5::get_integer(root, "features", 1, kMaxTokenFeatures);
  } else {
    set.vocabulary = hdf5::get_integer(root, "vocabulary", 1, kLargestId);
  }
  set.classes = hdf5::get_integer(root, "classes", 1, kLargestId);
  set.source = hdf5::get_text(root, "source");
  const std::string table = set.features > 0 ? "features" : "tokens";
  const Index width = read_width(root, set, table);
  const Index rows = hdf5::extents_of(root, table).front();
  require_memory(16.0 * static_cast<double>(rows), root.file);
  Index end = 0;
  read_token_column(root, "lengths", "length", rows, 1, width, [&](std::int32_t length) {
    set.ends.push_back(end += length);
  });
  require_memory(
      4.0 * static_cast<double>(end) * static_cast<double>(std::max<Index>(1, set.features)),
      root.file);
  read_answers(root, rows, set);
  if (hdf5::has_link(root, "split")) {
    read_token_column(root, "split", "split", rows, 0, 2, [&](std::int32_t split) {
      set.splits.push_back(static_cast<Split>(split));
    });
  }
  if (set.features > 0) {
    read_feature_table(root, width * set.features, set);
  } else {
    read_token_table(root, width, set);
    set.token_names = read_token_names(root, "token_names", set.vocabulary);
  }
  set.class_names = read_token_names(root, "class_names", set.classes);
  return set;
}

TokenSet read_token_file_here(const std::string& path) {
  const hdf5::ErrorSilencer silencer;
  const hdf5::Handle file = hdf5::open_file(path);
  const Location root{file, path};
  require_token_format(root);
  return read_token_rows(root);
}

}  // namespace

void write_token_file(const std::string& path, const TokenSet& set) {
  check_tokens(set, path);
  const hdf5::ErrorSilencer silencer;
  hdf5::OutputFile output(path);
  const Location root{output.file(), path};
  hdf5::put_text(root, "format", kTokenFormat);
  const bool is_first = set.features == 0 && !set.has_label_sets();
  hdf5::put_integer(root, "format_version", is_first ? 1 : kTokenVersion);
  hdf5::put_text(root, "writer", "matapprox " MATAPPROX_VERSION);
  if (set.features > 0) {
    hdf5::put_integer(root, "features", set.features);
  } else {
    hdf5::put_integer(root, "vocabulary", set.vocabulary);
  }
  hdf5::put_integer(root, "classes", set.classes);
  hdf5::put_text(root, "source", set.source);
  write_token_names(root, "token_names", set.token_names);
  write_token_names(root, "class_names", set.class_names);
  const Index rows = set.size();
  const auto of_row = [](const auto& values, Index i) {
    return static_cast<Index>(values[static_cast<std::size_t>(i)]);
  };
  write_token_column(
      root, "lengths", rows, hdf5::IntegerType::kInt32, [&](Index i) { return set.length(i); });
  if (set.has_label_sets()) {
    write_targets(root, set);
  } else {
    write_token_column(root, "labels", rows, hdf5::IntegerType::kInt32, [&](Index i) {
      return of_row(set.labels, i);
    });
  }
  if (!set.splits.empty()) {
    write_token_column(root, "split", rows, hdf5::IntegerType::kInt8, [&](Index i) {
      return of_row(set.splits, i);
    });
  }
  if (set.features > 0) {
    write_feature_table(root, set);
  } else {
    write_token_table(root, set);
  }
  output.commit();
}

TokenSet read_token_file(const std::string& path) {
  try_read({path, "HDF5", [&] { read_token_file_here(path); }});
  return read_token_file_here(path);
}

}  // namespace matapprox::tasks
