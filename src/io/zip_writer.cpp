#include "io/zip_writer.hpp"

#include <algorithm>
#include <initializer_list>

#include "io/little_endian.hpp"
#include "io/zip_archive.hpp"
#include "io/zip_records.hpp"

namespace matapprox {
namespace {

struct Number {
  std::uint64_t value;
  std::size_t bytes;
};

std::string record_of(std::initializer_list<Number> numbers) {
  std::string record;
  for (const auto& number : numbers) append_little_endian(record, number.value, number.bytes);
  return record;
}

/// Returns the ZIP64 field with these 8-byte numbers; nothing if there are none.
std::string zip64_field(const std::vector<std::uint64_t>& numbers) {
  if (numbers.empty()) return {};
  std::string field = record_of({{1, 2}, {8 * numbers.size(), 2}});
  for (const std::uint64_t number : numbers) append_little_endian(field, number, 8);
  return field;
}

bool is_large(std::uint64_t number) { return number >= zip::kOnly64; }
std::uint64_t field32(std::uint64_t number) { return std::min(number, zip::kOnly64); }

/// Returns the fields that the local header and the directory entry have in common, from "version
/// needed" to the length of the extra field.
std::string common_fields(const ZipWriter::Entry& entry, bool zip64, std::size_t extra_size) {
  constexpr std::uint64_t kUtf8Name = 0x800;
  constexpr std::uint64_t kStored = 0;
  constexpr std::uint64_t kFirstOf1980 = 0x00210000;  // a fixed date: the same bytes every time
  return record_of({{zip64 ? 45U : 20U, 2},
                    {kUtf8Name, 2},
                    {kStored, 2},
                    {kFirstOf1980, 4},
                    {entry.checksum, 4},
                    {field32(entry.size), 4},
                    {field32(entry.size), 4},
                    {entry.name.size(), 2},
                    {extra_size, 2}});
}

std::string local_header(const ZipWriter::Entry& entry) {
  std::vector<std::uint64_t> large;
  if (is_large(entry.size)) large = {entry.size, entry.size};
  const std::string extra = zip64_field(large);
  return record_of({{zip::kLocalSignature, 4}}) +
         common_fields(entry, !extra.empty(), extra.size()) + entry.name + extra;
}

std::string directory_entry(const ZipWriter::Entry& entry) {
  std::vector<std::uint64_t> large;
  if (is_large(entry.size)) large = {entry.size, entry.size};
  if (is_large(entry.offset)) large.push_back(entry.offset);
  const std::string extra = zip64_field(large);
  return record_of({{zip::kCentralSignature, 4}, {45, 2}}) +
         common_fields(entry, !extra.empty(), extra.size()) +
         // comment, disk, internal and external attributes; position of the member
         record_of({{0, 2}, {0, 2}, {0, 2}, {0, 4}, {field32(entry.offset), 4}}) + entry.name +
         extra;
}

std::string end_records(std::uint64_t start, std::uint64_t size, std::uint64_t count) {
  constexpr std::uint64_t kMaxMembers = 0xFFFF;
  std::string records;
  if (is_large(start) || is_large(size) || count >= kMaxMembers) {
    records = record_of({{zip::kEnd64Signature, 4},
                         {zip::kEnd64Size - 12, 8},
                         {45, 2},
                         {45, 2},
                         {0, 4},
                         {0, 4},
                         {count, 8},
                         {count, 8},
                         {size, 8},
                         {start, 8},
                         {zip::kEnd64LocatorSignature, 4},
                         {0, 4},
                         {start + size, 8},
                         {1, 4}});
  }
  const std::uint64_t members = std::min(count, kMaxMembers);
  return records + record_of({{zip::kEndSignature, 4},
                              {0, 2},
                              {0, 2},
                              {members, 2},
                              {members, 2},
                              {field32(size), 4},
                              {field32(start), 4},
                              {0, 2}});
}

}  // namespace

void ZipWriter::write(std::string_view record) {
  out_.write(record);
  position_ += record.size();
}

void ZipWriter::add(const std::string& name, const std::vector<std::string_view>& pieces) {
  Entry entry{name, 0, 0, position_};
  for (const auto piece : pieces) {
    entry.checksum = zip_checksum(piece, entry.checksum);
    entry.size += piece.size();
  }
  write(local_header(entry));
  for (const auto piece : pieces) write(piece);
  entries_.push_back(entry);
}

void ZipWriter::finish() {
  const std::uint64_t start = position_;
  for (const Entry& entry : entries_) write(directory_entry(entry));
  write(end_records(start, position_ - start, entries_.size()));
  out_.finish();
}

}  // namespace matapprox
