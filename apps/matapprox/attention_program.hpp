#pragma once

#include <string>

namespace matapprox::app {

/// Whether it has an experiment of this name: `reproduce figure5`.
bool is_attention_experiment(const std::string& name);

/// This process becomes the program matapprox-attention, with the arguments that it was started
/// with itself; process id, streams and signals stay. The program is looked for beside this one and
/// then where it is installed. Throws NotAvailable, starting with `what` needs it, if there is
/// none.
[[noreturn]] void start_attention_program(const std::string& what);

}  // namespace matapprox::app
