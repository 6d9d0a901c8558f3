#pragma once

#include <atomic>

namespace matapprox::app {

/// From now on the first SIGINT, SIGTERM or SIGUSR1 (which batch systems send before the time is
/// up) sets the flag, and the second ends the program at once with exit code 130. Files are written
/// by rename, so neither leaves half of one under its name.
const std::atomic<bool>& catch_interrupts();

/// True once the flag is set.
bool interrupt_requested();

}  // namespace matapprox::app
