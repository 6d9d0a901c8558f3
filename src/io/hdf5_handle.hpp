#pragma once

#include <hdf5.h>

#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/types.hpp"

// Owners of HDF5 identifiers, and the few calls that every reader makes. Every function throws
// FileError; none lets HDF5 print.
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

}  // namespace matapprox::hdf5
