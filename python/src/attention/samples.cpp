#include "samples.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "lock.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::python {
namespace {

using attention::Cache;
using attention::ConstTokenMap;
using attention::LayerContext;
using attention::TokenMap;
using attention::TokenMatrix;
using attention::Workspace;

/// Numbers of groups of samples with separate gradients, as in training: independent of the number
/// of threads, and smaller if the gradients would take more than kGradientNumbers numbers.
constexpr Index kMaxGroups = 16;
constexpr Index kMinGroups = 4;
constexpr Index kGradientNumbers = Index{1} << 26;
/// Number of parameters that a thread sums at a time.
constexpr Index kReduced = Index{1} << 15;

Index groups_of(Index samples, Index parameters) {
  const Index most =
      std::clamp(kGradientNumbers / std::max<Index>(parameters, 1), kMinGroups, kMaxGroups);
  return std::min(samples, most);
}

/// Returns the number of threads for `count` pieces of work.
Index workers_for(Index count) { return std::min<Index>(count, threads()); }

/// Calls work(i, worker) for i < count; a worker makes one call at a time.
template <class Work>
void share_out(Index count, Index workers, const Work& work) {
  std::atomic<Index> next{0};
  parallel_for(workers, [&](Index worker) {
    for (Index i = next++; i < count; i = next++) work(i, worker);
  });
}

Index size_of(const std::vector<attention::Parameter>& parameters) {
  Index size = 0;
  for (const attention::Parameter& p : parameters) size += p.size();
  return size;
}

}  // namespace

template <class T>
ParameterBlock<T>::ParameterBlock(const attention::ParameterList& list,
                                  const nb::sequence& arrays) {
  const std::vector<attention::Parameter>& parameters = list.parameters();
  require(nb::len(arrays) == parameters.size(),
          "attention: {} parameters are given, but the layer has {}",
          nb::len(arrays),
          parameters.size());
  std::vector<const T*> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const attention::Parameter& p = parameters[i];
    Numbers<const T> array;
    require(nb::try_cast(arrays[i], array, false) && array.ndim() == 2 &&
                static_cast<Index>(array.shape(0)) == p.rows &&
                static_cast<Index>(array.shape(1)) == p.cols,
            "attention: the parameter {} must be {} x {} numbers of the type of the samples, in "
            "row-major order",
            p.name,
            p.rows,
            p.cols);
    places.push_back(array.data());
  }
  if (parameters.empty()) return;
  data_ = places.front();
  bool in_one_piece = true;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    in_one_piece = in_one_piece && places[i] == data_ + parameters[i].offset;
  if (in_one_piece) return;
  copy_.resize(static_cast<std::size_t>(size_of(parameters)));
  for (std::size_t i = 0; i < parameters.size(); ++i)
    std::copy_n(places[i], parameters[i].size(), copy_.data() + parameters[i].offset);
  data_ = copy_.data();
}

template <class T>
template <class Array>
void Samples<T>::check(const char* what, const Array& array, Index width) const {
  require(array.ndim() == 3 && static_cast<Index>(array.shape(0)) == count_ &&
              static_cast<Index>(array.shape(1)) == length_ &&
              static_cast<Index>(array.shape(2)) == width,
          "attention: the array of {} must be {} x {} x {}",
          what,
          count_,
          length_,
          width);
}

template <class T>
LayerContext<T> Samples<T>::context_of(Index sample, const ParameterBlock<T>& block) const {
  LayerContext<T> context;
  context.parameters = block.data();
  if (!settings_.mask.empty()) {
    context.mask =
        attention::Mask(settings_.mask)
            .subspan(static_cast<std::size_t>(sample * length_), static_cast<std::size_t>(length_));
  }
  context.training = settings_.training;
  context.random = {settings_.seed, sample};
  return context;
}

