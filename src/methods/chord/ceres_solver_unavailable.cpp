#include "matapprox/core/error.hpp"
#include "methods/chord/optimizers.hpp"

// Compiled instead of ceres_solver.cpp in a build without Ceres; `chord` reports that before it
// begins.
namespace matapprox::chord_fit {

bool ceres_is_available() { return false; }

std::string ceres_version() { return {}; }

std::optional<Termination> run_ceres_lbfgs_segment(FitState& /*state*/,
                                                   const Objective& /*objective*/,
                                                   const LbfgsSettings& /*settings*/,
                                                   FitMonitor& /*monitor*/) {
  throw NotAvailable("chord: this build has no Ceres");
}

Termination run_ceres_levenberg_marquardt(FitState& /*state*/,
                                          const Form& /*form*/,
                                          const Target& /*target*/,
                                          Index /*steps*/,
                                          FitMonitor& /*monitor*/) {
  throw NotAvailable("chord: this build has no Ceres");
}

}  // namespace matapprox::chord_fit
