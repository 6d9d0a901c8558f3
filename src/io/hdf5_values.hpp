#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_handle.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/types.hpp"

// The few kinds of attribute and dataset that our own files consist of. Numbers are little-endian
// on disk; every dataset of numbers carries the attribute `crc32` of its bytes. The caller holds a
// ErrorSilencer. Everything throws FileError; messages start with `file`.
namespace matapprox::hdf5 {

/// Where an attribute or dataset is: an open group, and the names for messages.
struct Location {
  const Handle& object;
  const std::string& file;
};

Handle create_group(const Location& parent, const std::string& name);
Handle open_group(const Location& parent, const std::string& name);
bool has_link(const Location& parent, const std::string& name);
/// Names of the members of a group, in the order in which they were made where the file knows it.
std::vector<std::string> member_names(const Location& group);

void put_text(const Location& place, const std::string& name, const std::string& value);
void put_integer(const Location& place, const std::string& name, Index value);
void put_seed(const Location& place, const std::string& name, std::uint64_t value);
void put_number(const Location& place, const std::string& name, double value);

bool has_attribute(const Location& place, const std::string& name);
std::string get_text(const Location& place, const std::string& name);
Index get_integer(const Location& place, const std::string& name);
/// An integer that must be in lowest..highest.
Index get_integer(const Location& place, const std::string& name, Index lowest, Index highest);
std::uint64_t get_seed(const Location& place, const std::string& name);
double get_number(const Location& place, const std::string& name);

/// A scalar dataset of text, of any length.
void write_text(const Location& group, const std::string& name, const std::string& value);
std::string read_text(const Location& group, const std::string& name);

/// Supplies or takes rows first .. first+count-1 of an array, row-major.
using RowSource = std::function<void(Index first, Index count, double* values)>;
using RowSink = std::function<void(Index first, Index count, const double* values)>;

/// Writes an array of numbers of that precision, to which they are rounded (kPacked: doubles); one
/// extent or two.
void write_values(const Location& group,
                  const std::string& name,
                  const std::vector<Index>& extents,
                  Precision precision,
                  const RowSource& source);
void write_values(const Location& group,
                  const std::string& name,
                  std::span<const double> values,
                  Precision precision);
/// Whether NaN and Inf are refused, with NumericalError, or written.
enum class NotFinite { kRefused, kAllowed };
/// Writes an array of doubles that lie in a block of a memory space, row by row, or, with one
/// extent, column by column: by MemorySpace::write_to_file, where it can, past HDF5, else from
/// `source`. NaN and Inf that `source` brings are its own affair.
void write_placed(const Location& group,
                  const std::string& name,
                  const std::vector<Index>& extents,
                  const ConstMultiVectorView& block,
                  NotFinite not_finite,
                  const RowSource& source);
/// Reads it in pieces; the extents must be those given. Verifies the checksum where there is one.
void read_values(const Location& group,
                 const std::string& name,
                 const std::vector<Index>& extents,
                 const RowSink& sink);
std::vector<double> read_values(const Location& group, const std::string& name);
/// Reads an array of doubles of one extent a piece at a time, from a file that stays open as long
/// as this lives, whatever becomes of its name. The last piece verifies the checksum, where all
/// before were read in order from the first on.
class ValueReader {
 public:
  ValueReader(const Location& group, const std::string& name);
  ~ValueReader();
  ValueReader(const ValueReader&) = delete;
  ValueReader(ValueReader&&) = delete;
  ValueReader& operator=(const ValueReader&) = delete;
  ValueReader& operator=(ValueReader&&) = delete;

  /// Whether it is an array that this can read: of doubles, one stretch of the file.
  static bool can_read(const Location& group, const std::string& name);
  Index size() const { return size_; }
  void read(Index first, Index count, double* values);

 private:
  std::string file_;
  std::string name_;
  Handle dataset_;
  Index size_ = 0;
  Index next_ = 0;  ///< the first number that is not in the checksum yet
  unsigned long sum_ = 0;
};

/// The extents of a dataset in this group.
std::vector<Index> extents_of(const Location& group, const std::string& name);

/// Writes integers as 64 bits, or as 32 if `narrow` (they must fit).
void write_integers(const Location& group,
                    const std::string& name,
                    std::span<const Index> values,
                    bool narrow = false);
std::vector<Index> read_integers(const Location& group, const std::string& name);

/// An array of bytes, 16-bit words or floats as it is, without copies in other types. Stored is
/// std::uint8_t, std::uint16_t or float; reading throws where the file holds another type.
template <class Stored>
void write_array(const Location& group, const std::string& name, std::span<const Stored> values);
template <class Stored>
std::vector<Stored> read_array(const Location& group, const std::string& name);

/// Writes a table of integers of at least 0, row-major, in the narrowest of 8 and 16 bits
/// (unsigned), 32 and 64 (signed) that holds them all.
void write_table(const Location& group,
                 const std::string& name,
                 std::span<const Index> values,
                 Index columns);

/// Reads what write_table wrote, as a whole.
std::vector<Index> read_table(const Location& group, const std::string& name, Index columns);

/// How integers are stored in a table.
enum class IntegerType { kInt8, kInt32 };

/// Writes an array of integers (one extent or two, all at least 1), in chunks that are compressed;
/// they must fit the type.
void write_integer_rows(const Location& group,
                        const std::string& name,
                        const std::vector<Index>& extents,
                        IntegerType type,
                        const RowSource& source);
/// Reads integers of any type in pieces; the extents must be those given. Beyond 2^53 they are
/// rounded. Verifies the checksum where there is one. Memory: a piece, whatever the extents.
void read_integer_rows(const Location& group,
                       const std::string& name,
                       const std::vector<Index>& extents,
                       const RowSink& sink);

}  // namespace matapprox::hdf5
