#include <gtest/gtest.h>
#include <matio.h>

#include <fstream>
#include <limits>
#include <memory>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/sanitizers.hpp"

namespace matapprox {
namespace {

struct CloseMat {
  void operator()(mat_t* file) const { Mat_Close(file); }
};

/// A file that libmatio writes.
class MatioFile {
 public:
  MatioFile(const std::string& path, mat_ft version)
      : file_(Mat_CreateVer(path.c_str(), nullptr, version)) {}

  template <class T>
  void add(const std::string& name,
           matio_classes array_class,
           matio_types type,
           std::vector<std::size_t> dims,
           std::vector<T> values,
           int flags = 0,
           matio_compression compression = MAT_COMPRESSION_NONE) {
    matvar_t* variable = Mat_VarCreate(name.c_str(),
                                       array_class,
                                       type,
                                       static_cast<int>(dims.size()),
                                       dims.data(),
                                       values.data(),
                                       flags);
    ASSERT_NE(variable, nullptr);
    EXPECT_EQ(Mat_VarWrite(file_.get(), variable, compression), 0);
    Mat_VarFree(variable);
  }

  void add_sparse(const std::string& name,
                  Index rows,
                  std::vector<mat_uint32_t> row_numbers,
                  std::vector<mat_uint32_t> starts,
                  std::vector<double> values,
                  matio_compression compression = MAT_COMPRESSION_NONE) {
    std::vector<std::size_t> dims{static_cast<std::size_t>(rows), starts.size() - 1};
    mat_sparse_t parts{};
    parts.nzmax = static_cast<mat_uint32_t>(values.size());
    parts.ir = row_numbers.data();
    parts.nir = parts.nzmax;
    parts.jc = starts.data();
    parts.njc = static_cast<mat_uint32_t>(starts.size());
    parts.ndata = parts.nzmax;
    parts.data = values.data();
    matvar_t* variable = Mat_VarCreate(
        name.c_str(), MAT_C_SPARSE, MAT_T_DOUBLE, 2, dims.data(), &parts, MAT_F_DONT_COPY_DATA);
    ASSERT_NE(variable, nullptr);
    EXPECT_EQ(Mat_VarWrite(file_.get(), variable, compression), 0);
    Mat_VarFree(variable);
  }

  mat_t* get() { return file_.get(); }

