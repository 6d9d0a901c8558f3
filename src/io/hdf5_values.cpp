#include "io/hdf5_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "core/small_float.hpp"
#include "io/hdf5_rows.hpp"
#include "io/positioned_write.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox::hdf5 {
namespace {

/// A 16-bit number in its representation in memory and in the file.
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

/// Creates HDF5's description of a format; called once per format, and HDF5 frees it at the end.
hid_t small_float_type(const SmallFloat& format) {
  const auto exponent = static_cast<std::size_t>(format.exponent_bits);
  const auto mantissa = static_cast<std::size_t>(format.mantissa_bits);
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, mantissa, exponent, 0, mantissa);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, static_cast<std::size_t>(format.bias()));
  return type;
}

}  // namespace

template <Precision precision>
struct NumberType<SmallNumber<precision>> {
  static hid_t memory() {
    static const hid_t type = small_float_type(SmallNumber<precision>::format());
    return type;
  }
  static hid_t file() { return memory(); }
};

namespace {

/// Returns the place of the dataset in the file that HDF5 writes.
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

}  // namespace

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
  const auto* writer = dynamic_cast<const BlockWriter*>(block.space);
  if (std::optional<FilePlace> place = place_of(dataset, group); place && writer != nullptr) {
    place->order = extents.size() == 2 ? FilePlace::Order::kRows : FilePlace::Order::kColumns;
    place->finite = not_finite == NotFinite::kRefused;
    sum = writer->write_to_file(block.rows, block.data, block.cols, *place);
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

namespace {

/// Reads all numbers of a one-dimensional or two-dimensional dataset in their stored type.
template <class Stored>
std::vector<Stored> read_whole(const Handle& dataset,
                               const Location& group,
                               const std::string& name,
                               Index count) {
  std::vector<Stored> values(static_cast<std::size_t>(count));
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

template <class Stored>
std::vector<Index> read_integers_as(const Handle& dataset,
                                    const Location& group,
                                    const std::string& name,
                                    Index count) {
  std::vector<Stored> stored = read_whole<Stored>(dataset, group, name, count);
  if constexpr (std::is_same_v<Stored, Index>) return stored;
  return {stored.begin(), stored.end()};
}

template <class Stored>
void write_whole(const Location& group, const std::string& name, std::span<const Stored> values) {
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

}  // namespace

void write_integers(const Location& group,
                    const std::string& name,
                    std::span<const Index> values,
                    bool narrow) {
  if (narrow) {
    const std::vector<std::int32_t> stored(values.begin(), values.end());
    write_whole<std::int32_t>(group, name, stored);
  } else {
    write_whole<std::int64_t>(group, name, values);
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

/// Chunks of whole rows, at most a million numbers each unless a row is longer; deflated if this
/// HDF5 supports that.
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
  // HDF5 clips numbers that do not fit, so a narrow type is used only for numbers stored in it.
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
  write_whole(group, name, values);
}

template <class Stored>
std::vector<Stored> read_array(const Location& group, const std::string& name) {
  const Handle dataset = open_member(group, name);
  const std::vector<Index> extents = shape(dataset);
  if (extents.size() != 1) fail_dataset(group, name, "is not one-dimensional");
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  if (H5Tequal(type.id(), NumberType<Stored>::file()) <= 0) {
    fail_dataset(group, name, "is not stored in the type that the file format requires");
  }
  require_memory(static_cast<double>(extents[0]) * sizeof(Stored), label(group, name));
  return read_whole<Stored>(dataset, group, name, extents[0]);
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
    fail_dataset(group, name, fmt::format("does not have {} columns", columns));
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
