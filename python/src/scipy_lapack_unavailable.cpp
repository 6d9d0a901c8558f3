#include "python.hpp"

// Built in place of scipy_lapack.cpp if LAPACK is linked (MATAPPROX_LINK_LAPACK).
namespace matapprox::python {

void bind_lapack(nb::module_& /*m*/) {}

}  // namespace matapprox::python
