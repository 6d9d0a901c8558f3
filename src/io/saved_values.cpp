#include "io/saved_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/overloaded.hpp"
#include "factors/factor_value.hpp"
#include "io/file_numbers.hpp"
#include "io/hdf5_output.hpp"
#include "io/packed_values.hpp"
#include "io/saved_schema.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

using hdf5::Location;
using schema::fail;
using schema::size_attribute;

// Writing: the content of each kind.

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

void write_content(const Location& group, const Matrix& A, Precision precision) {
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

void write_content(const Location& group, const PlacedMatrix& A, Precision precision) {
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

void write_content(const Location& group, const SparseMatrix& A, Precision precision) {
  if (!A.isCompressed()) {
    SparseMatrix compressed = A;
    compressed.makeCompressed();
    return write_content(group, compressed, precision);
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

void write_content(const Location& group, const Vector& d, Precision precision) {
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

void write_content(const Location& group, const ChordFactors& chain, Precision precision) {
  write_pattern(group, chain.pattern);
  write_checked(group, chain.values, precision);
}

void write_content(const Location& group, const PlacedChord& chain, Precision precision) {
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

void write_content(const Location& group, const RandomProjection& R, Precision) {
  hdf5::put_text(group, "distribution", std::string(enum_name(R.kind())));
  hdf5::put_seed(group, "seed", R.seed());
  hdf5::put_integer(group, "rows", R.rows());
  hdf5::put_integer(group, "cols", R.cols());
}

void write_content(const Location& group, const Permutation& P, Precision) {
  hdf5::write_integers(group, "sources", P.sources(), P.cols() < schema::kNarrowColumns);
}

void write_content(const Location& group, const PackedMatrix& A, Precision) {
  write_packed(group, A);
}

void write_content(const Location& group, const BlockMatrix& A, Precision) {
  write_blocks(group, A);
}

void write_content(const Location& group, const PackedSparse& A, Precision) {
  write_packed_sparse(group, A);
}

void write_content(const Location& group, const PackedChord& chain, Precision) {
  write_pattern(group, chain.pattern());
  write_packed(group, chain.values());
}

void write_content(const Location& group, const Circulant& C, Precision precision) {
  write_content(group, C.first_column(), precision);
}

void write_content(const Location& group, const ToeplitzMatrix& T, Precision precision) {
  const auto& [outer, inner] = T.content().levels;
  hdf5::put_integer(group, "outer_rows", outer.rows);
  hdf5::put_integer(group, "outer_cols", outer.cols);
  hdf5::put_text(group, "outer_form", std::string(enum_name(outer.form)));
  hdf5::put_integer(group, "inner_rows", inner.rows);
  hdf5::put_integer(group, "inner_cols", inner.cols);
  hdf5::put_text(group, "inner_form", std::string(enum_name(inner.form)));
  write_content(group, T.content().symbol, precision);
}

void write_content(const Location& group, const TransformMatrix& T, Precision) {
  hdf5::put_text(group, "transform", std::string(enum_name(T.kind())));
  hdf5::put_integer(group, "order", T.rows());
}

void write_content(const Location& group, const DictionaryMatrix& A, Precision) {
  const DictionaryMatrix::Content& content = A.content();
  hdf5::put_integer(group, "rows", content.rows);
  hdf5::put_integer(group, "cols", content.cols);
  hdf5::put_integer(group, "symmetric", content.symmetric ? 1 : 0);
  hdf5::put_integer(group, "bits", content.bits);
  hdf5::write_values(group, "dictionary", content.values, A.list_precision());
  if (!content.lengths.empty()) hdf5::write_integers(group, "lengths", content.lengths, true);
  hdf5::write_array(group, "data", A.data());
}

void write_content(const Location& group, const CompressedMatrix& A, Precision) {
  const CompressedMatrix::Content& content = A.content();
  hdf5::put_integer(group, "rows", content.rows);
  hdf5::put_integer(group, "cols", content.cols);
  hdf5::put_integer(group, "symmetric", content.symmetric ? 1 : 0);
  hdf5::put_integer(group, "by_byte", content.by_byte ? 1 : 0);
  hdf5::write_integers(group, "lengths", content.lengths, true);
  hdf5::write_array(group, "data", std::span<const std::uint8_t>(content.data));
}

void write_content(const Location& group, const KroneckerSum& K, Precision) {
  hdf5::put_integer(group, "left_rows", K.shape().left_rows);
  hdf5::put_integer(group, "left_cols", K.shape().left_cols);
  hdf5::put_integer(group, "right_rows", K.shape().right_rows);
  hdf5::put_integer(group, "right_cols", K.shape().right_cols);
  hdf5::put_integer(group, "symmetric", K.content().symmetric ? 1 : 0);
  const hdf5::Handle left = hdf5::create_group(group, "left");
  write_packed({left, group.file}, K.content().left);
  if (K.content().right) {
    const hdf5::Handle right = hdf5::create_group(group, "right");
    write_packed({right, group.file}, *K.content().right);
  } else {
    const Vector& w = K.content().weights;
    hdf5::write_values(group, "weights", {w.data(), w.data() + w.size()}, Precision::kDouble);
  }
}

void write_content(const Location& group, const KroneckerSparse& K, Precision) {
  hdf5::put_integer(group, "blocks", K.pattern().blocks);
  hdf5::put_integer(group, "block_rows", K.pattern().rows);
  hdf5::put_integer(group, "block_cols", K.pattern().cols);
  hdf5::put_integer(group, "order", K.pattern().order);
  write_packed(group, K.values());
}

void write_content(const Location& group, const WaveletMatrix& W, Precision) {
  const WaveletMatrix::Content& content = W.content();
  hdf5::put_integer(group, "rows", content.rows);
  hdf5::put_integer(group, "cols", content.cols);
  hdf5::put_integer(group, "symmetric", content.symmetric ? 1 : 0);
  hdf5::put_integer(group, "levels", content.levels);
  hdf5::put_integer(group, "nonzeros", content.nonzeros);
  hdf5::put_number(group, "step", content.step);
  for (std::size_t k = 0; k < content.shifts.size(); ++k)
    hdf5::put_integer(group, fmt::format("shift_{}", k + 1), content.shifts[k]);
  hdf5::write_integers(group, "lengths", content.lengths, true);
  hdf5::write_array<std::uint8_t>(group, "data", content.data);
}

void write_content(const Location& group, const SumMatrix& A, Precision) {
  Index number = 0;
  for (const Factor& term : A.terms()) {
    const hdf5::Handle place = hdf5::create_group(group, fmt::format("term_{}", ++number));
    write_value({place, group.file}, *term.value, Precision::kDouble);
  }
}

// Reading.

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
  return {schema::choice<ProjectionKind>(group, "distribution", "distribution"),
          hdf5::get_seed(group, "seed"),
          size_attribute(group, "rows"),
          size_attribute(group, "cols")};
}

Permutation read_permutation(const Location& group) {
  return Permutation(hdf5::read_integers(group, "sources"));
}

ToeplitzMatrix read_toeplitz(const Location& group) {
  const auto level = [&](const std::string& which) -> ToeplitzLevel {
    return {size_attribute(group, which + "_rows"),
            size_attribute(group, which + "_cols"),
            schema::choice<ToeplitzForm>(group, which + "_form", "form of a level")};
  };
  return ToeplitzMatrix({{level("outer"), level("inner")}, read_diagonal(group)});
}

DictionaryMatrix read_dictionary(const Location& group) {
  DictionaryMatrix::Content content;
  content.rows = size_attribute(group, "rows");
  content.cols = size_attribute(group, "cols");
  content.symmetric = schema::flag(group, "symmetric");
  content.bits = static_cast<int>(hdf5::get_integer(group, "bits", 0, 16));
  content.values = hdf5::read_values(group, "dictionary");
  if (hdf5::has_link(group, "lengths")) content.lengths = hdf5::read_integers(group, "lengths");
  content.data = hdf5::read_array<std::uint8_t>(group, "data");
  const auto decode =
      in_trial_read() ? DictionaryMatrix::Decode::kOnFirstUse : DictionaryMatrix::Decode::kNow;
  return DictionaryMatrix(std::move(content), decode);
}

CompressedMatrix read_compressed(const Location& group) {
  CompressedMatrix::Content content;
  content.rows = size_attribute(group, "rows");
  content.cols = size_attribute(group, "cols");
  content.symmetric = schema::flag(group, "symmetric");
  content.by_byte = schema::flag(group, "by_byte");
  content.lengths = hdf5::read_integers(group, "lengths");
  content.data = hdf5::read_array<std::uint8_t>(group, "data");
  const auto decode =
      in_trial_read() ? CompressedMatrix::Decode::kOnFirstUse : CompressedMatrix::Decode::kNow;
  return CompressedMatrix(std::move(content), decode);
}

KroneckerSum read_kronecker(const Location& group) {
  const KroneckerSum::Shape shape{size_attribute(group, "left_rows"),
                                  size_attribute(group, "left_cols"),
                                  size_attribute(group, "right_rows"),
                                  size_attribute(group, "right_cols")};
  const hdf5::Handle left = hdf5::open_group(group, "left");
  KroneckerSum::Content content{
      shape, schema::flag(group, "symmetric"), read_packed({left, group.file}), {}, {}};
  if (hdf5::has_link(group, "right")) {
    const hdf5::Handle right = hdf5::open_group(group, "right");
    content.right = read_packed({right, group.file});
  } else {
    const std::vector<double> weights = hdf5::read_values(group, "weights");
    content.weights = Eigen::Map<const Vector>(weights.data(), static_cast<Index>(weights.size()));
  }
  return KroneckerSum(std::move(content));
}

KroneckerSparse read_kronecker_sparse(const Location& group) {
  return {{size_attribute(group, "blocks"),
           size_attribute(group, "block_rows"),
           size_attribute(group, "block_cols"),
           size_attribute(group, "order")},
          read_packed(group)};
}

WaveletMatrix read_wavelet(const Location& group) {
  WaveletMatrix::Content content;
  content.rows = size_attribute(group, "rows");
  content.cols = size_attribute(group, "cols");
  content.symmetric = schema::flag(group, "symmetric");
  content.levels = hdf5::get_integer(group, "levels", 0, 64);
  content.nonzeros = hdf5::get_integer(group, "nonzeros", 0, schema::kLargest);
  content.step = hdf5::get_number(group, "step");
  for (std::size_t k = 0; k < content.shifts.size(); ++k) {
    content.shifts[k] = static_cast<std::int8_t>(
        hdf5::get_integer(group, fmt::format("shift_{}", k + 1), -127, 127));
  }
  content.lengths = hdf5::read_integers(group, "lengths");
  content.data = hdf5::read_array<std::uint8_t>(group, "data");
  const auto decode =
      in_trial_read() ? WaveletMatrix::Decode::kOnFirstUse : WaveletMatrix::Decode::kNow;
  return WaveletMatrix(std::move(content), decode);
}

/// A kind of value: its name in files, the first version of the format that has it, and its reader.
struct Kind {
  std::string_view name;
  Index version;
  FactorValue (*read)(const Location& group);
};

template <auto read>
FactorValue value_of(const Location& group) {
  return read(group);
}

PackedChord read_packed_chord(const Location& group) {
  return {read_pattern(group), read_packed(group)};
}

Circulant read_circulant(const Location& group) { return Circulant(read_diagonal(group)); }

TransformMatrix read_transform(const Location& group) {
  return {schema::choice<TransformKind>(group, "transform", "transform"),
          size_attribute(group, "order")};
}

SumMatrix read_sum(const Location& group) {
  std::vector<Factor> terms;
  for (Index number = 1;; ++number) {
    const std::string name = fmt::format("term_{}", number);
    if (!hdf5::has_link(group, name)) break;
    const hdf5::Handle place = hdf5::open_group(group, name);
    const Location term{place, group.file};
    if (hdf5::get_text(term, "kind") == "sum") fail(group, "a term of a sum is a sum");
    terms.push_back(make_factor(name, read_value(term)));
  }
  return SumMatrix(std::move(terms));
}

constexpr std::array kKinds{Kind{"dense", 1, value_of<read_dense>},
                            Kind{"sparse", 1, value_of<read_sparse>},
                            Kind{"diagonal", 1, value_of<read_diagonal>},
                            Kind{"chord", 1, value_of<read_chord>},
                            Kind{"random", 1, value_of<read_random>},
                            Kind{"permutation", 2, value_of<read_permutation>},
                            Kind{"packed", 2, value_of<read_packed>},
                            Kind{"blocks", 2, value_of<read_blocks>},
                            Kind{"packed_chord", 2, value_of<read_packed_chord>},
                            Kind{"packed_sparse", 2, value_of<read_packed_sparse>},
                            Kind{"circulant", 3, value_of<read_circulant>},
                            Kind{"toeplitz", 3, value_of<read_toeplitz>},
                            Kind{"dictionary", 3, value_of<read_dictionary>},
                            Kind{"compressed", 3, value_of<read_compressed>},
                            Kind{"kronecker", 3, value_of<read_kronecker>},
                            Kind{"kronecker_sparse", 3, value_of<read_kronecker_sparse>},
                            Kind{"wavelet", 3, value_of<read_wavelet>},
                            Kind{"transform", 3, value_of<read_transform>},
                            Kind{"sum", 3, value_of<read_sum>}};

std::string_view name_of(const FactorValue& value) {
  return std::visit(Overloaded{[](const Matrix&) { return "dense"; },
                               [](const SparseMatrix&) { return "sparse"; },
                               [](const Vector&) { return "diagonal"; },
                               [](const ChordFactors&) { return "chord"; },
                               [](const RandomProjection&) { return "random"; },
                               [](const Permutation&) { return "permutation"; },
                               [](const PackedMatrix&) { return "packed"; },
                               [](const BlockMatrix&) { return "blocks"; },
                               [](const PackedChord&) { return "packed_chord"; },
                               [](const PackedSparse&) { return "packed_sparse"; },
                               [](const Circulant&) { return "circulant"; },
                               [](const ToeplitzMatrix&) { return "toeplitz"; },
                               [](const DictionaryMatrix&) { return "dictionary"; },
                               [](const CompressedMatrix&) { return "compressed"; },
                               [](const KroneckerSum&) { return "kronecker"; },
                               [](const KroneckerSparse&) { return "kronecker_sparse"; },
                               [](const WaveletMatrix&) { return "wavelet"; },
                               [](const TransformMatrix&) { return "transform"; },
                               [](const SumMatrix&) { return "sum"; },
                               [](const PlacedMatrix&) { return "dense"; },
                               [](const PlacedChord&) { return "chord"; }},
                    value);
}

/// The kind of that name, or null.
const Kind* find_kind(std::string_view name) {
  const auto* found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.name == name; });
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace

Index version_of(const FactorValue& value) { return find_kind(name_of(value))->version; }

void write_value(const Location& group, const FactorValue& value, Precision precision) {
  hdf5::put_text(group, "kind", std::string(name_of(value)));
  std::visit([&](const auto& content) { write_content(group, content, precision); }, value);
}

FactorValue read_value(const Location& group) {
  const std::string name = hdf5::get_text(group, "kind");
  const Kind* kind = find_kind(name);
  if (kind == nullptr) fail(group, fmt::format("unknown kind of factor '{}'", name));
  return kind->read(group);
}

}  // namespace matapprox
