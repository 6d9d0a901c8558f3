// The routines that lapack.cpp calls if none are linked: they call the functions given to
// use_lapack().
#include <string>

#include "kernels/blas_library.hpp"
#include "kernels/fortran_lapack.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox {

namespace {

LapackFunctions& given() {
  static LapackFunctions functions{};
  return functions;
}

/// Calls `function`, whose parameters are not declared const, although no routine changes its
/// inputs.
template <class... Parameters, class... Arguments>
void call(const char* routine, void (*function)(Parameters*...), Arguments*... arguments) {
  if (function == nullptr) {
    throw NotAvailable(std::string(routine) +
                       ": this build has no LAPACK of its own, and none was set (use_lapack)");
  }
  function(const_cast<Parameters*>(arguments)...);
}

}  // namespace

void use_lapack(const LapackFunctions& functions, void* library) {
  given() = functions;
  kernels::look_for_open_blas(library);
}

}  // namespace matapprox

#define MATAPPROX_WITHOUT_PARENTHESES(...) __VA_ARGS__
#define MATAPPROX_DEFINE(name, parameters, arguments)                                         \
  void name##_ parameters {                                                                   \
    matapprox::call(#name, matapprox::given().name, MATAPPROX_WITHOUT_PARENTHESES arguments); \
  }
MATAPPROX_LAPACK_ROUTINES(MATAPPROX_DEFINE)
