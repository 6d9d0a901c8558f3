#pragma once

#include <chrono>
#include <string>

#include "matapprox/core/run_control.hpp"

namespace matapprox::app {

/// One line on stderr that is rewritten in place: the running work, the current error, the time
/// left. Shown only on a terminal and never with --quiet.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void start(const std::string& label, double max_seconds);
  void update(const Progress& progress);
  /// Shows the text that `text()` returns, at most five times per second.
  template <class Text>
  void show(const Text& text) {
    if (is_due()) print(text());
  }
  void clear();
  bool shown() const { return shown_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool is_due() const {
    return shown_ && Clock::now() - printed_ >= std::chrono::milliseconds(200);
  }
  void print(const std::string& text);

  bool shown_;
  bool dirty_ = false;
  std::string label_;
  double max_seconds_ = 0;
  Clock::time_point started_;
  Clock::time_point printed_;
};

/// "4 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace matapprox::app