 private:
  std::unique_ptr<mat_t, CloseMat> file_;
};

class MatVersions : public ::testing::TestWithParam<mat_ft> {
 protected:
  std::string path_ = test::temporary_dir() + "/a.mat";
};

TEST_P(MatVersions, DenseOfEveryType) {
  Matrix expected(2, 3);
  expected << 1, 3, 5, 2, 4, 6;
  const auto check = [&](auto zero, matio_classes array_class, matio_types type) {
    using T = decltype(zero);
    {
      MatioFile file(path_, GetParam());
      file.add<T>("A", array_class, type, {2, 3}, {1, 2, 3, 4, 5, 6});
    }
    const FileMatrix value = read_mat(path_);
    ASSERT_TRUE(std::holds_alternative<Matrix>(value));
    EXPECT_SAME_BITS(std::get<Matrix>(value), expected);
  };
  check(double{}, MAT_C_DOUBLE, MAT_T_DOUBLE);
  check(float{}, MAT_C_SINGLE, MAT_T_SINGLE);
  check(std::int8_t{}, MAT_C_INT8, MAT_T_INT8);
  check(std::uint8_t{}, MAT_C_UINT8, MAT_T_UINT8);
  check(std::int16_t{}, MAT_C_INT16, MAT_T_INT16);
  check(std::uint16_t{}, MAT_C_UINT16, MAT_T_UINT16);
  check(std::int32_t{}, MAT_C_INT32, MAT_T_INT32);
  check(std::uint32_t{}, MAT_C_UINT32, MAT_T_UINT32);
  check(std::int64_t{}, MAT_C_INT64, MAT_T_INT64);
  check(std::uint64_t{}, MAT_C_UINT64, MAT_T_UINT64);
}

TEST_P(MatVersions, LogicalIsZeroAndOne) {
  {
    MatioFile file(path_, GetParam());
    file.add<std::uint8_t>("A", MAT_C_UINT8, MAT_T_UINT8, {1, 3}, {1, 0, 1}, MAT_F_LOGICAL);
  }
  EXPECT_SAME_BITS(test::dense_of(read_mat(path_)), (Matrix(1, 3) << 1, 0, 1).finished());
}

TEST_P(MatVersions, Sparse) {
  {
    MatioFile file(path_, GetParam());
    file.add_sparse("A", 3, {2, 0, 1}, {0, 1, 1, 3, 3}, {5, -1, 0.25}, MAT_COMPRESSION_ZLIB);
  }
  const FileMatrix value = read_mat(path_);
  ASSERT_TRUE(std::holds_alternative<SparseMatrix>(value));
  const auto& A = std::get<SparseMatrix>(value);
  EXPECT_EQ(A.nonZeros(), 3);
  Matrix expected = Matrix::Zero(3, 4);
  expected(2, 0) = 5;
  expected(0, 2) = -1;
  expected(1, 2) = 0.25;
  EXPECT_SAME_BITS(Matrix(A), expected);
}

TEST_P(MatVersions, ChoosesTheOnlyMatrixOrTheNamedOne) {
  {
    MatioFile file(path_, GetParam());
    file.add<double>("n", MAT_C_DOUBLE, MAT_T_DOUBLE, {1, 1}, {7});
    file.add<char>("title", MAT_C_CHAR, MAT_T_UINT8, {1, 3}, {'a', 'b', 'c'});
    file.add<double>("B", MAT_C_DOUBLE, MAT_T_DOUBLE, {2, 1}, {1, 2}, 0, MAT_COMPRESSION_ZLIB);
  }
  EXPECT_SAME_BITS(test::dense_of(read_mat(path_)), Vector::LinSpaced(2, 1, 2));
  EXPECT_SAME_BITS(test::dense_of(read_mat(path_, "n")), Matrix::Constant(1, 1, 7));
  EXPECT_REFUSED(FileError, read_mat(path_, "C"), "no variable 'C'; the file holds");
  EXPECT_REFUSED(FileError, read_mat(path_, "title"), "is not a numeric matrix");
  {
    MatioFile file(path_, GetParam());
    file.add<double>("B", MAT_C_DOUBLE, MAT_T_DOUBLE, {2, 1}, {1, 2});
    file.add<double>("D", MAT_C_DOUBLE, MAT_T_DOUBLE, {1, 2}, {1, 2});
  }
  EXPECT_REFUSED(
      FileError, read_mat(path_), "several matrices; name one of them: B (2 x 1), D (1 x 2)");
}

TEST_P(MatVersions, RefusesWhatIsNoRealMatrix) {
  {
    MatioFile file(path_, GetParam());
    std::vector<double> real{1, 2};
    std::vector<double> imaginary{3, 4};
    mat_complex_split_t parts{real.data(), imaginary.data()};
    std::array<std::size_t, 2> dims{1, 2};
    matvar_t* variable =
        Mat_VarCreate("Z", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims.data(), &parts, MAT_F_COMPLEX);
    ASSERT_EQ(Mat_VarWrite(file.get(), variable, MAT_COMPRESSION_NONE), 0);
    Mat_VarFree(variable);
    file.add<double>("T", MAT_C_DOUBLE, MAT_T_DOUBLE, {1, 2, 2}, {1, 2, 3, 4});
    file.add<double>("nan",
                     MAT_C_DOUBLE,
                     MAT_T_DOUBLE,
                     {2, 2},
                     {1, 2, 3, std::numeric_limits<double>::quiet_NaN()});
  }
  EXPECT_REFUSED(FileError, read_mat(path_, "Z"), "variable 'Z': complex");
  EXPECT_REFUSED(FileError, read_mat(path_, "T"), "3 dimensions");
  EXPECT_REFUSED(NumericalError, read_mat(path_, "nan"), "row 2, column 2, counted from 1");
}

TEST_P(MatVersions, ReadsAFieldOfAStructure) {
  {
    MatioFile file(path_, GetParam());
    std::array<const char*, 2> fields{"title", "A"};
    std::array<std::size_t, 2> one{1, 1};
    std::array<std::size_t, 2> dims{2, 2};
    std::vector<double> values{1, 2, 3, 4};
    matvar_t* problem = Mat_VarCreateStruct("Problem", 2, one.data(), fields.data(), fields.size());
    matvar_t* matrix =
        Mat_VarCreate(nullptr, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims.data(), values.data(), 0);
    Mat_VarSetStructFieldByName(problem, "A", 0, matrix);
    std::array<std::size_t, 2> length{1, 2};
    std::vector<char> letters{'h', 'i'};
    Mat_VarSetStructFieldByName(
        problem,
        "title",
        0,
        Mat_VarCreate(nullptr, MAT_C_CHAR, MAT_T_UINT8, 2, length.data(), letters.data(), 0));
    ASSERT_EQ(Mat_VarWrite(file.get(), problem, MAT_COMPRESSION_NONE), 0);
    Mat_VarFree(problem);
  }
  EXPECT_SAME_BITS(test::dense_of(read_mat(path_, "Problem.A")),
                   (Matrix(2, 2) << 1, 3, 2, 4).finished());
  EXPECT_REFUSED(FileError, read_mat(path_, "Problem.B"), "not a numeric field");
  EXPECT_REFUSED(FileError, read_mat(path_), "no numeric two-dimensional variable");
}

TEST_P(MatVersions, DamagedFilesAreFileErrors) {
  {
    MatioFile file(path_, GetParam());
    std::vector<double> values(60);
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k) / 7;
    file.add<double>("A", MAT_C_DOUBLE, MAT_T_DOUBLE, {6, 10}, values, 0, MAT_COMPRESSION_ZLIB);
    file.add_sparse("S", 3, {2, 0, 1}, {0, 1, 1, 3, 3}, {5, -1, 0.25});
  }
  const std::string whole = test::read_file(path_);
  const auto read_both = [&] {
    for (const char* name : {"A", "S"}) {
      try {
        read_mat(path_, name);
      } catch (const FileError&) {
      } catch (const NotAvailable&) {
      }
    }
  };
  for (std::size_t k = 0; k < 20; ++k) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, whole.size() * k / 20);
    read_both();
    EXPECT_THROW(read_mat(path_, "S"), FileError) << k << " of 20 parts";
  }
  const auto size = static_cast<Index>(whole.size());
  for (Index trial = 0; trial < test::trials(200); ++trial) {
    std::string damaged = whole;
    const Index place = random_index(11, RandomStream::kSampling, trial, 0, size);
    // The shape of S in version 5: with hundreds of millions of rows the file is valid, and slow.
    if (place >= size - 104 && place < size - 96) continue;
    damaged[static_cast<std::size_t>(place)] ^=
        static_cast<char>(1 + random_index(11, RandomStream::kSampling, trial, 1, 255));
    std::ofstream(path_, std::ios::binary) << damaged;
    read_both();
  }
}

