#include "reproduce/matrix_file.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "matapprox/core/error.hpp"
#include "matapprox/io/sha256.hpp"
#include "reproduce/reproduction.hpp"

namespace matapprox {
namespace reproduction {

namespace fs = std::filesystem;

std::optional<std::string> find_file(const std::string& folder, const PaperMatrix& matrix) {
  std::error_code ignored;
  for (const bool as_text : {false, true}) {
    for (const std::string& name : {matrix.file, matrix.upstream}) {
      fs::path path = fs::path(folder) / name;
      if (as_text) path.replace_extension(".mtx");
      if (fs::is_regular_file(path, ignored)) return path.string();
    }
  }
  return std::nullopt;
}

std::string file_sha256(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file) throw FileError(fmt::format("{}: cannot read", path));
  return sha256(bytes.str());
}

bool is_known_sha256(const PaperMatrix& matrix, const std::string& sha256) {
  return sha256 == matrix.sha256 || sha256 == matrix.mtx_sha256;
}

LoadedMatrix load_file(const std::string& path) {
  LoadOptions options;
  if (fs::path(path).extension() == ".mat") options.variable = "A";
  return load(path, options);
}

void check_folder(const std::string& folder) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return;
  throw FileError(fmt::format(
      "{}: this folder with the paper's matrices does not exist; scripts/fetch-matrices downloads "
      "them to matrices/paper, and --matrices or MATAPPROX_MATRICES names another folder",
      folder.empty() ? "matrices/paper" : folder));
}

}  // namespace reproduction

std::vector<std::string> matrix_folders() {
  namespace fs = std::filesystem;
  if (const char* chosen = std::getenv("MATAPPROX_MATRICES"); chosen != nullptr && *chosen != 0)
    return {chosen};
  const fs::path below = fs::path("matrices") / "paper";
  std::vector<std::string> folders{below.string()};
  std::error_code failure;
  fs::path program = fs::read_symlink("/proc/self/exe", failure);
  while (!failure && program.has_parent_path() && program != program.parent_path()) {
    program = program.parent_path();
    folders.push_back((program / below).string());
  }
  return folders;
}

}  // namespace matapprox
