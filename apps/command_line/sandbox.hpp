#pragma once

#include "matapprox/core/types.hpp"
#include "matapprox/io/read_guard.hpp"

namespace matapprox::app {

/// Limits beyond which a sandboxed read counts as a hang or a runaway.
struct SandboxLimits {
  double seconds = 0;  ///< CPU time; 0: trial.seconds, else 30 s, plus 1 s per 4 MB of file
  /// Memory in addition to that of the process now; 0: 768 MiB or 512 bytes for each byte of the
  /// file, whichever is more, but at most the free memory of the machine.
  Index memory_bytes = 0;
  /// Wall-clock time in which the child uses no CPU time at all, as a child does that was forked
  /// while another thread held a lock. A process that can run waits for milliseconds, even on a
  /// busy machine.
  double blocked_seconds = 0;  ///< 0: 60 s
};

/// Read guard of the programs (set_read_guard): runs trial.read in a forked child, so that an old
/// library that fails on a malformed file harms only the child. Returns if the child succeeded; the
/// caller then reads the file itself, or takes the result that the child left in shared memory. An
/// exception in the child is thrown here, with its type; a child that crashed, hung, exited or ran
/// out of memory is a FileError "x.mat: the MATLAB library crashed on this file (signal 11)".
///
/// trial.read must not start threads. The memory limit does not apply under a sanitizer, whose
/// shadow memory would not fit. Throws NotAvailable if no other process can be started.
void sandboxed_read(const TrialRead& trial, const SandboxLimits& limits = {});

/// Makes sandboxed_read the guard of this process and disables libhdf5's work at exit. Must not be
/// called while another thread reads.
void read_in_sandbox();

}  // namespace matapprox::app
