#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace matapprox {

/// An output file that appears whole or not at all: write to it or to temporary_path(), then
/// commit(), which forces it to disk, renames it over `path` and forces the folder. Without commit,
/// nothing stays. A symbolic link at `path` is replaced, not followed. After
/// leave_others_alone(path) a file of another program keeps the name, see there.
class AtomicOutput {
 public:
  /// Throws FileError if the folder does not exist or cannot be written in.
  explicit AtomicOutput(std::string path);
  ~AtomicOutput();
  AtomicOutput(const AtomicOutput&) = delete;
  AtomicOutput& operator=(const AtomicOutput&) = delete;

  const std::string& path() const { return path_; }
  /// An empty file of our own beside `path`.
  const std::string& temporary_path() const { return temporary_; }
  /// Replaces the content of the temporary file. Throws FileError ("out.h5: cannot write: No space
  /// left on device").
  void write(std::string_view bytes);

  /// For who writes here and there, and cannot be told of an error (HDF5): the first one is kept,
  /// what follows does nothing, and commit() throws it.
  void write_at(std::uint64_t offset, std::string_view bytes) noexcept;
  /// Zeros where nothing was written.
  void read_at(std::uint64_t offset, char* bytes, std::size_t count) noexcept;
  void resize(std::uint64_t size) noexcept;
  /// Of what write_at and resize made.
  std::uint64_t size() const { return size_; }

  /// Throws FileError for the first error that was kept.
  void throw_if_failed() const;
  /// Throws FileError.
  void commit();

 private:
  void take_name();

  std::string path_;
  std::string temporary_;
  int descriptor_;
  std::uint64_t size_ = 0;
  int error_ = 0;
  bool committed_ = false;
  std::size_t place_;  ///< among the unfinished outputs
};

/// From now on an output of `path` never replaces what another program has put there since: it
/// takes the name only while that is free, else the first free one beside it (out.h5: out.1.h5).
/// What this program itself wrote there (a checkpoint) is replaced. For the whole process, so that
/// a program decides this in one place for all that it writes.
void leave_others_alone(const std::string& path);

/// Where outputs of `path` are: `path`, or the name beside it that the last one had to take.
std::string place_of_output(const std::string& path);

struct DisplacedOutput {
  std::string path;   ///< the name that the output should have had
  std::string place;  ///< the name that it has
};

/// All outputs that another program's file kept from their names.
std::vector<DisplacedOutput> displaced_outputs();

/// Removes the temporary files of all outputs that are not committed yet, for who ends the process
/// meanwhile. Safe in a signal handler.
void remove_unfinished_outputs() noexcept;

/// How a file gets a name that must be free. Not every file system knows every way.
enum class NamingWay {
  kRename,  ///< renameat2 with RENAME_NOREPLACE
  kLink,    ///< a second hard link, then the first is taken away
  kClaim,   ///< an empty file takes the name, then the file is renamed over that
};

/// Gives the file `from` the name `to`: true if it has it, false if there is a file of that name,
/// nothing if the file system does not know this way. Throws FileError for other failures.
std::optional<bool> rename_if_free(const std::string& from, const std::string& to, NamingWay way);

}  // namespace matapprox
