#include "other_programs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <vector>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::app {
namespace {

namespace fs = std::filesystem;

/// Replaces this process with the program of this name, which is searched for in the folder of this
/// program, as in a build, and in the one that `cmake --install` uses. Returns only if it is in
/// neither: the paths, each with the reason.
std::string start(const std::string& name, char* const* argv) {
  std::error_code failure;
  const fs::path own = fs::read_symlink("/proc/self/exe", failure).parent_path();
  if (failure) return {};
  std::string looked_for;
  for (const fs::path& folder : {own, (own / MATAPPROX_BINDIR_TO_LIBEXECDIR).lexically_normal()}) {
    const fs::path program = folder / name;
    execv(program.c_str(), argv);
    looked_for += fmt::format(
        "{}{}: {}", looked_for.empty() ? "" : "; ", program.string(), std::strerror(errno));
  }
  return looked_for;
}

/// Value of the first of these variables that is set, as a number; `otherwise` if none is set.
long number_in(std::initializer_list<const char*> variables, long otherwise) {
  for (const char* name : variables) {
    if (const char* text = std::getenv(name); text != nullptr)
      return std::strtol(text, nullptr, 10);
  }
  return otherwise;
}

}  // namespace

void start_on_all_processes(char** argv) {
  // Variables of Open MPI, and of MPICH and Slurm's PMI.
  if (number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1) <= 1) return;
  start("matapprox-mpi", argv);
  if (number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, 0) == 0) {
    write_message(
        "several processes need the program matapprox-mpi; build it with -DMATAPPROX_WITH_MPI=ON");
  }
  _exit(kNotAvailable);
}

void start_attention_program(const std::string& what) {
  constexpr const char* kProgram = "matapprox-attention";
  std::vector<std::string> words{"matapprox"};
  words.insert(words.end(), arguments().begin(), arguments().end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string looked_for = start(kProgram, argv.data());
  throw NotAvailable(
      fmt::format("{} needs the program {}; build it with `cmake --build --preset default --target "
                  "matapprox_attention_cli` ({})",
                  what,
                  kProgram,
                  looked_for));
}

}  // namespace matapprox::app
