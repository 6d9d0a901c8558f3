// matrices/: the generator writes the committed files, the index is correct, and fetch-matrices
// keeps only files with the right SHA-256.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "matapprox/io/load.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

std::vector<Row> read_table(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const auto header = split(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const auto cells = split(line);
    EXPECT_EQ(cells.size(), header.size()) << path << ": " << line;
    Row row;
    for (std::size_t i = 0; i < std::min(cells.size(), header.size()); ++i) {
      row[header[i]] = cells[i];
    }
    rows.push_back(row);
  }
  return rows;
}

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

struct Ran {
  int code = -1;
  std::string output;
};

/// Runs a shell command and returns its output.
Ran run_shell(const std::string& command) {
  Ran ran;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) ran.output += buffer.data();
  ran.code = pclose(pipe) / 256;
  return ran;
}

fs::path matrices() { return fs::path(source_dir()) / "matrices"; }

LoadedMatrix load_entry(const Row& row) {
  LoadOptions options;
  for (std::size_t kind = 0; kind < EnumNames<InputKind>::values.size(); ++kind) {
    if (EnumNames<InputKind>::values[kind] == row.at("load_as")) {
      options.kind = static_cast<InputKind>(kind);
    }
  }
  return load((matrices() / row.at("file")).string(), options);
}

TEST(Matrices, GeneratorWritesWhatIsCommitted) {
  const fs::path made = temporary_dir();
  const Ran ran = run_shell(std::string(MATAPPROX_GENERATE) + " " + made.string());
  ASSERT_EQ(ran.code, 0) << ran.output;
  const auto rows = read_table(made / "index.csv");
  const auto committed = read_table(matrices() / "index.csv");
  ASSERT_EQ(rows.size(), committed.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row expected = committed[i];
    const std::string file = expected["file"];
    if (fs::path(file).extension() == ".png") {
      // A different zlib may compress the same pixels to different bytes.
      EXPECT_EQ(read_image((made / file).string()).values,
                read_image((matrices() / file).string()).values)
          << file;
      expected["sha256"] = rows[i].at("sha256");
    } else {
      EXPECT_TRUE(read_bytes(made / file) == read_bytes(matrices() / file)) << file;
    }
    EXPECT_EQ(rows[i], expected) << file;
  }
}

TEST(Matrices, IndexListsEveryFileWithItsSha256) {
  std::ostringstream sums;
  std::size_t listed = 0;
  for (const auto& row : read_table(matrices() / "index.csv")) {
    sums << row.at("sha256") << "  " << row.at("file") << "\n";
    ++listed;
  }
  const fs::path list = fs::path(temporary_dir()) / "sums";
  std::ofstream(list) << sums.str();
  const Ran ran =
      run_shell("cd " + matrices().string() + " && sha256sum --check --strict " + list.string());
  EXPECT_EQ(ran.code, 0) << ran.output;
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(matrices())) {
    const auto name = entry.path().filename();
    if (entry.is_regular_file() && name != "index.csv" && name != "paper.csv") ++files;
  }
  EXPECT_EQ(files, listed);
}

TEST(Matrices, IndexFactsAreTrue) {
  for (const auto& row : read_table(matrices() / "index.csv")) {
    const auto loaded = load_entry(row);
    MeasureOptions options;
    options.always_exact = true;
    const MatrixFacts facts = describe(*loaded.matrix, options);
    EXPECT_EQ(facts.rows, std::stoll(row.at("n"))) << row.at("name");
    EXPECT_EQ(facts.cols, facts.rows) << row.at("name");
    ASSERT_TRUE(facts.nonzeros.has_value()) << row.at("name");
    EXPECT_EQ(*facts.nonzeros, std::stoll(row.at("nonzeros"))) << row.at("name");
  }
}

Matrix dense_values(const std::string& file) {
  const auto loaded = load((matrices() / file).string());
  return loaded.matrix->columns_at(index_range(0, loaded.matrix->cols()));
}

