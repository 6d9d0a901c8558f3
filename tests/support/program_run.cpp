#include "support/program_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "support/paths.hpp"

extern char** environ;

namespace matapprox::test {
namespace {

/// Returns true while the process is running, and the CPU time of its threads in `seconds`.
bool is_running(pid_t pid, double& seconds) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return false;
  // After the name in parentheses: the state, ten numbers, and the user and system ticks.
  std::istringstream words(text.substr(text.rfind(')') + 1));
  std::string state;
  words >> state;
  double number = 0;
  for (int i = 0; i < 10; ++i) words >> number;
  double user = 0;
  double system = 0;
  words >> user >> system;
  seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return state != "Z" && !words.fail();
}

}  // namespace

nlohmann::json ProgramResult::json() const {
  nlohmann::json parsed = nlohmann::json::parse(out, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << "not JSON: " << out << err;
  return parsed;
}

RunningProgram::RunningProgram(const Arguments& arguments,
                               const std::string& input,
                               const std::string& path)
    : folder_(temporary_dir()) {
  write_file(folder_ + "/in", input);
  std::vector<std::string> words{path.empty() ? program() : path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const int create = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, (folder_ + "/in").c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, (folder_ + "/out").c_str(), create, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, (folder_ + "/err").c_str(), create, 0600);
  const int failure = posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  EXPECT_EQ(failure, 0) << "cannot start " << words.front();
}

RunningProgram::~RunningProgram() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void RunningProgram::send(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

void RunningProgram::wait_until_it_worked(double seconds) const {
  for (int i = 0; i < 12000; ++i) {
    double used = 0;
    if (!is_running(pid_, used)) break;
    if (used >= seconds) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "the program did not work for " << seconds
                << " s: " << read_file(folder_ + "/err");
}

ProgramResult RunningProgram::wait() {
  ProgramResult result;
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_ && WIFEXITED(status)) {
    result.exit_code = WEXITSTATUS(status);
  }
  pid_ = -1;
  result.out = read_file(folder_ + "/out");
  result.err = read_file(folder_ + "/err");
  return result;
}

ProgramResult run_program(const Arguments& arguments, const std::string& input) {
  return RunningProgram(arguments, input).wait();
}

std::string mesh_text(int side) {
  std::string entries;
  int count = 0;
  const auto add = [&](int i, int j, double value) {
    entries += fmt::format("{} {} {}\n", i + 1, j + 1, value);
    ++count;
  };
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const int node = y * side + x;
      const int neighbors = (x > 0) + (x + 1 < side) + (y > 0) + (y + 1 < side);
      add(node, node, neighbors);
      if (x + 1 < side) add(node + 1, node, -1);
      if (y + 1 < side) add(node + side, node, -1);
    }
  }
  return fmt::format("%%MatrixMarket matrix coordinate real symmetric\n{} {} {}\n",
                     side * side,
                     side * side,
                     count) +
         entries;
}

std::string mesh_file(int side) {
  std::string path = temporary_dir() + "/mesh.mtx";
  write_file(path, mesh_text(side));
  return path;
}

}  // namespace matapprox::test
