#include "attention_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "command_line/invocation.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "matapprox-attention";

/// Folders that may hold it: that of this program, as in a build, and the one that `cmake
/// --install` uses.
std::vector<fs::path> possible_folders() {
  std::error_code failure;
  const fs::path own = fs::read_symlink("/proc/self/exe", failure).parent_path();
  if (failure) return {};
  return {own, (own / MATAPPROX_BINDIR_TO_LIBEXECDIR).lexically_normal()};
}

}  // namespace

void start_attention_program(const std::string& what) {
  std::vector<std::string> words{"matapprox"};
  words.insert(words.end(), arguments().begin(), arguments().end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string looked_for;
  for (const fs::path& folder : possible_folders()) {
    const fs::path program = folder / kProgram;
    execv(program.c_str(), argv.data());
    looked_for += fmt::format(
        "{}{}: {}", looked_for.empty() ? "" : "; ", program.string(), std::strerror(errno));
  }
  throw NotAvailable(
      fmt::format("{} needs the program {}; build it with `cmake --build --preset default --target "
                  "matapprox_attention_cli` ({})",
                  what,
                  kProgram,
                  looked_for));
}

}  // namespace matapprox::app
