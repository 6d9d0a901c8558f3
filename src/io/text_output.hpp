#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"
#include "matapprox/io/atomic_output.hpp"

namespace matapprox {

/// A file written sequentially that appears under its name only when finish() succeeds. Throws
/// FileError on a full disk and similar errors.
class TextOutput {
 public:
  explicit TextOutput(const std::string& path);
  ~TextOutput();
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  void write(std::string_view bytes);
  void write(Index number);
  void write(double number);  ///< the shortest digits that read back to the same double
  void finish();

 private:
  void flush();
  void write_through(std::string_view bytes);

  AtomicOutput output_;
  std::FILE* file_;
  std::string pending_;
};

}  // namespace matapprox
