#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace matapprox::app {

/// The files that a command reads and writes, registered one by one before the work starts. Errors
/// that would otherwise show only after the work are thrown at once: InvalidArgument for two
/// outputs that are the same file and for an output that is also read (even with --force, under any
/// name), FileError for a file that cannot be written. Empty names are files that were not
/// requested.
class FilePlan {
 public:
  /// `force`: outputs may replace existing files. Without it, they also do not replace a file that
  /// another program creates later; see io/atomic_output.hpp.
  explicit FilePlan(bool force);

  /// Registers a file that is read: a path, "-" for standard input, or file.h5:/dataset.
  FilePlan& reads(const std::string& path);
  /// Registers the output file of an option; it may be "-" or a device.
  FilePlan& writes(const std::string& option, const std::string& path);
  /// Registers an output that cannot be a device or a pipe. `resumed`: the file may exist.
  FilePlan& replaces(const std::string& option, const std::string& path, bool resumed = false);
  /// Registers and makes a folder, but not its parents. Files in it are registered separately.
  FilePlan& makes_folder(const std::string& option, const std::string& path);
  /// Registers an output whose existence and permissions the command itself checks.
  FilePlan& keeps(const std::string& path);

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Identity& other) const = default;
  };
  struct Output {
    std::string name;                ///< name in messages: "--json", or a path
    std::string path;                ///< empty for a standard stream
    std::optional<Identity> folder;  ///< location of the output, with `file_name`
    std::string file_name;
    std::optional<Identity> file;  ///< the existing file there, links followed
    bool is_folder = false;        ///< a folder, which several options may name
  };
  struct Input {
    std::string path;
    Identity file;
  };

  static std::optional<Identity> folder_identity(const std::string& path);
  static std::optional<Identity> file_identity(const std::string& path);
  static std::optional<Identity> stream_identity(int descriptor);
  static bool are_same(const Output& one, const Output& other);
  static void check_input(const Output& output, const Input& input);
  void add(const std::string& name, const std::string& path, bool is_folder = false);
  void add_stream(const std::string& name, int descriptor);

  bool force_;
  std::vector<Output> outputs_;
  std::vector<Input> inputs_;
};

}  // namespace matapprox::app