TEST(Matrices, OrthogonalOnesAreOrthogonal) {
  for (const std::string file : {"dct.mtx", "permutation.mtx"}) {
    const Matrix A = dense_values(file);
    const Matrix identity = Matrix::Identity(A.rows(), A.cols());
    EXPECT_LT((A.transpose() * A - identity).cwiseAbs().maxCoeff(), 1e-14) << file;
  }
}

TEST(Matrices, MeshRowsSumToTheMissingNeighbors) {
  // The entries of a grid Laplacian sum to the number of missing neighbors on the boundary: twice
  // each pair of faces etc.
  EXPECT_EQ(dense_values("mesh2d.mtx").sum(), 2 * (18 + 20));
  EXPECT_EQ(dense_values("mesh3d.mtx").sum(), 6 * 7 * 7);
}

TEST(Matrices, KernelFileIsTheKernelOfTheFirstPoints) {
  const Matrix stored = dense_values("gaussian_kernel.mtx");
  LoadOptions options;
  options.kind = InputKind::kKernel;
  options.bandwidth = 2;
  const auto kernel = load((matrices() / "clusters.csv").string(), options);
  const Matrix columns = kernel.matrix->columns_at(index_range(0, stored.cols()));
  EXPECT_LT((columns.topRows(stored.rows()) - stored).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(Matrices, ChessboardHasRankTwo) {
  const Matrix board = dense_values("chessboard.png");
  // Each row equals one of two rows that are not multiples of each other, with alternating light
  // and dark squares.
  const Vector first = board.row(0);
  const Vector other = board.row(board.rows() / 8);
  for (Index i = 0; i < board.rows(); ++i) {
    const Vector row = board.row(i);
    EXPECT_TRUE(row == first || row == other) << "row " << i;
  }
  EXPECT_NE(first(0) * other(board.cols() / 8), other(0) * first(board.cols() / 8));
}

class FetchMatrices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (run_shell("command -v curl").code != 0) GTEST_SKIP() << "curl is not installed";
  }
  static std::string script() { return source_dir() + "/scripts/fetch-matrices"; }
  const fs::path home_ = temporary_dir();
  const fs::path target_ = temporary_dir();
  Ran fetch(const std::string& wanted) const {
    return run_shell(script() + " --from file://" + home_.string() + " --to " + target_.string() +
                     " " + wanted);
  }
};

TEST_F(FetchMatrices, RefusesAFileWithAnotherSha256) {
  fs::create_directories(home_ / "network");
  std::ofstream(home_ / "network" / "strike.mat") << "not the strike network";
  const Ran ran = fetch("strike");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.output.find("does not have SHA-256"), std::string::npos) << ran.output;
  for (const auto& entry : fs::recursive_directory_iterator(target_)) {
    EXPECT_FALSE(entry.is_regular_file()) << entry.path();
  }
}

TEST_F(FetchMatrices, SaysWhatIsMissingWithoutANetwork) {
  const Ran ran = fetch("strike");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.output.find("check the network"), std::string::npos) << ran.output;
  EXPECT_EQ(fetch("no_such_matrix").code, 2);
  EXPECT_EQ(run_shell(script() + " --bogus").code, 2);
}

TEST_F(FetchMatrices, KeepsFilesThatAreIntact) {
  const fs::path shared = shared_matrices();
  if (shared.empty()) GTEST_SKIP() << "the paper's images are not on this machine";
  fs::copy(shared / "image", home_ / "square_image");
  Ran ran = fetch("image");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_NE(ran.output.find("11 downloaded, 0 already present"), std::string::npos) << ran.output;
  std::ofstream(target_ / "image" / "ship.png") << "damaged";
  ran = fetch("image");
  EXPECT_NE(ran.output.find("1 downloaded, 10 already present"), std::string::npos) << ran.output;
  EXPECT_EQ(read_bytes(target_ / "image" / "ship.png"), read_bytes(shared / "image" / "ship.png"));
}

}  // namespace
}  // namespace matapprox::test
