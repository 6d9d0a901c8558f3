#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace matapprox::app {

/// Stores the command line for the functions below; called once by main.
void keep_invocation(int argc, const char* const* argv);

/// The arguments after the program's name.
const std::vector<std::string>& arguments();

/// The command line as typed into a shell: "matapprox compare 'my file.mtx'".
std::string invocation();

/// A word as a shell reads it back, quoted if necessary.
std::string shell_word(std::string_view word);

// Contract with scripts; see docs/cli.md.
constexpr int kDone = 0;
constexpr int kDefect = 1;
constexpr int kUsage = 2;
constexpr int kFile = 3;
constexpr int kNumerical = 4;
constexpr int kNotAvailable = 5;
constexpr int kInterrupted = 130;

/// Prints the exception's message to stderr and returns its exit code.
int report_exception(const std::exception_ptr& failure);

}  // namespace matapprox::app
