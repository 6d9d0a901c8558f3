#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "matapprox/core/error.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/io/row_stream.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

// The same rule for all formats: NaN or Inf is an error of the matrix, not of the file. Rows,
// columns and lines count from 1.

std::string text_with(const std::string& name, const std::string& content) {
  const std::string path = test::temporary_dir() + "/" + name;
  std::ofstream(path) << content;
  return path;
}

TEST(NotFinite, TextsNameLineAndColumn) {
  for (const std::string word : {"nan", "-NaN", "inf", "-Infinity"}) {
    EXPECT_REFUSED(
        NumericalError, load(text_with("a.csv", "1,2\n3," + word + "\n")), ":2: column 2");
    EXPECT_REFUSED(
        NumericalError,
        load(text_with("a.mtx",
                       "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 " + word)),
        "a.mtx:3: value");
    EXPECT_REFUSED(
        NumericalError,
        load(
            text_with("b.mtx", "%%MatrixMarket matrix array real general\n1 2\n7\n" + word + "\n")),
        "b.mtx:4: value");
    EXPECT_REFUSED(NumericalError,
                   load(text_with("a.edges", "1 2 1\n2 3 " + word + "\n")),
                   "a.edges:2: weight");
    EXPECT_REFUSED(NumericalError,
                   load(text_with("a.net", "*Vertices 2\n*Arcs\n1 2 " + word + "\n")),
                   "a.net:3: weight");
    EXPECT_REFUSED(NumericalError,
                   load(text_with("b.net", "*Vertices 1\n*Matrix\n" + word + "\n")),
                   "b.net:3: matrix entry");
  }
  // Text that is not a number is an error of the file.
  EXPECT_REFUSED(FileError, load(text_with("a.csv", "1,2\n3,nap\n")), ":2: column 2");
  EXPECT_REFUSED(FileError,
                 load(text_with("a.edges", "1 2 1\nnan 3 1\n")),
                 "names must be replaced by numbers");
}

TEST(NotFinite, NumbersNameRowAndColumn) {
  Matrix A = Matrix::Ones(4, 3);
  const std::string folder = test::temporary_dir();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::nan(""), infinity, -infinity}) {
    A(2, 1) = value;
    write_npy(folder + "/a.npy", A);
    const NpzArray array{"A", A};
    write_npz(folder + "/a.npz", {&array, 1});
    write_hdf5_matrix(folder + "/a.h5", "A", A);
    for (const char* name : {"/a.npy", "/a.npz", "/a.h5"}) {
      EXPECT_REFUSED(NumericalError, load(folder + name), "row 3, column 2, counted from 1");
      Matrix rows;
      EXPECT_REFUSED(NumericalError,
                     open_row_stream(folder + name)->next(4, rows),
                     "row 3, column 2, counted from 1");
    }
  }
}

}  // namespace
}  // namespace matapprox