template <class T>
Samples<T>::Samples(std::shared_ptr<TypedLayer<T>> layer,
                    const Numbers<const T>& X,
                    const Numbers<T>& Y,
                    const nb::sequence& parameters,
                    Settings settings,
                    bool keep)
    : layer_(std::move(layer)), settings_(std::move(settings)) {
  require(X.ndim() == 3, "attention: the array of samples has {} dimensions, not 3", X.ndim());
  count_ = static_cast<Index>(X.shape(0));
  length_ = static_cast<Index>(X.shape(1));
  const Index width = layer_->shape.width;
  const Index width_out = layer_->layer->width_out();
  layer_->shape.check_sample(length_, static_cast<Index>(X.shape(2)));
  check("results", Y, width_out);
  require(settings_.mask.empty() || static_cast<Index>(settings_.mask.size()) == count_ * length_,
          "attention: the mask must be {} x {}",
          count_,
          length_);
  const ParameterBlock<T> block(layer_->list, parameters);
  const Index workers = workers_for(count_);
  std::vector<std::unique_ptr<Cache<T>>> caches = layer_->caches.take(keep ? count_ : workers);
  std::vector<std::unique_ptr<Workspace<T>>> workspaces = layer_->workspaces.take(workers);
  std::vector<T> auxiliaries(static_cast<std::size_t>(count_));
  {
    const Unlocked unlocked;
    share_out(count_, workers, [&](Index i, Index worker) {
      LayerContext<T> context = context_of(i, block);
      context.workspace = workspaces[static_cast<std::size_t>(worker)].get();
      if (settings_.auxiliary) context.auxiliary = &auxiliaries[static_cast<std::size_t>(i)];
      layer_->layer->forward(context,
                             ConstTokenMap<T>(X.data() + i * length_ * width, length_, width),
                             TokenMap<T>(Y.data() + i * length_ * width_out, length_, width_out),
                             *caches[static_cast<std::size_t>(keep ? i : worker)]);
    });
  }
  double sum = 0;
  for (const T auxiliary : auxiliaries) sum += static_cast<double>(auxiliary);
  auxiliary_ = count_ == 0 ? 0 : sum / static_cast<double>(count_);
  layer_->workspaces.give(workspaces);
  if (keep) {
    caches_ = std::move(caches);
  } else {
    layer_->caches.give(caches);
  }
}

template <class T>
Samples<T>::~Samples() {
  layer_->caches.give(caches_);
}

template <class T>
void Samples<T>::backward(const Numbers<const T>& X,
                          const nb::sequence& parameters,
                          const Numbers<const T>& dY,
                          double auxiliary_weight,
                          const Numbers<T>& dX,
                          const Numbers<T>& gradient) {
  const Index width = layer_->shape.width;
  const Index width_out = layer_->layer->width_out();
  const Index size = layer_->list.size();
  check("samples", X, width);
  check("the result's gradient", dY, width_out);
  check("the samples' gradient", dX, width);
  require(gradient.ndim() == 1 && static_cast<Index>(gradient.size()) == size,
          "attention: the array of the parameters' gradient must have {} numbers",
          size);
  const ParameterBlock<T> block(layer_->list, parameters);
  const Index groups = groups_of(count_, size);
  const Index workers = workers_for(groups);
  std::vector<std::unique_ptr<Cache<T>>> caches = std::move(caches_);
  caches_.clear();
  const bool again = caches.empty();
  if (again) caches = layer_->caches.take(workers);
  std::vector<std::unique_ptr<Workspace<T>>> workspaces = layer_->workspaces.take(workers);
  std::vector<std::unique_ptr<std::vector<T>>> others =
      layer_->gradients.take(std::max<Index>(groups - 1, 0));
  {
    const Unlocked unlocked;
    // The first group's gradient is the result; the others are added to it in order.
    std::fill_n(gradient.data(), size, T(0));
    const double share = count_ == 0 ? 0 : auxiliary_weight / static_cast<double>(count_);
    share_out(groups, workers, [&](Index g, Index worker) {
      T* sum = gradient.data();
      if (g > 0) {
        std::vector<T>& own = *others[static_cast<std::size_t>(g - 1)];
        own.assign(static_cast<std::size_t>(size), T(0));
        sum = own.data();
      }
      TokenMatrix<T> Y;
      for (Index i = g * count_ / groups; i < (g + 1) * count_ / groups; ++i) {
        LayerContext<T> context = context_of(i, block);
        context.gradient = sum;
        context.workspace = workspaces[static_cast<std::size_t>(worker)].get();
        T unused = 0;
        if (settings_.auxiliary) {
          context.auxiliary = &unused;
          context.auxiliary_weight = share;
        }
        Cache<T>& cache = *caches[static_cast<std::size_t>(again ? worker : i)];
        const ConstTokenMap<T> sample(X.data() + i * length_ * width, length_, width);
        if (again) {
          Y.resize(length_, width_out);
          layer_->layer->forward(context, sample, Y, cache);
        }
        layer_->layer->backward(
            context,
            sample,
            ConstTokenMap<T>(dY.data() + i * length_ * width_out, length_, width_out),
            TokenMap<T>(dX.data() + i * length_ * width, length_, width),
            cache);
      }
    });
    parallel_for((size + kReduced - 1) / kReduced, [&](Index part) {
      const Index end = std::min(size, (part + 1) * kReduced);
      for (const std::unique_ptr<std::vector<T>>& other : others) {
        for (Index i = part * kReduced; i < end; ++i)
          gradient.data()[i] += (*other)[static_cast<std::size_t>(i)];
      }
    });
  }
  layer_->gradients.give(others);
  layer_->workspaces.give(workspaces);
  layer_->caches.give(caches);
}

template class ParameterBlock<float>;
template class ParameterBlock<double>;
template class Samples<float>;
template class Samples<double>;

}  // namespace matapprox::python
