#pragma once

#include <exception>
#include <functional>

namespace matapprox::app {

/// Calls report::require_gnuplot; a signal ends the call and the gnuplot process that it started.
void check_gnuplot();

/// Draws; a signal that arrives meanwhile ends it with an Interrupted. A signal that arrived before
/// does not: then the existing part of the result is drawn.
void draw_until_stopped(const std::function<void()>& draw);

/// Draws and returns the exception in place of throwing it, so that the results are written before
/// a failure to draw them is reported.
std::exception_ptr failure_of_drawing(const std::function<void()>& draw);

/// Reports that failure, if there is one. Returns `code`, or the code of the failure if `code` is
/// kDone.
int report_drawing(int code, const std::exception_ptr& failure);

}  // namespace matapprox::app
