#include <gtest/gtest.h>
#include <matio.h>

#include <filesystem>

#include "matapprox/core/error.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/saved_files.hpp"

namespace matapprox {
namespace {

/// Returns the product of the cells of `faust_factors`.
Matrix product_of_cells(const std::string& path) {
  mat_t* file = Mat_Open(path.c_str(), MAT_ACC_RDONLY);
  matvar_t* cells = Mat_VarRead(file, "faust_factors");
  Matrix product;
  for (std::size_t k = 0; k < cells->dims[1]; ++k) {
    const matvar_t* cell = Mat_VarGetCell(cells, static_cast<int>(k));
    const auto rows = static_cast<Index>(cell->dims[0]);
    const auto cols = static_cast<Index>(cell->dims[1]);
    Matrix F = Matrix::Zero(rows, cols);
    if (cell->class_type == MAT_C_SPARSE) {
      const auto* parts = static_cast<const mat_sparse_t*>(cell->data);
      for (Index j = 0; j < cols; ++j) {
        for (mat_uint32_t s = parts->jc[j]; s < parts->jc[j + 1]; ++s) {
          F(parts->ir[s], j) = static_cast<const double*>(parts->data)[s];
        }
      }
    } else {
      F = Eigen::Map<const Matrix>(static_cast<const double*>(cell->data), rows, cols);
    }
    product = k == 0 ? F : Matrix(product * F);
  }
  Mat_VarFree(cells);
  Mat_Close(file);
  return product;
}

Matrix product_of_npz(const std::string& path) {
  const auto count = static_cast<Index>(read_npz(path, "factors")(0, 0));
  Matrix product;
  for (Index k = 1; k <= count; ++k) {
    const std::string name = "factor_" + std::to_string(k);
    Matrix F;
    try {
      F = read_npz(path, name);
    } catch (const FileError&) {
      const Matrix shape = read_npz(path, name + "_shape");
      const Matrix pointers = read_npz(path, name + "_indptr");
      F = Matrix::Zero(static_cast<Index>(shape(0)), static_cast<Index>(shape(1)));
      const auto stored = static_cast<Index>(pointers(pointers.size() - 1));
      if (stored > 0) {
        const Matrix columns = read_npz(path, name + "_indices");
        const Matrix values = read_npz(path, name + "_data");
        for (Index i = 0; i < F.rows(); ++i) {
          for (auto s = static_cast<Index>(pointers(i)); s < static_cast<Index>(pointers(i + 1));
               ++s) {
            F(i, static_cast<Index>(columns(s))) = values(s);
          }
        }
      }
    }
    product = k == 1 ? F : Matrix(product * F);
  }
  return product;
}

class Exported : public ::testing::TestWithParam<int> {
 protected:
  test::SavedExample example_ = test::saved_examples()[static_cast<std::size_t>(GetParam())];
  Matrix expected_ = test::dense_of(example_.approximation);
  std::string folder_ = test::temporary_dir();
};

TEST_P(Exported, MatlabCellsMultiplyToTheApproximation) {
  const std::string path = folder_ + "/out.mat";
  EXPECT_EQ(export_approximation(path, example_.approximation), std::vector<std::string>{path});
  EXPECT_CLOSE(product_of_cells(path), expected_, 1e-14);
}

TEST_P(Exported, NumpyArraysMultiplyToTheApproximation) {
  const std::string path = folder_ + "/out.npz";
  EXPECT_EQ(export_approximation(path, example_.approximation), std::vector<std::string>{path});
  EXPECT_CLOSE(product_of_npz(path), expected_, 1e-14);
}

TEST_P(Exported, MatrixMarketFilesMultiplyToTheApproximation) {
  const auto files = export_approximation(folder_ + "/out.mtx", example_.approximation);
  Matrix product;
  for (std::size_t k = 0; k < files.size(); ++k) {
    EXPECT_EQ(files[k], folder_ + "/out_" + std::to_string(k + 1) + ".mtx");
    const Matrix F = test::dense_of(read_matrix_market(files[k]));
    product = k == 0 ? F : Matrix(product * F);
  }
  EXPECT_CLOSE(product, expected_, 1e-14);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    Exported,
    ::testing::Range(0, static_cast<int>(test::saved_examples().size())),
    [](const auto& instance) {
      return test::saved_examples()[static_cast<std::size_t>(instance.param)].name;
    });

TEST(Export, ChordFactorsStaySparse) {
  const auto examples = test::saved_examples();
  const auto& chord = examples[4];
  ASSERT_EQ(chord.name, "Chord");
  const auto files = export_approximation(test::temporary_dir() + "/out.mtx", chord.approximation);
  ASSERT_EQ(files.size(), 3U);
  const FileMatrix W = read_matrix_market(files[1]);
  EXPECT_EQ(std::get<SparseMatrix>(W).nonZeros(), 11 * 2);
}

TEST(Export, SaysBeforehandWhichFilesThereWillBe) {
  for (const test::SavedExample& example : test::saved_examples()) {
    for (const char* name : {"/x.mtx", "/x.npz", "/x.mat"}) {
      const std::string path = test::temporary_dir() + name;
      const std::vector<std::string> told = exported_files(path, example.approximation);
      EXPECT_EQ(told, export_approximation(path, example.approximation)) << example.name;
      for (const std::string& file : told) EXPECT_TRUE(std::filesystem::exists(file)) << file;
    }
  }
}

TEST(Export, RefusesOtherFormats) {
  EXPECT_REFUSED(InvalidArgument,
                 export_approximation("out.txt", test::saved_examples()[0].approximation),
                 "cannot export to '.txt'; .mat, .npz and .mtx are written");
}

}  // namespace
}  // namespace matapprox