INSTANTIATE_TEST_SUITE_P(Versions,
                         MatVersions,
                         ::testing::Values(MAT_FT_MAT5, MAT_FT_MAT73),
                         [](const auto& instance) {
                           return instance.param == MAT_FT_MAT5 ? "V5" : "V73";
                         });

TEST(MatFile, RefusesOtherFiles) {
  const std::string folder = test::temporary_dir();
  EXPECT_REFUSED(FileError, read_mat(folder + "/missing.mat"), "No such file");
  std::ofstream(folder + "/empty.mat").flush();
  EXPECT_REFUSED(FileError, read_mat(folder + "/empty.mat"), "empty");
  std::ofstream(folder + "/text.mat") << std::string(4000, 'x');
  EXPECT_REFUSED(
      FileError, read_mat(folder + "/text.mat"), "not a MATLAB file of version 5 or 7.3");
}

TEST(MatFile, WritesWhatItReads) {
  const std::string path = test::temporary_dir() + "/a.mat";
  const Matrix A = test::random_matrix(5, 3);
  const SparseMatrix S = test::random_sparse(6, 4, 2);
  write_mat(path, {{"A", A}, {"S", S}, {"Empty", SparseMatrix(2, 2)}});
  EXPECT_SAME_BITS(test::dense_of(read_mat(path, "A")), A);
  const FileMatrix back = read_mat(path, "S");
  ASSERT_TRUE(std::holds_alternative<SparseMatrix>(back));
  EXPECT_SAME_BITS(test::dense_of(back), Matrix(S));
  EXPECT_SAME_BITS(test::dense_of(read_mat(path, "Empty")), Matrix::Zero(2, 2));
}

TEST(MatFile, WritesACellArrayOfFactors) {
  const std::string path = test::temporary_dir() + "/a.mat";
  const Matrix A = test::random_matrix(5, 3);
  const SparseMatrix S = test::random_sparse(3, 4, 2);
  write_mat_factors(path, {A, S});
  mat_t* file = Mat_Open(path.c_str(), MAT_ACC_RDONLY);
  ASSERT_NE(file, nullptr);
  matvar_t* cells = Mat_VarRead(file, "faust_factors");
  ASSERT_NE(cells, nullptr);
  EXPECT_EQ(cells->class_type, MAT_C_CELL);
  EXPECT_EQ(cells->dims[0], 1U);
  EXPECT_EQ(cells->dims[1], 2U);
  const matvar_t* first = Mat_VarGetCell(cells, 0);
  const matvar_t* second = Mat_VarGetCell(cells, 1);
  EXPECT_EQ(first->class_type, MAT_C_DOUBLE);
  EXPECT_SAME_BITS(Matrix(Eigen::Map<const Matrix>(static_cast<const double*>(first->data), 5, 3)),
                   A);
  EXPECT_EQ(second->class_type, MAT_C_SPARSE);
  EXPECT_EQ(static_cast<Index>(static_cast<const mat_sparse_t*>(second->data)->ndata),
            S.nonZeros());
  Mat_VarFree(cells);
  Mat_Close(file);
}

TEST(MatFile, RefusesNamesThatMatlabDoesNotTake) {
  const std::string path = test::temporary_dir() + "/a.mat";
  for (const char* name : {"", "1a", "_a", "a-b"}) {
    EXPECT_REFUSED(
        InvalidArgument, (write_mat(path, {{name, Matrix::Ones(1, 1)}})), "not a valid name");
  }
}

}  // namespace
}  // namespace matapprox
