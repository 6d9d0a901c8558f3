#pragma once

#include <string>
#include <string_view>

namespace matapprox::report {

// Charts are drawn by gnuplot: packaged in every distribution (Debian: gnuplot-nox), stable for
// decades, SVG and PNG (cairo) from one description, and no Python or display needed. It runs as a
// child process that reads a script, without a shell in between.

/// Throws NotAvailable, naming the package, unless gnuplot is installed with the terminals for SVG
/// and PNG. Must be called before any long work.
void require_gnuplot();

/// Runs a script. Throws NotAvailable as above, and NumericalError with gnuplot's message if it
/// refuses the script. A gnuplot that takes longer than max_seconds is killed: NotAvailable. One
/// that runs when the stop scope (core/run_control.hpp) requests a stop is killed too: Interrupted.
void run_gnuplot(const std::string& script, double max_seconds = 120);

/// Kills the running gnuplot, if there is one. Safe in a signal handler.
void kill_gnuplot() noexcept;

/// Quotes text so that gnuplot reads it literally: in single quotes, control characters and line
/// ends visible.
std::string gnuplot_quoted(std::string_view text);

/// A folder for files that gnuplot reads or writes, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// The bytes of a file in it; throws FileError if it is not there.
  std::string read(std::string_view name) const;
  void write(std::string_view name, std::string_view bytes) const;

 private:
  std::string path_;
};

}  // namespace matapprox::report
