// The module `matapprox._core`: the basis of the package's Python code, not meant for users.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "matapprox/best/best.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/methods/registry.hpp"
#include "python.hpp"

namespace matapprox::python {
namespace {

nb::list method_tuples() {
  nb::list result;
  for (const Method& method : methods()) {
    result.append(nb::make_tuple(nb::str(method.name.data(), method.name.size()),
                                 nb::str(method.summary.data(), method.summary.size()),
                                 option_tuples(method.options())));
  }
  return result;
}

}  // namespace
}  // namespace matapprox::python

NB_MODULE(_core, m) {
  using namespace matapprox;
  using namespace matapprox::python;
#ifdef NDEBUG
  nb::set_leak_warnings(false);
#endif
  register_errors();
  m.attr("__version__") = MATAPPROX_VERSION;
  m.def("set_threads", &set_threads, nb::arg("count"));
  m.def("threads", &threads);
  m.def("configure_blas", &configure_blas);
  m.def("blas", [] {
    const BlasInfo info = blas_info();
    return std::pair(info.library, info.core);
  });
  m.def("methods", &method_tuples);
  m.def("best_options", [] { return option_tuples(list_options(BestOptions{})); });
  m.def("load_options", [] { return option_tuples(list_options(LoadOptions{})); });
  bind_lock(m);
  bind_operators(m);
  bind_results(m);
  bind_fits(m);
  bind_lapack(m);
  bind_program(m);
}
