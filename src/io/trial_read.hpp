#pragma once

#include "matapprox/io/read_guard.hpp"

namespace matapprox {

/// Passes the trial to the guard given to set_read_guard. Does nothing and returns false if there
/// is no guard, or within a trial, so that readers may be nested. Throws the errors of the guard.
bool try_read(const TrialRead& trial);

/// True during a trial, in which numbers that no library decodes need not be read.
bool in_trial_read();

}  // namespace matapprox
