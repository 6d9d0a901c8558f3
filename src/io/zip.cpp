#include "io/zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <initializer_list>

#include "io/byte_stream.hpp"
#include "io/proportion.hpp"
#include "io/table_reader.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

using zip::kCentralSignature;
using zip::kCentralSize;
using zip::kEnd64LocatorSignature;
using zip::kEnd64LocatorSize;
using zip::kEnd64Signature;
using zip::kEnd64Size;
using zip::kEndSignature;
using zip::kEndSize;
using zip::kLocalSignature;
using zip::kLocalSize;
using zip::kOnly64;

constexpr std::uint64_t kMaxFromDeflate = 1032;
constexpr const char* kUnpackFirst = "if the size is correct, save it uncompressed";
constexpr std::size_t kPiece = std::size_t{1} << 30;  // zlib counts in 32 bits

/// Reads the directory of an archive; checks every access.
class DirectoryReader {
 public:
  DirectoryReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::vector<ZipMember> read() {
    find_directory();
    std::vector<ZipMember> members;
    for (std::uint64_t k = 0; k < count_; ++k) members.push_back(read_member());
    return members;
  }

 private:
  std::uint64_t number(std::uint64_t at, std::size_t size, const char* what) const {
    if (at > bytes_.size() || bytes_.size() - at < size) {
      fail(fmt::format("{} at byte {} lies outside the file of {} bytes", what, at, bytes_.size()));
    }
    return little_endian(bytes_, at, size);
  }

  std::string_view piece(std::uint64_t at, std::uint64_t size, const char* what) const {
    if (at > bytes_.size() || bytes_.size() - at < size) {
      fail(fmt::format("{}: bytes {} to {} lie outside the file of {} bytes",
                       what,
                       at,
                       at + size,
                       bytes_.size()));
    }
    return bytes_.substr(at, size);
  }

  /// Finds the end record at the end of the file, followed by at most a comment of 64 kB.
  std::uint64_t find_end() const {
    if (bytes_.size() < kEndSize) fail("too short for a zip archive, the file may be cut off");
    const std::size_t last = bytes_.size() - kEndSize;
    const std::size_t first = last > 0xFFFF ? last - 0xFFFF : 0;
    for (std::size_t at = last + 1; at-- > first;) {
      if (little_endian(bytes_, at, 4) == kEndSignature) return at;
    }
    fail("no zip directory, the file may be cut off");
  }

  void find_directory() {
    const std::uint64_t end = find_end();
    count_ = number(end + 10, 2, "the number of members");
    at_ = number(end + 16, 4, "the directory's offset");
    if (number(end + 4, 2, "the disk number") != number(end + 6, 2, "the disk number")) {
      fail("the archive is split over several files");
    }
    if (end >= kEnd64LocatorSize &&
        little_endian(bytes_, end - kEnd64LocatorSize, 4) == kEnd64LocatorSignature) {
      const std::uint64_t end64 =
          number(end - kEnd64LocatorSize + 8, 8, "the ZIP64 record's offset");
      const auto record = piece(end64, kEnd64Size, "the ZIP64 record");
      if (little_endian(record, 0, 4) != kEnd64Signature) fail("the ZIP64 record is damaged");
      count_ = little_endian(record, 32, 8);
      at_ = little_endian(record, 48, 8);
    }
    if (count_ > bytes_.size() / kCentralSize) {
      fail(fmt::format("{} members are declared; the file has room for at most {}",
                       count_,
                       bytes_.size() / kCentralSize));
    }
  }

  ZipMember read_member() {
    const auto record = piece(at_, kCentralSize, "a directory entry");
    if (little_endian(record, 0, 4) != kCentralSignature)
      fail(fmt::format("no directory entry at byte {}", at_));
    const auto field = [&](std::size_t at, std::size_t size) {
      return little_endian(record, at, size);
    };
    const std::uint64_t name_size = field(28, 2);
    const std::uint64_t extra_size = field(30, 2);
    ZipMember member;
    member.name = piece(at_ + kCentralSize, name_size, "a member's name");
    member.checksum = static_cast<std::uint32_t>(field(16, 4));
    if ((field(8, 2) & 1) != 0) fail(fmt::format("member {} is encrypted", in_quotes(member.name)));
    const std::uint64_t method = field(10, 2);
    if (method != 0 && method != 8) {
      fail(fmt::format("member {} is packed by method {}; it must be 0 (stored) or 8 (deflated)",
                       in_quotes(member.name),
                       method));
    }
    member.deflated = method == 8;
    std::uint64_t packed = field(20, 4);
    member.size = field(24, 4);
    std::uint64_t offset = field(42, 4);
    const auto extra = piece(at_ + kCentralSize + name_size, extra_size, "a member's extra field");
    read_zip64(extra, {&member.size, &packed, &offset});
    at_ += kCentralSize + name_size + extra_size + field(32, 2);
    member.packed = content(member.name, offset, packed);
    check_size(member);
    return member;
  }

