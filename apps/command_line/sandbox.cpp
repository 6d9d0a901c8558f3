#include "command_line/sandbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define MATAPPROX_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MATAPPROX_UNDER_SANITIZER 1
#endif
#endif

namespace matapprox::app {

namespace {

using Clock = std::chrono::steady_clock;

// First byte of a child's report; the rest of the report is the message.
constexpr char kSuccess = 'S';
constexpr char kFile = 'F';
constexpr char kArgument = 'A';
constexpr char kNumerical = 'N';
constexpr char kMissing = 'M';
constexpr char kMemory = 'O';

/// Number of children that may hang before the file is blamed, and the wait for each. In a forked
/// child the allocator of glibc is unlocked; that of the sanitizers was not before LLVM 18 (its
/// pull request 75290), so a lock that another thread held at the fork stays locked in the child
/// forever.
#ifdef MATAPPROX_UNDER_SANITIZER
constexpr int kTries = 3;
constexpr double kBlockedSeconds = 5;
#else
constexpr int kTries = 1;
constexpr double kBlockedSeconds = 60;
#endif

Index bytes_of_file(const std::string& path) {
  std::error_code code;
  const auto bytes = std::filesystem::file_size(path, code);
  return code ? 0 : static_cast<Index>(bytes);
}

double default_seconds(const std::string& path) {
  return 30 + static_cast<double>(bytes_of_file(path)) / 4e6;
}

/// Memory limit in proportion to the file; a library exceeds it only because of a damaged file.
Index default_memory(const std::string& path) {
  constexpr Index kAlwaysAllowed = Index{768} << 20;
  constexpr Index kBytesPerByte = 512;
  const Index allowed = std::max(kAlwaysAllowed, kBytesPerByte * bytes_of_file(path));
  const Index available = available_memory_bytes();
  return available > 0 ? std::min(allowed, available) : allowed;
}

#ifndef MATAPPROX_UNDER_SANITIZER
/// Returns 0 where /proc is missing.
Index address_space_in_use() {
  Index pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<Index>(sysconf(_SC_PAGESIZE));
}
#endif

template <class Resource>
void lower_limit(Resource resource, Index value) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, static_cast<rlim_t>(value));
  setrlimit(resource, &limit);
}

/// Confines the forked child: no terminal signals, no output, no core file, bounded resources.
void confine_child(const SandboxLimits& limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
#ifndef MATAPPROX_UNDER_SANITIZER
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
  if (const Index in_use = address_space_in_use(); in_use > 0)
    lower_limit(RLIMIT_AS, in_use + limits.memory_bytes);
#endif
  lower_limit(RLIMIT_CORE, 0);
  lower_limit(RLIMIT_CPU, static_cast<Index>(limits.seconds) + 2);
  const int null = open("/dev/null", O_RDWR);
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) dup2(null, descriptor);
}

std::string report_of(const std::function<void()>& read) {
  try {
    read();
    return {kSuccess};
  } catch (const FileError& error) {
    return kFile + std::string(error.what());
  } catch (const InvalidArgument& error) {
    return kArgument + std::string(error.what());
  } catch (const NumericalError& error) {
    return kNumerical + std::string(error.what());
  } catch (const NotAvailable& error) {
    return kMissing + std::string(error.what());
  } catch (const std::bad_alloc&) {
    return {kMemory};
  } catch (const std::exception& error) {
    return kFile + std::string(error.what());
  }
}

void send_report(int pipe_end, std::string_view report) {
  while (!report.empty()) {
    const ssize_t written = write(pipe_end, report.data(), report.size());
    if (written <= 0) break;
    report.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Runs the read and ends the child in every case. If an exception left this function, the child
/// would continue as a second parent, and its exit handlers (of OpenBLAS's threads) would wait for
/// threads that only the parent has.
[[noreturn]] void run_child(int pipe_end,
                            const std::function<void()>& read,
                            const SandboxLimits& limits) {
  try {
    confine_child(limits);
    send_report(pipe_end, report_of(read));
  } catch (...) {  // no memory for a message, or even for its limits
    send_report(pipe_end, {&kMemory, 1});
  }
  _exit(0);
}

/// A child process and the end of the pipe through which it reports. The destructor releases both.
class Child {
 public:
  Child(pid_t id, int pipe_end) : id_(id), pipe_end_(pipe_end) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (id_ > 0) end();
  }

  int pipe_end() const { return pipe_end_; }

  /// CPU time of the child so far; nullopt if the system does not report it.
  std::optional<double> cpu_seconds() const {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(id_, &clock) != 0 || clock_gettime(clock, &used) != 0)
      return std::nullopt;
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  }

  /// Waits for the child, killed first if `by_force`, and returns its wait status.
  int end(bool by_force = true) {
    if (by_force) kill(id_, SIGKILL);
    close(pipe_end_);
    int status = 0;
    while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = -1;
    return status;
  }

 private:
  pid_t id_;
  int pipe_end_;
};

