#pragma once

#include <string>

#include "io/hdf5_handle.hpp"

// HDF5 can take the numbers of a dataset from other files (external links, external storage,
// virtual datasets), and returns fill values for numbers that were never written. Both are refused
// here.
namespace matapprox::hdf5 {

/// While a scope with `allowed` exists, the readers of this thread follow datasets into other
/// files.
class ExternalScope {
 public:
  explicit ExternalScope(bool allowed);
  ~ExternalScope();
  ExternalScope(const ExternalScope&) = delete;
  ExternalScope& operator=(const ExternalScope&) = delete;

 private:
  bool before_;
};

/// True if an ExternalScope of this thread allows other files.
bool external_allowed();

/// Calls H5Dopen2. Does not follow an external link unless external_allowed(), but throws FileError
/// naming the other file. Returns an empty handle for a missing or damaged dataset.
Handle open_dataset_here(hid_t place, const std::string& name, const std::string& file);
/// Same for H5Gopen2.
Handle open_group_here(hid_t place, const std::string& name, const std::string& file);

/// Throws FileError unless the numbers of the dataset are in its own file (or in other files that
/// exist, if external_allowed()) and were all written, and a chunk is in proportion to the size of
/// the file. Chunks that were never written count as written if the file defines a fill value.
void require_stored(const Handle& dataset, const std::string& what);

/// Throws FileError or NotAvailable unless all numbers, as doubles, are in proportion to the size
/// of the file and fit in memory.
void require_room(const Handle& dataset, const std::string& what);

/// Throws FileError if any link or dataset of the file refers to another file, unless
/// external_allowed(). For files that another library reads.
void require_own_file(const std::string& path);

}  // namespace matapprox::hdf5
