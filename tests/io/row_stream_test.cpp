#include "matapprox/io/row_stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "io/npy_header.hpp"
#include "io/table_reader.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

/// Reads all rows of the stream, in pieces of at most `wanted` rows if the stream respects that
/// limit.
Matrix all_rows(RowStream& stream, Index wanted) {
  Matrix all;
  Matrix piece;
  while (stream.next(wanted, piece)) {
    Matrix longer(all.rows() + piece.rows(), piece.cols());
    if (all.size() > 0) longer.topRows(all.rows()) = all;
    longer.bottomRows(piece.rows()) = piece;
    all = longer;
  }
  return all;
}

Matrix stream_of(const std::string& path, Index wanted = 4) {
  return all_rows(*open_row_stream(path), wanted);
}

/// A .npy array of doubles in row-major order.
std::string array_bytes(const Matrix& A) {
  const std::string shape = "(" + std::to_string(A.rows()) + ", " + std::to_string(A.cols()) + ")";
  std::string bytes = make_npy_header("<f8", false, shape);
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = A;
  bytes.append(reinterpret_cast<const char*>(rows.data()),
               static_cast<std::size_t>(rows.size()) * sizeof(double));
  return bytes;
}

/// Opens a stream on a named pipe into which another thread writes `bytes`, and returns the result
/// of `use`.
template <class Use>
auto through_pipe(const std::string& bytes, const Use& use) {
  const std::string path = test::temporary_dir() + "/pipe";
  EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    // A refused stream is closed at once: write() then reports an error instead of a signal that
    // would end the test.
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
    const int descriptor = open(path.c_str(), O_WRONLY);
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t written =
          write(descriptor, bytes.data() + at, std::min<std::size_t>(777, bytes.size() - at));
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
    close(descriptor);
  });
  struct Join {
    std::thread& thread;
    ~Join() { thread.join(); }
  };
  const Join join{writer};
  return use(path);
}

Matrix rows_through_pipe(const std::string& bytes) {
  return through_pipe(bytes, [](const std::string& path) { return stream_of(path, 3); });
}

std::string complaint_of_pipe(const std::string& bytes) {
  return through_pipe(bytes, [](const std::string& path) {
    return test::complaint_of([&] { stream_of(path, 3); });
  });
}

TEST(RowStream, ReadsEveryFormatByPanels) {
  const Matrix A = test::random_matrix(23, 5);
  const std::string folder = test::temporary_dir();
  write_npy(folder + "/fortran.npy", A);
  test::write_file(folder + "/c.npy", array_bytes(A));
  write_csv(folder + "/a.csv", A);
  write_hdf5_matrix(folder + "/a.h5", "A", A);
  write_matrix_market(folder + "/a.mtx", A);
  for (const char* name : {"fortran.npy", "c.npy", "a.csv", "a.h5", "a.mtx"}) {
    for (const Index wanted : {1, 7, 100}) {
      EXPECT_SAME_BITS(stream_of(folder + "/" + name, wanted), A) << name << ' ' << wanted;
      const auto skipped = open_row_stream(folder + "/" + name);
      skipped->skip(9, {});
      EXPECT_SAME_BITS(all_rows(*skipped, wanted), A.bottomRows(14)) << name << ' ' << wanted;
    }
    Matrix piece;
    const auto stream = open_row_stream(folder + "/" + name);
    ASSERT_TRUE(stream->next(7, piece));
    EXPECT_EQ(piece.rows(), std::string(name) == "a.csv" ? 23 : 7) << name;
    if (std::string(name) != "a.csv") {
      EXPECT_EQ(stream->rows(), 23) << name;
    }
  }
  EXPECT_EQ(open_row_stream(folder + "/a.h5:/A")->rows(), 23);
  EXPECT_EQ(open_row_stream(folder + "/a.h5", "A")->cols(), 5);
  EXPECT_REFUSED(InvalidArgument, open_row_stream(folder + "/a.csv", "A"), "have variables");
}

TEST(RowStream, ReadsPipesOfArraysAndOfLines) {
  const Matrix A = test::random_matrix(40, 6);
  const std::string one = array_bytes(A.topRows(25));
  const std::string two = array_bytes(A.bottomRows(15));
  EXPECT_SAME_BITS(rows_through_pipe(one + two), A);
  const std::string path = test::temporary_dir() + "/f.npy";
  write_npy(path, A.bottomRows(15));  // in Fortran order
  EXPECT_SAME_BITS(rows_through_pipe(one + test::read_file(path)), A);
  EXPECT_SAME_BITS(rows_through_pipe("a,b\n1,2\n\n# three\n3,4"),
                   (Matrix(2, 2) << 1, 2, 3, 4).finished());

  EXPECT_NE(complaint_of_pipe(one + two.substr(0, two.size() - 50))
                .find("block 2: the stream ends after 13 of 15 rows"),
            std::string::npos);
  EXPECT_NE(complaint_of_pipe(one + two.substr(0, 50)).find("within the header"),
            std::string::npos);
  EXPECT_NE(complaint_of_pipe(one + "1,2\n").find("block 2: not a NumPy file"), std::string::npos);
  EXPECT_NE(complaint_of_pipe(one + array_bytes(Matrix::Ones(3, 7)))
                .find("7 columns; the blocks before have 6"),
            std::string::npos);
  Matrix bad = A;
  bad(7, 2) = NAN;
  EXPECT_NE(complaint_of_pipe(one + array_bytes(bad))
                .find("block 2: row 8, column 3, counted from 1: nan"),
            std::string::npos);
  EXPECT_NE(complaint_of_pipe("").find("it is empty"), std::string::npos);
  EXPECT_NE(complaint_of_pipe("1,2\n" + std::string(20, '\0')).find("contains zero bytes"),
            std::string::npos);
  EXPECT_NE(complaint_of_pipe("\x1f\x8b and so on").find("compressed"), std::string::npos);
  EXPECT_NE(complaint_of_pipe("%%MatrixMarket matrix").find(".npy arrays"), std::string::npos);
  EXPECT_NE(complaint_of_pipe("\x89HDF\r\n").find(".npy arrays"), std::string::npos);
  EXPECT_NE(complaint_of_pipe("1,2\n3,4,5\n").find(":2: 3 cells; the rows before have 2"),
            std::string::npos);
}

