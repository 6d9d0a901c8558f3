#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace matapprox {

/// Writes all bytes from `offset` on and starts their transfer to the disk. Returns 0, or the errno
/// of the failed call. Repeats calls that a signal interrupted.
int write_fully(int descriptor, std::uint64_t offset, std::string_view bytes) noexcept;

/// Throws a FileError such as "out.h5: cannot write: No space left on device".
[[noreturn]] void throw_cannot_write(const std::string& path, int code);

}  // namespace matapprox
