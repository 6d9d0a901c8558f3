#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "factors/factor_value.hpp"
#include "io/file_numbers.hpp"
#include "io/hdf5_output.hpp"
#include "io/hdf5_values.hpp"
#include "io/packed_values.hpp"
#include "io/saved_schema.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

namespace {

using hdf5::Handle;
using hdf5::Location;

/// Throws for NaN and Inf, and for values that `precision` cannot represent: they would be read
/// back as other numbers.
void check_values(const double* values, Index count, Precision precision, const Location& place) {
  for (Index i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) {
      throw NumericalError(fmt::format("{}: a factor holds NaN or Inf", place.file));
    }
    require(
        rounded_number(values[i], precision) == values[i],
        "{0}: a factor to be saved as {1} holds values that are not {1}s; call round_factors first",
        place.file,
        enum_name(precision));
  }
}

void write_checked(const Location& group, std::span<const double> values, Precision precision) {
  check_values(values.data(), static_cast<Index>(values.size()), precision, group);
  hdf5::write_values(group, "values", values, precision);
}

void write_value(const Location& group, const Matrix& A, Precision precision) {
  check_values(A.data(), A.size(), precision, group);
  hdf5::write_values(
      group,
      "values",
      {A.rows(), A.cols()},
      precision,
      [&](Index first, Index count, double* rows) { copy_rows(A, first, count, rows); });
}

/// Writes directly from the memory space, or in pieces: the whole is never copied to one memory.
void write_from_its_place(const Location& group,
                          const std::vector<Index>& extents,
                          const ConstMultiVectorView& block,
                          Precision precision,
                          const hdf5::RowSource& source) {
  if (precision == Precision::kDouble) {
    hdf5::write_placed(group, "values", extents, block, hdf5::NotFinite::kRefused, source);
  } else {
    hdf5::write_values(group, "values", extents, precision, source);
  }
}

void write_value(const Location& group, const PlacedMatrix& A, Precision precision) {
  write_from_its_place(group,
                       {A.rows(), A.cols()},
                       A.numbers(),
                       precision,
                       [&](Index first, Index count, double* rows) {
                         const Matrix piece = A.middle_rows(first, count);
                         check_values(piece.data(), piece.size(), precision, group);
                         copy_rows(piece, 0, count, rows);
                       });
}

std::string_view kind_of(const FactorValue& value) {
  if (std::holds_alternative<PlacedMatrix>(value)) return schema::kKinds[0];
  if (std::holds_alternative<PlacedChord>(value)) return schema::kKinds[3];
  return schema::kKinds[value.index()];
}

void write_value(const Location& group, const SparseMatrix& A, Precision precision) {
  if (!A.isCompressed()) {
    SparseMatrix compressed = A;
    compressed.makeCompressed();
    return write_value(group, compressed, precision);
  }
  const auto count = static_cast<std::size_t>(A.nonZeros());
  hdf5::put_integer(group, "rows", A.rows());
  hdf5::put_integer(group, "cols", A.cols());
  hdf5::write_integers(
      group, "row_pointers", {A.outerIndexPtr(), static_cast<std::size_t>(A.rows() + 1)});
  hdf5::write_integers(
      group, "columns", {A.innerIndexPtr(), count}, A.cols() < schema::kNarrowColumns);
  write_checked(group, {A.valuePtr(), count}, precision);
}

void write_value(const Location& group, const Vector& d, Precision precision) {
  write_checked(group, {d.data(), static_cast<std::size_t>(d.size())}, precision);
}

void write_pattern(const Location& group, const ChordPattern& pattern) {
  std::vector<Index> links;
  std::vector<Index> offsets;
  for (const auto& list : pattern.offsets) {
    links.push_back(static_cast<Index>(list.size()));
    offsets.insert(offsets.end(), list.begin(), list.end());
  }
  hdf5::put_integer(group, "order", pattern.order);
  hdf5::write_integers(group, "links", links);
  hdf5::write_integers(group, "offsets", offsets);
}

void write_value(const Location& group, const ChordFactors& chain, Precision precision) {
  write_pattern(group, chain.pattern);
  write_checked(group, chain.values, precision);
}

void write_value(const Location& group, const PlacedChord& chain, Precision precision) {
  write_pattern(group, chain.pattern());
  write_from_its_place(group,
                       {chain.size()},
                       chain.values().columns(),
                       precision,
                       [&](Index first, Index count, double* values) {
                         chain.read(first, count, values);
                         check_values(values, count, precision, group);
                       });
}

void write_value(const Location& group, const RandomProjection& R, Precision) {
  hdf5::put_text(group, "distribution", std::string(enum_name(R.kind())));
  hdf5::put_seed(group, "seed", R.seed());
  hdf5::put_integer(group, "rows", R.rows());
  hdf5::put_integer(group, "cols", R.cols());
}

void write_value(const Location& group, const Permutation& P, Precision) {
  hdf5::write_integers(group, "sources", P.sources(), P.cols() < schema::kNarrowColumns);
}

void write_value(const Location& group, const PackedMatrix& A, Precision) {
  write_packed(group, A);
}

void write_value(const Location& group, const BlockMatrix& A, Precision) { write_blocks(group, A); }

void write_value(const Location& group, const PackedSparse& A, Precision) {
  write_packed_sparse(group, A);
}

void write_value(const Location& group, const PackedChord& chain, Precision) {
  write_pattern(group, chain.pattern());
  write_packed(group, chain.values());
}

Index version_of(const Approximation& approximation) {
  const auto& factors = approximation.factors();
  const bool plain = std::all_of(factors.begin(), factors.end(), [](const Factor& factor) {
    return !std::holds_alternative<Permutation>(*factor.value) &&
           !std::holds_alternative<PackedMatrix>(*factor.value) &&
           !std::holds_alternative<BlockMatrix>(*factor.value) &&
           !std::holds_alternative<PackedChord>(*factor.value) &&
           !std::holds_alternative<PackedSparse>(*factor.value);
  });
  const bool wide = approximation.precision() == Precision::kDouble ||
                    approximation.precision() == Precision::kFloat;
  return plain && wide ? schema::kVersionOfPlainFactors : schema::kVersion;
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
      const Location place{group, root.file};
      hdf5::put_text(place, "kind", std::string(kind_of(*factor.value)));
      std::visit([&](const auto& value) { write_value(place, value, approximation.precision()); },
                 *factor.value);
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
