#pragma once

#include "matapprox/core/types.hpp"
#include "matapprox/io/read_guard.hpp"

namespace matapprox::app {

/// Limits beyond which a sandboxed read counts as a hang or a runaway.
struct SandboxLimits {
  double seconds = 0;  ///< of CPU time; 0: trial.seconds, else 30 s, plus 1 s per 4 MB of file
  /// Beyond what the process has now; 0: 768 MiB, or 512 bytes for each byte of the file where that
  /// is more, and at most what the machine has free.
  Index memory_bytes = 0;
  /// Wall clock in which the child takes no CPU time at all, as one that was forked while another
  /// thread held a lock: a process that can run waits for milliseconds, also on a busy machine.
  double blocked_seconds = 0;  ///< 0: 60 s
};

/// The guard of the programs (set_read_guard): runs trial.read in a forked child, so that what an
/// old library would do to us on a malformed file, it does to the child. Returns if the child came
/// through; the caller then reads the file itself, or takes what the child left in shared memory.
/// An exception in the child is thrown here, with its type; a child that crashed, hung, left or ran
/// out of memory is a FileError "x.mat: the MATLAB library crashed on this file (signal 11)".
///
/// trial.read must not start threads. The memory limit does not apply under a sanitizer, whose
/// shadow memory would not fit. Throws NotAvailable if there can be no other process.
void sandboxed_read(const TrialRead& trial, const SandboxLimits& limits = {});

/// Makes it the guard of this process, and has libhdf5 do nothing at its end. Not while another
/// thread reads.
void read_in_sandbox();

}  // namespace matapprox::app
