#pragma once

#include <exception>

namespace matapprox::app {

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
