#pragma once

#include "matapprox/io/read_guard.hpp"

namespace matapprox {

/// Hands the trial to the guard that set_read_guard was given. False, and nothing was done, if
/// there is none or within a trial, so that readers may be nested. Throws what the guard throws.
bool try_read(const TrialRead& trial);

/// True during a trial: numbers that no library decodes need not be read then.
bool in_trial_read();

}  // namespace matapprox
