#pragma once

#include <map>
#include <string>

#include "block_layer.hpp"
#include "losses.hpp"
#include "pooling.hpp"

namespace matapprox::cuda {

/// A model for batches of samples of one length: its options, with sizes that the task determines
/// and the positions of the parameters.
struct ModelShape {
  training::ModelOptions options;
  Index samples = 0;                      ///< samples of a batch
  Index length = 0;                       ///< rows of each sample, including a cls_token
  Index features = 0;                     ///< numbers of a token; 0: tokens are ids
  Index vocabulary = 0;                   ///< token ids are 0 .. vocabulary - 1
  std::vector<double> position_encoding;  ///< length x width, fixed; or empty
  std::vector<BlockShape> blocks;
  Index outputs = 1;                               ///< classes, or 1
  training::LossOptions loss{LossKind::kSquared};  ///< its kind is not kAuto
  double tolerance = 0;     ///< error from which on a predicted number is wrong
  bool label_sets = false;  ///< an answer is 0 or 1 for each class

  // Slots of the parameters.
  LinearSlots feature;
  ParameterSlot token;
  ParameterSlot position;
  ParameterSlot cls;
  ParameterSlot segment;
  LinearSlots embedding_norm_places;
  LinearSlots norm;
  LinearSlots pooler_places;
  LinearSlots head_hidden_layer;
  LinearSlots head;
  Index parameters = 0;

