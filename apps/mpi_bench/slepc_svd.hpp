#pragma once

#include <petscmat.h>

#include <vector>

namespace matapprox {

/// Singular values of A, descending, and the number of iterations, by SLEPc's trlanczos.
struct SlepcSvd {
  std::vector<double> values;
  long long iterations = 0;
};

/// False in a build without SLEPc.
bool slepc_is_available();

/// Computes the `count` largest singular values to a relative residual of `tolerance`. All
/// processes call it together. Throws std::runtime_error in a build without SLEPc.
SlepcSvd slepc_svd(Mat A, PetscInt count, double tolerance);

}  // namespace matapprox
