#include "command_line/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>

#include "command_line/exit_codes.hpp"
#include "command_line/output.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "matapprox/kernels/blas.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox::app {
namespace {

/// A file that is opened later must not become standard output or standard error. A stream that was
/// closed is opened for what it is not for, so that using it fails as before.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number: this one, as those below are open.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

bool is_address_space_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// OpenBLAS starts its threads before main. Where each cannot get its 128 MiB it looks for them
/// forever (0.3.21), and forking waits for it. Our calls use one thread of it in any case.
void restart_without_blas_threads(char** argv) {
  constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";
  if (!is_address_space_limited() || kernels::blas_threads() == 1) return;
  if (std::getenv("MATAPPROX_RESTARTED") != nullptr) return;  // this BLAS does as it likes
  setenv(kThreads, "1", 1);
  setenv("MATAPPROX_RESTARTED", "1", 1);
  execv("/proc/self/exe", argv);
}

/// What another program's files kept from their names; an exit code that says so where none does.
int report_displaced(int code) {
  for (const DisplacedOutput& output : displaced_outputs()) {
    write_stderr(
        fmt::format("matapprox: {}: another program made this file meanwhile; it is kept, and "
                    "our result is in {}\n",
                    output.path,
                    output.place));
    if (code == kDone) code = kFile;
  }
  return code;
}

}  // namespace

int run_process(char** argv, const std::function<int()>& body) {
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);
  restart_without_blas_threads(argv);
  try {
    if (const char* name = std::getenv("MATAPPROX_INSTRUCTIONS"); name != nullptr && *name != 0) {
      kernels::use_instruction_set(name);
    }
    return report_displaced(body());
  } catch (...) {
    return report_displaced(report_exception(std::current_exception()));
  }
}

}  // namespace matapprox::app
