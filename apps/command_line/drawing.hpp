#pragma once

#include <exception>
#include <functional>

namespace matapprox::app {

/// report::require_gnuplot; a signal ends it, and the gnuplot that it started.
void check_gnuplot();

/// Draws; a signal that arrives meanwhile ends it by an Interrupted. A signal that came before does
/// not: the part of the result that exists is then drawn.
void draw_until_stopped(const std::function<void()>& draw);

/// The same, but gives back what it throws: the results that an image shows are written first, and
/// the failure is told after that.
std::exception_ptr failure_of_drawing(const std::function<void()>& draw);

/// Tells of that failure, if there is one. The exit code: `code` unless that is "done".
int report_drawing(int code, const std::exception_ptr& failure);

}  // namespace matapprox::app
