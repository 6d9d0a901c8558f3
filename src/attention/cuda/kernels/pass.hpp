#pragma once

#include <vector>

#include "attention/layers/constants.hpp"
#include "device/cuda/kernels/reductions.hpp"
#include "matapprox/attention/options.hpp"

namespace matapprox::cuda {

using attention::ParameterSlot;

/// Weight and bias of a linear map or a norm.
struct LinearSlots {
  ParameterSlot weight;
  ParameterSlot bias;
};

/// Work arrays that the layers of a model use one after the other. They are numbered and only grow.
template <class T, class Queue>
class WorkArrays {
 public:
  explicit WorkArrays(const Queue& queue) : queue_(&queue) {}

  /// Returns at least `size` numbers of unspecified value. If the array of this number grows, its
  /// contents are lost.
  T* take(std::size_t number, Index size) {
    while (number >= arrays_.size()) arrays_.push_back(queue_->template array<T>(0));
    Array& array = arrays_[number];
    if (size > array.size()) {
      array = queue_->template array<T>(0);
      array = queue_->template array<T>(size);
    }
    return array.data();
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  const Queue* queue_;
  std::vector<Array> arrays_;
};

/// Numbers of the work arrays. Uses whose lifetimes overlap have different numbers.
enum WorkNumber : std::size_t {
  kBlockSum,      ///< rows x width, in a block
  kBlockBranch,   ///< likewise
  kHiddenSlope,   ///< rows x hidden: gradient of a hidden layer
  kAttentionOut,  ///< rows x width: result of an attention layer
  kSideBySide,    ///< rows x width: heads side by side, in an attention layer
  kHeadGradient,  ///< dH, dQ, dK, dV
  kQueryGradient,
  kKeyGradient,
  kValueGradient,
  kSoftmaxTile,
  kSoftmaxTileGradient,
  kSoftmaxLargest,
  kSoftmaxSums,
  kSoftmaxDots,
  kMixedKeyGradient,
  kMixedValueGradient,
  kMixtureGradient,
  kMixedInner,  ///< operands of the gradient of a mixture, arranged by RowsOfBatch
  kMixedOuter,
  kFeatureQueryGradient,
  kFeatureKeyGradient,
  kFeatureRows,  ///< N x (values + 1) for each head
  kFeatureRowGradient,
  kFeatureNorms,
  kPooledTokens,  ///< samples x width
};

/// Running numbers of a batch's samples since the start of training, from which dropout draws. The
/// second text of a sample has a different number, as in the library's Model.
struct SampleNumbers {
  Index first = 0;
  bool pairs = false;  ///< sequences are both texts of a sample, one after the other
  MATAPPROX_HD Index of(Index sequence) const {
    return pairs ? first + sequence / 2 + (sequence % 2) * attention::kSecondText
                 : first + sequence;
  }
};

/// Context of a pass of the layers over one batch.
template <class T, class Queue>
struct Pass {
  const T* parameters = nullptr;
  T* gradient = nullptr;               ///< same layout; set by backward passes
  const std::uint8_t* mask = nullptr;  ///< a byte for each row, or null
  const T* shares = nullptr;  ///< 1 / number of tokens of each sequence, or 0 if it has none
  Index sequences = 0;        ///< number of sequences: samples, or both texts of each
  Index length = 0;           ///< rows of a sequence
  std::uint64_t seed = 1;     ///< seed of dropout
  SampleNumbers numbers;
  Scratch<T, Queue>* scratch = nullptr;
  WorkArrays<T, Queue>* work = nullptr;

  const Queue& queue() const { return scratch->queue(); }
  Index rows() const { return sequences * length; }
};

/// A layer that mixes the tokens of each sample of a batch.
template <class T, class Queue>
class AttentionLayer {
 public:
  virtual ~AttentionLayer() = default;
  /// Returns the result, rows x the layer's width. It stays valid until the next layer's pass.
  virtual const T* forward(const Pass<T, Queue>& pass, const T* x) = 0;
  /// Computes the parameters' part of the gradient and dX from dY, after a forward pass of the same
  /// x. dX must not be dY.
  virtual void backward(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) = 0;
};

}  // namespace matapprox::cuda