[[noreturn]] void fail_start(const std::string& path, const char* what, int code) {
  throw NotAvailable(fmt::format("{}: {}: {}", path, what, std::generic_category().message(code)));
}

/// Forks while no other thread of this process is inside HDF5, whose lock the child would inherit
/// locked, or is about to fork, whose pipe the child would keep open.
Child start_child(const std::string& path,
                  const std::function<void()>& read,
                  const SandboxLimits& limits) {
  std::array<int, 2> ends{};
  pid_t id = -1;
  int code = 0;
  outside_hdf5([&] {
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      fail_start(path, "cannot create a pipe to read it in a separate process", errno);
    id = fork();
    code = errno;
    if (id == 0) {
      close(ends[0]);
      run_child(ends[1], read, limits);
    }
    close(ends[1]);
  });
  if (id < 0) {
    close(ends[0]);
    fail_start(path, "cannot start a separate process to read it", code);
  }
  return {id, ends[0]};
}

struct Outcome {
  std::string report;
  bool timed_out = false;
  int status = 0;
};

/// Detects a child that has used up its CPU time, or has used none for too long: on a loaded
/// machine a working child gets little CPU time, but some. Wall-clock time alone decides only where
/// there is no CPU clock.
class Watch {
 public:
  explicit Watch(const SandboxLimits& limits) : limits_(limits) {}

  bool is_over(const Child& child) {
    const auto now = Clock::now();
    const std::optional<double> used = child.cpu_seconds();
    if (used && *used > limits_.seconds) return true;
    if (used && *used > last_used_) {
      last_used_ = *used;
      last_progress_ = now;
    }
    return std::chrono::duration<double>(now - last_progress_).count() > limits_.blocked_seconds;
  }

 private:
  SandboxLimits limits_;
  double last_used_ = 0;
  Clock::time_point last_progress_ = Clock::now();
};

/// Collects the report until the child closes its end or its time is up; then reaps the child.
Outcome wait_for(Child& child, const SandboxLimits& limits) {
  constexpr int kPollMilliseconds = 50;
  Outcome outcome;
  Watch watch(limits);
  std::array<char, 4096> buffer{};
  for (;;) {
    pollfd waiting{child.pipe_end(), POLLIN, 0};
    const int ready = poll(&waiting, 1, kPollMilliseconds);
    if (ready <= 0) {
      outcome.timed_out = watch.is_over(child);
      if (outcome.timed_out) break;
      continue;
    }
    const ssize_t count = ::read(child.pipe_end(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    outcome.report.append(buffer.data(), static_cast<std::size_t>(count));
  }
  outcome.status = child.end(outcome.timed_out);
  return outcome;
}

[[noreturn]] void throw_death(const std::string& path, const std::string& library, int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    throw FileError(
        fmt::format("{}: the {} library did not finish reading this file", path, library));
  }
  const std::string how = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                              : fmt::format("exit code {}", WEXITSTATUS(status));
  throw FileError(fmt::format("{}: the {} library crashed on this file ({})", path, library, how));
}

void rethrow(const std::string& path, const std::string& library, const std::string& report) {
  const std::string message = report.substr(1);
  switch (report.front()) {
    case kSuccess:
      return;
    case kArgument:
      throw InvalidArgument(message);
    case kNumerical:
      throw NumericalError(message);
    case kMissing:
      throw NotAvailable(message);
    case kMemory:
      throw FileError(
          fmt::format("{}: the {} library needs more memory than is available: the file is damaged "
                      "or too large",
                      path,
                      library));
    default:
      throw FileError(message);
  }
}

}  // namespace

void sandboxed_read(const TrialRead& trial, const SandboxLimits& limits) {
  const std::string& path = trial.path;
  const std::string& library = trial.library;
  SandboxLimits used = limits;
  if (used.seconds <= 0) used.seconds = trial.seconds;
  if (used.seconds <= 0) used.seconds = default_seconds(path);
  if (used.blocked_seconds <= 0) used.blocked_seconds = kBlockedSeconds;
  if (used.memory_bytes <= 0) used.memory_bytes = default_memory(path);
  Outcome outcome;
  for (int k = 0; k < kTries && (k == 0 || outcome.timed_out); ++k) {
    Child child = start_child(path, trial.read, used);
    outcome = wait_for(child, used);
  }
  if (outcome.timed_out) {
    throw FileError(
        fmt::format("{}: the {} library did not finish reading this file in {:.0f} s of CPU time",
                    path,
                    library,
                    used.seconds));
  }
  if (outcome.report.empty()) throw_death(path, library, outcome.status);
  rethrow(path, library, outcome.report);
}

void read_in_sandbox() {
  leave_hdf5_open_at_exit();
  set_read_guard([](const TrialRead& trial) { sandboxed_read(trial); });
}

}  // namespace matapprox::app
