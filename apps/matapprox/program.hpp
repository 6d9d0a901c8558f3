#pragma once

namespace matapprox::app {

/// The program `matapprox`, from its arguments to its exit code. It may end the process or put
/// another program into its place, and leaves signal handlers and limits as it has set them.
int run_program(int argc, char** argv);

}  // namespace matapprox::app
