#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// True for a pipe, a device such as /dev/null, or an open stream such as /dev/stdout: these are
/// written to directly and never replaced.
bool is_special(const std::string& path);

/// Throws FileError if `path` cannot become an output file: its folder is missing or not writable,
/// it is a folder, or it exists and `force` is not given. Empty paths, "-" (standard output) and
/// special files pass. Commands use a FilePlan, which calls this.
void check_output(const std::string& path, bool force);

/// Makes a folder, but not its parents, unless it exists. Throws FileError. If the command fails
/// before it has put a file there, the folder is removed.
void prepare_folder(const std::string& path);
/// Removes the empty folders that prepare_folder made. Safe in a signal handler.
void remove_empty_folders() noexcept;

// Foreign text (names, strings in files) is escaped by visible_text (core/visible_text.hpp) where
// it becomes part of a text of several lines; a message is one line and is escaped as a whole. The
// functions here escape control characters once more, except line ends and tabs.

/// Writes to standard output; throws FileError if that fails (a full disk behind a redirection).
void write_stdout(const std::string& lines);

/// Writes to standard error. Failures are ignored, because there is nowhere to report them.
void write_stderr(std::string_view lines) noexcept;

/// Writes "matapprox: " and the message as one line, whatever it contains.
void write_message(std::string_view message) noexcept;

/// Writes to standard error unchanged, for texts that move the cursor and hold no foreign text.
void write_terminal(std::string_view text) noexcept;

/// Writes a whole file, or standard output for "-". A file appears only when complete.
void write_text(const std::string& path, const std::string& text);

/// Writes a block of columns in the format of the file name: .npy .mtx .csv .h5, or CSV on standard
/// output for "-". Throws InvalidArgument for another extension.
void write_block(const std::string& path, const Matrix& block);
/// Throws InvalidArgument, naming the supported extensions, unless write_block supports this one.
void check_block_format(const std::string& path);

/// True for names ending in .png or .svg, the image formats.
bool is_image_name(const std::string& path);

/// Throws InvalidArgument, ending with `advice`, for a file whose name belongs to a format other
/// than HDF5, the format in which `option` writes it.
void check_hdf5_name(const std::string& option, const std::string& path, const std::string& advice);

/// A method, mechanism or task as shown by the listing subcommands.
struct Listed {
  std::string_view name;
  std::string_view summary;
  std::vector<OptionText> options;
};

/// Its options with help, allowed values and defaults.
std::string option_lines(const Listed& listed);
report::Json to_json(const Listed& listed);

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

/// Time since its construction or last restart.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// One line on stderr that is rewritten in place: the running work, the current error, the time
/// left. Shown only on a terminal and never with --quiet.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows the work that begins; `max_seconds` bounds the time left.
  void start(const std::string& label,
             double max_seconds = std::numeric_limits<double>::infinity());
  void update(const Progress& progress);
  /// Shows the text that `text()` returns, at most five times per second.
  template <class Text>
  void show(const Text& text) {
    if (is_due()) print(text());
  }
  void clear();

 private:
  bool is_due() const { return shown_ && (!printed_ || since_print_.seconds() >= 0.2); }
  void print(const std::string& text);

  bool shown_;
  bool printed_ = false;
  bool dirty_ = false;
  std::string label_;
  double max_seconds_ = 0;
  Stopwatch since_start_;
  Stopwatch since_print_;
};

/// "4 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace matapprox::app
