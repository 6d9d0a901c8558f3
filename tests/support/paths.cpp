#include "support/paths.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

#include "matapprox/io/matrix_files.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {

namespace fs = std::filesystem;

std::string program() { return MATAPPROX_TEST_PROGRAM; }
std::string source_dir() { return MATAPPROX_SOURCE_DIR; }

std::string shared_matrices() {
  if (const char* chosen = std::getenv("MATAPPROX_MATRICES")) return chosen;
  const fs::path beside = fs::path(source_dir()).parent_path() / "shared" / "matrices";
  return fs::exists(beside / "table1.csv") ? beside.string() : std::string();
}

std::string temporary_dir() {
  struct Cleaner {
    std::mutex mutex;
    std::vector<fs::path> made;
    ~Cleaner() {
      std::error_code ignored;
      for (const auto& path : made) fs::remove_all(path, ignored);
    }
  };
  static Cleaner cleaner;
  static std::atomic<int> count{0};
  const fs::path path = fs::temp_directory_path() / ("matapprox-test-" + std::to_string(getpid()) +
                                                     "-" + std::to_string(count++));
  fs::create_directories(path);
  const std::lock_guard lock(cleaner.mutex);
  cleaner.made.push_back(path);
  return path.string();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

namespace {

namespace fs = std::filesystem;

/// Gray values of a bright disc on a linear slope.
Matrix image() {
  Matrix values(24, 24);
  for (Index i = 0; i < 24; ++i) {
    for (Index j = 0; j < 24; ++j) {
      const bool inside = (i - 12) * (i - 12) + (j - 9) * (j - 9) < 40;
      values(i, j) = inside ? 240 : static_cast<double>(3 * i + 2 * j);
    }
  }
  return values;
}

}  // namespace

std::string paper_folder() {
  const fs::path folder = temporary_dir();
  for (const char* category : {"network", "covariance_matrix", "image", "gradient_image"})
    fs::create_directory(folder / category);
  write_matrix_market((folder / "network" / "Sawmill.mtx").string(), grid_laplacian(7), true);
  write_matrix_market((folder / "network" / "strike.mtx").string(), grid_laplacian(3), true);
  write_mat((folder / "covariance_matrix" / "votes.mat").string(),
            {{"A", with_eigenvalues(geometric_spectrum(16, 2))}});
  write_png((folder / "image" / "ship.png").string(), image());
  write_png((folder / "gradient_image" / "chess.png").string(), clipped_laplacian(image()));
  return folder.string();
}

}  // namespace matapprox::test
