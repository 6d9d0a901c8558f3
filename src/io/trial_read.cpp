#include "io/trial_read.hpp"

#include <utility>

#include "io/hdf5_handle.hpp"

namespace matapprox {

namespace {

ReadGuard& read_guard() {
  static ReadGuard guard;
  return guard;
}

thread_local bool in_trial = false;

/// Marks a trial in this thread. If the guard forks, only the child uses it.
class TrialScope {
 public:
  TrialScope() { in_trial = true; }
  ~TrialScope() { in_trial = false; }
  TrialScope(const TrialScope&) = delete;
  TrialScope& operator=(const TrialScope&) = delete;
};

}  // namespace

void set_read_guard(ReadGuard guard) { read_guard() = std::move(guard); }

void leave_hdf5_open_at_exit() { H5dont_atexit(); }

void outside_hdf5(const std::function<void()>& action) {
  const hdf5::Lock lock;
  action();
}

bool in_trial_read() { return in_trial; }

bool try_read(const TrialRead& trial) {
  if (in_trial || !read_guard()) return false;
  TrialRead scoped = trial;
  scoped.read = [&trial] {
    const TrialScope scope;
    trial.read();
  };
  read_guard()(scoped);
  return true;
}

}  // namespace matapprox
