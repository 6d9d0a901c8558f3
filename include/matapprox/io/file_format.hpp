#pragma once

#include <string>
#include <string_view>

namespace matapprox {

enum class FileFormat {
  kMatrixMarket,
  kMat,
  kNpy,
  kNpz,
  kDelimited,
  kHdf5,
  kImage,
  kPajek,
  kEdgeList,
};

/// The parts of a path given by the user.
struct FileName {
  std::string path;     ///< the file, "-" for standard input
  std::string dataset;  ///< part after the colon of file.h5:/dataset, else empty
};

/// Splits file.h5:/dataset (also .hdf5), unless a file with the whole name exists.
FileName split_file_name(const std::string& name);

/// Returns the format of the name's extension; a final .gz is ignored for text formats. Throws
/// FileError, suggesting the nearest extension, for any other one.
FileFormat format_of_name(const std::string& path);

/// Returns the format of bytes from standard input, judged by the first bytes; a table of numbers
/// if these are not conclusive. Throws FileError for formats that need a file (HDF5, MATLAB).
FileFormat format_of_bytes(std::string_view bytes);

}  // namespace matapprox
