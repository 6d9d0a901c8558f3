#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace matapprox {

/// An output file that appears whole or not at all: write to it or to temporary_path(), then
/// commit(), which forces it to disk, renames it over `path` and forces the folder. Without commit,
/// nothing stays.
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

  /// Throws FileError.
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  int descriptor_;
  std::uint64_t size_ = 0;
  int error_ = 0;
  bool committed_ = false;
};

}  // namespace matapprox
