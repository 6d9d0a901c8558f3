#include "command_line/interrupt.hpp"

#include <unistd.h>

#include <csignal>

#include "command_line/exit_codes.hpp"

namespace matapprox::app {
namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch such an atomic");

}  // namespace

extern "C" {
static void on_interrupt(int /*signal*/) {
  if (stop.exchange(true)) _exit(kInterrupted);
}
}

bool interrupt_requested() { return stop.load(); }

const std::atomic<bool>& catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  return stop;
}

}  // namespace matapprox::app
