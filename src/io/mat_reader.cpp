#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <matio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "io/hdf5_handle.hpp"
#include "io/hdf5_stored.hpp"
#include "io/mat_structure.hpp"
#include "io/proportion.hpp"
#include "io/table_reader.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {

namespace {

/// The bytes of a regular file, mapped for reading; nothing is copied.
class MappedFile {
 public:
  /// Throws FileError if the file is missing, unreadable or not a regular file.
  explicit MappedFile(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      throw FileError(
          fmt::format("{}: cannot open: {}", path, std::generic_category().message(errno)));
    }
    struct stat status {};
    const bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    size_ = regular ? static_cast<std::size_t>(status.st_size) : 0;
    if (size_ > 0) bytes_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int code = errno;
    close(descriptor);
    if (!regular) throw FileError(fmt::format("{}: not a regular file", path));
    if (bytes_ == MAP_FAILED) {
      throw FileError(
          fmt::format("{}: cannot read: {}", path, std::generic_category().message(code)));
    }
  }
  ~MappedFile() {
    if (bytes_ != nullptr) munmap(bytes_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view view() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
};

struct CloseMat {
  void operator()(mat_t* file) const { Mat_Close(file); }
};
struct FreeVariable {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using MatFile = std::unique_ptr<mat_t, CloseMat>;
using Variable = std::unique_ptr<matvar_t, FreeVariable>;

MatFile open_mat_file(const std::string& path) {
  MatFile file(Mat_Open(path.c_str(), MAT_ACC_RDONLY));
  if (!file) throw FileError(fmt::format("{}: the MATLAB library cannot open it: damaged", path));
  return file;
}

bool is_numeric(const matvar_t& variable) {
  switch (variable.class_type) {
    case MAT_C_SPARSE:
    case MAT_C_DOUBLE:
    case MAT_C_SINGLE:
    case MAT_C_INT8:
    case MAT_C_UINT8:
    case MAT_C_INT16:
    case MAT_C_UINT16:
    case MAT_C_INT32:
    case MAT_C_UINT32:
    case MAT_C_INT64:
    case MAT_C_UINT64:
      return true;
    default:
      return false;
  }
}

struct Entry {
  std::string name;
  std::string what;  ///< text for lists: "A (10 x 10)"
  bool is_matrix = false;
  bool is_scalar = false;
};

std::vector<Entry> list_variables(const std::string& path) {
  const MatFile file = open_mat_file(path);
  std::vector<Entry> entries;
  while (true) {
    const Variable variable(Mat_VarReadNextInfo(file.get()));
    if (!variable) return entries;
    if (variable->name == nullptr || variable->rank < 1 || variable->dims == nullptr) continue;
    const std::span<const std::size_t> dims(variable->dims,
                                            static_cast<std::size_t>(variable->rank));
    const bool is_matrix = is_numeric(*variable) && dims.size() == 2 && dims[0] > 0 && dims[1] > 0;
    entries.push_back({variable->name,
                       fmt::format("{} ({})", variable->name, fmt::join(dims, " x ")),
                       is_matrix,
                       is_matrix && dims[0] * dims[1] == 1});
  }
}

std::string in_words(const std::vector<Entry>& entries, bool matrices_only) {
  std::vector<std::string> words;
  for (const Entry& entry : entries) {
    if (words.size() < 20 && (entry.is_matrix || !matrices_only)) words.push_back(entry.what);
  }
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

/// Returns the name of the only matrix, ignoring scalars beside it.
std::string only_matrix(const std::string& path) {
  const std::vector<Entry> entries = list_variables(path);
  std::vector<std::string> matrices;
  std::vector<std::string> scalars;
  for (const Entry& entry : entries) {
    if (entry.is_matrix) (entry.is_scalar ? scalars : matrices).push_back(entry.name);
  }
  const std::vector<std::string>& chosen = matrices.empty() ? scalars : matrices;
  if (chosen.empty()) {
    throw FileError(fmt::format("{}: no numeric two-dimensional variable; the file holds {}",
                                path,
                                in_words(entries, false)));
  }
  if (chosen.size() > 1) {
    throw FileError(
        fmt::format("{}: several matrices; name one of them: {}", path, in_words(entries, true)));
  }
  return chosen.front();
}

[[noreturn]] void throw_unknown_variable(const std::string& path, const std::string& name) {
  throw FileError(fmt::format("{}: no variable '{}'; the file holds {}",
                              path,
                              name,
                              in_words(list_variables(path), false)));
}

/// Returns the variable, or for "Problem.A" a field of a structure; `top` owns it.
const matvar_t& find_variable(const std::string& path,
                              mat_t* file,
                              const std::string& name,
                              Variable& top) {
  std::size_t end = name.find('.');
  top.reset(Mat_VarReadInfo(file, name.substr(0, end).c_str()));
  if (!top) throw_unknown_variable(path, name);
  if (end == std::string::npos) {
    const matvar_t& variable = *top;
    if (!is_numeric(variable)) {
      throw FileError(
          fmt::format("{}: variable '{}' is not a numeric matrix (a text, cell, structure "
                      "or function; a field is named as 'S.A')",
                      path,
                      name));
    }
    return variable;
  }
  matvar_t* field = top.get();
  while (end != std::string::npos && field != nullptr) {
    const std::size_t start = end + 1;
    end = name.find('.', start);
    field = field->class_type == MAT_C_STRUCT
                ? Mat_VarGetStructFieldByName(field, name.substr(start, end - start).c_str(), 0)
                : nullptr;
  }
  if (field == nullptr || !is_numeric(*field)) {
    throw FileError(fmt::format("{}: '{}' is not a numeric field of a structure", path, name));
  }
  return *field;
}

struct Shape {
  Index rows = 0;
  Index cols = 0;
};

Shape shape_of(const matvar_t& variable, const std::string& label) {
  if (variable.isComplex != 0) {
    throw FileError(fmt::format("{}: complex; only real matrices are read", label));
  }
  if (variable.rank != 2) {
    throw FileError(fmt::format("{}: {} dimensions; 2 are supported", label, variable.rank));
  }
  const std::size_t largest = std::size_t{1} << 48;
  if (variable.dims[0] < 1 || variable.dims[1] < 1 || variable.dims[0] > largest ||
      variable.dims[1] > largest) {
    throw FileError(fmt::format("{}: {} x {} is not a matrix; sizes start at 1",
                                label,
                                variable.dims[0],
                                variable.dims[1]));
  }
  return {static_cast<Index>(variable.dims[0]), static_cast<Index>(variable.dims[1])};
}

/// Calls visit with a pointer of the type in which libmatio stores the numbers.
template <class Visit>
void with_type(matio_types type, const void* data, const std::string& label, Visit&& visit) {
  switch (type) {
    case MAT_T_DOUBLE:
      return visit(static_cast<const double*>(data));
    case MAT_T_SINGLE:
      return visit(static_cast<const float*>(data));
    case MAT_T_INT8:
      return visit(static_cast<const std::int8_t*>(data));
    case MAT_T_UINT8:
      return visit(static_cast<const std::uint8_t*>(data));
    case MAT_T_INT16:
      return visit(static_cast<const std::int16_t*>(data));
    case MAT_T_UINT16:
      return visit(static_cast<const std::uint16_t*>(data));
    case MAT_T_INT32:
      return visit(static_cast<const std::int32_t*>(data));
    case MAT_T_UINT32:
      return visit(static_cast<const std::uint32_t*>(data));
    case MAT_T_INT64:
      return visit(static_cast<const std::int64_t*>(data));
    case MAT_T_UINT64:
      return visit(static_cast<const std::uint64_t*>(data));
    default:
      throw FileError(fmt::format("{}: numbers of an unknown type", label));
  }
}

void require_finite(double value, Index row, Index col, const std::string& label) {
  if (!std::isfinite(value)) fail_not_finite(label, row, col, value);
}

Matrix dense_matrix(const matvar_t& variable, Shape shape, const std::string& label) {
  Matrix A(shape.rows, shape.cols);
  const auto wanted = static_cast<std::size_t>(A.size());
  if (variable.data == nullptr || variable.data_size < 1 ||
      variable.nbytes / static_cast<std::size_t>(variable.data_size) < wanted ||
      Mat_SizeOf(variable.data_type) != static_cast<std::size_t>(variable.data_size)) {
    throw FileError(fmt::format("{}: fewer numbers than its size says: damaged", label));
  }
  with_type(variable.data_type, variable.data, label, [&](const auto* values) {
    for (Index k = 0; k < A.size(); ++k) {
      A.data()[k] = static_cast<double>(values[k]);
      require_finite(A.data()[k], k % shape.rows, k / shape.rows, label);
    }
  });
  return A;
}

/// Checks and returns the compressed columns of libmatio.
const mat_sparse_t& sparse_parts(const matvar_t& variable, Shape shape, const std::string& label) {
  const auto* parts = static_cast<const mat_sparse_t*>(variable.data);
  const bool present = parts != nullptr && parts->jc != nullptr &&
                       static_cast<Index>(parts->njc) == shape.cols + 1 && parts->jc[0] == 0;
  const std::size_t stored = present ? parts->jc[shape.cols] : 0;
  if (!present || (stored > 0 && (parts->ir == nullptr || parts->data == nullptr)) ||
      parts->nir < stored || parts->ndata < stored) {
    throw FileError(fmt::format("{}: a sparse matrix with missing parts: damaged", label));
  }
  for (Index j = 0; j < shape.cols; ++j) {
    if (parts->jc[j] > parts->jc[j + 1]) {
      throw FileError(fmt::format(
          "{}: column {} of a sparse matrix ends before it starts: damaged", label, j + 1));
    }
  }
  for (std::size_t k = 0; k < stored; ++k) {
    if (static_cast<Index>(parts->ir[k]) >= shape.rows) {
      throw FileError(fmt::format("{}: row {} of a sparse matrix is outside 1..{}: damaged",
                                  label,
                                  parts->ir[k] + Index{1},
                                  shape.rows));
    }
  }
  return *parts;
}

/// Converts columns to rows by a counting sort, which gives ascending columns within a row.
SparseMatrix sparse_matrix(const matvar_t& variable, Shape shape, const std::string& label) {
  const mat_sparse_t& parts = sparse_parts(variable, shape, label);
  const Index stored = parts.jc[shape.cols];
  require_memory(16.0 * static_cast<double>(stored) + 16.0 * static_cast<double>(shape.rows),
                 label);
  SparseMatrix A(shape.rows, shape.cols);
  A.resizeNonZeros(stored);
  Index* pointers = A.outerIndexPtr();
  std::fill_n(pointers, shape.rows + 1, Index{0});
  for (Index k = 0; k < stored; ++k) ++pointers[parts.ir[k] + Index{1}];
  for (Index i = 0; i < shape.rows; ++i) pointers[i + 1] += pointers[i];
  std::vector<Index> next(pointers, pointers + shape.rows);
  with_type(variable.data_type, parts.data, label, [&](const auto* values) {
    for (Index j = 0; j < shape.cols; ++j) {
      for (Index k = parts.jc[j]; k < static_cast<Index>(parts.jc[j + 1]); ++k) {
        const Index row = parts.ir[k];
        const Index place = next[static_cast<std::size_t>(row)]++;
        if (place > pointers[row] && A.innerIndexPtr()[place - 1] == j) {
          throw FileError(fmt::format("{}: entry ({}, {}) occurs twice", label, row + 1, j + 1));
        }
        A.innerIndexPtr()[place] = j;
        A.valuePtr()[place] = static_cast<double>(values[k]);
        require_finite(A.valuePtr()[place], row, j, label);
      }
    }
  });
  return A;
}

double file_bytes(const std::string& path) {
  std::error_code code;
  const auto bytes = static_cast<double>(std::filesystem::file_size(path, code));
  return code ? 0.0 : bytes;
}

FileMatrix read_variable(const std::string& path, const std::string& wanted) {
  const hdf5::ErrorSilencer silencer;  // version 7.3 is HDF5
  const std::string name = wanted.empty() ? only_matrix(path) : wanted;
  const std::string label = fmt::format("{}: variable '{}'", path, name);
  const MatFile file = open_mat_file(path);
  Variable top;
  auto& variable = const_cast<matvar_t&>(find_variable(path, file.get(), name, top));
  const Shape shape = shape_of(variable, label);
  const bool is_sparse = variable.class_type == MAT_C_SPARSE;
  const auto rows = static_cast<double>(shape.rows);
  const auto cols = static_cast<double>(shape.cols);
  require_proportion(is_sparse ? sparse_bytes(rows, cols, 0) : 16 * rows * cols,
                     file_bytes(path),
                     label,
                     fmt::format("for {} x {}", shape.rows, shape.cols));
  if (variable.data == nullptr && Mat_VarReadDataAll(file.get(), &variable) != 0) {
    throw FileError(fmt::format("{}: cannot be read: damaged", label));
  }
  if (is_sparse) {
    FileMatrix matrix(std::in_place_type<SparseMatrix>);
    sparse_matrix(variable, shape, label).swap(std::get<SparseMatrix>(matrix));
    return matrix;
  }
  return dense_matrix(variable, shape, label);
}

}  // namespace

FileMatrix read_mat(const std::string& path, const std::string& variable) {
  const auto check = [&] {
    const mat::Version version = mat::check_structure(MappedFile(path).view(), path);
    if (version == mat::Version::k73) hdf5::require_own_file(path);
  };
  const auto check_and_read = [&] {
    check();
    read_variable(path, variable);
  };
  if (!try_read({path, "MATLAB", check_and_read})) check();
  return read_variable(path, variable);
}

std::string matio_version() { return MATIO_VERSION_STR; }

}  // namespace matapprox
