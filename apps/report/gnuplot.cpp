#include "report/gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "matapprox/core/error.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/core/visible_text.hpp"

extern char** environ;

namespace matapprox::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMissing =
    "reports and plots need gnuplot, which is not installed (Debian: apt-get install gnuplot-nox)";

/// Process group of the running gnuplot; 0 if none runs.
std::atomic<pid_t> running_gnuplot{0};

/// Settings of the child process: our files as its standard streams, and its own process group, so
/// that it can be killed together with the processes that it has started.
class Spawning {
 public:
  Spawning() {
    posix_spawn_file_actions_init(&files_);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~Spawning() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  void redirect(int descriptor, const std::string& path, int flags) {
    posix_spawn_file_actions_addopen(&files_, descriptor, path.c_str(), flags, 0600);
  }
  int start(pid_t& pid, char* const* argv) {
    return posix_spawnp(&pid, argv[0], &files_, &attributes_, argv, environ);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

/// Waits for the child and returns its wait status; nullopt if its time was over. It is killed when
/// its time is over or the stop scope requests a stop.
std::optional<int> wait_for(pid_t pid, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  pid_t ended = 0;
  try {
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && Clock::now() < end) {
      throw_if_stop_requested();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  } catch (...) {
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    throw;
  }
  if (ended != 0) return ended == pid ? status : -1;
  kill(-pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return std::nullopt;
}

/// Registers the child process for kill_gnuplot, for the lifetime of this object.
class RunningGnuplot {
 public:
  explicit RunningGnuplot(pid_t pid) { running_gnuplot = pid; }
  ~RunningGnuplot() { running_gnuplot = 0; }
  RunningGnuplot(const RunningGnuplot&) = delete;
  RunningGnuplot& operator=(const RunningGnuplot&) = delete;
};

/// The first lines of gnuplot's error output.
std::string complaint(const std::string& text) {
  std::string line;
  for (const char c : text.substr(0, 600)) {
    if (c != '\n') {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  return line.empty() ? "no reason given" : line;
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::error_code ignored;
  fs::path base = fs::temp_directory_path(ignored);
  if (base.empty()) base = "/tmp";
  std::string name = (base / "matapprox-plot-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw FileError(
        fmt::format("{}: cannot create a folder for plots: {}", name, std::strerror(errno)));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ScratchFolder::read(std::string_view name) const {
  std::ifstream stream(file(name), std::ios::binary);
  if (!stream) throw FileError(fmt::format("{}: cannot read", file(name)));
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return std::move(bytes).str();
}

void ScratchFolder::write(std::string_view name, std::string_view bytes) const {
  std::ofstream stream(file(name), std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) throw FileError(fmt::format("{}: cannot write", file(name)));
}

std::string gnuplot_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : visible_text(text)) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

void run_gnuplot(const std::string& script, double max_seconds) {
  const ScratchFolder folder;
  folder.write("script", script);
  Spawning spawning;
  spawning.redirect(STDIN_FILENO, folder.file("script"), O_RDONLY);
  spawning.redirect(STDOUT_FILENO, "/dev/null", O_WRONLY);
  spawning.redirect(STDERR_FILENO, folder.file("errors"), O_WRONLY | O_CREAT);
  // --default-settings: the user's start-up files must not change the appearance of a report.
  std::array<std::string, 2> words{"gnuplot", "--default-settings"};
  std::array<char*, 3> argv{words[0].data(), words[1].data(), nullptr};
  pid_t pid = -1;
  if (const int failure = spawning.start(pid, argv.data()); failure != 0) {
    if (failure == ENOENT) throw NotAvailable(kMissing);
    throw NotAvailable(fmt::format("gnuplot cannot be started: {}", std::strerror(failure)));
  }
  const RunningGnuplot running(pid);
  const std::optional<int> status = wait_for(pid, max_seconds);
  if (!status) {
    throw NotAvailable(
        fmt::format("gnuplot did not finish within {:g} s and was killed", max_seconds));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return;
  // Some systems report a missing program by this exit code of the child.
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 127) throw NotAvailable(kMissing);
  throw NumericalError(fmt::format("gnuplot: {}", complaint(folder.read("errors"))));
}

void kill_gnuplot() noexcept {
  const pid_t group = running_gnuplot;
  if (group > 0) kill(-group, SIGKILL);
}

void require_gnuplot() {
  try {
    run_gnuplot("set terminal svg\nset terminal pngcairo\n");
  } catch (const NumericalError& error) {
    throw NotAvailable(
        fmt::format("{}; reports and plots need the gnuplot terminals svg and pngcairo (Debian: "
                    "apt-get install gnuplot-nox)",
                    error.what()));
  }
}

}  // namespace matapprox::report
