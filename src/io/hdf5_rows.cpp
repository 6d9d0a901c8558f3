#include "io/hdf5_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <bit>

#include "io/hdf5_stored.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox::hdf5 {

static_assert(std::endian::native == std::endian::little,
              "the checksum is taken of the bytes in memory, which must be those on disk");

namespace {

constexpr Index kNumbersAtOnce = Index{1} << 20;
constexpr const char* kChecksum = "crc32";

}  // namespace

std::string label(const Location& group, const std::string& name) {
  return fmt::format("{}: dataset '{}'", group.file, name);
}

void fail_dataset(const Location& group, const std::string& name, const std::string& what) {
  throw FileError(fmt::format("{} {}", label(group, name), what));
}

Handle create_dataset(const Location& group,
                      const std::string& name,
                      const std::vector<Index>& extents,
                      hid_t type,
                      hid_t layout) {
  const std::vector<hsize_t> sizes(extents.begin(), extents.end());
  const Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr),
                     H5Sclose);
  Handle dataset(
      H5Dcreate2(
          group.object.id(), name.c_str(), type, space.id(), H5P_DEFAULT, layout, H5P_DEFAULT),
      H5Dclose);
  if (!dataset) fail_dataset(group, name, "cannot be created");
  return dataset;
}

Handle open_member(const Location& group, const std::string& name) {
  Handle dataset = open_dataset_here(group.object.id(), name, group.file);
  if (!dataset) fail_dataset(group, name, "is missing or damaged");
  require_real_numbers(dataset, label(group, name));
  require_stored(dataset, label(group, name));
  require_room(dataset, label(group, name));
  return dataset;
}

Handle stretch_of_file() {
  Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(layout.id(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(layout.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(layout.id(), H5D_FILL_TIME_NEVER);
  return layout;
}

bool is_contiguous(const Handle& dataset) {
  const Handle layout(H5Dget_create_plist(dataset.id()), H5Pclose);
  return layout && H5Pget_layout(layout.id()) == H5D_CONTIGUOUS;
}

bool is_stored_as(const Handle& dataset, H5T_class_t kind, std::size_t bytes) {
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  return type && H5Tget_class(type.id()) == kind && H5Tget_size(type.id()) == bytes;
}

bool has_type(const Handle& dataset, hid_t type) {
  const Handle found(H5Dget_type(dataset.id()), H5Tclose);
  return found && H5Tequal(found.id(), type) > 0;
}

void require_extents(const Handle& dataset,
                     const Location& group,
                     const std::string& name,
                     const std::vector<Index>& extents) {
  const std::vector<Index> found = shape(dataset);
  if (found == extents) return;
  fail_dataset(group,
               name,
               fmt::format("is {}, not {} as the rest of the file says",
                           fmt::join(found, " x "),
                           fmt::join(extents, " x ")));
}

Index count_numbers(const std::vector<Index>& extents,
                    const Location& group,
                    const std::string& name) {
  if (extents.empty() || extents.size() > 2) {
    fail_dataset(group, name, fmt::format("has {} dimensions, not 1 or 2", extents.size()));
  }
  double numbers = 1;
  for (const Index extent : extents) numbers *= static_cast<double>(extent);
  require_memory(numbers * 8, label(group, name));
  return extents[0] * columns_of(extents);
}

Index columns_of(const std::vector<Index>& extents) { return extents.size() == 2 ? extents[1] : 1; }

Index rows_at_once(const std::vector<Index>& extents) {
  return std::max<Index>(1, kNumbersAtOnce / std::max<Index>(1, columns_of(extents)));
}

unsigned long add_checksum(unsigned long sum, const void* bytes, std::size_t count) {
  return crc32_z(sum, static_cast<const Bytef*>(bytes), count);
}

void put_checksum(const Handle& dataset, const std::string& file, unsigned long sum) {
  put_integer({dataset, file}, kChecksum, static_cast<Index>(sum));
}

void verify_checksum(const Handle& dataset,
                     const Location& group,
                     const std::string& name,
                     unsigned long sum) {
  const Location place{dataset, group.file};
  if (has_attribute(place, kChecksum) && get_integer(place, kChecksum) != static_cast<Index>(sum)) {
    fail_dataset(group, name, "does not match its checksum: the file is damaged");
  }
}

}  // namespace matapprox::hdf5
