#include "command_line/file_plan.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "command_line/output.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "matapprox/io/load.hpp"

namespace matapprox::app {

namespace fs = std::filesystem;

FilePlan::FilePlan(bool force) : force_(force) {
  add_stream("standard output", STDOUT_FILENO);
  add_stream("standard error", STDERR_FILENO);
}

FilePlan& FilePlan::reads(const std::string& path) {
  if (path.empty()) return *this;
  const auto file =
      path == "-" ? stream_identity(STDIN_FILENO) : file_identity(split_file_name(path).path);
  if (!file) return *this;  // the reader will report the reason
  inputs_.push_back({path, *file});
  for (const Output& output : outputs_) check_input(output, inputs_.back());
  return *this;
}

FilePlan& FilePlan::writes(const std::string& option, const std::string& path) {
  if (path.empty() || path == "-" || is_special(path)) return *this;
  return replaces(option, path);
}

FilePlan& FilePlan::replaces(const std::string& option, const std::string& path, bool resumed) {
  if (path.empty() || path == "-") return *this;
  if (is_special(path)) {
    throw FileError(fmt::format("{}: cannot write: it is not a regular file", path));
  }
  add(option, path);
  const bool may_exist = force_ || resumed;
  check_output(path, may_exist);
  if (!may_exist) keep_foreign_files(path);
  return *this;
}

FilePlan& FilePlan::makes_folder(const std::string& option, const std::string& path) {
  if (path.empty()) return *this;
  add(option, path, true);
  prepare_folder(path);
  return *this;
}

FilePlan& FilePlan::keeps(const std::string& path) {
  add(path, path);
  return *this;
}

std::optional<FilePlan::Identity> FilePlan::folder_identity(const std::string& path) {
  struct stat found {};
  if (stat(path.empty() ? "." : path.c_str(), &found) != 0) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

std::optional<FilePlan::Identity> FilePlan::file_identity(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

std::optional<FilePlan::Identity> FilePlan::stream_identity(int descriptor) {
  struct stat found {};
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

bool FilePlan::are_same(const Output& one, const Output& other) {
  // Both standard streams may go to one file.
  if (one.path.empty() && other.path.empty()) return false;
  if (one.is_folder && other.is_folder) return false;
  const bool same_place = one.folder && one.folder == other.folder && !one.file_name.empty() &&
                          one.file_name == other.file_name;
  return same_place || (one.file && one.file == other.file);
}

void FilePlan::check_input(const Output& output, const Input& input) {
  // A file that a shell has opened as a standard stream is not refused here.
  if (output.path.empty()) return;
  require(output.file != input.file,
          "{} {}: this file is an input ({}) and cannot be overwritten, even with --force",
          output.name,
          output.path,
          input.path);
}

void FilePlan::add(const std::string& name, const std::string& path, bool is_folder) {
  fs::path whole(path);
  if (is_folder && whole.filename().empty()) whole = whole.parent_path();  // DIR/
  const Output added{name,
                     path,
                     folder_identity(whole.parent_path().string()),
                     whole.filename().string(),
                     file_identity(path),
                     is_folder};
  for (const Output& output : outputs_) {
    require(!are_same(output, added),
            "{} and {} are the same file, {}; give every output its own file",
            output.name,
            added.name,
            added.path);
  }
  for (const Input& input : inputs_) check_input(added, input);
  outputs_.push_back(added);
}

void FilePlan::add_stream(const std::string& name, int descriptor) {
  if (const auto file = stream_identity(descriptor))
    outputs_.push_back({name, {}, std::nullopt, {}, file, false});
}

}  // namespace matapprox::app
