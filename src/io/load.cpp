#include "matapprox/io/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>

#include "io/hdf5_stored.hpp"
#include "io/input_kinds.hpp"
#include "io/proportion.hpp"
#include "io/text_input.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

namespace {

bool is_graph_kind(InputKind kind) {
  return kind == InputKind::kAdjacency || kind == InputKind::kLaplacian ||
         kind == InputKind::kNormalizedLaplacian;
}

bool has_variables(FileFormat format) {
  return format == FileFormat::kMat || format == FileFormat::kNpz || format == FileFormat::kHdf5;
}

/// Treats plain tables as edge lists if a graph is requested.
FileFormat format_for(FileFormat format, InputKind kind) {
  return format == FileFormat::kDelimited && is_graph_kind(kind) ? FileFormat::kEdgeList : format;
}

void check_options(const std::string& name, FileFormat format, const LoadOptions& options) {
  require(options.variable.empty() || has_variables(format),
          "{}: variable '{}' was requested, but only .mat, .npz and .h5 files have variables",
          name,
          options.variable);
  require(!options.directed || format == FileFormat::kEdgeList,
          "{}: directed applies to edge lists only",
          name);
  require(!options.allow_external || format == FileFormat::kHdf5 || format == FileFormat::kMat,
          "{}: allow_external applies to HDF5 and .mat files only",
          name);
}

Index& dataset_limit() {
  static Index limit = std::numeric_limits<Index>::max();
  return limit;
}

void drop_zeros(SparseMatrix& A) {
  A.prune([](Index, Index, double value) { return value != 0; });
}

Source from_image(GrayImage image) {
  Source source;
  if (image.was_color) {
    source.notes.emplace_back("color converted to luminance, 0.299 R + 0.587 G + 0.114 B");
  }
  if (image.had_alpha) source.notes.emplace_back("transparency ignored");
  if (image.maximum != 255) {
    source.notes.push_back(fmt::format("gray values as stored, 0..{}", image.maximum));
  }
  source.is_image = true;
  source.matrix = std::move(image.values);
  return source;
}

/// Uses swap(), because Eigen 3.4 would copy a sparse matrix in a move.
template <class Values>
Source from_values(Values& values) {
  Source source;
  source.matrix.emplace<Values>().swap(values);
  return source;
}

Source from_matrix(Matrix&& matrix) { return from_values(matrix); }
Source from_matrix(SparseMatrix&& matrix) { return from_values(matrix); }
Source from_matrix(FileMatrix&& matrix) {
  return std::visit([](auto& values) { return from_values(values); }, matrix);
}

Source from_mat(const std::string& path, const LoadOptions& options) {
  FileMatrix matrix = read_mat(path, options.variable);
  if (auto* A = std::get_if<SparseMatrix>(&matrix); A != nullptr && !options.keep_explicit_zeros) {
    drop_zeros(*A);
  }
  return from_matrix(std::move(matrix));
}

/// Returns a saved approximation, a dataset read as a whole, or a dataset that stays in the file.
Source from_hdf5(const FileName& name, const LoadOptions& options) {
  Source source;
  std::string dataset = name.dataset.empty() ? options.variable : name.dataset;
  require(name.dataset.empty() || options.variable.empty() || options.variable == name.dataset,
          "{}: both dataset '{}' and variable '{}' were requested",
          name.path,
          name.dataset,
          options.variable);
  if (dataset.empty() && is_saved_approximation(name.path)) {
    auto saved = std::make_shared<SavedApproximation>(load_approximation(name.path));
    source.notes.push_back(
        fmt::format("saved approximation by {}", saved->approximation.summary.method));
    source.ready = std::shared_ptr<const LinearOperator>(saved, &saved->approximation);
    return source;
  }
  const Hdf5DatasetInfo info = find_hdf5_matrix(name.path, dataset);
  const double bytes = 8.0 * static_cast<double>(info.rows) * static_cast<double>(info.cols);
  const Index available = available_memory_bytes();
  const bool is_large = available > 0 && bytes > static_cast<double>(available) / 2;
  if (options.kind == InputKind::kMatrix &&
      (is_large || bytes > static_cast<double>(dataset_limit()))) {
    source.notes.emplace_back(is_large ? "larger than half of the free memory: read panel by panel"
                                       : "left in the file: read as needed");
    source.ready = std::make_shared<Hdf5Operator>(name.path, info.dataset);
    return source;
  }
  source.matrix = read_hdf5_matrix(name.path, info.dataset);
  return source;
}

Source from_table(const std::function<Matrix(std::vector<std::string>*)>& read) {
  std::vector<std::string> notes;
  Source source = from_matrix(read(&notes));
  source.notes = std::move(notes);
  return source;
}

/// Adds a note if keep_explicit_zeros has no effect. That is no error: a script may give it for all
/// of its files.
void note_unused_zeros(FileFormat format, const LoadOptions& options, Source& source) {
  if (!options.keep_explicit_zeros) return;
  const bool reads_them = format == FileFormat::kMatrixMarket || format == FileFormat::kMat;
  if (!reads_them) {
    source.notes.emplace_back(
        "keep_explicit_zeros has no effect: it is for sparse .mtx and .mat files");
  } else if (!std::holds_alternative<SparseMatrix>(source.matrix)) {
    source.notes.emplace_back("keep_explicit_zeros has no effect: the file is dense");
  } else if (options.kind != InputKind::kMatrix && !is_graph_kind(options.kind) &&
             options.kind != InputKind::kInverse) {
    source.notes.push_back(fmt::format("keep_explicit_zeros has no effect on '{}', which is dense",
                                       enum_name(options.kind)));
  }
}

Source read_file(const FileName& name, FileFormat format, const LoadOptions& options) {
  const std::string& path = name.path;
  switch (format) {
    case FileFormat::kMatrixMarket:
      return from_matrix(read_matrix_market(path, {options.keep_explicit_zeros}));
    case FileFormat::kMat:
      return from_mat(path, options);
    case FileFormat::kNpy:
      return from_matrix(read_npy(path));
    case FileFormat::kNpz:
      return from_matrix(read_npz(path, options.variable));
    case FileFormat::kDelimited:
      return from_table(
          [&](std::vector<std::string>* notes) { return read_delimited(path, notes); });
    case FileFormat::kHdf5:
      return from_hdf5(name, options);
    case FileFormat::kImage:
      return from_image(read_image(path));
    case FileFormat::kPajek:
      return from_matrix(read_pajek(path));
    case FileFormat::kEdgeList:
      return from_matrix(read_edge_list(path, options.directed));
  }
  throw FileError(path + ": unknown format");
}

Source read_bytes(std::string_view bytes,
                  const std::string& name,
                  FileFormat format,
                  const LoadOptions& options) {
  switch (format) {
    case FileFormat::kMatrixMarket:
      return from_matrix(parse_matrix_market(bytes, name, {options.keep_explicit_zeros}));
    case FileFormat::kNpy:
      return from_matrix(parse_npy(bytes, name));
    case FileFormat::kNpz:
      return from_matrix(parse_npz(bytes, name, options.variable));
    case FileFormat::kImage:
      return from_image(parse_image(bytes, name));
    case FileFormat::kPajek:
      return from_matrix(parse_pajek(bytes, name));
    case FileFormat::kEdgeList:
      return from_matrix(parse_edge_list(bytes, name, options.directed));
    default:
      return from_table(
          [&](std::vector<std::string>* notes) { return parse_delimited(bytes, name, notes); });
  }
}

/// Returns the format of a stream, which has no name that determines it.
FileFormat format_of_start(std::string_view start, const std::string& name) {
  const FileFormat format = format_of_bytes(start);
  const bool has_signature =
      format == FileFormat::kImage || format == FileFormat::kNpy || format == FileFormat::kNpz;
  if (!has_signature) require_text(start, name);
  return format;
}

/// True for standard input ("-") and for other open streams that have a name in the file system.
bool is_stream(const std::string& path) {
  return path == "-" || path == "/dev/stdin" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

Source read_stream(const std::string& path, const LoadOptions& options) {
  const std::string name = display_name(path);
  const InputBytes bytes = read_all(
      path, [](std::string_view start, const std::string& n) { format_of_start(start, n); });
  if (bytes.size() == 0) throw FileError(fmt::format("{}: it is empty", name));
  const FileFormat format = format_for(format_of_bytes(bytes), options.kind);
  check_options(name, format, options);
  Source source = read_bytes(bytes, name, format, options);
  note_unused_zeros(format, options, source);
  return source;
}

Source read_source(const std::string& path, const LoadOptions& options) {
  if (is_stream(path)) return read_stream(path, options);
  const FileName name = split_file_name(path);
  std::error_code code;
  const auto status = std::filesystem::status(name.path, code);
  if (status.type() == std::filesystem::file_type::not_found)
    throw FileError(fmt::format("{}: no such file", name.path));
  if (!std::filesystem::exists(status))
    throw FileError(fmt::format("{}: cannot be opened: {}", name.path, code.message()));
  if (std::filesystem::is_directory(status)) {
    throw FileError(fmt::format("{}: is a folder, not a file", name.path));
  }
  const FileFormat format = format_for(format_of_name(name.path), options.kind);
  check_options(name.path, format, options);
  Source source = read_file(name, format, options);
  note_unused_zeros(format, options, source);
  return source;
}

/// Throws unless vectors of the length of a row are in proportion to the file: a sparse matrix may
/// have any number of columns without an entry.
void require_vectors(const std::string& path, const SparseMatrix& A) {
  std::error_code code;
  const auto bytes = std::filesystem::file_size(path, code);
  require_proportion(
      sparse_bytes(static_cast<double>(A.rows()), static_cast<double>(A.cols()), 0),
      code ? 16.0 * static_cast<double>(A.nonZeros()) : static_cast<double>(bytes),
      display_name(path),
      fmt::format("for {} x {}; leave out empty rows and columns", A.rows(), A.cols()));
}

/// Returns the kind and every option that is not at its default: "kernel kernel=laplacian
/// bandwidth=2".
std::string kind_in_words(const LoadOptions& options) {
  std::string words(enum_name(options.kind));
  const std::vector<OptionText> defaults = list_options(LoadOptions{});
  const std::vector<OptionText> chosen = list_options(options);
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const bool of_matrix = chosen[k].name != "as" && chosen[k].name != "allow_external";
    if (of_matrix && chosen[k].value != defaults[k].value) {
      words += fmt::format(" {}={}", chosen[k].name, chosen[k].value);
    }
  }
  return words;
}

}  // namespace

