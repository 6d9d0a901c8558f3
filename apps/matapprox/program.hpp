#pragma once

namespace matapprox::app {

/// Runs the program `matapprox`, from its arguments to its exit code. It may end the process or
/// replace it with another program; signal handlers and limits stay as set by the program.
int run_program(int argc, char** argv);

}  // namespace matapprox::app
