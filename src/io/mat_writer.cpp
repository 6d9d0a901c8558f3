#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>
#include <span>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "matapprox/io/matrix_files.hpp"

// MATLAB version 5 files, little-endian, not compressed: a header of 128 bytes, then elements, each
// a tag (type, bytes) and its data padded to 8 bytes. Elements nest: a matrix holds flags,
// dimensions, name and numbers; a cell array holds matrices.
namespace matapprox {

namespace {

enum ElementType : std::uint32_t {
  kInt8 = 1,
  kInt32 = 5,
  kUint32 = 6,
  kDouble = 9,
  kMatrixElement = 14,
};
enum ArrayClass : std::uint32_t { kCellClass = 1, kSparseClass = 5, kDoubleClass = 6 };

constexpr Index kLargestElement = std::numeric_limits<std::int32_t>::max();
constexpr Index kLongestName = 63;

Index padded(Index bytes) { return (bytes + 7) / 8 * 8; }

/// Builds the file in memory. An element is opened with its tag; its size is written when it is
/// closed.
class Writer {
 public:
  explicit Writer(Index capacity) {
    bytes_.reserve(static_cast<std::size_t>(capacity));
    std::string header = "MATLAB 5.0 MAT-file, written by matapprox " MATAPPROX_VERSION;
    header.resize(124, ' ');
    bytes_ += header;
    bytes_ += std::string_view("\0\1IM", 4);
  }

  std::size_t open_matrix() {
    put_tag(kMatrixElement, 0);
    return bytes_.size();
  }
  void close_matrix(std::size_t start) {
    const auto size = static_cast<std::uint32_t>(bytes_.size() - start);
    std::memcpy(bytes_.data() + start - 4, &size, 4);
  }
  template <class T>
  void put(ElementType type, const T* values, Index count) {
    const Index size = count * static_cast<Index>(sizeof(T));
    put_tag(type, static_cast<std::uint32_t>(size));
    bytes_.append(reinterpret_cast<const char*>(values), static_cast<std::size_t>(size));
    bytes_.append(static_cast<std::size_t>(padded(size) - size), '\0');
  }
  std::string_view bytes() const { return bytes_; }

 private:
  void put_tag(std::uint32_t type, std::uint32_t size) {
    const std::array<std::uint32_t, 2> tag{type, size};
    bytes_.append(reinterpret_cast<const char*>(tag.data()), sizeof(tag));
  }
  std::string bytes_;
};

void put_heading(Writer& writer,
                 ArrayClass array_class,
                 Index nonzeros,
                 Index rows,
                 Index cols,
                 const std::string& name) {
  const std::array<std::uint32_t, 2> flags{array_class, static_cast<std::uint32_t>(nonzeros)};
  const std::array<std::int32_t, 2> dims{static_cast<std::int32_t>(rows),
                                         static_cast<std::int32_t>(cols)};
  writer.put(kUint32, flags.data(), 2);
  writer.put(kInt32, dims.data(), 2);
  writer.put(kInt8, name.data(), static_cast<Index>(name.size()));
}

void put_matrix(Writer& writer, const std::string& name, const Matrix& A) {
  const std::size_t start = writer.open_matrix();
  put_heading(writer, kDoubleClass, 0, A.rows(), A.cols(), name);
  writer.put(kDouble, A.data(), A.size());
  writer.close_matrix(start);
}

void put_matrix(Writer& writer, const std::string& name, const SparseMatrix& A) {
  const Eigen::SparseMatrix<double, Eigen::ColMajor, Index> columns = A;
  const Index stored = columns.nonZeros();
  const std::vector<std::int32_t> rows(columns.innerIndexPtr(), columns.innerIndexPtr() + stored);
  const std::vector<std::int32_t> starts(columns.outerIndexPtr(),
                                         columns.outerIndexPtr() + A.cols() + 1);
  const std::size_t start = writer.open_matrix();
  put_heading(writer, kSparseClass, std::max<Index>(stored, 1), A.rows(), A.cols(), name);
  writer.put(kInt32, rows.data(), stored);
  writer.put(kInt32, starts.data(), A.cols() + 1);
  writer.put(kDouble, columns.valuePtr(), stored);
  writer.close_matrix(start);
}

/// Upper bound of the bytes of a matrix as an element.
Index element_bytes(const FileMatrix& value) {
  const Index heading = 8 + 16 + 16 + 8 + padded(kLongestName);
  if (const auto* A = std::get_if<Matrix>(&value)) return heading + 8 + 8 * A->size();
  const auto& A = std::get<SparseMatrix>(value);
  return heading + Index{3} * 16 + 12 * A.nonZeros() + 4 * (A.cols() + 1);
}

void require_writable(const std::string& path, const std::string& name, const FileMatrix& value) {
  const auto [rows, cols] =
      std::visit([](const auto& A) { return std::pair<Index, Index>(A.rows(), A.cols()); }, value);
  require(std::max(rows, cols) <= kLargestElement && element_bytes(value) <= kLargestElement,
          "{}: '{}' ({} x {}) is beyond the {} bytes of a variable in a MATLAB 5 file",
          path,
          name,
          rows,
          cols,
          kLargestElement);
}

void require_name(const std::string& path, const std::string& name) {
  bool legal = !name.empty() && static_cast<Index>(name.size()) <= kLongestName;
  for (const char c : name) {
    legal = legal && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_');
  }
  legal = legal && name[0] != '_' && (name[0] < '0' || name[0] > '9');
  require(legal,
          "{}: '{}' is not a valid name of a MATLAB variable (a letter, then letters, digits and "
          "_, at most {})",
          path,
          name,
          kLongestName);
}

void put(Writer& writer, const std::string& name, const FileMatrix& value) {
  std::visit([&](const auto& A) { put_matrix(writer, name, A); }, value);
}

void finish(const std::string& path, const Writer& writer) {
  AtomicOutput output(path);
  output.write(writer.bytes());
  output.commit();
}

}  // namespace

void write_mat(const std::string& path,
               const std::vector<std::pair<std::string, FileMatrix>>& variables) {
  Index size = 1024;
  for (const auto& [name, value] : variables) {
    require_name(path, name);
    require_writable(path, name, value);
    size += element_bytes(value);
  }
  require_memory(static_cast<double>(size), path);
  Writer writer(size);
  for (const auto& [name, value] : variables) put(writer, name, value);
  finish(path, writer);
}

void write_mat_factors(const std::string& path, const std::vector<FileMatrix>& factors) {
  const std::string name = "faust_factors";
  Index size = 1024;
  for (const FileMatrix& factor : factors) {
    require_writable(path, name, factor);
    size += element_bytes(factor);
  }
  require(size <= kLargestElement,
          "{}: the factors take {} bytes, a variable in a MATLAB 5 file at most {}",
          path,
          size,
          kLargestElement);
  require_memory(static_cast<double>(size), path);
  Writer writer(size);
  const std::size_t start = writer.open_matrix();
  put_heading(writer, kCellClass, 0, 1, static_cast<Index>(factors.size()), name);
  for (const FileMatrix& factor : factors) put(writer, "", factor);
  writer.close_matrix(start);
  finish(path, writer);
}

}  // namespace matapprox
