#include "matapprox/core/error.hpp"
#include "matapprox/operators/inverse.hpp"
#include "operators/sparse_solvers.hpp"

// Compiled instead of inverse.cpp in builds without SuiteSparse.
namespace matapprox {

std::shared_ptr<const LinearOperator> inverse_operator(const SparseMatrix& /*A*/) {
  throw NotAvailable(
      "inverse: this build has no sparse solver; configure it with MATAPPROX_WITH_SUITESPARSE=ON");
}

std::vector<std::pair<std::string, std::string>> sparse_solver_versions() { return {}; }

}  // namespace matapprox