  /// True if a sample is two sequences, its texts; the head reads both joined.
  bool pairs() const { return options.pair_separator >= 0; }
  bool learned_positions() const {
    return options.embedding.positions == attention::Positions::kLearned;
  }
  bool final_norm() const {
    return options.final_norm && blocks.back().options.kind == BlockKind::kPreNorm;
  }
  /// Hidden width of a head Linear - GELU - Linear; 0: Linear.
  Index head_hidden() const {
    if (options.head == training::HeadKind::kLinear) return 0;
    return options.head_hidden == 0 ? joined() : options.head_hidden;
  }
  Index sequences() const { return pairs() ? 2 * samples : samples; }
  Index rows() const { return sequences() * length; }
  Index width_out() const { return blocks.back().width_out(); }
  /// Width of a pooled sequence, and of the vector that the head reads.
  Index pooled() const { return pooled_width(options.pool, width_out(), length); }
  Index joined() const { return (pairs() ? 4 : 1) * pooled(); }
};

namespace shape_detail {

/// Calls visit(name, rows, columns, place) for each parameter of a multi-head layer.
template <class Visit>
void visit_heads(MultiHeadShape& heads, const std::string& name, Index length, const Visit& visit) {
  const auto linear = [&](const char* own, LinearSlots& places) {
    visit(name + own + ".weight", heads.width, heads.width, places.weight);
    visit(name + own + ".bias", Index{1}, heads.width, places.bias);
  };
  const auto mixtures = [&](const char* own, std::vector<ParameterSlot>& places) {
    std::string full = heads.shared_by_layers ? "linformer" : name;
    full.append(".").append(own);
    places.resize(static_cast<std::size_t>(heads.mixtures_of_heads ? heads.heads : 1));
    for (std::size_t h = 0; h < places.size(); ++h) {
      const std::string number = heads.mixtures_of_heads ? std::to_string(h) : "";
      visit(full + number, heads.rank, length, places[h]);
    }
  };
  if (heads.kind == HeadMechanism::kLinformer) {
    mixtures("E", heads.E);
    if (!heads.tied) mixtures("F", heads.F);
  }
  if (heads.kind == HeadMechanism::kPerformer)
    visit(name + ".omega", heads.features, heads.head_width(), heads.omega);
  linear(".value", heads.value);
  if (heads.has_queries()) {
    linear(".query", heads.query);
    linear(".key", heads.key);
  }
  if (heads.output_projection) linear(".output", heads.output);
}

template <class Visit>
void visit_psf(PsfLayerShape& layer, const std::string& name, const Visit& visit) {
  const auto linear = [&](const std::string& own, Index in, Index out, LinearSlots& places) {
    visit(name + own + ".weight", in, out, places.weight);
    visit(name + own + ".bias", Index{1}, out, places.bias);
  };
  linear(".hidden", layer.in, layer.all_hidden(), layer.first);
  layer.outputs.resize(static_cast<std::size_t>(layer.networks()));
  linear(".value", layer.hidden, layer.value, layer.outputs[0]);
  for (Index m = 0; m < layer.factors(); ++m) {
    linear(".factor" + std::to_string(m + 1),
           layer.hidden,
           layer.pattern.links(m),
           layer.outputs[static_cast<std::size_t>(m) + 1]);
  }
}

}  // namespace shape_detail

/// Calls visit(name, rows, columns, place) for each parameter, with the names that the library's
/// Model uses. A parameter that layers share is visited once for each of them.
template <class Visit>
void visit_parameters(ModelShape& model, const Visit& visit) {
  const auto linear = [&](const std::string& name, Index in, Index out, LinearSlots& places) {
    visit(name + ".weight", in, out, places.weight);
    visit(name + ".bias", Index{1}, out, places.bias);
  };
  const auto norm = [&](const std::string& name, Index width, LinearSlots& places) {
    linear(name, Index{1}, width, places);
  };
  const Index d = model.options.width;
  if (model.vocabulary > 0) {
    visit("embedding.token", model.vocabulary, d, model.token);
  } else {
    linear("embedding.feature", model.features, d, model.feature);
  }
  if (model.learned_positions()) visit("embedding.position", model.length, d, model.position);
  if (model.options.embedding.cls_token) visit("embedding.cls", Index{1}, d, model.cls);
  if (model.options.embedding.segments > 0)
    visit("embedding.segment", model.options.embedding.segments, d, model.segment);
  if (model.options.embedding.norm) norm("embedding.norm", d, model.embedding_norm_places);
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    BlockShape& block = model.blocks[b];
    const std::string name = "block" + std::to_string(b);
    if (auto* psf = std::get_if<PsfLayerShape>(&block.attention)) {
      shape_detail::visit_psf(*psf, name + ".attention", visit);
    } else {
      shape_detail::visit_heads(
          std::get<MultiHeadShape>(block.attention), name + ".attention", model.length, visit);
    }
    if (block.options.kind == BlockKind::kBare) continue;
    norm(name + ".norm1", block.width, block.norm1);
    if (block.hidden() == 0) continue;
    norm(name + ".norm2", block.width, block.norm2);
    linear(name + ".feed_forward.hidden", block.width, block.hidden(), block.hidden_layer);
    linear(name + ".feed_forward.output", block.hidden(), block.width, block.output_layer);
  }
  if (model.final_norm()) norm("norm", model.width_out(), model.norm);
  if (model.options.pooler) linear("pooler", model.joined(), model.joined(), model.pooler_places);
  if (model.head_hidden() > 0) {
    linear("head.hidden", model.joined(), model.head_hidden(), model.head_hidden_layer);
    linear("head.output", model.head_hidden(), model.outputs, model.head);
  } else {
    linear("head", model.joined(), model.outputs, model.head);
  }
}

/// Sets the slots of all parameters, one after the other.
inline void assign_slots(ModelShape& model) {
  std::map<std::string, ParameterSlot> places;
  Index next = 0;
  visit_parameters(
      model, [&](const std::string& name, Index rows, Index cols, ParameterSlot& place) {
        const auto [at, is_new] = places.try_emplace(name, ParameterSlot{next, rows, cols});
        place = at->second;
        if (is_new) next += place.size();
      });
  model.parameters = next;
}

inline ModelShape laid_out(ModelShape model) {
  assign_slots(model);
  return model;
}

/// A batch on the host. The rows of all sequences follow each other. The first row of a sequence is
/// its cls_token, if there is one, with features 0 and token 0. The first text of a pair comes
/// before the second. Arrays that the model does not use are null; so is the mask if there is no
/// padding.
template <class T>
struct HostBatch {
  const T* features = nullptr;             ///< rows x features
  const std::int32_t* tokens = nullptr;    ///< rows
  const std::int32_t* segments = nullptr;  ///< rows
  const std::uint8_t* mask = nullptr;      ///< rows, 0 for padding
  const double* numbers = nullptr;         ///< samples: answers if the loss is squared
  const std::int32_t* labels = nullptr;    ///< samples (x outputs for sets): answers otherwise
};

}  // namespace matapprox::cuda
