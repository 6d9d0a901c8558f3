#pragma once

#include <atomic>

namespace matapprox::app {

// SIGINT, SIGTERM, SIGHUP (closed terminal) and SIGUSR1 (sent by batch systems before the time
// limit) ask the program to stop. A program that has nothing to lose yet ends at once. Work that
// polls the flag ends at its best point, and a second signal ends the program at once. Ending at
// once means exit code 130; unfinished files beside outputs are removed and gnuplot is killed.

/// From now on such a signal ends the program at once. An ignored SIGHUP (nohup) stays ignored.
void end_on_signals();

/// From now on the first signal sets the flag, and the second ends the program at once.
const std::atomic<bool>& catch_interrupts();

/// True once the flag is set.
bool interrupt_requested();

/// During its lifetime, the first signal sets the flag (`catches`) or ends the program at once. The
/// destructor restores the previous behavior.
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
