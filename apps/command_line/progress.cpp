#include "command_line/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "command_line/output.hpp"
#include "matapprox/core/visible_text.hpp"

namespace matapprox::app {

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

ProgressLine::ProgressLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) == 1) {}

void ProgressLine::start(const std::string& label, double max_seconds) {
  label_ = label;
  max_seconds_ = max_seconds;
  started_ = Clock::now();
  print(label_ + " ...");
}

void ProgressLine::update(const Progress& progress) {
  if (!is_due()) return;
  const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
  std::string text = label_ + ":";
  if (progress.iteration > 0) {
    text += fmt::format(" iteration {}", progress.iteration);
  } else if (progress.fraction_done >= 0) {
    text += fmt::format(" {:.0f} %", 100 * progress.fraction_done);
  }
  if (progress.relative_error >= 0)
    text += fmt::format(", relative error {:.4e}", progress.relative_error);
  double left = max_seconds_ - elapsed;
  if (progress.fraction_done > 0) {
    left = std::min(left, elapsed * (1 - progress.fraction_done) / progress.fraction_done);
  }
  if (std::isfinite(left)) text += fmt::format(", at most {} left", duration_text(left));
  print(text);
}

void ProgressLine::print(const std::string& text) {
  if (!shown_) return;
  write_terminal("\r\033[K" + visible_text(text));
  printed_ = Clock::now();
  dirty_ = true;
}

void ProgressLine::clear() {
  if (!dirty_) return;
  write_terminal("\r\033[K");
  dirty_ = false;
}

}  // namespace matapprox::app
