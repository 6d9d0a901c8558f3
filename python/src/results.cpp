#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/measure/measure.hpp"
#include "python.hpp"

namespace matapprox::python {
namespace {

/// Numbers of a factor as an array that only reads, and keeps the factor alive.
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

/// A list of (name, transposed, values): an array, the parts of a sparse matrix in compressed
/// rows, or an operator where a factor is made of something else.
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
      .def("save", [](const ApproximationHandle& A, const std::string& path) {
        const nb::gil_scoped_release release;
        SavedRecord record;
        record.provenance.rows = A.approximation->rows();
        record.provenance.cols = A.approximation->cols();
        save(path, *A.approximation, record);
      });

  nb::class_<CertifiedBound>(m, "CertifiedBound")
      .def_ro("value", &CertifiedBound::value)
      .def_ro("confidence", &CertifiedBound::confidence);
  nb::class_<Certificate>(m, "Certificate")
      .def_ro("frobenius", &Certificate::frobenius)
      .def_ro("spectral", &Certificate::spectral)
      .def_ro("relative", &Certificate::relative)
      .def_ro("products", &Certificate::products)
      .def_ro("passes", &Certificate::passes);
  nb::class_<Measurement>(m, "Measurement")
      .def_ro("error_frobenius", &Measurement::error_frobenius)
      .def_ro("relative_error", &Measurement::relative_error)
      .def_ro("error_is_exact", &Measurement::error_is_exact)
      .def_prop_ro("error_basis",
                   [](const Measurement& found) { return name_of(found.error_basis); })
      .def_ro("error_samples", &Measurement::error_samples)
      .def_ro("error_interval", &Measurement::error_interval)
      .def_ro("spectral_error_lower", &Measurement::spectral_error_lower)
      .def_ro("apply_seconds_1", &Measurement::apply_seconds_1)
      .def_ro("apply_seconds_64", &Measurement::apply_seconds_64)
      .def_ro("worse_than_zero", &Measurement::worse_than_zero)
      .def_ro("certificate", &Measurement::certificate);
}

}  // namespace matapprox::python
