#pragma once

#include "command_line/command_line.hpp"

namespace matapprox::app {

// Each adds one command of the program.
void add_best(const Command& program);
void add_approximate(const Command& program);
void add_compare(const Command& program);
void add_apply(const Command& program);
void add_measure(const Command& program);
void add_solve(const Command& program);
void add_export(const Command& program);
void add_sketch(const Command& program);
void add_spectrum(const Command& program);
void add_info(const Command& program);
void add_methods(const Command& program);
void add_reproduce(const Command& program);
void add_jl_dimension(const Command& program);
void add_doctor(const Command& program);

/// Runs the program `matapprox`, from its arguments to its exit code. It may end the process or
/// replace it with another program; signal handlers and limits stay as set by the program.
int run_program(int argc, char** argv);

}  // namespace matapprox::app
