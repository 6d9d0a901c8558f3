#include "io/hdf5_values.hpp"

#include <algorithm>
#include <optional>

#include "core/small_float.hpp"
#include "io/hdf5_rows.hpp"

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

}  // namespace matapprox::hdf5
