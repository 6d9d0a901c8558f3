#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace matapprox {

/// Writes all bytes from there on and starts them on their way to the disk; 0, or the errno of what
/// failed. Calls that a signal interrupts are made again.
int write_fully(int descriptor, std::uint64_t offset, std::string_view bytes) noexcept;

/// "out.h5: cannot write: No space left on device"
[[noreturn]] void throw_cannot_write(const std::string& path, int code);

}  // namespace matapprox
