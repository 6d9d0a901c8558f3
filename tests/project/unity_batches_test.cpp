// Several test files of a folder are compiled together. Two helpers with the same name and
// parameters then do not compile, but two with different parameters become overloads, and a call
// may silently select the other file's. So each helper name is used in only one file of its folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "support/paths.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;

/// Names of functions, constants and types that the file declares outside other declarations; these
/// start in the first column of a formatted source.
std::set<std::string> names_declared_in(const fs::path& path) {
  static const std::regex function(
      "^(?!using |namespace |return )[a-zA-Z].*?[ &*>]([A-Za-z_]\\w*)\\(.*");
  static const std::regex constant(
      "^(?:inline |static )*const(?:expr)? [^(=]*?(\\w+)(?:\\[.*\\])?(?: = |\\{|;).*");
  static const std::regex type("^(?:class|struct|enum|enum class) (\\w+)\\b.*[{;:]$");
  std::set<std::string> found;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    for (const std::regex* pattern : {&constant, &type, &function}) {
      if (!std::regex_match(line, match, *pattern)) continue;
      found.insert(match[1]);
      break;
    }
  }
  return found;
}

TEST(UnityBatches, NoHelperOfAFolderIsNamedTwice) {
  std::map<std::string, fs::path> first;  // key: folder and name
  std::size_t names = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(source_dir()) / "tests")) {
    const fs::path path = entry.path();
    const std::string folder = path.parent_path().string();
    if (path.extension() != ".cpp" || folder.ends_with("/consumer") || folder.ends_with("/fuzz")) {
      continue;
    }
    for (const std::string& name : names_declared_in(path)) {
      const auto [place, is_new] = first.try_emplace(folder + ": " + name, path);
      EXPECT_TRUE(is_new) << name << " is declared in " << place->second << " and in " << path
                          << ": rename one to say what it holds, or move it to tests/support";
      ++names;
    }
  }
  EXPECT_GT(names, 500U);  // enough names to show that the patterns work
}

}  // namespace
}  // namespace matapprox::test
