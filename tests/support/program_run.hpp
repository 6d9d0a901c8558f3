#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace matapprox::test {

using Arguments = std::vector<std::string>;

/// What a finished run of the program left behind.
struct ProgramResult {
  int exit_code = -1;  ///< -1 if a signal ended it
  std::string out;
  std::string err;
  /// stdout as JSON; fails the test if it is none.
  nlohmann::json json() const;
};

/// A run of the program under test that is going on; stdout and stderr are collected in files.
class RunningProgram {
 public:
  /// `path`: another program, or a copy of it; empty: the program under test.
  explicit RunningProgram(const Arguments& arguments,
                          const std::string& input = {},
                          const std::string& path = {});
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  void send(int signal) const;
  /// Until it has used so much CPU time, or at most two minutes; fails the test if it ends
  /// before.
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
/// The same in a file of its own; its path.
std::string mesh_file(int side);

}  // namespace matapprox::test
