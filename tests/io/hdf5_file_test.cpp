#include "matapprox/io/hdf5_file.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>
#include <limits>
#include <vector>

#include "io/hdf5_handle.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/random_block.hpp"
#include "support/saved_files.hpp"

namespace matapprox {
namespace {

using hdf5::Handle;

class Hdf5File : public ::testing::Test {
 protected:
  /// Adds a dataset of any type and extents with zero bytes.
  void add(const std::string& name, hid_t type, const std::vector<hsize_t>& extents) {
    if (!file_) {
      file_ = Handle(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    }
    const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                       H5Sclose);
    const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links.id(), 1);
    // The zeros are allocated at once, as if they had been written.
    const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_alloc_time(layout.id(), H5D_ALLOC_TIME_EARLY);
    const Handle dataset(
        H5Dcreate2(
            file_.id(), name.c_str(), type, space.id(), links.id(), layout.id(), H5P_DEFAULT),
        H5Dclose);
    ASSERT_TRUE(dataset);
  }
  void finish() { file_.reset(); }

  std::string path_ = test::temporary_dir() + "/a.h5";
  Handle file_;
};

TEST_F(Hdf5File, WritesAndReads) {
  const Matrix A = test::random_matrix(7, 5);
  write_hdf5_matrix(path_, "A", A);
  EXPECT_SAME_BITS(read_hdf5_matrix(path_), A);
  EXPECT_SAME_BITS(read_hdf5_matrix(path_, "/A"), A);
  const Hdf5DatasetInfo info = find_hdf5_matrix(path_);
  EXPECT_EQ(info.dataset, "/A");
  EXPECT_EQ(info.rows, 7);
  EXPECT_EQ(info.cols, 5);
}

TEST_F(Hdf5File, EveryTypeAndLayout) {
  Matrix A(9, 4);
  for (Index k = 0; k < A.size(); ++k) A.data()[k] = static_cast<double>(k % 100);
  for (const hid_t type : {H5T_NATIVE_DOUBLE,
                           H5T_IEEE_F64BE,
                           H5T_NATIVE_FLOAT,
                           H5T_STD_I8LE,
                           H5T_STD_U16BE,
                           H5T_STD_I64LE}) {
    for (const bool compressed : {false, true}) {
      test::write_dataset(
          path_, "A", A, {type, compressed ? 4 : 0, compressed ? 3 : 0, compressed});
      EXPECT_SAME_BITS(read_hdf5_matrix(path_), A);
    }
  }
}

TEST_F(Hdf5File, OneDimensionIsAColumn) {
  add("x", H5T_NATIVE_DOUBLE, {6});
  finish();
  EXPECT_SAME_BITS(read_hdf5_matrix(path_), Matrix::Zero(6, 1));
}

TEST_F(Hdf5File, ChoosesTheOnlyMatrix) {
  add("group/A", H5T_NATIVE_DOUBLE, {2, 3});
  add("cube", H5T_NATIVE_DOUBLE, {2, 2, 2});
  add("text", H5T_C_S1, {4});
  finish();
  EXPECT_EQ(find_hdf5_matrix(path_).dataset, "/group/A");
  EXPECT_REFUSED(FileError, find_hdf5_matrix(path_, "cube"), "3 dimensions; 1 or 2 are supported");
  EXPECT_REFUSED(FileError, find_hdf5_matrix(path_, "text"), "not a dataset of integers");
  EXPECT_REFUSED(FileError, find_hdf5_matrix(path_, "B"), "no dataset 'B'; it holds");
  EXPECT_REFUSED(FileError, find_hdf5_matrix(path_, "group"), "no dataset 'group'");
}

TEST_F(Hdf5File, RefusesToChooseAmongSeveral) {
  add("A", H5T_NATIVE_DOUBLE, {2, 3});
  add("B", H5T_NATIVE_DOUBLE, {2, 3});
  finish();
  EXPECT_REFUSED(FileError, read_hdf5_matrix(path_), "several datasets; name one of them");
}

TEST_F(Hdf5File, RefusesComplexEmptyAndNone) {
  {
    const Handle complex(H5Tcreate(H5T_COMPOUND, 16), H5Tclose);
    H5Tinsert(complex.id(), "r", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(complex.id(), "i", 8, H5T_NATIVE_DOUBLE);
    add("Z", complex.id(), {2, 2});
    add("empty", H5T_NATIVE_DOUBLE, {0, 4});
  }
  finish();
  EXPECT_REFUSED(FileError, read_hdf5_matrix(path_, "Z"), "complex");
  EXPECT_REFUSED(FileError, read_hdf5_matrix(path_, "empty"), "0 x 4 is not a matrix");
}

TEST_F(Hdf5File, RefusesNanWithItsPlace) {
  Matrix A = test::random_matrix(4, 3);
  A(2, 1) = std::numeric_limits<double>::quiet_NaN();
  write_hdf5_matrix(path_, "A", A);
  EXPECT_REFUSED(NumericalError, read_hdf5_matrix(path_), "row 3, column 2, counted from 1");
}

TEST_F(Hdf5File, RefusesChunksThatWereNeverWritten) {
  const Handle chunked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  {
    const Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const std::array<hsize_t, 2> chunk{64, 64};
    const std::array<hsize_t, 2> extents{hsize_t{1} << 31, hsize_t{1} << 20};
    H5Pset_chunk(chunked.id(), 2, chunk.data());
    const Handle space(H5Screate_simple(2, extents.data(), nullptr), H5Sclose);
    const Handle dataset(
        H5Dcreate2(
            file.id(), "A", H5T_NATIVE_DOUBLE, space.id(), H5P_DEFAULT, chunked.id(), H5P_DEFAULT),
        H5Dclose);
    ASSERT_TRUE(dataset);
  }
  EXPECT_REFUSED(FileError, read_hdf5_matrix(path_), "never written");
}

TEST_F(Hdf5File, WritingRefusals) {
  EXPECT_REFUSED(InvalidArgument, write_hdf5_matrix(path_, "A", Matrix()), "empty");
  EXPECT_REFUSED(
      InvalidArgument, write_hdf5_matrix(path_, "", Matrix::Ones(1, 1)), "not a valid name");
  EXPECT_REFUSED(
      FileError, write_hdf5_matrix("/no/such/a.h5", "A", Matrix::Ones(1, 1)), "not exist");
}

TEST_F(Hdf5File, EveryLayoutAndTypeGivesTheSameNumbers) {
  Matrix A(1201, 903);
  for (Index j = 0; j < A.cols(); ++j) {
    for (Index i = 0; i < A.rows(); ++i) A(i, j) = static_cast<double>((i * 31 + j * 7) % 101);
  }
  const std::vector<test::DatasetLayout> layouts{{},
                                                 {H5T_IEEE_F64BE},
                                                 {H5T_IEEE_F32LE},
                                                 {H5T_STD_I16BE},
                                                 {H5T_STD_U8LE},
                                                 {H5T_NATIVE_DOUBLE, 100, 903},
                                                 {H5T_NATIVE_DOUBLE, 64, 77, true},
                                                 {H5T_STD_I32LE, 1201, 10, true}};
  for (std::size_t k = 0; k < layouts.size(); ++k) {
    test::write_dataset(path_, "A", A, layouts[k]);
    EXPECT_TRUE(read_hdf5_matrix(path_, "A") == A) << "layout " << k;
  }
}

TEST_F(Hdf5File, NumbersBehindAUserBlockAreFound) {
  const Matrix A = test::random_block<Matrix>(40, 30, 1);
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_userblock(creation.id(), 1024);
  file_ = Handle(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, creation.id(), H5P_DEFAULT), H5Fclose);
  const std::array<hsize_t, 2> extents{40, 30};
  const Handle space(H5Screate_simple(2, extents.data(), nullptr), H5Sclose);
  Handle dataset(
      H5Dcreate2(
          file_.id(), "A", H5T_IEEE_F64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose);
  const Matrix rows = A.transpose();
  H5Dwrite(dataset.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data());
  dataset.reset();
  finish();
  EXPECT_TRUE(read_hdf5_matrix(path_, "A") == A);
}

}  // namespace
}  // namespace matapprox
