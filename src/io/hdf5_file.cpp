#include "matapprox/io/hdf5_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <optional>

#include "io/file_numbers.hpp"
#include "io/hdf5_output.hpp"
#include "io/hdf5_stored.hpp"
#include "io/hdf5_values.hpp"
#include "io/table_reader.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {

namespace {

using hdf5::Handle;

constexpr Index kNumbersAtOnce = Index{1} << 22;

std::string label(const std::string& path, const std::string& dataset) {
  return fmt::format("{}:{}", path, dataset);
}

bool holds_real_numbers(const Handle& dataset) {
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const H5T_class_t kind = type ? H5Tget_class(type.id()) : H5T_NO_CLASS;
  return kind == H5T_INTEGER || kind == H5T_FLOAT;
}

/// Returns the name of the only dataset of numbers with one or two dimensions.
std::string only_matrix(const Handle& file, const std::string& path) {
  std::vector<std::string> found;
  for (const std::string& name : hdf5::list_datasets(file, path)) {
    const Handle dataset = hdf5::open_dataset(file, name, path);
    const std::size_t dimensions = hdf5::shape(dataset).size();
    if (holds_real_numbers(dataset) && (dimensions == 1 || dimensions == 2)) found.push_back(name);
  }
  if (found.empty()) throw FileError(fmt::format("{}: no dataset that is a real matrix", path));
  if (found.size() > 1) {
    found.resize(std::min<std::size_t>(found.size(), 20));
    throw FileError(fmt::format("{}: several datasets; name one of them as '{}:NAME': {}",
                                path,
                                path,
                                fmt::join(found, ", ")));
  }
  return found.front();
}

Hdf5DatasetInfo find(const std::string& path, const std::string& wanted) {
  const hdf5::ErrorSilencer silencer;
  const Handle file = hdf5::open_file(path);
  Hdf5DatasetInfo info{wanted.empty() ? only_matrix(file, path) : wanted, 0, 1};
  const std::string what = label(path, info.dataset);
  const Handle dataset = hdf5::open_dataset(file, info.dataset, path);
  hdf5::require_real_numbers(dataset, what);
  const std::vector<Index> extents = hdf5::shape(dataset);
  if (extents.size() != 1 && extents.size() != 2) {
    throw FileError(fmt::format("{}: {} dimensions; 1 or 2 are supported", what, extents.size()));
  }
  hdf5::require_stored(dataset, what);
  info.rows = extents[0];
  if (extents.size() == 2) info.cols = extents[1];
  if (info.rows < 1 || info.cols < 1) {
    throw FileError(
        fmt::format("{}: {} x {} is not a matrix; sizes start at 1", what, info.rows, info.cols));
  }
  double value = 0;  // a truncated file lacks the last entry
  hdf5::read_block(dataset, info.rows - 1, 1, info.cols - 1, 1, &value, what);
  return info;
}

/// Returns the layout of the numbers in the file if they are contiguous and of a type in the list
/// below, as numbers written without chunks and filters are; otherwise nothing.
std::optional<FileNumbers> contiguous_numbers(const Handle& dataset,
                                              const Hdf5DatasetInfo& info,
                                              Index file_bytes) {
  const Handle layout(H5Dget_create_plist(dataset.id()), H5Pclose);
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (!layout || !type || H5Pget_layout(layout.id()) != H5D_CONTIGUOUS ||
      H5Pget_external_count(layout.id()) != 0 || offset == HADDR_UNDEF) {
    return std::nullopt;
  }
  struct Known {
    hid_t type;
    char kind;
    bool big_endian;
  };
  const std::array<Known, 20> known{
      {{H5T_IEEE_F64LE, 'f', false}, {H5T_IEEE_F32LE, 'f', false}, {H5T_IEEE_F64BE, 'f', true},
       {H5T_IEEE_F32BE, 'f', true},  {H5T_STD_I8LE, 'i', false},   {H5T_STD_I16LE, 'i', false},
       {H5T_STD_I32LE, 'i', false},  {H5T_STD_I64LE, 'i', false},  {H5T_STD_U8LE, 'u', false},
       {H5T_STD_U16LE, 'u', false},  {H5T_STD_U32LE, 'u', false},  {H5T_STD_U64LE, 'u', false},
       {H5T_STD_I8BE, 'i', true},    {H5T_STD_I16BE, 'i', true},   {H5T_STD_I32BE, 'i', true},
       {H5T_STD_I64BE, 'i', true},   {H5T_STD_U8BE, 'u', true},    {H5T_STD_U16BE, 'u', true},
       {H5T_STD_U32BE, 'u', true},   {H5T_STD_U64BE, 'u', true}}};
  const auto found = std::find_if(known.begin(), known.end(), [&](const Known& each) {
    return H5Tequal(type.id(), each.type) > 0;
  });
  if (found == known.end()) return std::nullopt;
  FileNumbers numbers{found->kind,
                      static_cast<Index>(H5Tget_size(type.id())),
                      found->big_endian,
                      false,
                      info.rows,
                      info.cols,
                      static_cast<Index>(offset)};
  Index bytes = 0;
  const bool inside = offset <= static_cast<haddr_t>(file_bytes) &&
                      !__builtin_mul_overflow(info.rows, info.cols, &bytes) &&
                      !__builtin_mul_overflow(bytes, numbers.item_size, &bytes) &&
                      bytes <= file_bytes - numbers.offset;
  if (!inside) return std::nullopt;  // HDF5 reports the error
  return numbers;
}

/// Memory that a forked child fills for its parent, row by row.
class SharedRows {
 public:
  SharedRows(Index rows, Index cols, const std::string& what)
      : bytes_(static_cast<std::size_t>(rows * cols) * sizeof(double)) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED)
      throw NotAvailable(fmt::format("{}: no memory to read {} bytes", what, bytes_));
  }
  ~SharedRows() { munmap(memory_, bytes_); }
  SharedRows(const SharedRows&) = delete;
  SharedRows& operator=(const SharedRows&) = delete;
  double* data() const { return static_cast<double*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
};

