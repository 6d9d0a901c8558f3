#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace matapprox::test {

using Arguments = std::vector<std::string>;

/// The exit code and the output of a finished run of the program.
struct ProgramResult {
  int exit_code = -1;  ///< -1 if a signal ended it
  std::string out;
  std::string err;
  /// stdout as JSON; fails the test if it is not JSON.
  nlohmann::json json() const;
};

/// A running instance of the program under test; stdout and stderr are collected in files.
class RunningProgram {
 public:
  /// `path` names another program or a copy; empty: the program under test.
  explicit RunningProgram(const Arguments& arguments,
                          const std::string& input = {},
                          const std::string& path = {});
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  void send(int signal) const;
  /// Waits until the program has used this CPU time, at most two minutes; fails the test if the
  /// program ends before.
  void wait_until_it_worked(double seconds) const;
  ProgramResult wait();

 private:
  pid_t pid_ = -1;
  std::string folder_;
};

/// Runs the program to its end with `input` as standard input.
ProgramResult run_program(const Arguments& arguments, const std::string& input = {});

/// MatrixMarket text of the 2-D mesh Laplacian on side x side nodes.
std::string mesh_text(int side);
/// Path of a new file with that text.
std::string mesh_file(int side);

}  // namespace matapprox::test
