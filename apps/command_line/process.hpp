#pragma once

#include <functional>

namespace matapprox::app {

/// Runs `body`, the work of a program, which returns an exit code or throws, between
/// the steps that both programs share. Before: closed standard streams are opened, so that no other
/// file gets their numbers; exceeding the file size limit becomes a failed write in place of the
/// end of the process; a signal ends the program with its exit code. After: exceptions become exit
/// codes; a signal that came too late to end any work is reported, and so are outputs that did not
/// get their names. Returns the exit code; see docs/cli.md. (A program that links this function
/// also restarts itself with one OpenBLAS thread where limits keep OpenBLAS from starting its
/// threads.)
int run_process(const std::function<int()>& body);

}  // namespace matapprox::app
