// The documents agree with the code: the README's example is the one that is compiled, links are
// valid, the umbrella header is complete, cited keys are defined, and figures are those of their
// JSON.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

fs::path in_source(const std::string& path) { return fs::path(source_dir()) / path; }

std::vector<fs::path> files_under(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(in_source(folder))) {
    if (entry.path().extension() == extension) found.push_back(entry.path());
  }
  return found;
}

std::vector<fs::path> documents() {
  auto found = files_under("docs", ".md");
  found.push_back(in_source("README.md"));
  return found;
}

/// First group of every match of `pattern` in `text`.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end;
       ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

/// Returns the first block of C++ in a document.
std::string example_in(const std::string& document) {
  const std::string text = read_text(in_source(document));
  const std::string open = "```cpp\n";
  const auto begin = text.find(open);
  const auto end = text.find("```", begin + open.size());
  if (begin == std::string::npos || end == std::string::npos) return "no example";
  return text.substr(begin + open.size(), end - begin - open.size());
}

TEST(Documents, ExamplesAreTheOnesThatAreCompiled) {
  EXPECT_EQ(example_in("README.md"), read_text(in_source("tests/consumer/main.cpp")));
  EXPECT_EQ(example_in("docs/attention.md"), read_text(in_source("tests/consumer/attention.cpp")));
  EXPECT_EQ(example_in("docs/adding-an-attention.md"),
            read_text(in_source("tests/consumer/moving_average.hpp")));
}

TEST(Documents, LinksToFilesLeadSomewhere) {
  for (const auto& document : documents()) {
    for (const auto& link : matches(read_text(document), R"(\]\(([^)#: ]+)(?:#[^)]*)?\))")) {
      EXPECT_TRUE(fs::exists(document.parent_path() / link)) << document << " links to " << link;
    }
  }
}

/// Anchors of a document's sections: lower case, dashes for blanks, most punctuation removed.
std::set<std::string> sections_of(const std::string& text) {
  std::set<std::string> sections;
  for (const auto& heading : matches(text, "\n#+ ([^\n]*)")) {
    std::string anchor;
    for (const char c : heading) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x80 || std::isalnum(byte) != 0 || c == '-' || c == '_') {
        anchor += static_cast<char>(byte < 0x80 ? std::tolower(byte) : byte);
      } else if (c == ' ') {
        anchor += '-';
      }
    }
    sections.insert(anchor);
  }
  return sections;
}

TEST(Documents, LinksToSectionsLeadSomewhere) {
  std::size_t links = 0;
  for (const auto& document : documents()) {
    for (const auto& link : matches(read_text(document), R"(\]\(([^): ]*#[^): ]+)\))")) {
      const auto hash = link.find('#');
      const fs::path target = hash == 0 ? document : document.parent_path() / link.substr(0, hash);
      EXPECT_TRUE(sections_of(read_text(target)).contains(link.substr(hash + 1)))
          << document << " links to " << link;
      ++links;
    }
  }
  EXPECT_GE(links, 5U);
}

TEST(Documents, FilesThatAreNamedExist) {
  for (const auto& document : documents()) {
    for (const auto& path : matches(read_text(document),
                                    R"(((?:matrices|scripts|docs)/[A-Za-z0-9_-]+(?:\.[a-z]+)?))")) {
      if (path == "matrices/paper") continue;  // made by scripts/fetch-matrices
      EXPECT_TRUE(fs::exists(in_source(path))) << document << " names " << path;
    }
  }
}

/// Number of bars of a line that separate cells: those without a backslash before them, in code
/// too.
std::ptrdiff_t bars_in(const std::string& line) {
  std::ptrdiff_t bars = 0;
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i] == '|' && (i == 0 || line[i - 1] != '\\')) ++bars;
  return bars;
}

