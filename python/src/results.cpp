#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "matapprox/io/load.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/measure/measure.hpp"
#include "python.hpp"

namespace matapprox::python {
namespace {

/// Returns numbers of a factor as a read-only array that keeps the factor alive.
template <class T>
nb::object read_only(const Factor& factor,
                     const T* data,
                     std::initializer_list<std::size_t> shape,
                     std::initializer_list<std::int64_t> strides = {}) {
  using Kept = std::shared_ptr<const FactorValue>;
  const nb::capsule owner(new Kept(factor.value),
                          [](void* kept) noexcept { delete static_cast<Kept*>(kept); });
  return nb::ndarray<nb::numpy, const T>(data, shape, owner, strides).cast();
}

nb::object content_of(const Factor& factor) {
  if (const auto* A = std::get_if<Matrix>(factor.value.get())) {
    return read_only(factor,
                     A->data(),
                     {static_cast<std::size_t>(A->rows()), static_cast<std::size_t>(A->cols())},
                     {1, A->rows()});
  }
  if (const auto* d = std::get_if<Vector>(factor.value.get())) {
    return read_only(factor, d->data(), {static_cast<std::size_t>(d->size())});
  }
  if (const auto* A = std::get_if<SparseMatrix>(factor.value.get())) {
    const auto count = static_cast<std::size_t>(A->nonZeros());
    return nb::make_tuple(
        A->rows(),
        A->cols(),
        read_only(factor, A->valuePtr(), {count}),
        read_only(factor, A->innerIndexPtr(), {count}),
        read_only(factor, A->outerIndexPtr(), {static_cast<std::size_t>(A->rows()) + 1}));
  }
  return nb::cast(Handle{
      std::make_shared<FactorProduct>(std::vector<Factor>{{factor.name, factor.value, false}})});
}

/// Returns a list of (name, transposed, values), where values is an array, the parts of a sparse
/// matrix in compressed rows, or an operator for other kinds of factors.
nb::list factors_of(const ApproximationHandle& A) {
  nb::list result;
  for (const Factor& factor : A.approximation->factors()) {
    result.append(nb::make_tuple(factor.name, factor.transposed, content_of(factor)));
  }
  return result;
}

nb::dict summary_of(const ApproximationHandle& A) {
  const Summary& summary = A.approximation->summary;
  nb::dict result;
  result["method"] = summary.method;
  result["form"] = summary.form;
  result["rank"] = summary.rank == 0 ? nb::none() : nb::cast(summary.rank);
  const std::string_view termination = enum_name(summary.termination);
  result["termination"] = nb::str(termination.data(), termination.size());
  result["message"] = summary.message;
  result["iterations"] = summary.iterations;
  result["seed"] = summary.seed;
  nb::dict options;
  for (const OptionText& option : summary.options) options[option.name.c_str()] = option.value;
  result["options"] = options;
  nb::list history;
  for (const HistoryPoint& point : summary.history) {
    history.append(nb::make_tuple(point.iteration, point.seconds, point.relative_error));
  }
  result["history"] = history;
  result["chosen_columns"] = summary.chosen_columns;
  result["chosen_rows"] = summary.chosen_rows;
  return result;
}

template <class Names>
nb::str name_of(Names value) {
  const std::string_view name = enum_name(value);
  return nb::str(name.data(), name.size());
}

/// The members of a result, in order, for pickle.
auto members(Certificate& made) {
  return std::tie(
      made.frobenius, made.spectral, made.relative, made.rounding, made.products, made.passes);
}

auto members(Measurement& made) {
  return std::tie(made.error_frobenius,
                  made.relative_error,
                  made.error_is_exact,
                  made.error_samples,
                  made.error_interval,
                  made.spectral_error_lower,
                  made.apply_seconds_1,
                  made.apply_seconds_64,
                  made.worse_than_zero,
                  made.certificate);
}

int kind_of(const Certificate& made) { return static_cast<int>(made.norm); }
int kind_of(const Measurement& made) { return static_cast<int>(made.error_basis); }
void set_kind(Certificate& made, int kind) { made.norm = static_cast<CertifiedNorm>(kind); }
void set_kind(Measurement& made, int kind) { made.error_basis = static_cast<ErrorBasis>(kind); }

template <class Result>
nb::tuple state_of(const Result& result) {
  Result copy = result;
  const nb::object parts = std::apply(
      [](const auto&... part) { return nb::object(nb::make_tuple(part...)); }, members(copy));
  return nb::make_tuple(kind_of(result), parts);
}

template <class Result>
void set_state(Result& result, const nb::tuple& state) {
  new (&result) Result();
  set_kind(result, nb::cast<int>(state[0]));
  const auto parts = nb::cast<nb::tuple>(state[1]);
  std::size_t next = 0;
  std::apply(
      [&](auto&... part) { ((part = nb::cast<std::decay_t<decltype(part)>>(parts[next++])), ...); },
      members(result));
}

}  // namespace

ApproximationHandle handle_of(Approximation approximation) {
  ApproximationHandle handle;
  handle.approximation = std::make_shared<const Approximation>(std::move(approximation));
  handle.matrix = handle.approximation;
  return handle;
}

void bind_results(nb::module_& m) {
  nb::class_<ApproximationHandle, Handle>(m, "ApproximationOperator")
      .def_prop_ro("factors", &factors_of)
      .def_prop_ro("summary", &summary_of)
      .def_prop_ro("symmetrized",
                   [](const ApproximationHandle& A) { return A.approximation->symmetrized(); })
      .def_prop_ro("storage",
                   [](const ApproximationHandle& A) {
                     const Storage storage = A.approximation->storage();
                     const std::string_view precision = storage_precision(*A.approximation);
                     return nb::make_tuple(storage.numbers,
                                           storage.bytes,
                                           nb::str(precision.data(), precision.size()));
                   })
      .def("save",
           [](const ApproximationHandle& A, const std::string& path) {
             const Unlocked unlocked;
             SavedRecord record;
             record.provenance.rows = A.approximation->rows();
             record.provenance.cols = A.approximation->cols();
             save(path, *A.approximation, record);
           })
      .def("write_plain_factors", [](const ApproximationHandle& A, const std::string& path) {
        const Unlocked unlocked;
        return export_approximation(path, *A.approximation);
      });

  nb::class_<CertifiedBound>(m, "CertifiedBound", "A norm of the error is at most `value`.")
      .def_ro("value", &CertifiedBound::value, "The bound.")
      .def_ro("confidence",
              &CertifiedBound::confidence,
              "Probability with which the bound holds; 1 if the norm is known exactly.")
      .def("__getstate__",
           [](const CertifiedBound& bound) { return std::tuple(bound.value, bound.confidence); })
      .def("__setstate__", [](CertifiedBound& bound, const std::tuple<double, double>& state) {
        new (&bound) CertifiedBound{std::get<0>(state), std::get<1>(state)};
      });
  nb::class_<Certificate>(
      m, "Certificate", "Upper bounds of the error that hold with a stated confidence.")
      .def_ro("frobenius", &Certificate::frobenius, "Bound of the Frobenius norm, or None.")
      .def_ro("spectral", &Certificate::spectral, "Bound of the spectral norm, or None.")
      .def_ro("relative",
              &Certificate::relative,
              "`frobenius` divided by the Frobenius norm of the matrix, or None.")
      .def_ro("products",
              &Certificate::products,
              "Number of products with vectors that the bounds needed.")
      .def_ro("passes",
              &Certificate::passes,
              "Number of passes over the matrix that the bounds needed.")
      .def("__getstate__", &state_of<Certificate>)
      .def("__setstate__", &set_state<Certificate>);
  nb::class_<Measurement>(m, "Measurement", "Difference of an approximation from its matrix.")
      .def_ro(
          "error_frobenius", &Measurement::error_frobenius, "The Frobenius norm of the difference.")
      .def_ro(
          "relative_error",
          &Measurement::relative_error,
          "`error_frobenius` divided by the Frobenius norm of the matrix; None for a zero matrix.")
      .def_ro("error_is_exact", &Measurement::error_is_exact, "Whether both are exact.")
      .def_prop_ro(
          "error_basis",
          [](const Measurement& found) { return name_of(found.error_basis); },
          "Basis of the error: exact, vectors or columns.")
      .def_ro("error_samples",
              &Measurement::error_samples,
              "Number of random vectors or columns of an estimate; 0 if exact.")
      .def_ro("error_interval",
              &Measurement::error_interval,
              "95 % confidence interval of an estimate, or None.")
      .def_ro("spectral_error_lower",
              &Measurement::spectral_error_lower,
              "Lower bound of the spectral norm of the difference, or None if not measured.")
      .def_ro("apply_seconds_1",
              &Measurement::apply_seconds_1,
              "Median time of a product with a vector, or None.")
      .def_ro("apply_seconds_64",
              &Measurement::apply_seconds_64,
              "Median time of a product with 64 vectors, or None.")
      .def_ro(
          "worse_than_zero", &Measurement::worse_than_zero, "Whether the zero matrix is closer.")
      .def_ro("certificate", &Measurement::certificate, "Certificate, if requested, or None.")
      .def("__getstate__", &state_of<Measurement>)
      .def("__setstate__", &set_state<Measurement>);
}

}  // namespace matapprox::python