/// Reads all entries through libhdf5, which decompresses and converts them. Reads them only once:
/// in the trial, which may run in a child process.
Matrix read_through_library(const std::string& path, const Hdf5DatasetInfo& info) {
  const std::string what = label(path, info.dataset);
  const SharedRows rows(info.rows, info.cols, what);
  const auto read = [&] {
    const hdf5::ErrorSilencer silencer;
    const Handle file = hdf5::open_file(path);
    const Handle dataset = hdf5::open_dataset(file, info.dataset, path);
    const Index step = std::min(info.rows, std::max<Index>(1, kNumbersAtOnce / info.cols));
    for (Index first = 0; first < info.rows; first += step) {
      const Index count = std::min(step, info.rows - first);
      hdf5::read_block(dataset, first, count, 0, info.cols, rows.data() + first * info.cols, what);
    }
  };
  if (!try_read({path, "HDF5", read})) read();
  FileNumbers numbers;
  numbers.rows = info.rows;
  numbers.cols = info.cols;
  return convert_numbers(reinterpret_cast<const char*>(rows.data()), numbers);
}

std::optional<FileNumbers> find_numbers(const std::string& path,
                                        const Hdf5DatasetInfo& info,
                                        Index file_bytes) {
  const hdf5::ErrorSilencer silencer;
  const Handle file = hdf5::open_file(path);
  return contiguous_numbers(hdf5::open_dataset(file, info.dataset, path), info, file_bytes);
}

/// Throws unless the whole dataset may be read into memory.
void require_whole(const std::string& path, const Hdf5DatasetInfo& info) {
  const hdf5::ErrorSilencer silencer;
  const Handle file = hdf5::open_file(path);
  hdf5::require_room(hdf5::open_dataset(file, info.dataset, path), label(path, info.dataset));
}

}  // namespace

Hdf5DatasetInfo find_hdf5_matrix(const std::string& path, const std::string& dataset) {
  try_read({path, "HDF5", [&] { find(path, dataset); }});
  return find(path, dataset);
}

Matrix read_hdf5_matrix(const std::string& path, const std::string& wanted) {
  const Hdf5DatasetInfo info = find_hdf5_matrix(path, wanted);
  const std::string what = label(path, info.dataset);
  require_whole(path, info);
  const PositionedFile file(path);
  const std::optional<FileNumbers> numbers = find_numbers(path, info, file.size());
  Matrix A = numbers ? read_file_numbers(file, *numbers) : read_through_library(path, info);
  Index row = 0;
  Index col = 0;
  if (find_nonfinite(A, row, col)) fail_not_finite(what, row, col, A(row, col));
  return A;
}

void write_hdf5_matrix(const std::string& path, const std::string& dataset, const Matrix& values) {
  require(values.size() > 0, "{}: an empty matrix cannot be written", path);
  require(!dataset.empty() && dataset.find('/', 1) == std::string::npos && dataset != "/",
          "{}: '{}' is not a valid name for a dataset at the root of the file",
          path,
          dataset);
  const hdf5::ErrorSilencer silencer;
  hdf5::OutputFile output(path);
  hdf5::write_values(
      {output.file(), path},
      dataset,
      {values.rows(), values.cols()},
      Precision::kDouble,
      [&](Index first, Index count, double* target) { copy_rows(values, first, count, target); });
  output.commit();
}

}  // namespace matapprox
