#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "io/hdf5_output.hpp"
#include "io/hdf5_values.hpp"
#include "io/saved_schema.hpp"
#include "io/saved_values.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

namespace {

using hdf5::Handle;
using hdf5::Location;

/// The first version of the format that has all values and the precision of the factors.
Index version_of(const Approximation& approximation) {
  const bool wide = approximation.precision() == Precision::kDouble ||
                    approximation.precision() == Precision::kFloat;
  Index version = wide ? schema::kVersionOfPlainFactors : schema::kVersionOf16Bits;
  for (const Factor& factor : approximation.factors())
    version = std::max(version, version_of(*factor.value));
  return version;
}

/// Writes each distinct value to a group of its own, in the order in which the factors first use
/// them.
void write_factors(const Location& root, const Approximation& approximation) {
  const Handle values = hdf5::create_group(root, "values");
  const Handle factors = hdf5::create_group(root, "factors");
  std::map<const FactorValue*, Index> numbers;
  Index position = 0;
  for (const Factor& factor : approximation.factors()) {
    const auto [entry, is_new] =
        numbers.emplace(factor.value.get(), static_cast<Index>(numbers.size()) + 1);
    if (is_new) {
      const Handle group = hdf5::create_group({values, root.file}, std::to_string(entry->second));
      write_value({group, root.file}, *factor.value, approximation.precision());
    }
    const Handle group = hdf5::create_group({factors, root.file}, std::to_string(++position));
    const Location place{group, root.file};
    hdf5::put_text(place, "name", factor.name);
    hdf5::put_integer(place, "value", entry->second);
    hdf5::put_integer(place, "transposed", factor.transposed ? 1 : 0);
  }
  hdf5::put_integer({values, root.file}, "count", static_cast<Index>(numbers.size()));
  hdf5::put_integer({factors, root.file}, "count", position);
}

void write_summary(const Location& root, const Summary& summary) {
  const Handle group = hdf5::create_group(root, "summary");
  const Location place{group, root.file};
  hdf5::put_text(place, "method", summary.method);
  hdf5::put_text(place, "form", summary.form);
  hdf5::put_text(place, "termination", std::string(enum_name(summary.termination)));
  hdf5::put_text(place, "message", summary.message);
  hdf5::put_integer(place, "rank", summary.rank);
  hdf5::put_integer(place, "iterations", summary.iterations);
  hdf5::put_seed(place, "seed", summary.seed);
  hdf5::write_values(place,
                     "history",
                     {static_cast<Index>(summary.history.size()), 3},
                     Precision::kDouble,
                     [&](Index first, Index count, double* rows) {
                       for (Index i = 0; i < count; ++i) {
                         const auto& point = summary.history[static_cast<std::size_t>(first + i)];
                         rows[3 * i] = static_cast<double>(point.iteration);
                         rows[3 * i + 1] = point.seconds;
                         rows[3 * i + 2] = point.relative_error;
                       }
                     });
  const Handle options = hdf5::create_group(place, "options");
  for (const OptionText& option : summary.options) {
    hdf5::write_text({options, root.file}, option.name, option.value);
  }
}

void put_if_finite(const Location& place,
                   const std::string& name,
                   const std::optional<double>& value) {
  if (value && std::isfinite(*value)) hdf5::put_number(place, name, *value);
}

void write_record(const Location& root, const SavedRecord& record) {
  const Handle result = hdf5::create_group(root, "result");
  const Location place{result, root.file};
  put_if_finite(place, "error_frobenius", record.error_frobenius);
  put_if_finite(place, "relative_error", record.relative_error);
  hdf5::put_integer(place, "error_is_exact", record.error_is_exact ? 1 : 0);
  hdf5::put_integer(place, "interrupted", record.interrupted ? 1 : 0);
  hdf5::put_number(place, "fit_seconds", record.fit_seconds);
  const Handle source = hdf5::create_group(root, "provenance");
  const Location origin{source, root.file};
  hdf5::put_text(origin, "path", record.provenance.path);
  hdf5::put_text(origin, "kind", record.provenance.kind);
  hdf5::put_integer(origin, "rows", record.provenance.rows);
  hdf5::put_integer(origin, "cols", record.provenance.cols);
  hdf5::write_values(origin, "fingerprint", record.provenance.fingerprint, Precision::kDouble);
}

void write_resume(const Location& root, const ResumeState& state) {
  if (state.empty()) return;
  const Handle resume = hdf5::create_group(root, "resume");
  const Handle arrays = hdf5::create_group({resume, root.file}, "arrays");
  for (const auto& [name, values] : state.arrays) {
    hdf5::write_values({arrays, root.file},
                       name,
                       {values.data(), static_cast<std::size_t>(values.size())},
                       Precision::kDouble);
  }
  for (const auto& [name, block] : state.blocks) {
    if (block.columns.space != nullptr) {
      hdf5::write_placed({arrays, root.file},
                         name,
                         {block.size},
                         block.columns,
                         hdf5::NotFinite::kAllowed,
                         block.read);
    } else {
      hdf5::write_values({arrays, root.file}, name, {block.size}, Precision::kDouble, block.read);
    }
  }
  const Handle counters = hdf5::create_group({resume, root.file}, "counters");
  for (const auto& [name, value] : state.counters) {
    hdf5::write_integers({counters, root.file}, name, {&value, 1});
  }
}

}  // namespace

void save(const std::string& path, const Approximation& approximation, const SavedRecord& record) {
  const hdf5::ErrorSilencer silencer;
  hdf5::OutputFile output(path);
  const Location root{output.file(), path};
  hdf5::put_text(root, "format", schema::kFormat);
  hdf5::put_integer(root, "format_version", version_of(approximation));
  hdf5::put_text(root, "writer", "matapprox " MATAPPROX_VERSION);
  hdf5::put_integer(root, "rows", approximation.rows());
  hdf5::put_integer(root, "cols", approximation.cols());
  hdf5::put_integer(root, "symmetrized", approximation.symmetrized() ? 1 : 0);
  hdf5::put_text(root, "precision", std::string(enum_name(approximation.precision())));
  write_summary(root, approximation.summary);
  write_record(root, record);
  write_factors(root, approximation);
  write_resume(root, record.resume);
  output.commit();
}

}  // namespace matapprox