// Pieces of any length give the rows and line numbers of the whole text.
TEST(RowStream, TextInPiecesReadsAsAWhole) {
  const std::vector<std::string> lines{"x;y\n", "1;2\n", "# no row\n", "3;4\r\n", "\n", "5;6\n"};
  TableReader reader("t.csv", nullptr);
  for (const std::string& line : lines) reader.read(line);
  EXPECT_SAME_BITS(reader.take(), (Matrix(3, 2) << 1, 2, 3, 4, 5, 6).finished());
  EXPECT_EQ(reader.rows(), 0);
  reader.read("7;8\n");
  EXPECT_SAME_BITS(reader.take(), (Matrix(1, 2) << 7, 8).finished());
  EXPECT_EQ(test::complaint_of([&] { reader.read("9;10\n1;z\n"); }), test::complaint_of([&] {
              parse_delimited("x;y\n1;2\n#\n3;4\n\n5;6\n7;8\n9;10\n1;z\n", "t.csv");
            }));
}

TEST(RowStream, DirectoriesAreRowBlocksInNaturalOrder) {
  const Matrix A = test::random_matrix(30, 4);
  const std::string folder = test::temporary_dir() + "/blocks";
  std::filesystem::create_directory(folder);
  write_npy(folder + "/part-2.npy", A.topRows(10));
  write_csv(folder + "/part-10.csv", A.middleRows(10, 5));
  write_hdf5_matrix(folder + "/part-11.h5", "A", A.bottomRows(15));
  test::write_file(folder + "/.hidden", "not read");
  EXPECT_SAME_BITS(stream_of(folder), A);
  const auto stream = open_row_stream(folder);
  Matrix piece;
  while (stream->next(6, piece)) {
  }
  ASSERT_EQ(stream->parts().size(), 3U);
  EXPECT_EQ(stream->parts()[1].name, "part-10.csv");
  EXPECT_EQ(stream->parts()[1].rows, 5);

  // Blocks that were read before are skipped without opening them.
  test::write_file(folder + "/part-2.npy", "damaged");
  for (const Index count : {10, 12, 15, 20}) {
    const auto resumed = open_row_stream(folder);
    resumed->skip(count, stream->parts());
    EXPECT_SAME_BITS(all_rows(*resumed, 6), A.bottomRows(30 - count)) << count;
  }
  EXPECT_REFUSED(FileError,
                 open_row_stream(folder)->skip(10, {{"part-1.npy", 10}}),
                 "the next row block is part-2.npy; it was part-1.npy");
  write_npy(folder + "/part-2.npy", A.topRows(10));
  EXPECT_REFUSED(FileError, open_row_stream(folder)->skip(31, {}), "ends 1 rows before");

  write_npy(folder + "/part-12.npy", Matrix::Ones(2, 5));
  EXPECT_REFUSED(
      FileError, stream_of(folder), "part-12.npy: 5 columns; the row blocks before have 4");
  std::filesystem::remove(folder + "/part-12.npy");
  test::write_file(folder + "/readme.doc", "text");
  EXPECT_REFUSED(FileError, open_row_stream(folder), "readme.doc: unknown format '.doc'");
  std::filesystem::remove(folder + "/readme.doc");
  std::filesystem::create_directory(folder + "/sub");
  EXPECT_REFUSED(FileError, open_row_stream(folder), "sub: is a directory");
  const std::string empty = test::temporary_dir() + "/empty";
  std::filesystem::create_directory(empty);
  EXPECT_REFUSED(FileError, open_row_stream(empty), "empty: an empty directory");
  EXPECT_REFUSED(FileError, open_row_stream(empty + "/no.npy"), "no such file or directory");
}

TEST(RowStream, NaturalOrderCountsDigitsAsNumbers) {
  const std::vector<std::string> sorted{"a",
                                        "a1",
                                        "a01",
                                        "a2.csv",
                                        "a2.npy",
                                        "a10",
                                        "a010b",
                                        "a99999999999999999999",
                                        "b",
                                        "b1c2",
                                        "b1c10"};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      if (sorted[i] == "a1" && sorted[j] == "a01") continue;
      if (sorted[i] == "a01" && sorted[j] == "a1") continue;
      EXPECT_EQ(natural_order(sorted[i], sorted[j]), i < j) << sorted[i] << ' ' << sorted[j];
    }
  }
  EXPECT_NE(natural_order("a1", "a01"), natural_order("a01", "a1"));
}

}  // namespace
}  // namespace matapprox
