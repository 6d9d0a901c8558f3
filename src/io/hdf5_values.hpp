#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_attributes.hpp"
#include "matapprox/core/multi_vector.hpp"

// Arrays of real numbers. Numbers are little-endian on disk; every array carries the attribute
// `crc32` of its bytes. The caller holds an ErrorSilencer. Everything throws FileError; messages
// start with `file`.
namespace matapprox::hdf5 {

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

}  // namespace matapprox::hdf5
