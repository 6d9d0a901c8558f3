#include "command_line/output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <string_view>

#include "command_line/interrupt.hpp"
#include "command_line/invocation.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "report/gnuplot.hpp"

namespace matapprox::app {

namespace fs = std::filesystem;

namespace {

/// True if the path is a link to a stream of this process.
bool is_open_stream(const std::string& path) {
  constexpr std::array<const char*, 4> kStarts{
      "/dev/std", "/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
  return std::any_of(
      kStarts.begin(), kStarts.end(), [&](const char* start) { return path.starts_with(start); });
}

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw FileError(fmt::format("{}: cannot write: {}", path, reason));
}

/// Descriptor of an open stream of this process: 1 for /dev/stdout, 3 for /dev/fd/3.
std::optional<int> descriptor_of(const std::string& path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  const std::string number = path.substr(path.rfind('/') + 1);
  int descriptor = 0;
  const char* const stop = number.data() + number.size();
  const auto [end, failure] = std::from_chars(number.data(), stop, descriptor);
  if (!is_open_stream(path) || failure != std::errc() || end != stop) return std::nullopt;
  return descriptor;
}

/// Appends to what was written before; opening the path would start at the beginning of a file.
void write_to_stream(int descriptor, const std::string& path, std::string_view text) {
  std::fflush(stdout);
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(path, std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_directly(const std::string& path, const std::string& text) {
  if (const auto descriptor = descriptor_of(path)) return write_to_stream(*descriptor, path, text);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) refuse(path, std::strerror(errno));
}

std::string csv_text(const Matrix& block) {
  fmt::memory_buffer text;
  for (Index i = 0; i < block.rows(); ++i) {
    for (Index j = 0; j < block.cols(); ++j) {
      fmt::format_to(std::back_inserter(text), "{}{}", j == 0 ? "" : ",", block(i, j));
    }
    text.push_back('\n');
  }
  return fmt::to_string(text);
}

/// More folders than any command makes.
constexpr std::size_t kMaxFolders = 8;

// A signal handler reads them. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::array<std::atomic<const char*>, kMaxFolders> made_folders{};

void note_made_folder(const std::string& path) {
  for (std::atomic<const char*>& place : made_folders) {
    if (place != nullptr) continue;
    place = strdup(path.c_str());  // never freed: needed until the process ends
    return;
  }
}

}  // namespace

bool is_special(const std::string& path) {
  if (is_open_stream(path)) return true;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

void check_output(const std::string& path, bool force) {
  if (path.empty() || path == "-" || is_special(path)) return;
  std::error_code failure;
  const fs::path folder =
      fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (fs::is_directory(path, failure)) refuse(path, "it is a folder");
  const fs::file_status parent = fs::status(folder, failure);
  if (parent.type() == fs::file_type::not_found)
    refuse(path, fmt::format("the folder '{}' does not exist", folder.string()));
  if (failure) refuse(path, failure.message());
  if (!fs::is_directory(parent)) refuse(path, fmt::format("'{}' is not a folder", folder.string()));
  // A link counts as a file whatever its target: it would be replaced.
  const fs::file_status status = fs::symlink_status(path, failure);
  if (failure && status.type() != fs::file_type::not_found) refuse(path, failure.message());
  if (fs::exists(status) && !force) refuse(path, "the file exists; --force overwrites it");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    refuse(path, fmt::format("the folder '{}' is not writable", folder.string()));
  }
}

void prepare_folder(const std::string& path) {
  std::error_code failure;
  if (fs::is_directory(path, failure)) return;
  check_output(path, true);
  if (!fs::create_directory(path, failure)) {
    throw FileError(fmt::format("{}: cannot create this folder: {}", path, failure.message()));
  }
  note_made_folder(path);
}

void remove_empty_folders() noexcept {
  for (const std::atomic<const char*>& place : made_folders) {
    if (place != nullptr) rmdir(place);
  }
}

void write_stdout(const std::string& lines) {
  const std::string text = visible_lines(lines);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) refuse("standard output", std::strerror(errno));
}

void write_stderr(std::string_view lines) noexcept {
  try {
    write_terminal(visible_lines(lines));
  } catch (const std::bad_alloc&) {
    for (const char c : lines) {
      const auto byte = static_cast<unsigned char>(c);
      std::fputc((byte >= 0x20 && byte < 0x7F) || c == '\n' ? c : '?', stderr);
    }
    std::fflush(stderr);
  }
}

void write_message(std::string_view message) noexcept {
  try {
    write_stderr("matapprox: " + visible_text(message) + "\n");
  } catch (const std::bad_alloc&) {
    write_stderr("matapprox: ");
    for (const char c : message) write_stderr({c == '\n' ? "?" : &c, 1});
    write_stderr("\n");
  }
}

void write_terminal(std::string_view text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    write_stdout(text);
  } else if (is_special(path)) {
    write_directly(path, text);
  } else {
    AtomicOutput output(path);
    output.write(text);
    output.commit();
  }
}

