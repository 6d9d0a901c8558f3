#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"
#include "matapprox/factors/approximation.hpp"

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

/// Replaces the first number of a dataset as another program might, which leaves no checksum.
void replace_first_number(const std::string& path, const std::string& name, double value);

struct SavedExample {
  std::string name;
  Approximation approximation;
};

/// One small approximation for each kind of factor value, sharing, flag and precision.
std::vector<SavedExample> saved_examples();

}  // namespace matapprox::test
