// BLAS and LAPACK from SciPy, which exports its functions for Cython.
#include <dlfcn.h>
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>

#include "matapprox/core/error.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "python.hpp"

namespace matapprox::python {
namespace {

/// Returns true if `type`, in Cython's notation, is a pointer to Argument.
template <class Argument>
bool is_pointer_to(std::string_view type) {
  if constexpr (std::is_same_v<Argument, double>) {
    return type == "double *" || type.ends_with("_d *");  // SciPy's name for double
  } else if constexpr (std::is_same_v<Argument, int>) {
    return type == "int *";
  } else {
    return type == "char *";
  }
}

/// Returns true if `signature`, such as "void (char *, int *)", has these arguments.
template <class... Arguments>
bool takes(std::string_view signature) {
  constexpr std::string_view kHead = "void (";
  if (!signature.starts_with(kHead) || !signature.ends_with(")")) return false;
  signature.remove_prefix(kHead.size());
  signature.remove_suffix(1);
  const auto next = [&] {
    const std::size_t end = std::min(signature.find(", "), signature.size());
    const std::string_view type = signature.substr(0, end);
    signature.remove_prefix(std::min(end + 2, signature.size()));
    return type;
  };
  return (is_pointer_to<Arguments>(next()) && ...) && signature.empty();
}

/// Takes the function `routine` from a module's `__pyx_capi__`.
template <class... Arguments>
void take(const nb::dict& exported, const char* routine, void (*&function)(Arguments*...)) {
  const nb::object capsule =
      exported.contains(routine) ? nb::object(exported[routine]) : nb::none();
  const char* signature =
      PyCapsule_CheckExact(capsule.ptr()) != 0 ? PyCapsule_GetName(capsule.ptr()) : nullptr;
  if (signature == nullptr || !takes<Arguments...>(signature)) {
    throw NotAvailable(
        fmt::format("LAPACK: SciPy has {} as '{}', but this library calls it with 32-bit integers "
                    "and {} arguments; install SciPy with pip or conda",
                    routine,
                    signature == nullptr ? "nothing" : signature,
                    sizeof...(Arguments)));
  }
  function =
      reinterpret_cast<void (*)(Arguments * ...)>(PyCapsule_GetPointer(capsule.ptr(), signature));
}

/// Opens a library that is already loaded; it is never closed.
void* library_at(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) throw NotAvailable(path + ": LAPACK: not loaded as a shared library");
  return library;
}

void use_scipy(const nb::module_& blas, const nb::module_& lapack) {
  const nb::dict of_blas = nb::cast<nb::dict>(blas.attr("__pyx_capi__"));
  const nb::dict of_lapack = nb::cast<nb::dict>(lapack.attr("__pyx_capi__"));
  LapackFunctions functions{};
  take(of_blas, "dgemm", functions.dgemm);
  take(of_lapack, "dgesdd", functions.dgesdd);
  take(of_lapack, "dgesvd", functions.dgesvd);
  take(of_lapack, "dsyevd", functions.dsyevd);
  take(of_lapack, "dgeqrf", functions.dgeqrf);
  take(of_lapack, "dorgqr", functions.dorgqr);
  take(of_lapack, "dgeqp3", functions.dgeqp3);
  take(of_lapack, "dpotrf", functions.dpotrf);
  use_lapack(functions, library_at(nb::cast<std::string>(lapack.attr("__file__"))));
}

}  // namespace

void bind_lapack(nb::module_& m) {
  m.def("use_scipy", &use_scipy, nb::arg("blas"), nb::arg("lapack"));
}

}  // namespace matapprox::python
