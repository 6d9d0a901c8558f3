#include "io/file_numbers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <system_error>
#include <type_traits>
#include <vector>

#include "core/large_pages.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {
namespace {

/// Approximate number of bytes that one thread reads at a time.
constexpr Index kPanelBytes = Index{4} << 20;
/// Order of the square that is transposed at a time: source and target stay in the L1 cache.
constexpr Index kSquare = 16;

/// Reads the number of type T at p.
template <class T, bool kSwapped>
double number_at(const char* p) {
  std::array<char, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), p, sizeof(T));
  if constexpr (kSwapped) std::reverse(bytes.begin(), bytes.end());
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return static_cast<double>(value);
}

/// Copies a range of rows of a row-major array to the same rows of a column-major matrix.
template <class T, bool kSwapped>
void place_rows(const char* p, Index cols, Block target) {
  const Index rows = target.rows();
  for (Index col = 0; col < cols; col += kSquare) {
    // The first ranges touch the whole target, whose pages the system has to allocate first.
    throw_if_stop_requested();
    const Index col_end = std::min(col + kSquare, cols);
    for (Index row = 0; row < rows; row += kSquare) {
      const Index row_end = std::min(row + kSquare, rows);
      for (Index j = col; j < col_end; ++j) {
        double* out = &target(0, j);
        for (Index i = row; i < row_end; ++i) {
          out[i] = number_at<T, kSwapped>(p + (i * cols + j) * static_cast<Index>(sizeof(T)));
        }
      }
    }
  }
}

/// Copies `count` numbers that are contiguous on both sides.
template <class T, bool kSwapped>
void place_run(const char* p, Index count, double* target) {
  if constexpr (std::is_same_v<T, double> && !kSwapped) {
    std::memcpy(target, p, static_cast<std::size_t>(count) * sizeof(double));
  } else {
    for (Index k = 0; k < count; ++k)
      target[k] = number_at<T, kSwapped>(p + k * static_cast<Index>(sizeof(T)));
  }
}

/// Functions that copy panels of one number type.
struct NumberPlacers {
  void (*rows)(const char*, Index, Block);
  void (*run)(const char*, Index, double*);
};

template <class T>
NumberPlacers placers_of(bool swapped) {
  return swapped ? NumberPlacers{place_rows<T, true>, place_run<T, true>}
                 : NumberPlacers{place_rows<T, false>, place_run<T, false>};
}

NumberPlacers placers_of(const FileNumbers& n) {
  const bool swapped = n.big_endian != (std::endian::native == std::endian::big);
  const auto is = [&](char kind, Index size) { return n.kind == kind && n.item_size == size; };
  if (is('f', 8)) return placers_of<double>(swapped);
  if (is('f', 4)) return placers_of<float>(swapped);
  if (is('i', 1)) return placers_of<std::int8_t>(swapped);
  if (is('i', 2)) return placers_of<std::int16_t>(swapped);
  if (is('i', 4)) return placers_of<std::int32_t>(swapped);
  if (is('i', 8)) return placers_of<std::int64_t>(swapped);
  if (is('u', 2)) return placers_of<std::uint16_t>(swapped);
  if (is('u', 4)) return placers_of<std::uint32_t>(swapped);
  if (is('u', 8)) return placers_of<std::uint64_t>(swapped);
  return placers_of<std::uint8_t>(swapped);  // u1 and bool
}

/// Calls body(first, count) for ranges of 0 .. lines-1 of about kPanelBytes, in parallel.
void for_each_stretch(Index lines,
                      Index bytes_per_line,
                      const std::function<void(Index, Index)>& body) {
  const Index fitting = std::max<Index>(1, kPanelBytes / std::max<Index>(1, bytes_per_line));
  // Each cache line of a column of the result belongs to one range of rows.
  const Index step = fitting >= 8 ? fitting / 8 * 8 : fitting;
  parallel_for((lines + step - 1) / step,
               [&](Index s) { body(s * step, std::min(step, lines - s * step)); });
}