// In the displayed page a table row loses the cells beyond those of the table's head.
TEST(Documents, RowsOfATableHaveAsManyCellsAsItsHead) {
  for (const auto& document : documents()) {
    std::istringstream text(read_text(document));
    std::string line;
    std::ptrdiff_t bars = 0;  // bars of the head of the current table
    bool is_code = false;
    while (std::getline(text, line)) {
      if (line.starts_with("```")) is_code = !is_code;
      if (is_code || !line.starts_with('|')) {
        bars = 0;
      } else if (bars == 0) {
        bars = bars_in(line);
      } else {
        EXPECT_EQ(bars_in(line), bars) << document << ": " << line;
      }
    }
  }
}

TEST(Documents, CommandsRun) {
  const fs::path base = temporary_dir();
  std::size_t commands = 0;
  for (const auto& document : documents()) {
    const auto lines = matches(read_text(document), "\n\\$ matapprox ([^\n]*)");
    if (lines.empty()) continue;
    const fs::path folder = base / document.stem();
    fs::create_directory(folder);
    fs::create_directory_symlink(in_source("matrices"), folder / "matrices");
    std::string script = "set -e\ncd " + folder.string() + "\n";
    for (const auto& line : lines) {
      script += fmt::format("{0} {1} || {{ echo failed: {1}; exit 1; }}\n", program(), line);
    }
    std::ofstream(folder / "commands.sh") << script;
    const std::string log = (folder / "log").string();
    const std::string run =
        "sh " + (folder / "commands.sh").string() + " >" + log + " 2>&1 </dev/null";
    EXPECT_EQ(std::system(run.c_str()), 0) << document << '\n' << read_text(log);
    commands += lines.size();
  }
  EXPECT_GE(commands, 10U);
}

TEST(Documents, FiguresAreThoseOfTheirJson) {
  if (std::system("command -v python3 >/dev/null") != 0) GTEST_SKIP() << "there is no python3";
  const std::string log = (fs::path(temporary_dir()) / "log").string();
  const std::string run =
      "python3 " + in_source("scripts/figures").string() + " check >" + log + " 2>&1 </dev/null";
  EXPECT_EQ(std::system(run.c_str()), 0) << read_text(log);
}

TEST(Documents, UmbrellaHeaderIncludesEveryPublicHeader) {
  const std::string umbrella = read_text(in_source("include/matapprox/matapprox.hpp"));
  for (const auto& header : files_under("include/matapprox", ".hpp")) {
    const std::string name = fs::relative(header, in_source("include")).string();
    if (name == "matapprox/matapprox.hpp") continue;
    if (name.starts_with("matapprox/mpi/")) continue;  // needs MPI and PETSc
    EXPECT_NE(umbrella.find("#include \"" + name + "\""), std::string::npos) << name;
  }
}

/// Keys in lists such as [HMT11, Alg. 4.4] or [MM15, MMM24].
std::set<std::string> cited_keys(const std::string& text) {
  std::set<std::string> keys;
  for (const auto& list : matches(text, R"(\[([A-Z][A-Za-z]{1,5}[0-9]{2}(?:, [^\]\n]*)?)\])")) {
    for (const auto& key : matches(list, R"(\b([A-Z][A-Za-z]{1,5}[0-9]{2})\b)")) keys.insert(key);
  }
  return keys;
}

TEST(Documents, CitedKeysAreInTheReferences) {
  const std::string references = read_text(in_source("docs/references.md"));
  std::set<std::string> cited = cited_keys(read_text(in_source("README.md")));
  for (const std::string folder : {"include", "src", "apps", "docs"}) {
    for (const std::string extension : {".hpp", ".cpp", ".md"}) {
      for (const auto& path : files_under(folder, extension)) {
        if (path.filename() != "references.md") cited.merge(cited_keys(read_text(path)));
      }
    }
  }
  EXPECT_GE(cited.size(), 20U);
  for (const auto& key : cited) {
    EXPECT_NE(references.find("- [" + key + "]"), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace matapprox::test
