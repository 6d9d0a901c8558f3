#pragma once

#include <atomic>

namespace matapprox::app {

// SIGINT, SIGTERM, SIGHUP (a terminal that is closed) and SIGUSR1 (which batch systems send before
// the time is up) ask the program to stop. What has nothing to lose yet ends at once; work that
// asks for the flag ends at its best point, and the second signal ends the program at once. Ending
// at once means exit code 130, without the unfinished files beside outputs and without a gnuplot.

/// From now on such a signal ends the program at once. A SIGHUP that is ignored (nohup) stays so.
void end_on_signals();

/// From now on the first signal sets the flag, and the second ends the program at once.
const std::atomic<bool>& catch_interrupts();

/// True once the flag is set.
bool interrupt_requested();

/// While it lives, the first signal sets the flag (`catches`) or ends the program at once; then it
/// is again as before.
class InterruptScope {
 public:
  explicit InterruptScope(bool catches);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool before_;
};

}  // namespace matapprox::app
