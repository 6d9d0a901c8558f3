#pragma once

#include <hdf5.h>

#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox::test {

/// Storage options of a dataset.
struct DatasetLayout {
  hid_t type = H5T_NATIVE_DOUBLE;
  Index chunk_rows = 0;  ///< 0: contiguous
  Index chunk_cols = 0;
  bool compressed = false;
};

/// Writes one dataset `name` into a new file; values are converted to the layout's type.
void write_dataset(const std::string& path,
                   const std::string& name,
                   const Matrix& values,
                   const DatasetLayout& layout);

}  // namespace matapprox::test
