#include "processes.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"

namespace matapprox::app {
namespace {

namespace fs = std::filesystem;

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
  std::error_code failure;
  const fs::path own = fs::read_symlink("/proc/self/exe", failure).parent_path();
  for (const fs::path& folder : {own, own / MATAPPROX_BINDIR_TO_LIBEXECDIR})
    execv((folder / "matapprox-mpi").c_str(), argv);
  if (number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, 0) == 0) {
    write_message(
        "several processes need the program matapprox-mpi; build it with -DMATAPPROX_WITH_MPI=ON");
  }
  _exit(kNotAvailable);
}

}  // namespace matapprox::app
