#include "slepc_svd.hpp"

#ifdef MATAPPROX_WITH_SLEPC
#include <slepcsvd.h>
#else
#include <stdexcept>
#endif

namespace matapprox {

#ifdef MATAPPROX_WITH_SLEPC
bool slepc_is_available() { return true; }

SlepcSvd slepc_svd(Mat A, PetscInt count, double tolerance) {
  SlepcInitializeNoArguments();
  SlepcSvd result;
  SVD solver = nullptr;
  SVDCreate(PETSC_COMM_WORLD, &solver);
  SVDSetOperators(solver, A, nullptr);
  SVDSetType(solver, SVDTRLANCZOS);
  SVDSetDimensions(solver, count, PETSC_DEFAULT, PETSC_DEFAULT);
  SVDSetTolerances(solver, tolerance, 1000);
  SVDSolve(solver);
  PetscInt found = 0;
  PetscInt iterations = 0;
  SVDGetConverged(solver, &found);
  SVDGetIterationNumber(solver, &iterations);
  for (PetscInt i = 0; i < std::min(found, count); ++i) {
    PetscReal value = 0;
    SVDGetSingularTriplet(solver, i, &value, nullptr, nullptr);
    result.values.push_back(value);
  }
  result.iterations = iterations;
  SVDDestroy(&solver);
  SlepcFinalize();
  return result;
}
#else
bool slepc_is_available() { return false; }

SlepcSvd slepc_svd(Mat /*A*/, PetscInt /*count*/, double /*tolerance*/) {
  throw std::runtime_error("this build has no SLEPc (Debian: libslepc64-real-dev)");
}
#endif

}  // namespace matapprox
