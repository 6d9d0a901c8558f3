#include "report/gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "matapprox/core/error.hpp"

extern char** environ;

namespace matapprox::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMissing =
    "reports and plots are drawn by gnuplot, which is not installed (Debian: apt-get install "
    "gnuplot-nox)";

/// What the child is given: our files as its standard streams, and a process group of its own, so
/// that Ctrl-C stops a fit at its best point and not the drawing of it.
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

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

/// The first lines of what gnuplot said.
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
        fmt::format("{}: cannot make a folder for plots: {}", name, std::strerror(errno)));
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
  for (const char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "'";
}

void run_gnuplot(const std::string& script) {
  const ScratchFolder folder;
  folder.write("script", script);
  Spawning spawning;
  spawning.redirect(STDIN_FILENO, folder.file("script"), O_RDONLY);
  spawning.redirect(STDOUT_FILENO, "/dev/null", O_WRONLY);
  spawning.redirect(STDERR_FILENO, folder.file("errors"), O_WRONLY | O_CREAT);
  // --default-settings: no start-up files of the user change how a report looks.
  std::array<std::string, 2> words{"gnuplot", "--default-settings"};
  std::array<char*, 3> argv{words[0].data(), words[1].data(), nullptr};
  pid_t pid = -1;
  if (spawning.start(pid, argv.data()) != 0) throw NotAvailable(kMissing);
  const int status = wait_for(pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  // Some systems report a missing program by this exit code of the child.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) throw NotAvailable(kMissing);
  throw NumericalError(fmt::format("gnuplot: {}", complaint(folder.read("errors"))));
}

void require_gnuplot() {
  try {
    run_gnuplot("set terminal svg\nset terminal pngcairo\n");
  } catch (const NumericalError& error) {
    throw NotAvailable(
        fmt::format("{}; reports and plots need its terminals svg and pngcairo (Debian: apt-get "
                    "install gnuplot-nox)",
                    error.what()));
  }
}

}  // namespace matapprox::report
