#include "command_line/interrupt.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "report/gnuplot.hpp"

namespace matapprox::app {
namespace {

std::atomic<bool> stop{false};
/// True while the running work polls `stop`.
std::atomic<bool> catching{false};
/// The process that owns the output files, as opposed to one that it forked to read a file.
std::atomic<pid_t> owner{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free,
              "a signal handler may only touch such an atomic");

}  // namespace

extern "C" {
// Calls only functions that are safe in a signal handler.
static void on_interrupt(int /*signal*/) {
  if (getpid() != owner) _exit(kInterrupted);
  if (catching && !stop.exchange(true)) return;
  constexpr std::string_view kMessage = "matapprox: interrupted\n";
  static_cast<void>(write(STDERR_FILENO, kMessage.data(), kMessage.size()) > 0);
  report::kill_gnuplot();
  remove_unfinished_outputs();
  remove_empty_folders();
  _exit(kInterrupted);
}
}

bool interrupt_requested() { return stop.load(); }

void end_on_signals() {
  owner = getpid();
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaction(signal, &action, nullptr);
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

const std::atomic<bool>& catch_interrupts() {
  catching = true;
  return stop;
}

InterruptScope::InterruptScope(bool catches) : before_(catching.exchange(catches)) {}

InterruptScope::~InterruptScope() { catching = before_; }

}  // namespace matapprox::app