/// Converts the array in ranges of rows, or of columns if it is column-major. `bytes_at(offset,
/// count)` returns the bytes of a range, valid until the next call by the same thread.
template <class BytesAt>
Matrix place_all(const FileNumbers& n, const BytesAt& bytes_at) {
  Matrix A(n.rows, n.cols);
  prefer_large_pages(A.data(), static_cast<std::size_t>(A.size()) * sizeof(double));
  const NumberPlacers place = placers_of(n);
  const Index per_line = (n.fortran_order ? n.rows : n.cols) * n.item_size;
  const Index lines = n.fortran_order ? n.cols : n.rows;
  for_each_stretch(lines, per_line, [&](Index first, Index count) {
    const char* bytes = bytes_at(n.offset + first * per_line, count * per_line);
    if (n.fortran_order) {
      place.run(bytes, count * n.rows, A.col(first).data());
    } else {
      place.rows(bytes, n.cols, A.middleRows(first, count));
    }
  });
  return A;
}

[[noreturn]] void fail_reading(const std::string& path, const char* what, int code) {
  throw FileError(fmt::format("{}: {}: {}", path, what, std::generic_category().message(code)));
}

}  // namespace

PositionedFile::PositionedFile(const std::string& path)
    : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail_reading(path_, "cannot read", errno);
  struct stat facts {};
  const bool regular = fstat(descriptor_, &facts) == 0 && S_ISREG(facts.st_mode);
  if (!regular) {
    close(descriptor_);
    throw FileError(fmt::format("{}: not a regular file", path_));
  }
  size_ = facts.st_size;
}

PositionedFile::~PositionedFile() { close(descriptor_); }

void PositionedFile::read_at(Index offset, Index count, char* target) const {
  while (count > 0) {
    const ssize_t got = pread(descriptor_, target, static_cast<std::size_t>(count), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_reading(path_, "cannot read", errno);
    if (got == 0) throw FileError(fmt::format("{}: ends at byte {}, too early", path_, offset));
    offset += got;
    target += got;
    count -= got;
  }
}

Matrix read_file_numbers(const PositionedFile& file, const FileNumbers& numbers) {
  return place_all(numbers, [&](Index offset, Index count) -> const char* {
    thread_local kernels::Scratch<char> scratch;
    char* buffer = scratch.reserve(count);
    file.read_at(offset, count, buffer);
    return buffer;
  });
}

Matrix convert_numbers(const char* bytes, const FileNumbers& numbers) {
  return place_all(numbers, [&](Index offset, Index) { return bytes + offset; });
}

void copy_rows(const Matrix& A, Index first, Index count, double* target) {
  const Index cols = A.cols();
  parallel_for((count + kSquare - 1) / kSquare, [&](Index strip) {
    const Index begin = strip * kSquare;
    const Index end = std::min(begin + kSquare, count);
    for (Index col = 0; col < cols; col += kSquare) {
      for (Index i = begin; i < end; ++i) {
        for (Index j = col; j < std::min(col + kSquare, cols); ++j) {
          target[i * cols + j] = A(first + i, j);
        }
      }
    }
  });
}

bool find_nonfinite(const Matrix& A, Index& row, Index& col) {
  std::vector<Index> bad_rows(static_cast<std::size_t>(A.cols()), -1);
  parallel_for(A.cols(), [&](Index j) {
    if ((A.col(j).array() * 0.0).sum() == 0) return;  // NaN if the column has NaN or Inf
    Index i = 0;
    while (std::isfinite(A(i, j))) ++i;
    bad_rows[static_cast<std::size_t>(j)] = i;
  });
  const auto bad = std::find_if(bad_rows.begin(), bad_rows.end(), [](Index i) { return i >= 0; });
  if (bad == bad_rows.end()) return false;
  row = *bad;
  col = bad - bad_rows.begin();
  return true;
}

}  // namespace matapprox
