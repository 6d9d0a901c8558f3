#include <stdexcept>

#include "slepc_svd.hpp"

namespace matapprox {

bool slepc_is_available() { return false; }

SlepcSvd slepc_svd(Mat /*A*/, PetscInt /*count*/, double /*tolerance*/) {
  throw std::runtime_error("this build has no SLEPc (Debian: libslepc64-real-dev)");
}

}  // namespace matapprox
