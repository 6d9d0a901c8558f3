#include "command_line/drawing.hpp"

#include "command_line/exit_codes.hpp"
#include "command_line/interrupt.hpp"
#include "matapprox/core/stop_scope.hpp"
#include "report/gnuplot.hpp"

namespace matapprox::app {

void check_gnuplot() {
  draw_until_stopped([] { report::require_gnuplot(); });
}

void draw_until_stopped(const std::function<void()>& draw) {
  const InterruptScope caught(true);
  RunControl control;
  if (!interrupt_requested()) control.stop = &catch_interrupts();
  const StopScope scope(control, "drawing");
  draw();
}

std::exception_ptr failure_of_drawing(const std::function<void()>& draw) {
  try {
    draw_until_stopped(draw);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

int report_drawing(int code, const std::exception_ptr& failure) {
  if (!failure) return code;
  const int own = report_exception(failure);
  return code == kDone ? own : code;
}

}  // namespace matapprox::app
