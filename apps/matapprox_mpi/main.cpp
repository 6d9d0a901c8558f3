#include <sys/resource.h>

#include "command_line/exit_codes.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/mpi/program.hpp"
#include "matapprox/program.hpp"

namespace {

/// A block over all processes takes addresses of its whole size on the first.
void require_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    throw matapprox::NotAvailable(
        "several processes need addresses without a limit: set `ulimit -v unlimited`");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return matapprox::mpi::run_program(argc, argv, [&] {
    try {
      require_addresses();
    } catch (...) {
      return matapprox::app::report_exception(std::current_exception());
    }
    return matapprox::app::run_program(argc, argv);
  });
}
