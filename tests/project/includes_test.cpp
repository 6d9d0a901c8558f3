#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "support/paths.hpp"

namespace matapprox {
namespace {

namespace fs = std::filesystem;

/// The modules of the library, and those that each may include besides itself. Any other include is
/// a backward dependency; docs/architecture.md shows the same.
const std::map<std::string, std::set<std::string>> kMayInclude{
    {"core", {}},
    {"kernels", {"core"}},
    {"factors", {"core", "kernels"}},
    {"operators", {"core", "kernels", "factors"}},
    {"device", {"core", "kernels", "factors", "operators"}},
    {"methods", {"core", "kernels", "factors", "operators", "device"}},
    {"measure", {"core", "kernels", "factors", "operators", "methods"}},
    {"mpi", {"core", "kernels", "factors", "operators", "device", "methods", "io"}},
    {"best", {"core", "factors", "operators", "methods", "measure"}},
    {"solve", {"core", "kernels", "factors", "operators", "methods"}},
    {"io", {"core", "kernels", "factors", "operators", "methods"}},
    {"attention", {"core", "kernels", "methods", "device"}},
    {"tasks", {"core", "io"}},
    {"training", {"core", "kernels", "io", "attention", "tasks"}},
    {"report",
     {"core",
      "kernels",
      "factors",
      "operators",
      "device",
      "methods",
      "measure",
      "best",
      "solve",
      "io"}},
    {"reproduce",
     {"core", "kernels", "factors", "operators", "device", "methods", "measure", "io", "report"}},
};

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".hpp" || extension == ".cpp" || extension == ".cu";
}

/// Returns the module of a file or a header: its first folder; below `attention`, tasks and
/// training are modules of their own.
std::string module_at(const fs::path& relative) {
  auto folder = relative.begin();
  const std::string first = folder->string();
  const std::string second = first == "attention" ? (++folder)->string() : "";
  return second == "tasks" || second == "training" ? second : first;
}

/// Returns the module of a quoted include in `file`: its own module if the header is in the same
/// folder.
std::string module_of(const fs::path& file, std::string header, const std::string& own) {
  if (fs::exists(file.parent_path() / header)) return own;
  const std::string published = "matapprox/";
  if (header.starts_with(published)) header.erase(0, published.size());
  return module_at(header);
}

std::set<std::string> arrows_back_below(const fs::path& folder, std::size_t& arrows) {
  static const std::regex kInclude("#include \"([^\"]+/[^\"]+)\"");
  std::set<std::string> back;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!is_source(entry.path())) continue;
    const fs::path relative = fs::relative(entry.path(), folder);
    const std::string own = module_at(relative);
    const auto rule = kMayInclude.find(own);
    if (rule == kMayInclude.end()) continue;
    const std::string text = test::read_file(entry.path().string());
    for (std::sregex_iterator it(text.begin(), text.end(), kInclude), end; it != end; ++it) {
      const std::string module = module_of(entry.path(), (*it)[1], own);
      if (module == own || !kMayInclude.contains(module)) continue;
      ++arrows;
      if (!rule->second.contains(module)) back.insert(relative.string() + " includes " + module);
    }
  }
  return back;
}

TEST(Includes, PointOneWay) {
  std::size_t arrows = 0;
  std::set<std::string> back;
  for (const char* folder : {"/src", "/include/matapprox", "/apps"}) {
    back.merge(arrows_back_below(test::source_dir() + folder, arrows));
  }
  EXPECT_GE(arrows, 300U);
  for (const std::string& arrow : back) ADD_FAILURE() << arrow;
}

// Whatever the programs need from the library, its users need too.
TEST(Includes, ProgramsUsePublicHeaders) {
  std::size_t includes = 0;
  std::set<std::string> hidden;
  static const std::regex kInclude("#include \"([^\"]+)\"");
  for (const char* folder :
       {"command_line", "matapprox", "matapprox_attention", "report", "reproduce"}) {
    const fs::path apps = fs::path(test::source_dir()) / "apps";
    for (const auto& entry : fs::recursive_directory_iterator(apps / folder)) {
      if (!is_source(entry.path())) continue;
      const std::string text = test::read_file(entry.path().string());
      for (std::sregex_iterator it(text.begin(), text.end(), kInclude), end; it != end; ++it) {
        const std::string header = (*it)[1];
        ++includes;
        if (!header.starts_with("matapprox/") && !fs::exists(apps / header) &&
            !fs::exists(entry.path().parent_path() / header))
          hidden.insert(entry.path().string() + " includes " + header);
      }
    }
  }
  EXPECT_GE(includes, 300U);
  for (const std::string& include : hidden) ADD_FAILURE() << include;
}

// The rule would be useless if it let two modules include each other.
TEST(Includes, TheRuleHasNoCircle) {
  for (const auto& [module, below] : kMayInclude) {
    for (const std::string& other : below) {
      ASSERT_TRUE(kMayInclude.contains(other)) << other;
      EXPECT_FALSE(kMayInclude.at(other).contains(module)) << module << " and " << other;
      for (const std::string& next : kMayInclude.at(other)) {
        EXPECT_FALSE(kMayInclude.at(next).contains(module))
            << module << ", " << other << ", " << next;
      }
    }
  }
}

}  // namespace
}  // namespace matapprox
