#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace matapprox::app {

/// The files that a command reads and writes, told one by one before it starts to work. What would
/// only show after the work is refused at once: InvalidArgument for two outputs that are the same
/// file and for an output that is read (also with --force, under whatever names), FileError for
/// what cannot be written. Empty names are files that were not asked for.
class FilePlan {
 public:
  /// `force`: outputs may replace files that exist. Without it, they also leave alone what another
  /// program puts there later; see io/atomic_output.hpp.
  explicit FilePlan(bool force);

  /// A file that is read, "-" for standard input; also file.h5:/dataset.
  FilePlan& reads(const std::string& path);
  /// A file that the option names, which may be "-" or a device.
  FilePlan& writes(const std::string& option, const std::string& path);
  /// The same for a file that cannot be a device or a pipe. `resumed`: it may be there.
  FilePlan& replaces(const std::string& option, const std::string& path, bool resumed = false);
  /// A folder for files that are told by themselves; it is made, not its parents.
  FilePlan& makes_folder(const std::string& option, const std::string& path);
  /// A file that the command looks after by itself.
  FilePlan& keeps(const std::string& path);

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Identity& other) const = default;
  };
  struct Output {
    std::string name;                ///< as messages call it: "--json", or a path
    std::string path;                ///< empty for a standard stream
    std::optional<Identity> folder;  ///< with `file_name`: where it will be
    std::string file_name;
    std::optional<Identity> file;  ///< what is there now, at the end of links
    bool is_folder = false;        ///< which several options may name
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
