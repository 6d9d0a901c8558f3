#pragma once

#include <vector>

#include "device/cuda/kernels/reductions.hpp"

namespace matapprox::cuda {

/// Where the layers of a model work, one after the other: arrays by number, which only grow.
template <class T, class Queue>
class WorkArrays {
 public:
  explicit WorkArrays(const Queue& queue) : queue_(&queue) {}

  /// At least `size` numbers of any value; what the array of this number held is lost if it grows.
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

/// Numbers of the arrays, one for each use that another one may not touch meanwhile.
enum WorkNumber : std::size_t {
  kBlockSum,      ///< rows x width: of a block
  kBlockBranch,   ///< likewise
  kHiddenSlope,   ///< rows x hidden: the derivative by a hidden layer
  kAttentionOut,  ///< rows x width: what an attention layer made
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
  kMixedInner,  ///< with the batch inside: keys or values, and gradients of mixtures
  kMixedOuter,
  kFeatureQueryGradient,
  kFeatureKeyGradient,
  kFeatureRows,  ///< N x (values + 1) for each head
  kFeatureRowGradient,
  kFeatureNorms,
  kPooledTokens,  ///< samples x width
};

/// The running numbers of a batch's samples since the start of training, which dropout draws from.
/// Of the second of two texts of a sample it is another one, as in the library's Model.
struct SampleNumbers {
  Index first = 0;
  bool pairs = false;  ///< sequences are both texts of a sample, one after the other

  static constexpr Index kSecondText = Index{1} << 46;
  MATAPPROX_HD Index of(Index sequence) const {
    return pairs ? first + sequence / 2 + (sequence % 2) * kSecondText : first + sequence;
  }
};

/// What the layers are given to work on one batch.
template <class T, class Queue>
struct Pass {
  const T* parameters = nullptr;
  T* gradient = nullptr;               ///< same layout; set by backward passes
  const std::uint8_t* mask = nullptr;  ///< a byte for each row, or null
  const T* shares = nullptr;           ///< 1 / tokens of each sequence, 0 without any
  Index sequences = 0;                 ///< samples, or both texts of each
  Index length = 0;                    ///< rows of a sequence
  std::uint64_t seed = 1;              ///< of dropout
  SampleNumbers numbers;
  Scratch<T, Queue>* scratch = nullptr;
  WorkArrays<T, Queue>* work = nullptr;

  const Queue& queue() const { return scratch->queue(); }
  Index rows() const { return sequences * length; }
};

}  // namespace matapprox::cuda
