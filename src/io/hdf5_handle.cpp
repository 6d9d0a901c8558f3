#include "io/hdf5_handle.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>

#include "io/hdf5_stored.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::hdf5 {

namespace {

std::mutex lock_mutex;
thread_local int locks_held = 0;

/// Opens the file to find the reason for a failure, which HDF5 does not report: permission, open
/// files.
void require_readable(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw FileError(
        fmt::format("{}: cannot be opened: {}", path, std::generic_category().message(errno)));
  }
  close(descriptor);
}

}  // namespace

Lock::Lock() {
  if (locks_held++ == 0) lock_mutex.lock();
}

Lock::~Lock() {
  if (--locks_held == 0) lock_mutex.unlock();
}

ErrorSilencer::ErrorSilencer() {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

ErrorSilencer::~ErrorSilencer() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    reset();
    id_ = std::exchange(other.id_, H5I_INVALID_HID);
    close_ = other.close_;
  }
  return *this;
}

bool Handle::reset() {
  const hid_t id = std::exchange(id_, H5I_INVALID_HID);
  if (id < 0) return true;
  const ErrorSilencer silencer;
  return close_(id) >= 0;
}

Handle open_file(const std::string& path) {
  const ErrorSilencer silencer;
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (status.type() == std::filesystem::file_type::not_found)
    throw FileError(fmt::format("{}: no such file", path));
  if (!std::filesystem::exists(status))
    throw FileError(fmt::format("{}: cannot be opened: {}", path, code.message()));
  if (!std::filesystem::is_regular_file(status)) {
    throw FileError(fmt::format("{}: not a regular file", path));
  }
  const auto bytes = std::filesystem::file_size(path, code);
  if (!code && bytes == 0) throw FileError(fmt::format("{}: the file is empty", path));
  require_readable(path);
  if (H5Fis_hdf5(path.c_str()) <= 0) throw FileError(fmt::format("{}: not an HDF5 file", path));
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file) {
    throw FileError(fmt::format("{}: HDF5 cannot open it: truncated, damaged or in use", path));
  }
  return file;
}

Handle open_dataset(const Handle& file, const std::string& name, const std::string& path) {
  const ErrorSilencer silencer;
  Handle dataset = open_dataset_here(file.id(), name, path);
  if (!dataset) {
    const std::vector<std::string> names = list_datasets(file, path, 20);
    throw FileError(
        fmt::format("{}: no dataset '{}'; it holds {}",
                    path,
                    name,
                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  return dataset;
}

std::vector<Index> shape(const Handle& dataset) {
  const ErrorSilencer silencer;
  const Handle space(H5Dget_space(dataset.id()), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(space.id()) : -1;
  if (rank < 0) throw FileError("HDF5: a dataset without a readable shape");
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr) < 0) {
    throw FileError("HDF5: a dataset without a readable shape");
  }
  std::vector<Index> result;
  for (const hsize_t extent : extents) {
    if (extent > (hsize_t{1} << 62)) throw FileError("HDF5: a dataset with an extent above 2^62");
    result.push_back(static_cast<Index>(extent));
  }
  return result;
}

void require_real_numbers(const Handle& dataset, const std::string& what) {
  const ErrorSilencer silencer;
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const H5T_class_t kind = type ? H5Tget_class(type.id()) : H5T_NO_CLASS;
  if (kind == H5T_INTEGER || kind == H5T_FLOAT) return;
  if (kind == H5T_COMPOUND) {
    throw FileError(
        fmt::format("{}: compound values (complex numbers?); only real ones are read", what));
  }
  throw FileError(fmt::format("{}: not a dataset of integers or floating-point numbers", what));
}

void read_block(const Handle& dataset,
                Index row,
                Index rows,
                Index col,
                Index cols,
                double* values,
                const std::string& what) {
  const ErrorSilencer silencer;
  const std::vector<Index> extents = shape(dataset);
  const bool is_vector = extents.size() == 1;
  if (extents.size() != 2 && !is_vector) {
    throw FileError(fmt::format("{}: {} dimensions; 1 or 2 are supported", what, extents.size()));
  }
  const Index all_cols = is_vector ? 1 : extents[1];
  if (row < 0 || rows < 0 || col < 0 || cols < 0 || row > extents[0] - rows ||
      col > all_cols - cols) {
    throw FileError(fmt::format("{}: rows {}..{} and columns {}..{} are outside {} x {}",
                                what,
                                row,
                                row + rows,
                                col,
                                col + cols,
                                extents[0],
                                all_cols));
  }
  if (rows == 0 || cols == 0) return;
  const std::array<hsize_t, 2> start{static_cast<hsize_t>(row), static_cast<hsize_t>(col)};
  const std::array<hsize_t, 2> count{static_cast<hsize_t>(rows), static_cast<hsize_t>(cols)};
  const int rank = is_vector ? 1 : 2;
  const Handle file_space(H5Dget_space(dataset.id()), H5Sclose);
  const Handle memory_space(H5Screate_simple(rank, count.data(), nullptr), H5Sclose);
  const bool selected =
      file_space && memory_space &&
      H5Sselect_hyperslab(
          file_space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0;
  if (!selected || H5Dread(dataset.id(),
                           H5T_NATIVE_DOUBLE,
                           memory_space.id(),
                           file_space.id(),
                           H5P_DEFAULT,
                           values) < 0) {
    throw FileError(fmt::format(
        "{}: HDF5 cannot read rows {}..{}: truncated or damaged", what, row, row + rows - 1));
  }
}

namespace {

struct Listing {
  std::vector<std::string> names;
  std::size_t limit;
  bool too_deep = false;
};

/// Maximum depth of groups. HDF5 resolves each name from the root, so the time for all names grows
/// with the square of the depth.
constexpr std::ptrdiff_t kMaxGroupDepth = 100;

herr_t collect_dataset(hid_t, const char* name, const H5O_info_t* info, void* data) {
  auto& listing = *static_cast<Listing*>(data);
  const std::string_view path = name;
  listing.too_deep = std::count(path.begin(), path.end(), '/') > kMaxGroupDepth;
  if (listing.too_deep) return 1;
  if (info->type == H5O_TYPE_DATASET) listing.names.push_back("/" + std::string(name));
  return listing.names.size() >= listing.limit ? 1 : 0;
}

}  // namespace

std::vector<std::string> list_datasets(const Handle& file,
                                       const std::string& path,
                                       std::size_t limit) {
  const ErrorSilencer silencer;
  Listing listing{{}, limit};
  H5Ovisit2(file.id(), H5_INDEX_NAME, H5_ITER_NATIVE, collect_dataset, &listing, H5O_INFO_BASIC);
  if (listing.too_deep) {
    throw FileError(fmt::format(
        "{}: groups are nested more than {} deep; name the dataset", path, kMaxGroupDepth));
  }
  return std::move(listing.names);
}

}  // namespace matapprox::hdf5
