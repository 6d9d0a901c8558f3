#pragma once

#include "losses.hpp"
#include "pooling.hpp"
#include "psf_layer.hpp"

namespace matapprox::cuda {

/// A model of PSF-Attn layers alone: embedding - layers - pool - linear head - loss, for batches of
/// samples of one length. Parameters lie in the order in which the library's Model has them.
struct PsfModelShape {
  Index samples = 0;     ///< of a batch
  Index length = 0;      ///< of each sample
  Index width = 0;       ///< of a token
  Index features = 0;    ///< numbers of a token, or 0:
  Index vocabulary = 0;  ///< token ids are 0 .. vocabulary - 1
  bool learned_positions = false;
  std::vector<double>
      position_encoding;  ///< length x width: positions that are not trained; or empty
  std::vector<PsfLayerShape> layers;
  TokenPool pool = TokenPool::kMean;
  Index outputs = 1;  ///< classes, or 1
  SampleLoss loss = SampleLoss::kSquared;
  double smoothing = 0;  ///< of labels
  double tolerance = 0;  ///< of a number

  // Set by lay_out.
  LinearPlaces feature;
  ParameterSlot token;
  ParameterSlot position;
  LinearPlaces head;
  Index parameters = 0;

  Index rows() const { return samples * length; }
  Index width_out() const { return layers.back().value; }
  Index pooled() const { return pooled_width(pool, width_out(), length); }
};

/// Sets the places of all parameters.
inline void lay_out(PsfModelShape& model) {
  Index next = 0;
  const auto add = [&](Index rows, Index cols) {
    const ParameterSlot place{next, rows, cols};
    next += place.size();
    return place;
  };
  const auto add_linear = [&](Index in, Index out) {
    const ParameterSlot weight = add(in, out);
    return LinearPlaces{weight, add(1, out)};
  };
  if (model.vocabulary > 0) {
    model.token = add(model.vocabulary, model.width);
  } else {
    model.feature = add_linear(model.features, model.width);
  }
  if (model.learned_positions) model.position = add(model.length, model.width);
  for (PsfLayerShape& layer : model.layers) {
    layer.first = add_linear(layer.in, layer.all_hidden());
    layer.outputs.clear();
    layer.outputs.push_back(add_linear(layer.hidden, layer.value));
    for (Index m = 0; m < layer.factors(); ++m)
      layer.outputs.push_back(add_linear(layer.hidden, layer.pattern.links(m)));
  }
  model.head = add_linear(model.pooled(), model.outputs);
  model.parameters = next;
}

/// A batch on the host: rows of all samples one after the other. What a model does not take is
/// null; so is the mask where there is no padding.
template <class T>
struct HostBatch {
  const T* features = nullptr;           ///< rows x features
  const std::int32_t* tokens = nullptr;  ///< rows
  const std::uint8_t* mask = nullptr;    ///< rows, 0 for padding
  const double* numbers = nullptr;       ///< samples: answers where the loss is squared
  const std::int32_t* labels = nullptr;  ///< samples: answers where it is not
};

}  // namespace matapprox::cuda