bool is_image_name(const std::string& path) {
  return path.ends_with(".png") || path.ends_with(".svg");
}

void check_block_format(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  for (const char* known : {".npy", ".mtx", ".csv", ".h5"}) {
    if (extension == known) return;
  }
  if (path == "-") return;
  throw InvalidArgument(
      fmt::format("{}: unknown extension '{}'; results are written as .npy, .mtx, .csv or .h5",
                  path,
                  extension));
}

void check_hdf5_name(const std::string& option,
                     const std::string& path,
                     const std::string& advice) {
  FileFormat format = FileFormat::kHdf5;
  try {
    format = format_of_name(path);
  } catch (const FileError&) {  // the name determines no format
  }
  constexpr std::array<const char*, 5> kWritten{".json", ".html", ".svg", ".safetensors", ".tex"};
  const std::string extension = fs::path(path).extension().string();
  const bool is_other = format != FileFormat::kHdf5 ||
                        std::find(kWritten.begin(), kWritten.end(), extension) != kWritten.end();
  require(!is_other,
          "{} {}: the output is an HDF5 file, but '{}' is the extension of another format; {}",
          option,
          path,
          extension,
          advice);
}

void write_block(const std::string& path, const Matrix& block) {
  check_block_format(path);
  const std::string extension = fs::path(path).extension().string();
  if (path == "-") return write_stdout(csv_text(block));
  if (extension == ".npy") return write_npy(path, block);
  if (extension == ".mtx") return write_matrix_market(path, block);
  if (extension == ".csv") return write_csv(path, block);
  write_hdf5_matrix(path, "values", block);
}

std::string option_lines(const Listed& listed) {
  std::string text = fmt::format("{}\n  {}\n\noptions\n", listed.name, listed.summary);
  for (const OptionText& option : listed.options) {
    text += fmt::format("  {:<26} {}\n", option.name, option.help);
    if (!option.choices.empty())
      text += fmt::format("  {:<26} one of {}\n", "", fmt::join(option.choices, ", "));
    if (!option.value.empty()) text += fmt::format("  {:<26} default {}\n", "", option.value);
  }
  return text;
}

report::Json to_json(const Listed& listed) {
  report::Json json = {
      {"name", listed.name}, {"summary", listed.summary}, {"options", report::Json::array()}};
  for (const OptionText& option : listed.options) {
    json["options"].push_back({{"name", option.name},
                               {"default", option.value},
                               {"help", option.help},
                               {"choices", option.choices}});
  }
  return json;
}

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
  since_start_.restart();
  print(label_ + " ...");
}

void ProgressLine::update(const Progress& progress) {
  if (!is_due()) return;
  const double elapsed = since_start_.seconds();
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
  since_print_.restart();
  printed_ = true;
  dirty_ = true;
}

void ProgressLine::clear() {
  if (!dirty_) return;
  write_terminal("\r\033[K");
  dirty_ = false;
}

}  // namespace matapprox::app
