#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/types.hpp"

// Owners of HDF5 identifiers, the few calls that every reader makes, and groups, attributes and
// texts of this project's files. Every function throws FileError, with a message that starts with
// `file`; none lets HDF5 print: the caller of those that read or write a file holds an
// ErrorSilencer.
namespace matapprox::hdf5 {

/// Held during every use of HDF5 (which serializes its callers anyway), and during the fork that a
/// read guard runs in outside_hdf5: thus the child never inherits HDF5's own lock from a thread
/// that does not exist there. May be nested within a thread.
class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

/// A Lock during which HDF5 does not print its error stack. May be nested.
class ErrorSilencer {
 public:
  ErrorSilencer();
  ~ErrorSilencer();
  ErrorSilencer(const ErrorSilencer&) = delete;
  ErrorSilencer& operator=(const ErrorSilencer&) = delete;

 private:
  Lock lock_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Owns one identifier and closes it with the function that belongs to its kind.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  hid_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Closes the identifier now. Returns false if HDF5 reports a failure (a write that did not reach
  /// the disk).
  bool reset();

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// Opens an existing file for reading. Throws FileError if it is missing, unreadable or not HDF5.
Handle open_file(const std::string& path);

/// Opens a dataset; `path` is only for messages. Throws FileError, listing the datasets of the
/// root, if there is none of that name.
Handle open_dataset(const Handle& file, const std::string& name, const std::string& path);

/// Returns the extents of a dataset; empty for a scalar.
std::vector<Index> shape(const Handle& dataset);

/// Throws FileError unless the numbers of the dataset are integers or floating-point numbers (not
/// compound, string, reference, ...). `what` starts the message: "x.h5:/group/A".
void require_real_numbers(const Handle& dataset, const std::string& what);

/// Reads rows [row, row + rows) x columns [col, col + cols) of a two-dimensional dataset (or, of a
/// one-dimensional one, entries [row, row + rows), col = 0, cols = 1) as double, row-major, into
/// `values` (rows * cols numbers). Throws FileError if the block is outside or cannot be read.
void read_block(const Handle& dataset,
                Index row,
                Index rows,
                Index col,
                Index cols,
                double* values,
                const std::string& what);

/// Full names of the datasets below the root, at most `limit` of them, in the file's order.
/// Throws FileError, naming `path`, if groups are nested more than 100 deep.
std::vector<std::string> list_datasets(const Handle& file,
                                       const std::string& path,
                                       std::size_t limit = 100);

/// Location of an attribute or dataset: an open group, and the file name for messages.
struct Location {
  const Handle& object;
  const std::string& file;
};

Handle create_group(const Location& parent, const std::string& name);
Handle open_group(const Location& parent, const std::string& name);
bool has_link(const Location& parent, const std::string& name);
/// Names of the members of a group, in the order of creation if the file records it.
std::vector<std::string> member_names(const Location& group);

void put_text(const Location& place, const std::string& name, const std::string& value);
void put_integer(const Location& place, const std::string& name, Index value);
void put_seed(const Location& place, const std::string& name, std::uint64_t value);
void put_number(const Location& place, const std::string& name, double value);

bool has_attribute(const Location& place, const std::string& name);
std::string get_text(const Location& place, const std::string& name);
Index get_integer(const Location& place, const std::string& name);
/// Reads an integer; throws unless it is in lowest..highest.
Index get_integer(const Location& place, const std::string& name, Index lowest, Index highest);
std::uint64_t get_seed(const Location& place, const std::string& name);
double get_number(const Location& place, const std::string& name);

/// Writes a scalar dataset of text of any length.
void write_text(const Location& group, const std::string& name, const std::string& value);
std::string read_text(const Location& group, const std::string& name);

}  // namespace matapprox::hdf5
