#pragma once

#include <functional>

namespace matapprox::app {

/// What both programs do around their work, `body`, which returns an exit code or throws. Before:
/// standard streams that are closed are opened so that nothing else gets their numbers; a file that
/// grows beyond what is allowed is a failed write, not the end of the process; a signal ends the
/// program with its exit code. After: exceptions become exit codes, a signal that came too late to
/// end any work is told, and so are outputs that did not get their names. Returns the exit code;
/// docs/cli.md. (A program with this function also starts itself again with one thread of OpenBLAS
/// where limits keep that from starting its threads.)
int run_process(const std::function<int()>& body);

}  // namespace matapprox::app
