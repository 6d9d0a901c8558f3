#include "command_line/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "command_line/interrupt.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "matapprox/kernels/gemm.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MATAPPROX_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MATAPPROX_UNDER_SANITIZER 1
#endif
#endif

namespace matapprox::app {
namespace {

// OpenBLAS starts its threads before main, and each needs 128 MiB. Where it cannot get that memory
// it searches for it forever (0.3.21), at the latest when the program ends; where it cannot start a
// thread it raises SIGINT. Our calls use one of its threads in any case. So the program restarts
// itself without OpenBLAS threads: before OpenBLAS is loaded where memory is limited, and upon that
// SIGINT.

struct Restart {
  char* const* arguments = nullptr;
  char* const* environment = nullptr;  ///< null: no restart, or restarted already
};

// A signal handler reads it.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
Restart restart;

void restart_without_blas_threads() {
  if (restart.environment != nullptr)
    execve("/proc/self/exe", restart.arguments, restart.environment);
}

bool is_limited(__rlimit_resource resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// The environment with one thread for OpenBLAS and a mark that prevents a second restart; null
/// where a restart would gain nothing.
char* const* environment_of_restart(char** environment) {
  static std::array<char, 23> one_thread{"OPENBLAS_NUM_THREADS=1"};
  static std::array<char, 22> mark{"MATAPPROX_RESTARTED=1"};
  static std::vector<char*> changed;
  changed = {one_thread.data(), mark.data()};
  for (char** variable = environment; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool is_needless = text == one_thread.data() || text.starts_with("MATAPPROX_RESTARTED=");
    if (is_needless) return nullptr;
    if (!text.starts_with("OPENBLAS_NUM_THREADS=")) changed.push_back(*variable);
  }
  changed.push_back(nullptr);
  return changed.data();
}

extern "C" {
static void on_early_interrupt(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const bool is_raised_here = info->si_code == SI_TKILL && info->si_pid == getpid();
  if (is_raised_here) restart_without_blas_threads();
  _exit(is_raised_here ? kNotAvailable : kInterrupted);
}

/// Runs before the libraries of the program are initialized.
[[maybe_unused]] static void before_libraries(int /*argc*/, char** argv, char** environment) {
  restart = {argv, environment_of_restart(environment)};
  if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)) restart_without_blas_threads();
  struct sigaction action {};
  action.sa_sigaction = on_early_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGINT, &action, nullptr);
}
}

// A sanitizer is not initialized this early.
#ifndef MATAPPROX_UNDER_SANITIZER
__attribute__((section(".preinit_array"),
               used)) void (*const kBeforeLibraries)(int, char**, char**) = before_libraries;
#endif

/// Opens closed standard streams, so that no file that is opened later becomes standard output or
/// standard error. Each is opened in the wrong direction, so that using it fails as before.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // open() returns the lowest free number: this one, as those below are open.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

/// Exit code of a command that completed its work but was asked to stop during its last steps.
int report_interrupt(int code) {
  if (code != kDone || !interrupt_requested()) return code;
  write_message("interrupted; the results completed by then are written");
  return kInterrupted;
}

/// Reports outputs whose names another program's files took. Returns `code`, or kFile in place of
/// kDone if there are any.
int report_displaced(int code) {
  for (const DisplacedOutput& output : displaced_outputs()) {
    write_message(
        fmt::format("{}: another program created this file in the meantime; it is kept, and the "
                    "result is in {}",
                    output.path,
                    output.place));
    if (code == kDone) code = kFile;
  }
  return code;
}

}  // namespace

int run_process(const std::function<int()>& body) {
  open_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);
  end_on_signals();
  int code = kDefect;
  try {
    if (const char* name = std::getenv("MATAPPROX_INSTRUCTIONS"); name != nullptr && *name != 0) {
      kernels::use_instruction_set(name);
    }
    code = body();
  } catch (...) {
    code = report_exception(std::current_exception());
  }
  code = report_displaced(report_interrupt(code));
  if (code != kDone) remove_empty_folders();
  return code;
}

}  // namespace matapprox::app
