#include "io/hdf5_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>

#include "core/small_float.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox::hdf5 {

static_assert(std::endian::native == std::endian::little,
              "the checksum is taken of the bytes in memory, which must be those on disk");

namespace {

constexpr Index kNumbersAtOnce = Index{1} << 20;
constexpr const char* kChecksum = "crc32";

std::string label(const Location& group, const std::string& name) {
  return fmt::format("{}: dataset '{}'", group.file, name);
}

[[noreturn]] void fail_dataset(const Location& group,
                               const std::string& name,
                               const std::string& what) {
  throw FileError(fmt::format("{} {}", label(group, name), what));
}

Index columns_of(const std::vector<Index>& extents) { return extents.size() == 2 ? extents[1] : 1; }

Index rows_at_once(const std::vector<Index>& extents) {
  return std::max<Index>(1, kNumbersAtOnce / std::max<Index>(1, columns_of(extents)));
}

uLong add_checksum(uLong sum, const void* bytes, std::size_t count) {
  return crc32_z(sum, static_cast<const Bytef*>(bytes), count);
}

Handle create_dataset(const Location& group,
                      const std::string& name,
                      const std::vector<Index>& extents,
                      hid_t type,
                      hid_t layout = H5P_DEFAULT) {
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
  Handle dataset(H5Dopen2(group.object.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset) fail_dataset(group, name, "is missing or damaged");
  require_real_numbers(dataset, label(group, name));
  return dataset;
}

/// Moves rows first .. first+count-1 between a dataset and memory of type `type`.
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

void put_checksum(const Handle& dataset, const std::string& file, uLong sum) {
  put_integer({dataset, file}, kChecksum, static_cast<Index>(sum));
}

/// Compares with the stored checksum; a file without one (edited by another program) is believed.
void verify_checksum(const Handle& dataset,
                     const Location& group,
                     const std::string& name,
                     uLong sum) {
  const Location place{dataset, group.file};
  if (has_attribute(place, kChecksum) && get_integer(place, kChecksum) != static_cast<Index>(sum)) {
    fail_dataset(group, name, "does not match its checksum: the file is damaged");
  }
}

/// A number of 16 bits, as it lies in memory and in the file.
template <Precision precision>
struct SmallNumber {
  static constexpr const SmallFloat& format() {
    return precision == Precision::kFloat16 ? kFloat16 : kBfloat16;
  }
  std::uint16_t word = 0;

  SmallNumber() = default;
  explicit SmallNumber(double value) : word(format().word(value)) {}
  explicit operator double() const { return format().value(word); }
};
using Float16 = SmallNumber<Precision::kFloat16>;
using Bfloat16 = SmallNumber<Precision::kBfloat16>;

/// HDF5's description of a format; made once, and left to HDF5 at the end.
hid_t small_float_type(const SmallFloat& format) {
  const auto exponent = static_cast<std::size_t>(format.exponent_bits);
  const auto mantissa = static_cast<std::size_t>(format.mantissa_bits);
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, mantissa, exponent, 0, mantissa);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, static_cast<std::size_t>(format.bias()));
  return type;
}

template <class Number>
struct NumberType;
template <Precision precision>
struct NumberType<SmallNumber<precision>> {
  static hid_t memory() {
    static const hid_t type = small_float_type(SmallNumber<precision>::format());
    return type;
  }
  static hid_t file() { return memory(); }
};
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

