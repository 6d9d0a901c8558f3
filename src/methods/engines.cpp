#include "matapprox/methods/engines.hpp"

#include "methods/chord/ceres_solver.hpp"
#include "methods/spectra.hpp"
#include "operators/sparse_solvers.hpp"

namespace matapprox {

std::vector<std::pair<std::string, std::string>> linked_engines() {
  std::vector<std::pair<std::string, std::string>> all = sparse_solver_versions();
  if (chord_fit::ceres_is_available()) all.emplace_back("Ceres", chord_fit::ceres_version());
  if (spectra_is_available()) all.emplace_back("Spectra", spectra_version());
  return all;
}

}  // namespace matapprox
