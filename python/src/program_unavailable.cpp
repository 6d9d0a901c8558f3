#include "python.hpp"

// Built in place of program.cpp if the module has no command line program
// (MATAPPROX_PYTHON_PROGRAM).
namespace matapprox::python {

void bind_program(nb::module_& /*m*/) {}

}  // namespace matapprox::python
