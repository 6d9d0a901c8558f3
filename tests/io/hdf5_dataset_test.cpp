#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/saved_files.hpp"

namespace matapprox::test {
namespace {

std::string new_file() { return temporary_dir() + "/a.h5"; }

Matrix whole_numbers(Index rows, Index cols) {
  return (random_matrix(rows, cols, 3) * 30).array().round().abs();
}

/// Everything read through the operator equals A exactly, because A and all products are integers.
void expect_reads(const Hdf5Operator& op, const Matrix& A) {
  ASSERT_EQ(op.rows(), A.rows());
  ASSERT_EQ(op.cols(), A.cols());
  EXPECT_SAME_BITS(op.columns_at(index_range(0, A.cols())), A);
  EXPECT_SAME_BITS(op.rows_at(index_range(0, A.rows())), A.transpose());
  const std::vector<Index> J{A.cols() - 1, 0, A.cols() / 2, 0};
  EXPECT_SAME_BITS(op.columns_at(J), A(Eigen::all, J));
  const std::vector<Index> I{A.rows() - 1, 0, A.rows() / 2, 0};
  EXPECT_SAME_BITS(op.rows_at(I), A(I, Eigen::all).transpose());
  EXPECT_SAME_BITS(op.diagonal(), A.diagonal());
  const Matrix X = whole_numbers(A.cols(), 4);
  const Matrix Y = whole_numbers(A.rows(), 4);
  EXPECT_SAME_BITS(op.apply(X), A * X);
  EXPECT_SAME_BITS(op.apply_transpose(Y), A.transpose() * Y);
}

TEST(Hdf5Operator, ReadsEveryLayoutInPanelsOfEverySize) {
  const Matrix A = whole_numbers(61, 47);
  const DatasetLayout contiguous{};
  const DatasetLayout square{H5T_NATIVE_DOUBLE, 8, 8, true};
  const DatasetLayout wide{H5T_NATIVE_DOUBLE, 1, 47, false};
  const DatasetLayout tall{H5T_NATIVE_DOUBLE, 61, 1, false};
  const DatasetLayout single{H5T_NATIVE_DOUBLE, 61, 47, false};
  const DatasetLayout uneven{H5T_NATIVE_DOUBLE, 17, 5, false};
  for (const DatasetLayout& layout : {contiguous, square, wide, tall, single, uneven}) {
    const std::string path = new_file();
    write_dataset(path, "A", A, layout);
    for (const Index panel_bytes : {1, 600, 3000, 9000, 20000, 1 << 28}) {
      SCOPED_TRACE(::testing::Message() << layout.chunk_rows << " x " << layout.chunk_cols
                                        << " chunks, panels of " << panel_bytes);
      expect_reads(Hdf5Operator(path, "A", panel_bytes), A);
    }
  }
}

TEST(Hdf5Operator, ConvertsEveryTypeOfNumber) {
  const Matrix A = whole_numbers(9, 14).cwiseMin(127);
  for (const hid_t type : {H5T_NATIVE_UINT8,
                           H5T_NATIVE_INT16,
                           H5T_STD_I32BE,
                           H5T_NATIVE_INT64,
                           H5T_NATIVE_FLOAT,
                           H5T_IEEE_F64BE}) {
    const std::string path = new_file();
    write_dataset(path, "A", A, {type, 0, 0, false});
    expect_reads(Hdf5Operator(path, "A"), A);
  }
}

TEST(Hdf5Operator, SaysWhereItIsAndWhatIsStoredTogether) {
  const std::string path = new_file();
  for (const auto& [chunk_rows, unit_rows] :
       {std::pair<Index, Index>{0, 1}, {8, 8}, {17, 17}, {61, 61}}) {
    write_dataset(path, "A", whole_numbers(61, 47), {H5T_NATIVE_DOUBLE, chunk_rows, 5, false});
    const Hdf5Operator op(path, "/A");
    EXPECT_EQ(op.path(), path);
    EXPECT_EQ(op.dataset(), "/A");
    EXPECT_EQ(op.unit_rows(), unit_rows);
  }
}

TEST(Hdf5Operator, OneEntry) {
  const std::string path = new_file();
  write_dataset(path, "A", Matrix::Constant(1, 1, 5), {});
  expect_reads(Hdf5Operator(path, "/A"), Matrix::Constant(1, 1, 5));
}

/// Writes rows x cols bytes in chunks; only the chunks with one of the given entries exist in the
/// file.
void write_mostly_fill_values(const std::string& path,
                              std::array<hsize_t, 2> shape,
                              const std::vector<std::array<hsize_t, 2>>& sevens) {
  const std::array<hsize_t, 2> chunk{1024, 1000};
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, shape.data(), nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, 2, chunk.data());
  const unsigned char fill = 2;
  H5Pset_fill_value(properties, H5T_NATIVE_UCHAR, &fill);
  const hid_t dataset =
      H5Dcreate2(file, "A", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  const std::array<hsize_t, 2> one{1, 1};
  const hid_t entry = H5Screate_simple(2, one.data(), nullptr);
  const unsigned char seven = 7;
  for (const auto& place : sevens) {
    H5Sselect_hyperslab(space, H5S_SELECT_SET, place.data(), nullptr, one.data(), nullptr);
    H5Dwrite(dataset, H5T_NATIVE_UCHAR, entry, space, H5P_DEFAULT, &seven);
  }
  H5Sclose(entry);
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
  H5Fclose(file);
}

TEST(Hdf5Operator, HoldsMoreThanTwoToThe31Entries) {
  const std::string path = new_file();
  write_mostly_fill_values(path, {65536, 40000}, {{65535, 39999}, {60000, 12345}, {0, 1}});
  ASSERT_LT(std::filesystem::file_size(path), 16'000'000U);
  const Hdf5Operator op(path, "A");
  EXPECT_EQ(op.cost().stored_numbers, Index{65536} * 40000);
  EXPECT_GT(op.cost().stored_numbers, Index{1} << 31);
  const Matrix columns = op.columns_at(std::vector<Index>{39999, 12345});
  Matrix expected = Matrix::Constant(65536, 2, 2);
  expected(65535, 0) = 7;
  expected(60000, 1) = 7;
  EXPECT_SAME_BITS(columns, expected);
  const Matrix rows = op.rows_at(std::vector<Index>{65535});
  expected = Matrix::Constant(40000, 1, 2);
  expected(39999, 0) = 7;
  EXPECT_SAME_BITS(rows, expected);
}

TEST(Hdf5Operator, RefusesNanWithItsPlace) {
  Matrix A = whole_numbers(20, 30);
  A(13, 21) = std::numeric_limits<double>::quiet_NaN();
  const std::string path = new_file();
  write_dataset(path, "A", A, {H5T_NATIVE_DOUBLE, 7, 4, false});
  const Hdf5Operator op(path, "A", 500);
  EXPECT_REFUSED(NumericalError,
                 op.apply(Matrix::Ones(30, 1)),
                 path + ":A: row 14, column 22, counted from 1");
  EXPECT_REFUSED(
      NumericalError, op.columns_at(std::vector<Index>{21}), "row 14, column 22, counted from 1");
  EXPECT_SAME_BITS(op.columns_at(std::vector<Index>{3}), A.col(3));
}

TEST(Hdf5Operator, RefusesWhatIsNotAMatrix) {
  const std::string path = new_file();
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const std::array<hsize_t, 3> shape{4, 5, 0};
  const auto make = [&](const char* name, int rank, const hsize_t* extents, hid_t type) {
    const hid_t space = H5Screate_simple(rank, extents, nullptr);
    H5Dclose(H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  };
  make("vector", 1, shape.data(), H5T_NATIVE_DOUBLE);
  make("cube", 3, shape.data(), H5T_NATIVE_DOUBLE);
  make("empty", 2, shape.data() + 1, H5T_NATIVE_DOUBLE);
  make("text", 2, shape.data(), H5T_C_S1);
  H5Fclose(file);
  EXPECT_REFUSED(FileError, Hdf5Operator(path, "vector"), ":vector: 1 dimensions");
  EXPECT_REFUSED(FileError, Hdf5Operator(path, "cube"), ":cube: 3 dimensions");
  EXPECT_REFUSED(FileError, Hdf5Operator(path, "empty"), ":empty: 5 x 0 entries");
  EXPECT_REFUSED(FileError, Hdf5Operator(path, "text"), ":text: ");
  EXPECT_REFUSED(FileError, Hdf5Operator(path, "absent"), "absent");
  EXPECT_REFUSED(InvalidArgument, Hdf5Operator(path, "vector", 0), "panels of 0 bytes");
}

TEST(Hdf5Operator, RefusesDamagedFiles) {
  const std::string path = new_file();
  EXPECT_REFUSED(FileError, Hdf5Operator(path, "A"), path);
  std::ofstream(path) << "not an HDF5 file";
  EXPECT_REFUSED(FileError, Hdf5Operator(path, "A"), path);
  write_dataset(path, "A", whole_numbers(300, 300), {H5T_NATIVE_DOUBLE, 100, 100, false});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_REFUSED(FileError, Hdf5Operator(path, "A").apply(Matrix::Ones(300, 1)), path);
}

}  // namespace
}  // namespace matapprox::test
