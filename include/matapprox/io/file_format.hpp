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

/// A path as the user gave it, taken apart.
struct FileName {
  std::string path;     ///< the file, "-" for standard input
  std::string dataset;  ///< behind the colon of file.h5:/dataset, else empty
};

/// Splits file.h5:/dataset (also .hdf5), unless a file of the whole name exists.
FileName split_file_name(const std::string& name);

/// The format that the name's extension stands for; .gz is looked through for text formats. Throws
/// FileError, suggesting the nearest, for any other extension.
FileFormat format_of_name(const std::string& path);

/// The format of bytes from standard input: by their first bytes, and a table of numbers if those
/// say nothing. Throws FileError for formats that need a file (HDF5, MATLAB).
FileFormat format_of_bytes(std::string_view bytes);

}  // namespace matapprox
