#pragma once

#include <string>

#include "core/hdf5_handle.hpp"

namespace matapprox::hdf5 {

/// An HDF5 file under construction, in memory; write_to puts it on disk in one go. HDF5 itself
/// never touches the disk: on a full one, version 1.10 cannot close its file any more and complains
/// until the program ends. Groups, attributes and all other metadata carry checksums (the format of
/// HDF5 1.8). Memory: the size of the file.
class Image {
 public:
  explicit Image(std::string path);
  const Handle& file() const { return file_; }
  const std::string& path() const { return path_; }
  /// Writes to a temporary file, fsync, rename. Throws FileError.
  void write();

 private:
  std::string path_;
  Handle access_;
  Handle file_;
};

}  // namespace matapprox::hdf5
