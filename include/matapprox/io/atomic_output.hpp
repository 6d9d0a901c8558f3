#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace matapprox {

/// An output file that appears whole or not at all: write to it or to temporary_path(), then call
/// commit(), which syncs it to disk, renames it to `path` and syncs the folder. Without commit
/// nothing remains. A symbolic link at `path` is replaced, not followed. After
/// keep_foreign_files(path) a file of another program at `path` is not replaced, see there.
class AtomicOutput {
 public:
  /// Throws FileError if the folder does not exist or is not writable.
  explicit AtomicOutput(std::string path);
  ~AtomicOutput();
  AtomicOutput(const AtomicOutput&) = delete;
  AtomicOutput& operator=(const AtomicOutput&) = delete;

  const std::string& path() const { return path_; }
  /// Path of the temporary file, which is empty at first and in the same folder as `path`.
  const std::string& temporary_path() const { return temporary_; }
  /// Replaces the content of the temporary file. Throws FileError ("out.h5: cannot write: No space
  /// left on device").
  void write(std::string_view bytes);

  /// For writers with changing positions that cannot handle errors (HDF5): the first error is kept,
  /// later calls do nothing, and commit() throws the error.
  void write_at(std::uint64_t offset, std::string_view bytes) noexcept;
  /// Reads zeros where nothing was written.
  void read_at(std::uint64_t offset, char* bytes, std::size_t count) noexcept;
  void resize(std::uint64_t size) noexcept;
  /// Size of the file after write_at and resize.
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
  std::size_t place_;  ///< index among the unfinished outputs
};

/// From now on an output of `path` never replaces a file that another program has put there since:
/// it takes the name only while it is free, otherwise the first free name next to it (out.h5:
/// out.1.h5). A file that this program itself wrote there (a checkpoint) is replaced. Applies to
/// the whole process, so that a program decides this in one place for all its outputs.
void keep_foreign_files(const std::string& path);

/// Returns the actual path of outputs of `path`: `path` itself, or the alternative name of the last
/// one.
std::string actual_output_path(const std::string& path);

struct DisplacedOutput {
  std::string path;   ///< the requested name
  std::string place;  ///< the actual name
};

/// Returns all outputs whose names were taken by a file of another program.
std::vector<DisplacedOutput> displaced_outputs();

/// Removes the temporary files of all outputs that are not committed yet. For code that ends the
/// process early. Safe in a signal handler.
void remove_unfinished_outputs() noexcept;

/// Way to give a file a name that must be free. Not every file system supports every way.
enum class NamingWay {
  kRename,  ///< renameat2 with RENAME_NOREPLACE
  kLink,    ///< a second hard link, then the first one is removed
  kClaim,   ///< an empty file takes the name, then the file is renamed over it
};

/// Renames the file `from` to `to`. Returns true if it has the new name, false if a file of that
/// name exists, nothing if the file system does not support this way. Throws FileError for other
/// failures.
std::optional<bool> rename_if_free(const std::string& from, const std::string& to, NamingWay way);

}  // namespace matapprox