void LoadOptions::visit(OptionVisitor& v) {
  v.visit_enum("as", kind, "interpretation of the numbers in the file");
  v.visit("variable", variable, "name of the array in a .mat, .npz or .h5 file");
  v.visit("kernel",
          kernel,
          "as kernel: gaussian, laplacian, matern32, matern52, polynomial, linear or cosine");
  v.visit("bandwidth", bandwidth, "as kernel: bandwidth h of the function; 0: the median rule");
  v.visit("degree", degree, "as kernel: degree of the polynomial kernel");
  v.visit("offset", offset, "as kernel: constant term of the polynomial kernel");
  v.visit("directed", directed, "edge list: keep the directions of edges");
  v.visit("keep_explicit_zeros", keep_explicit_zeros, "sparse files: store entries given as 0");
  v.visit("allow_external",
          allow_external,
          "HDF5, .mat 7.3: follow external links, external storage and virtual datasets");
  v.visit("skip_columns",
          skip_columns,
          "points, samples: columns to omit, counted from 0, such as 0,5 or last");
}

void leave_datasets_in_files(Index bytes) { dataset_limit() = bytes; }

LoadedMatrix load(const std::string& path, const LoadOptions& options) {
  check_kind_options(path, options);
  const hdf5::ExternalScope scope(options.allow_external);
  Source source = read_source(path, options);
  if (const auto* A = std::get_if<SparseMatrix>(&source.matrix)) require_vectors(path, *A);
  LoadedMatrix loaded;
  loaded.matrix = make_operator(path, source, options);
  loaded.notes = std::move(source.notes);
  if (const double difference = loaded.matrix->known_facts().averaged_asymmetry; difference > 0) {
    loaded.notes.push_back(
        fmt::format("symmetric up to rounding: mirrored entries that differ by up to {:.2g} are "
                    "treated as equal",
                    difference));
  }
  loaded.provenance = {path,
                       kind_in_words(options),
                       loaded.matrix->rows(),
                       loaded.matrix->cols(),
                       fingerprint(*loaded.matrix)};
  return loaded;
}

}  // namespace matapprox
