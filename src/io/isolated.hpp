#pragma once

#include <functional>
#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// What a rehearsal may use before it counts as a hang or a runaway.
struct RehearsalLimits {
  double seconds = 0;      ///< wall clock; 0: 30 s, plus 1 s per 4 MB of file
  Index memory_bytes = 0;  ///< beyond what the process has now; 0: what the machine has free
};

/// Runs `read` in a forked child and throws its result away: what an old library would do to us on
/// a malformed file, it does to the child. Returns if the child came through; the caller then reads
/// the file itself, or takes what the child left in shared memory. An exception in the child is
/// thrown here, with its type; a child that crashed, hung, left or ran out of memory is a FileError
/// "x.mat: the MATLAB library crashed on this file (signal 11)". Inside a rehearsal it does nothing
/// and returns false, so that readers may be nested.
///
/// `read` must not start threads. The memory limit does not apply under a sanitizer, whose shadow
/// memory would not fit.
bool rehearse(const std::string& path,
              const std::string& library,
              const std::function<void()>& read,
              const RehearsalLimits& limits = {});

/// True in the child process of a rehearsal: numbers that no library decodes need not be read
/// there.
bool in_rehearsal();

}  // namespace matapprox
