#pragma once

#include <memory>
#include <string>

#include "io/hdf5_handle.hpp"
#include "matapprox/io/atomic_output.hpp"

namespace matapprox::hdf5 {

/// An HDF5 file that appears whole or not at all. HDF5 writes directly to the temporary file of an
/// AtomicOutput, through a custom file driver. The drivers of HDF5 are unsuitable: on a full disk,
/// version 1.10 can no longer close its file and prints errors until the program ends. The custom
/// driver reports success to HDF5 and keeps the first error, which commit() throws. Groups,
/// attributes and all other metadata carry checksums (the format of HDF5 1.8). Memory: none that
/// grows with the file.
class OutputFile {
 public:
  /// Throws FileError if the folder does not exist or is not writable.
  explicit OutputFile(std::string path);
  const Handle& file() const { return file_; }
  const std::string& path() const { return output_->path(); }
  /// Completes the file, forces it to disk and gives it its name; closes file(). Throws FileError.
  void commit();

 private:
  /// On the heap: HDF5 refers to it while the file is open, even if this object is moved.
  std::unique_ptr<AtomicOutput> output_;
  Handle file_;
};

}  // namespace matapprox::hdf5
