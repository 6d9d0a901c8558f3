#pragma once

#include <memory>
#include <string>

#include "io/hdf5_handle.hpp"
#include "matapprox/io/atomic_output.hpp"

namespace matapprox::hdf5 {

/// An HDF5 file that appears whole or not at all: what HDF5 writes goes straight to the temporary
/// file of an AtomicOutput, through a file driver of ours. Its own drivers will not do: on a full
/// disk, version 1.10 cannot close its file any more and complains until the program ends; ours
/// tells HDF5 that all is well, keeps the first error, and commit() throws it. Groups, attributes
/// and all other metadata carry checksums (the format of HDF5 1.8). Memory: none that grows with
/// the file.
class OutputFile {
 public:
  /// Throws FileError if the folder does not exist or cannot be written in.
  explicit OutputFile(std::string path);
  const Handle& file() const { return file_; }
  const std::string& path() const { return output_->path(); }
  /// Ends the file, forces it to disk and gives it its name; file() is closed then. Throws
  /// FileError.
  void commit();

 private:
  /// Where HDF5 reaches it while the file is open, wherever this object is moved.
  std::unique_ptr<AtomicOutput> output_;
  Handle file_;
};

}  // namespace matapprox::hdf5
