// The module `matapprox._attention`: attention layers on arrays, the basis of matapprox.torch. It
// contains its own copy of the core, with threads set separately from `_core`.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <type_traits>

#include "common.hpp"
#include "lock.hpp"
#include "matapprox/core/memory.hpp"
#include "samples.hpp"

namespace matapprox::python {
namespace {

using attention::AttentionShape;
using attention::Mechanism;
using attention::Parameter;

nb::str text(std::string_view word) { return nb::str(word.data(), word.size()); }

nb::list mechanism_tuples() {
  nb::list result;
  for (const Mechanism& m : attention::mechanisms())
    result.append(nb::make_tuple(text(m.name), text(m.summary), option_tuples(m.options())));
  return result;
}

/// A layer for float32 and float64; each call passes the numbers of the parameters.
struct Layer {
  std::shared_ptr<TypedLayer<float>> single;
  std::shared_ptr<TypedLayer<double>> real;

  Layer(const std::string& mechanism, const AttentionShape& shape, const NamedOptions& options)
      : single(std::make_shared<TypedLayer<float>>(mechanism, shape, options)),
        real(std::make_shared<TypedLayer<double>>(mechanism, shape, options)) {}

  template <class T>
  const std::shared_ptr<TypedLayer<T>>& typed() const {
    if constexpr (std::is_same_v<T, float>) {
      return single;
    } else {
      return real;
    }
  }
};

nb::list parameter_tuples(const Layer& layer) {
  nb::list result;
  for (const Parameter& p : layer.real->list.parameters())
    result.append(nb::make_tuple(p.name, p.rows, p.cols, p.trained));
  return result;
}

template <class T>
Samples<T>* forward(const Layer& layer,
                    const Numbers<const T>& X,
                    const Numbers<T>& Y,
                    const nb::sequence& parameters,
                    const std::optional<TokenMask>& mask,
                    bool training,
                    std::uint64_t seed,
                    bool auxiliary,
                    bool keep) {
  Settings settings{{}, training, seed, auxiliary};
  if (mask) settings.mask.assign(mask->data(), mask->data() + mask->size());
  return new Samples<T>(layer.typed<T>(), X, Y, parameters, std::move(settings), keep);
}

template <class T>
void bind_samples(nb::module_& m, nb::class_<Layer>& layer, const char* name) {
  nb::class_<Samples<T>>(m, name)
      .def_prop_ro("auxiliary", &Samples<T>::auxiliary)
      .def("backward",
           &Samples<T>::backward,
           nb::arg().noconvert(),
           nb::arg(),
           nb::arg().noconvert(),
           nb::arg(),
           nb::arg().noconvert(),
           nb::arg().noconvert());
  layer.def("forward",
            &forward<T>,
            nb::rv_policy::take_ownership,
            nb::arg().noconvert(),
            nb::arg().noconvert(),
            nb::arg(),
            nb::arg().none(),
            nb::arg(),
            nb::arg(),
            nb::arg(),
            nb::arg());
}

}  // namespace
}  // namespace matapprox::python

NB_MODULE(_attention, m) {
  using namespace matapprox;
  using namespace matapprox::python;
#ifdef NDEBUG
  nb::set_leak_warnings(false);
#endif
  register_errors();
  m.def("set_threads", &set_threads);
  m.def("mechanisms", &mechanism_tuples);
  bind_lock(m);
  nb::class_<Layer> layer(m, "Layer");
  layer
      .def("__init__",
           [](Layer* self,
              const std::string& mechanism,
              const NamedOptions& options,
              Index width,
              Index heads,
              Index length,
              bool causal,
              std::uint64_t seed,
              double dropout) {
             AttentionShape shape;
             shape.width = width;
             shape.heads = heads;
             shape.length = length;
             shape.causal = causal;
             shape.seed = seed;
             shape.attention_dropout = dropout;
             new (self) Layer(mechanism, shape, options);
           })
      .def_prop_ro("parameters", &parameter_tuples)
      .def_prop_ro("width_out", [](const Layer& self) { return self.real->layer->width_out(); })
      .def_prop_ro("remark", [](const Layer& self) { return self.real->layer->remark(); })
      .def("initial_values", [](const Layer& self, std::uint64_t seed) {
        auto* kept = new std::vector<double>(self.real->list.initial_values<double>(seed));
        const nb::capsule owner(
            kept, [](void* data) noexcept { delete static_cast<std::vector<double>*>(data); });
        return nb::ndarray<nb::numpy, double>(kept->data(), {kept->size()}, owner);
      });
  bind_samples<float>(m, layer, "SingleSamples");
  bind_samples<double>(m, layer, "DoubleSamples");
}
