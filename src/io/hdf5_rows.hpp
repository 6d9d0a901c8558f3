#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "io/hdf5_values.hpp"
#include "io/trial_read.hpp"

// Common functions for arrays of numbers of any type: their rows are written to and read from a
// dataset in pieces, with a checksum of all bytes. Only for the sources that write and read arrays.
namespace matapprox::hdf5 {

/// Returns "FILE: dataset 'NAME'".
std::string label(const Location& group, const std::string& name);
/// Throws FileError: the label, and `what`.
[[noreturn]] void fail_dataset(const Location& group,
                               const std::string& name,
                               const std::string& what);

Handle create_dataset(const Location& group,
                      const std::string& name,
                      const std::vector<Index>& extents,
                      hid_t type,
                      hid_t layout = H5P_DEFAULT);
/// Opens a dataset. Throws FileError unless it exists and has real numbers.
Handle open_member(const Location& group, const std::string& name);
/// Layout of a dataset that is one contiguous part of the file, allocated at creation and never
/// filled by HDF5. The file is the same if the numbers are written by HDF5 or directly.
Handle stretch_of_file();
bool is_contiguous(const Handle& dataset);
bool is_stored_as(const Handle& dataset, H5T_class_t kind, std::size_t bytes);
bool has_type(const Handle& dataset, hid_t type);
void require_extents(const Handle& dataset,
                     const Location& group,
                     const std::string& name,
                     const std::vector<Index>& extents);
/// Returns the number of entries of an array. Throws unless it has 1 or 2 dimensions and fits in
/// memory.
Index count_numbers(const std::vector<Index>& extents,
                    const Location& group,
                    const std::string& name);

/// Number of columns of an array of one extent or two.
Index columns_of(const std::vector<Index>& extents);
/// Number of rows of a piece: a million numbers, or one row if that is longer.
Index rows_at_once(const std::vector<Index>& extents);

/// Continues the checksum `sum` of the bytes before with these bytes.
unsigned long add_checksum(unsigned long sum, const void* bytes, std::size_t count);
void put_checksum(const Handle& dataset, const std::string& file, unsigned long sum);
/// Compares with the stored checksum; accepts a file without one (edited by another program).
void verify_checksum(const Handle& dataset,
                     const Location& group,
                     const std::string& name,
                     unsigned long sum);

/// HDF5's names of a number type, in memory and in the file.
template <class Number>
struct NumberType;
template <>
struct NumberType<double> {
  static hid_t memory() { return H5T_NATIVE_DOUBLE; }
  static hid_t file() { return H5T_IEEE_F64LE; }
};
template <>
struct NumberType<float> {
  static hid_t memory() { return H5T_NATIVE_FLOAT; }
  static hid_t file() { return H5T_IEEE_F32LE; }
};
template <>
struct NumberType<std::int64_t> {
  static hid_t memory() { return H5T_NATIVE_INT64; }
  static hid_t file() { return H5T_STD_I64LE; }
};
template <>
struct NumberType<std::int32_t> {
  static hid_t memory() { return H5T_NATIVE_INT32; }
  static hid_t file() { return H5T_STD_I32LE; }
};
template <>
struct NumberType<std::int8_t> {
  static hid_t memory() { return H5T_NATIVE_INT8; }
  static hid_t file() { return H5T_STD_I8LE; }
};
template <>
struct NumberType<std::uint8_t> {
  static hid_t memory() { return H5T_NATIVE_UINT8; }
  static hid_t file() { return H5T_STD_U8LE; }
};
template <>
struct NumberType<std::uint16_t> {
  static hid_t memory() { return H5T_NATIVE_UINT16; }
  static hid_t file() { return H5T_STD_U16LE; }
};

/// Moves rows first .. first+count-1 between a dataset and memory, by a call of `transfer`.
template <class Transfer>
bool transfer_rows(
    const Handle& dataset, Index first, Index count, Index cols, Transfer&& transfer) {
  const Handle file_space(H5Dget_space(dataset.id()), H5Sclose);
  const std::array<hsize_t, 2> start{static_cast<hsize_t>(first), 0};
  const std::array<hsize_t, 2> size{static_cast<hsize_t>(count), static_cast<hsize_t>(cols)};
  const int rank = H5Sget_simple_extent_ndims(file_space.id());
  if (rank != 1 && rank != 2) return false;
  const Handle memory_space(H5Screate_simple(rank, size.data(), nullptr), H5Sclose);
  return H5Sselect_hyperslab(
             file_space.id(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr) >= 0 &&
         transfer(memory_space.id(), file_space.id()) >= 0;
}

/// Writes all rows and returns the checksum of the written bytes.
template <class Stored>
unsigned long write_rows(const Handle& dataset,
                         const Location& group,
                         const std::string& name,
                         const std::vector<Index>& extents,
                         const RowSource& source) {
  const Index cols = columns_of(extents);
  const Index step = std::min(rows_at_once(extents), std::max<Index>(1, extents[0]));
  constexpr bool kAsTheyAre = std::is_same_v<Stored, double>;
  std::vector<double> values(static_cast<std::size_t>(step * cols));
  std::vector<Stored> converted(kAsTheyAre ? 0 : values.size());
  unsigned long sum = 0;
  for (Index first = 0; first < extents[0]; first += step) {
    const Index count = std::min(step, extents[0] - first);
    const auto numbers = static_cast<std::size_t>(count * cols);
    source(first, count, values.data());
    const void* stored = values.data();
    if constexpr (!kAsTheyAre) {
      std::transform(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(numbers),
                     converted.begin(),
                     [](double value) { return static_cast<Stored>(value); });
      stored = converted.data();
    }
    const bool ok = transfer_rows(dataset, first, count, cols, [&](hid_t memory, hid_t file) {
      return H5Dwrite(
          dataset.id(), NumberType<Stored>::memory(), memory, file, H5P_DEFAULT, stored);
    });
    if (!ok) fail_dataset(group, name, "cannot be written");
    sum = add_checksum(sum, stored, numbers * sizeof(Stored));
  }
  return sum;
}

template <class Stored>
void write_as(const Location& group,
              const std::string& name,
              const std::vector<Index>& extents,
              const RowSource& source,
              const Handle& layout = stretch_of_file()) {
  const Handle dataset =
      create_dataset(group, name, extents, NumberType<Stored>::file(), layout.id());
  put_checksum(dataset, group.file, write_rows<Stored>(dataset, group, name, extents, source));
}

/// Reads all rows. A trial reads only the ends of a contiguous dataset, which HDF5 just copies from
/// the file, but all of a dataset that HDF5 decodes.
template <class Stored>
void read_as(const Handle& dataset,
             const Location& group,
             const std::string& name,
             const std::vector<Index>& extents,
             const RowSink& sink) {
  const Index cols = columns_of(extents);
  const Index step = std::min(rows_at_once(extents), std::max<Index>(1, extents[0]));
  std::vector<Stored> stored(static_cast<std::size_t>(step * cols));
  std::vector<double> values(stored.size());
  const bool ends_only = in_trial_read() && is_contiguous(dataset);
  unsigned long sum = 0;
  for (Index first = 0; first < extents[0]; first += step) {
    const Index count = std::min(step, extents[0] - first);
    if (ends_only && first > 0 && first + step < extents[0]) continue;
    const bool ok = transfer_rows(dataset, first, count, cols, [&](hid_t memory, hid_t file) {
      return H5Dread(
          dataset.id(), NumberType<Stored>::memory(), memory, file, H5P_DEFAULT, stored.data());
    });
    if (!ok) fail_dataset(group, name, "cannot be read: the file is truncated or damaged");
    const auto numbers = static_cast<std::size_t>(count * cols);
    sum = add_checksum(sum, stored.data(), numbers * sizeof(Stored));
    std::transform(stored.begin(),
                   stored.begin() + static_cast<std::ptrdiff_t>(numbers),
                   values.begin(),
                   [](Stored value) { return static_cast<double>(value); });
    sink(first, count, values.data());
  }
  if (!ends_only) verify_checksum(dataset, group, name, sum);
}

}  // namespace matapprox::hdf5
