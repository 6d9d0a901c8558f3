#include "support/hdf5_writing.hpp"

#include <array>
#include <stdexcept>
#include <vector>

namespace matapprox::test {

void write_dataset(const std::string& path,
                   const std::string& name,
                   const Matrix& values,
                   const DatasetLayout& layout) {
  const std::array<hsize_t, 2> shape{static_cast<hsize_t>(values.rows()),
                                     static_cast<hsize_t>(values.cols())};
  const std::array<hsize_t, 2> chunk{static_cast<hsize_t>(layout.chunk_rows),
                                     static_cast<hsize_t>(layout.chunk_cols)};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, shape.data(), nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  if (layout.chunk_rows > 0) H5Pset_chunk(properties, 2, chunk.data());
  if (layout.compressed) H5Pset_deflate(properties, 4);
  const hid_t dataset =
      H5Dcreate2(file, name.c_str(), layout.type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = values;
  const bool written =
      dataset >= 0 &&
      H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()) >= 0;
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
  const bool closed = H5Fclose(file) >= 0;
  if (!written || !closed) throw std::runtime_error("cannot write " + path);
}

void replace_first_number(const std::string& path, const std::string& name, double value) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  const bool read =
      H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
  if (read) values.at(0) = value;
  const bool written =
      H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0;
  if (H5Aexists(dataset, "crc32") > 0) H5Adelete(dataset, "crc32");
  H5Sclose(space);
  H5Dclose(dataset);
  const bool closed = H5Fclose(file) >= 0;
  if (!read || !written || !closed) throw std::runtime_error("cannot change " + name);
}

}  // namespace matapprox::test
