#include "support/paths.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

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

}  // namespace matapprox::test
