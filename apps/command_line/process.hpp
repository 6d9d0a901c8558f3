#pragma once

#include <functional>

namespace matapprox::app {

/// What both programs do around their work, `body`, which returns an exit code or throws. Before:
/// standard streams that are closed are opened so that nothing else gets their numbers; a file that
/// grows beyond what is allowed is a failed write, not the end of the process; under a limit on
/// address space the program starts again with one thread of OpenBLAS, whose others would look
/// forever for buffers that do not fit. After: exceptions become exit codes, and outputs that did
/// not get their names are told. Returns the exit code; docs/cli.md.
int run_process(char** argv, const std::function<int()>& body);

}  // namespace matapprox::app