  /// Reads the ZIP64 field. It contains, in this order, those numbers that do not fit in 32 bits.
  static void read_zip64(std::string_view extra, std::initializer_list<std::uint64_t*> numbers) {
    while (extra.size() >= 4) {
      const std::uint64_t id = little_endian(extra, 0, 2);
      const std::uint64_t size =
          std::min<std::uint64_t>(little_endian(extra, 2, 2), extra.size() - 4);
      if (id == 1) {
        std::size_t at = 4;
        for (std::uint64_t* const value : numbers) {
          if (*value != kOnly64 || at + 8 > 4 + size) continue;
          *value = little_endian(extra, at, 8);
          at += 8;
        }
        return;
      }
      extra.remove_prefix(4 + size);
    }
  }

  std::string_view content(const std::string& member,
                           std::uint64_t offset,
                           std::uint64_t packed) const {
    const auto header = piece(offset, kLocalSize, "a member's header");
    if (little_endian(header, 0, 4) != kLocalSignature) {
      fail(fmt::format(
          "member {} is not where the directory says, at byte {}", in_quotes(member), offset));
    }
    const std::uint64_t start =
        offset + kLocalSize + little_endian(header, 26, 2) + little_endian(header, 28, 2);
    return piece(start, packed, "a member's content");
  }

  void check_size(const ZipMember& member) const {
    const std::uint64_t packed = member.packed.size();
    if (!member.deflated && member.size != packed) {
      fail(fmt::format("member {} is stored in {} bytes but declared as {}",
                       in_quotes(member.name),
                       packed,
                       member.size));
    }
    if (member.deflated && member.size / kMaxFromDeflate > packed) {
      fail(fmt::format("member {} cannot inflate from {} to the declared {} bytes",
                       in_quotes(member.name),
                       packed,
                       member.size));
    }
  }

  [[noreturn]] void fail(const std::string& what) const { fail_in(name_, what); }

  std::string_view bytes_;
  const std::string& name_;
  std::uint64_t at_ = 0;
  std::uint64_t count_ = 0;
};

const Bytef* zlib_bytes(std::string_view bytes) {
  return reinterpret_cast<const Bytef*>(bytes.data());
}

/// Inflates raw deflate data to exactly out.size() bytes; returns false if it is damaged or of
/// another length.
bool inflate_to(std::string_view packed, InputBytes& out) {
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) throw NotAvailable("zlib could not be started");
  char none = 0;  // zlib requires an output buffer, even for nothing
  std::size_t used = 0;
  std::size_t have = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    const auto piece_in = std::min(packed.size() - used, kPiece);
    const auto piece_out = std::min(out.size() - have, kPiece);
    stream.next_in = const_cast<Bytef*>(zlib_bytes(packed.substr(used)));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(piece_in);
    stream.next_out = reinterpret_cast<Bytef*>(out.size() == 0 ? &none : out.data() + have);
    stream.avail_out = static_cast<uInt>(piece_out);
    code = inflate(&stream, Z_NO_FLUSH);
    used += piece_in - stream.avail_in;
    have += piece_out - stream.avail_out;
  }
  inflateEnd(&stream);
  return code == Z_STREAM_END && have == out.size();
}

}  // namespace

std::uint32_t zip_checksum(std::string_view bytes, std::uint32_t checksum) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kPiece);
    checksum = static_cast<std::uint32_t>(
        crc32(checksum, zlib_bytes(piece), static_cast<uInt>(piece.size())));
    bytes.remove_prefix(piece.size());
  }
  return checksum;
}

std::vector<ZipMember> zip_directory(std::string_view bytes, const std::string& name) {
  return DirectoryReader(bytes, name).read();
}

void check_zip_start(std::string_view start, const std::string& name) {
  if (start.empty() || start.substr(0, 2) == "PK") return;
  fail_in(name, "not a zip archive, which starts with 'PK'");
}

InputBytes unpack(const ZipMember& member, const std::string& name) {
  require_proportion(static_cast<double>(member.size),
                     static_cast<double>(member.packed.size()),
                     fmt::format("{}: member {}", name, in_quotes(member.name)),
                     kUnpackFirst);
  InputBytes content(member.size);
  if (member.deflated) {
    if (!inflate_to(member.packed, content))
      fail_in(name, fmt::format("member {} is damaged", in_quotes(member.name)));
  } else {
    std::copy(member.packed.begin(), member.packed.end(), content.data());
  }
  if (zip_checksum(content) != member.checksum) {
    fail_in(
        name,
        fmt::format("member {} is damaged: its checksum does not match", in_quotes(member.name)));
  }
  return content;
}

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
