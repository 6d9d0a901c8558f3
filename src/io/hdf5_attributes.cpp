#include "io/hdf5_attributes.hpp"

#include <fmt/format.h>

#include <limits>

#include "io/hdf5_stored.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::hdf5 {

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
