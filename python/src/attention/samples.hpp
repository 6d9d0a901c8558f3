#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matapprox/attention/mechanisms/registry.hpp"

namespace matapprox::python {

namespace nb = nanobind;

/// Contiguous numbers in C order: samples x tokens x width, or rows x columns of a parameter.
template <class T>
using Numbers = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
/// Token mask: 1 for a token, 0 for padding; samples x tokens.
using TokenMask = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// The parameters as one block in the order of the list: the memory of the arrays if they are
/// contiguous there, as they are at the start, else a copy.
template <class T>
class ParameterBlock {
 public:
  /// Throws InvalidArgument unless there is an array of the right size for each parameter.
  ParameterBlock(const attention::ParameterList& list, const nb::sequence& arrays);
  const T* data() const { return data_; }

 private:
  const T* data_ = nullptr;
  std::vector<T> copy_;
};

/// Objects that keep their memory between uses. Guarded by the interpreter's lock, so that a fork
/// never inherits a separate lock that is held.
template <class Object>
class Idle {
 public:
  std::unique_ptr<Object> take() {
    if (objects_.empty()) return std::make_unique<Object>();
    std::unique_ptr<Object> object = std::move(objects_.back());
    objects_.pop_back();
    return object;
  }
  std::vector<std::unique_ptr<Object>> take(Index count) {
    std::vector<std::unique_ptr<Object>> taken;
    for (Index i = 0; i < count; ++i) taken.push_back(take());
    return taken;
  }
  void give(std::vector<std::unique_ptr<Object>>& objects) {
    for (std::unique_ptr<Object>& object : objects) {
      if (object) objects_.push_back(std::move(object));
    }
    objects.clear();
  }

 private:
  std::vector<std::unique_ptr<Object>> objects_;
};

/// A layer for one of the two number types.
template <class T>
struct TypedLayer {
  attention::AttentionShape shape;
  attention::ParameterList list;
  std::unique_ptr<attention::Attention<T>> layer;
  Idle<attention::Cache<T>> caches;
  Idle<attention::Workspace<T>> workspaces;
  Idle<std::vector<T>> gradients;

  TypedLayer(const std::string& mechanism,
             const attention::AttentionShape& given,
             const NamedOptions& options)
      : shape(given),
        layer(attention::make_attention<T>(mechanism, list, kPrefix, given, options)) {}

  static constexpr const char* kPrefix = "attention";
};

/// Settings of the application of a layer to samples.
struct Settings {
  std::vector<std::uint8_t> mask;  ///< mask of all samples; empty if all are tokens
  bool training = false;
  std::uint64_t seed = 1;  ///< seed of dropout
  bool auxiliary = false;  ///< true to compute the auxiliary loss
};

/// A batch after the forward pass of a layer, with the data of each sample for the backward pass.
/// Both passes must be given the same arrays.
template <class T>
class Samples {
 public:
  /// Runs the forward pass. Without `keep` no data are kept, and backward() begins with a forward
  /// pass of its own. Throws InvalidArgument for arrays that do not fit and samples that the layer
  /// rejects.
  Samples(std::shared_ptr<TypedLayer<T>> layer,
          const Numbers<const T>& X,
          const Numbers<T>& Y,
          const nb::sequence& parameters,
          Settings settings,
          bool keep);
  ~Samples();
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;

  /// Returns the mean of the samples' auxiliary losses; 0 if they were not computed.
  double auxiliary() const { return auxiliary_; }

  /// Sets dX and `gradient`, a block of all parameters. Releases the data of the forward pass:
  /// another call begins with a forward pass.
  void backward(const Numbers<const T>& X,
                const nb::sequence& parameters,
                const Numbers<const T>& dY,
                double auxiliary_weight,
                const Numbers<T>& dX,
                const Numbers<T>& gradient);

 private:
  attention::LayerContext<T> context_of(Index sample, const ParameterBlock<T>& block) const;
  template <class Array>
  void check(const char* what, const Array& array, Index width) const;

  std::shared_ptr<TypedLayer<T>> layer_;
  Settings settings_;
  Index count_ = 0;
  Index length_ = 0;
  double auxiliary_ = 0;
  std::vector<std::unique_ptr<attention::Cache<T>>> caches_;  ///< one per sample, or empty
};

}  // namespace matapprox::python
