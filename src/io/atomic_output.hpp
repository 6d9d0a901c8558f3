#pragma once

#include <string>
#include <string_view>

namespace matapprox {

/// An output file that appears whole or not at all: write to temporary_path(), then commit(), which
/// forces it to disk, renames it over `path` and forces the folder. Without commit, nothing stays.
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
  /// Throws FileError.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  bool committed_ = false;
};

}  // namespace matapprox
