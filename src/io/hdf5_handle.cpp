#include "io/hdf5_handle.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
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

namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 26;

[[noreturn]] void fail_attribute(const Location& place, const std::string& name, const char* what) {
  throw FileError(fmt::format("{}: attribute '{}' {}", place.file, name, what));
}

Handle text_type(std::size_t length) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  if (type) {
    H5Tset_size(type.id(), std::max<std::size_t>(length, 1));
    H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
    H5Tset_cset(type.id(), H5T_CSET_UTF8);
  }
  return type;
}

void put(const Location& place,
         const std::string& name,
         hid_t file_type,
         hid_t type,
         const void* value) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(
      H5Acreate2(place.object.id(), name.c_str(), file_type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  if (!attribute || H5Awrite(attribute.id(), type, value) < 0)
    fail_attribute(place, name, "cannot be written");
}

/// Opens a scalar attribute of class `kind`.
Handle open_scalar(const Location& place,
                   const std::string& name,
                   H5T_class_t kind,
                   const char* wanted) {
  if (!has_attribute(place, name)) fail_attribute(place, name, "is missing: the file is damaged");
  Handle attribute(H5Aopen(place.object.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!attribute) fail_attribute(place, name, "cannot be read: the file is damaged");
  const Handle space(H5Aget_space(attribute.id()), H5Sclose);
  const Handle type(H5Aget_type(attribute.id()), H5Tclose);
  if (!space || !type || H5Sget_simple_extent_npoints(space.id()) != 1 ||
      H5Tget_class(type.id()) != kind) {
    throw FileError(fmt::format("{}: attribute '{}' is not {}", place.file, name, wanted));
  }
  return attribute;
}

template <class T>
T get(const Location& place,
      const std::string& name,
      H5T_class_t kind,
      hid_t memory_type,
      const char* wanted) {
  const Handle attribute = open_scalar(place, name, kind, wanted);
  T value{};
  if (H5Aread(attribute.id(), memory_type, &value) < 0) {
    fail_attribute(place, name, "cannot be read: the file is damaged");
  }
  return value;
}

/// Returns the size of a fixed-length text type. Throws FileError if the length is variable or
/// absurd.
std::size_t text_size(const Handle& type, const std::string& file, const std::string& name) {
  const std::size_t size = type ? H5Tget_size(type.id()) : 0;
  if (size == 0 || size > kLongestText || H5Tget_class(type.id()) != H5T_STRING ||
      H5Tis_variable_str(type.id()) != 0) {
    throw FileError(fmt::format("{}: '{}' is not text of fixed length", file, name));
  }
  return size;
}

std::string without_padding(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace

void put_text(const Location& place, const std::string& name, const std::string& value) {
  const Handle type = text_type(value.size());
  put(place, name, type.id(), type.id(), value.c_str());
}

void put_integer(const Location& place, const std::string& name, Index value) {
  put(place, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void put_seed(const Location& place, const std::string& name, std::uint64_t value) {
  put(place, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

void put_number(const Location& place, const std::string& name, double value) {
  put(place, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

bool has_attribute(const Location& place, const std::string& name) {
  return H5Aexists(place.object.id(), name.c_str()) > 0;
}

std::string get_text(const Location& place, const std::string& name) {
  const Handle attribute = open_scalar(place, name, H5T_STRING, "text");
  const Handle type(H5Aget_type(attribute.id()), H5Tclose);
  const std::size_t size = text_size(type, place.file, name);
  std::string value(size, '\0');
  const Handle memory_type = text_type(size);
  H5Tset_cset(memory_type.id(), H5Tget_cset(type.id()));  // HDF5 refuses to convert ASCII to UTF-8
  if (H5Aread(attribute.id(), memory_type.id(), value.data()) < 0) {
    fail_attribute(place, name, "cannot be read: the file is damaged");
  }
  return without_padding(std::move(value));
}

Index get_integer(const Location& place, const std::string& name) {
  return get<Index>(place, name, H5T_INTEGER, H5T_NATIVE_INT64, "an integer");
}

Index get_integer(const Location& place, const std::string& name, Index lowest, Index highest) {
  const Index value = get_integer(place, name);
  if (value < lowest || value > highest) {
    throw FileError(fmt::format(
        "{}: attribute '{}' is {}, outside {}..{}", place.file, name, value, lowest, highest));
  }
  return value;
}

std::uint64_t get_seed(const Location& place, const std::string& name) {
  // HDF5 would convert a negative number to 0.
  static_cast<void>(get_integer(place, name, 0, std::numeric_limits<Index>::max()));
  return get<std::uint64_t>(place, name, H5T_INTEGER, H5T_NATIVE_UINT64, "an integer");
}

double get_number(const Location& place, const std::string& name) {
  return get<double>(place, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, "a floating-point number");
}

void write_text(const Location& group, const std::string& name, const std::string& value) {
  const Handle type = text_type(value.size());
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle dataset(H5Dcreate2(group.object.id(),
                                  name.c_str(),
                                  type.id(),
                                  space.id(),
                                  H5P_DEFAULT,
                                  H5P_DEFAULT,
                                  H5P_DEFAULT),
                       H5Dclose);
  if (!dataset ||
      H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.c_str()) < 0) {
    throw FileError(fmt::format("{}: '{}' cannot be written", group.file, name));
  }
}

std::string read_text(const Location& group, const std::string& name) {
  const Handle dataset = open_dataset_here(group.object.id(), name, group.file);
  if (dataset) require_stored(dataset, fmt::format("{}: '{}'", group.file, name));
  const Handle type(dataset ? H5Dget_type(dataset.id()) : H5I_INVALID_HID, H5Tclose);
  const std::size_t size = text_size(type, group.file, name);
  const Handle space(H5Dget_space(dataset.id()), H5Sclose);
  std::string value(size, '\0');
  const Handle memory_type = text_type(size);
  H5Tset_cset(memory_type.id(), H5Tget_cset(type.id()));  // HDF5 refuses to convert ASCII to UTF-8
  if (!space || H5Sget_simple_extent_npoints(space.id()) != 1 ||
      H5Dread(dataset.id(), memory_type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0) {
    throw FileError(fmt::format("{}: '{}' cannot be read: the file is damaged", group.file, name));
  }
  return without_padding(std::move(value));
}

Handle create_group(const Location& parent, const std::string& name) {
  const Handle order(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  H5Pset_link_creation_order(order.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  Handle group(H5Gcreate2(parent.object.id(), name.c_str(), H5P_DEFAULT, order.id(), H5P_DEFAULT),
               H5Gclose);
  if (!group) throw FileError(fmt::format("{}: group '{}' cannot be created", parent.file, name));
  return group;
}

Handle open_group(const Location& parent, const std::string& name) {
  Handle group = open_group_here(parent.object.id(), name, parent.file);
  if (!group) {
    throw FileError(fmt::format("{}: group '{}' is missing or damaged", parent.file, name));
  }
  return group;
}

bool has_link(const Location& parent, const std::string& name) {
  return H5Lexists(parent.object.id(), name.c_str(), H5P_DEFAULT) > 0;
}

namespace {

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

std::vector<std::string> member_names(const Location& group) {
  std::vector<std::string> names;
  for (const H5_index_t order : {H5_INDEX_CRT_ORDER, H5_INDEX_NAME}) {
    names.clear();
    hsize_t position = 0;
    if (H5Literate(group.object.id(), order, H5_ITER_INC, &position, collect_name, &names) >= 0) {
      return names;
    }
  }
  throw FileError(fmt::format("{}: a group cannot be listed: the file is damaged", group.file));
}

}  // namespace matapprox::hdf5