/// One stretch of the file, which the dataset has from the beginning and which HDF5 leaves as it
/// is: whoever writes it, by HDF5 or past it, the file is the same.
Handle stretch_of_file() {
  Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(layout.id(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(layout.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(layout.id(), H5D_FILL_TIME_NEVER);
  return layout;
}

/// Returns the checksum of what it writes.
template <class Stored>
uLong write_rows(const Handle& dataset,
                 const Location& group,
                 const std::string& name,
                 const std::vector<Index>& extents,
                 const RowSource& source) {
  const Index cols = columns_of(extents);
  const Index step = std::min(rows_at_once(extents), std::max<Index>(1, extents[0]));
  constexpr bool kAsTheyAre = std::is_same_v<Stored, double>;
  std::vector<double> values(static_cast<std::size_t>(step * cols));
  std::vector<Stored> converted(kAsTheyAre ? 0 : values.size());
  uLong sum = 0;
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

/// Where HDF5 has put the dataset, in the file that it writes.
std::optional<FilePlace> place_of(const Handle& dataset, const Location& group) {
  const haddr_t offset = H5Dget_offset(dataset.id());
  const ssize_t length = H5Fget_name(dataset.id(), nullptr, 0);
  if (offset == HADDR_UNDEF || length <= 0) return std::nullopt;
  FilePlace place;
  place.path.resize(static_cast<std::size_t>(length));
  H5Fget_name(dataset.id(), place.path.data(), place.path.size() + 1);
  place.offset = offset;
  place.name = group.file;
  return place;
}

bool is_contiguous(const Handle& dataset) {
  const Handle layout(H5Dget_create_plist(dataset.id()), H5Pclose);
  return layout && H5Pget_layout(layout.id()) == H5D_CONTIGUOUS;
}

/// A trial reads the ends of what HDF5 only copies from the file, and all of what it decodes.
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
  uLong sum = 0;
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

/// Numbers of an array, after checking that they can be: stored in this file, and fit in memory.
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

template <class Stored>
std::vector<Index> read_integers_as(const Handle& dataset,
                                    const Location& group,
                                    const std::string& name,
                                    Index count) {
  std::vector<Stored> stored(static_cast<std::size_t>(count));
  const bool ok = count == 0 || H5Dread(dataset.id(),
                                        NumberType<Stored>::memory(),
                                        H5S_ALL,
                                        H5S_ALL,
                                        H5P_DEFAULT,
                                        stored.data()) >= 0;
  if (!ok) fail_dataset(group, name, "cannot be read: the file is truncated or damaged");
  verify_checksum(
      dataset, group, name, add_checksum(0, stored.data(), stored.size() * sizeof(Stored)));
  if constexpr (std::is_same_v<Stored, Index>) return stored;
  return {stored.begin(), stored.end()};
}

template <class Stored>
void write_integers_as(const Location& group,
                       const std::string& name,
                       std::span<const Index> values) {
  const std::vector<Stored> stored(values.begin(), values.end());
  const Handle dataset =
      create_dataset(group, name, {static_cast<Index>(stored.size())}, NumberType<Stored>::file());
  if (!stored.empty() && H5Dwrite(dataset.id(),
                                  NumberType<Stored>::memory(),
                                  H5S_ALL,
                                  H5S_ALL,
                                  H5P_DEFAULT,
                                  stored.data()) < 0) {
    fail_dataset(group, name, "cannot be written");
  }
  put_checksum(dataset, group.file, add_checksum(0, stored.data(), stored.size() * sizeof(Stored)));
}

}  // namespace

Handle create_group(const Location& parent, const std::string& name) {
  const Handle order(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  H5Pset_link_creation_order(order.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  Handle group(H5Gcreate2(parent.object.id(), name.c_str(), H5P_DEFAULT, order.id(), H5P_DEFAULT),
               H5Gclose);
  if (!group) throw FileError(fmt::format("{}: group '{}' cannot be created", parent.file, name));
  return group;
}

Handle open_group(const Location& parent, const std::string& name) {
  Handle group(H5Gopen2(parent.object.id(), name.c_str(), H5P_DEFAULT), H5Gclose);
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

void write_values(const Location& group,
                  const std::string& name,
                  const std::vector<Index>& extents,
                  Precision precision,
                  const RowSource& source) {
  switch (precision) {
    case Precision::kFloat:
      return write_as<float>(group, name, extents, source);
    case Precision::kFloat16:
      return write_as<Float16>(group, name, extents, source);
    case Precision::kBfloat16:
      return write_as<Bfloat16>(group, name, extents, source);
    default:
      return write_as<double>(group, name, extents, source);
  }
}

void write_values(const Location& group,
                  const std::string& name,
                  std::span<const double> values,
                  Precision precision) {
  write_values(group,
               name,
               {static_cast<Index>(values.size())},
               precision,
               [&](Index first, Index count, double* target) {
                 std::copy_n(values.begin() + first, count, target);
               });
}

void write_placed(const Location& group,
                  const std::string& name,
                  const std::vector<Index>& extents,
                  const ConstMultiVectorView& block,
                  NotFinite not_finite,
                  const RowSource& source) {
  const Handle dataset =
      create_dataset(group, name, extents, NumberType<double>::file(), stretch_of_file().id());
  std::optional<std::uint32_t> sum;
  if (std::optional<FilePlace> place = place_of(dataset, group)) {
    place->order = extents.size() == 2 ? FilePlace::Order::kRows : FilePlace::Order::kColumns;
    place->finite = not_finite == NotFinite::kRefused;
    sum = block.space->write_to_file(block.rows, block.data, block.cols, *place);
  }
  put_checksum(
      dataset, group.file, sum ? *sum : write_rows<double>(dataset, group, name, extents, source));
}

void read_values(const Location& group,
                 const std::string& name,
                 const std::vector<Index>& extents,
                 const RowSink& sink) {
  const Handle dataset = open_member(group, name);
  require_extents(dataset, group, name, extents);
  count_numbers(extents, group, name);
  if (is_stored_as(dataset, H5T_FLOAT, sizeof(float))) {
    read_as<float>(dataset, group, name, extents, sink);
  } else if (has_type(dataset, NumberType<Float16>::file())) {
    read_as<Float16>(dataset, group, name, extents, sink);
  } else if (has_type(dataset, NumberType<Bfloat16>::file())) {
    read_as<Bfloat16>(dataset, group, name, extents, sink);
  } else {
    read_as<double>(dataset, group, name, extents, sink);
  }
}

std::vector<double> read_values(const Location& group, const std::string& name) {
  const std::vector<Index> extents = extents_of(group, name);
  std::vector<double> values(static_cast<std::size_t>(count_numbers(extents, group, name)));
  const Index cols = columns_of(extents);
  read_values(group, name, extents, [&](Index first, Index count, const double* source) {
    std::copy_n(source, count * cols, values.begin() + first * cols);
  });
  return values;
}

bool ValueReader::can_read(const Location& group, const std::string& name) {
  const Handle dataset = open_member(group, name);
  const std::vector<Index> extents = shape(dataset);
  return extents.size() == 1 && is_stored_as(dataset, H5T_FLOAT, sizeof(double)) &&
         is_contiguous(dataset) && H5Dget_offset(dataset.id()) != HADDR_UNDEF &&
         H5Dget_storage_size(dataset.id()) / sizeof(double) ==
             static_cast<hsize_t>(extents.front());
}

ValueReader::ValueReader(const Location& group, const std::string& name)
    : file_(group.file), name_(name), dataset_(open_member(group, name)) {
  size_ = shape(dataset_).front();
}

ValueReader::~ValueReader() {
  const Lock lock;
  dataset_.reset();
}

void ValueReader::read(Index first, Index count, double* values) {
  const ErrorSilencer silencer;
  const Location place{dataset_, file_};
  const bool ok = transfer_rows(dataset_, first, count, 1, [&](hid_t memory, hid_t file) {
    return H5Dread(dataset_.id(), NumberType<double>::memory(), memory, file, H5P_DEFAULT, values);
  });
  if (!ok) fail_dataset(place, name_, "cannot be read: the file is truncated or damaged");
  if (first == 0) next_ = 0;
  if (first != next_) return;
  sum_ =
      add_checksum(first == 0 ? 0 : sum_, values, static_cast<std::size_t>(count) * sizeof(double));
  next_ += count;
  if (next_ == size_) verify_checksum(dataset_, place, name_, sum_);
}

std::vector<Index> extents_of(const Location& group, const std::string& name) {
  return shape(open_member(group, name));
}

void write_integers(const Location& group,
                    const std::string& name,
                    std::span<const Index> values,
                    bool narrow) {
  if (narrow) {
    write_integers_as<std::int32_t>(group, name, values);
  } else {
    write_integers_as<std::int64_t>(group, name, values);
  }
}

std::vector<Index> read_integers(const Location& group, const std::string& name) {
  const Handle dataset = open_member(group, name);
  const std::vector<Index> extents = shape(dataset);
  if (extents.size() != 1) fail_dataset(group, name, "is not one-dimensional");
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (H5Tget_class(type.id()) != H5T_INTEGER) fail_dataset(group, name, "does not hold integers");
  const Index count = count_numbers(extents, group, name);
  if (is_stored_as(dataset, H5T_INTEGER, sizeof(std::int32_t))) {
    return read_integers_as<std::int32_t>(dataset, group, name, count);
  }
  return read_integers_as<std::int64_t>(dataset, group, name, count);
}

namespace {

/// Chunks of whole rows, at most a million numbers each where a row is not longer; deflated where
/// this HDF5 can.
Handle compressed_layout(const std::vector<Index>& extents) {
  constexpr unsigned kLevel = 4;
  constexpr Index kLargestChunk = Index{1} << 20;
  std::vector<hsize_t> chunk(extents.begin(), extents.end());
  chunk[0] =
      static_cast<hsize_t>(std::clamp<Index>(kLargestChunk / columns_of(extents), 1, extents[0]));
  Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(layout.id(), static_cast<int>(chunk.size()), chunk.data());
  if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
    H5Pset_shuffle(layout.id());
    H5Pset_deflate(layout.id(), kLevel);
  }
  return layout;
}

bool is_signed(const Handle& dataset) {
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  return H5Tget_sign(type.id()) == H5T_SGN_2;
}

}  // namespace

void write_integer_rows(const Location& group,
                        const std::string& name,
                        const std::vector<Index>& extents,
                        IntegerType type,
                        const RowSource& source) {
  const Handle layout = compressed_layout(extents);
  if (type == IntegerType::kInt8) {
    write_as<std::int8_t>(group, name, extents, source, layout);
  } else {
    write_as<std::int32_t>(group, name, extents, source, layout);
  }
}

void read_integer_rows(const Location& group,
                       const std::string& name,
                       const std::vector<Index>& extents,
                       const RowSink& sink) {
  const Handle dataset = open_member(group, name);
  require_extents(dataset, group, name, extents);
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (H5Tget_class(type.id()) != H5T_INTEGER) fail_dataset(group, name, "does not hold integers");
  // HDF5 clips what does not fit, so that only what was stored as such is read into a narrow type.
  if (is_signed(dataset) && is_stored_as(dataset, H5T_INTEGER, sizeof(std::int8_t))) {
    read_as<std::int8_t>(dataset, group, name, extents, sink);
  } else if (is_signed(dataset) && is_stored_as(dataset, H5T_INTEGER, sizeof(std::int32_t))) {
    read_as<std::int32_t>(dataset, group, name, extents, sink);
  } else {
    read_as<std::int64_t>(dataset, group, name, extents, sink);
  }
}

template <class Stored>
void write_array(const Location& group, const std::string& name, std::span<const Stored> values) {
  const Handle dataset =
      create_dataset(group, name, {static_cast<Index>(values.size())}, NumberType<Stored>::file());
  if (!values.empty() && H5Dwrite(dataset.id(),
                                  NumberType<Stored>::memory(),
                                  H5S_ALL,
                                  H5S_ALL,
                                  H5P_DEFAULT,
                                  values.data()) < 0) {
    fail_dataset(group, name, "cannot be written");
  }
  put_checksum(dataset, group.file, add_checksum(0, values.data(), values.size_bytes()));
}

template <class Stored>
std::vector<Stored> read_array(const Location& group, const std::string& name) {
  const Handle dataset = open_member(group, name);
  const std::vector<Index> extents = shape(dataset);
  if (extents.size() != 1) fail_dataset(group, name, "is not one-dimensional");
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (H5Tequal(type.id(), NumberType<Stored>::file()) <= 0) {
    fail_dataset(group, name, "is stored in another type than the file format says");
  }
  require_memory(static_cast<double>(extents[0]) * sizeof(Stored), label(group, name));
  std::vector<Stored> values(static_cast<std::size_t>(extents[0]));
  const bool ok = values.empty() || H5Dread(dataset.id(),
                                            NumberType<Stored>::memory(),
                                            H5S_ALL,
                                            H5S_ALL,
                                            H5P_DEFAULT,
                                            values.data()) >= 0;
  if (!ok) fail_dataset(group, name, "cannot be read: the file is truncated or damaged");
  verify_checksum(
      dataset, group, name, add_checksum(0, values.data(), values.size() * sizeof(Stored)));
  return values;
}

template void write_array(const Location&, const std::string&, std::span<const std::uint8_t>);
template void write_array(const Location&, const std::string&, std::span<const std::uint16_t>);
template void write_array(const Location&, const std::string&, std::span<const float>);
template std::vector<std::uint8_t> read_array(const Location&, const std::string&);
template std::vector<std::uint16_t> read_array(const Location&, const std::string&);
template std::vector<float> read_array(const Location&, const std::string&);

void write_table(const Location& group,
                 const std::string& name,
                 std::span<const Index> values,
                 Index columns) {
  const Index largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  const std::vector<Index> extents{static_cast<Index>(values.size()) / columns, columns};
  const RowSource source = [&](Index first, Index count, double* rows) {
    std::copy_n(values.begin() + first * columns, count * columns, rows);
  };
  if (largest < 1 << 8) {
    write_as<std::uint8_t>(group, name, extents, source);
  } else if (largest < 1 << 16) {
    write_as<std::uint16_t>(group, name, extents, source);
  } else if (largest < Index{1} << 31) {
    write_as<std::int32_t>(group, name, extents, source);
  } else {
    write_as<std::int64_t>(group, name, extents, source);
  }
}

std::vector<Index> read_table(const Location& group, const std::string& name, Index columns) {
  const Handle dataset = open_member(group, name);
  const std::vector<Index> extents = shape(dataset);
  if (extents.size() != 2 || extents[1] != columns) {
    fail_dataset(group, name, fmt::format("has not {} columns", columns));
  }
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (H5Tget_class(type.id()) != H5T_INTEGER) fail_dataset(group, name, "does not hold integers");
  const Index count = count_numbers(extents, group, name);
  if (H5Tequal(type.id(), H5T_STD_U8LE) > 0) {
    return read_integers_as<std::uint8_t>(dataset, group, name, count);
  }
  if (H5Tequal(type.id(), H5T_STD_U16LE) > 0) {
    return read_integers_as<std::uint16_t>(dataset, group, name, count);
  }
  if (is_stored_as(dataset, H5T_INTEGER, sizeof(std::int32_t))) {
    return read_integers_as<std::int32_t>(dataset, group, name, count);
  }
  return read_integers_as<std::int64_t>(dataset, group, name, count);
}

}  // namespace matapprox::hdf5
