#include <stdexcept>

#include "slepc_svd.hpp"

namespace matapprox {

SlepcSvd slepc_svd(Mat /*A*/, PetscInt /*count*/, double /*tolerance*/) {
  throw std::runtime_error("this build is without SLEPc (Debian: libslepc64-real-dev)");
}

}  // namespace matapprox
