#pragma once

#include <array>
#include <memory>
#include <span>

#include "matapprox/attention/linear.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

enum class Positions { kNone, kLearned, kSinusoidal };

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::Positions> {
  static constexpr std::array<std::string_view, 3> values{"none", "learned", "sinusoidal"};
};

}  // namespace matapprox

namespace matapprox::attention {

struct EmbeddingOptions {
  Positions positions = Positions::kNone;
  double position_scale = 1;  ///< factor of sinusoidal positions; 1/3 in Singularformer's code
  double init_std = 1;        ///< standard deviation of a token's vector at the start
  bool norm = false;          ///< a LayerNorm follows; the caller creates it, as it needs a cache
  bool cls_token = false;     ///< a learned vector in front of the sequence
  Index segments = 0;         ///< rows of a table, one of which is added to each token; 0: no table
  Index segment_separator = -1;  ///< token that ends a segment; -1: all tokens are in the first one
  void visit(OptionVisitor& v);
};

/// Content of a sequence: N token ids, or N x features numbers; the other is empty.
struct Sequence {
  std::span<const std::int32_t> tokens;
  std::span<const float> features;
};

/// The first layer of a model: X (N x d) from token ids (rows of a table, parameter PREFIX.token)
/// or from features (a linear map, PREFIX.feature), plus a vector for each position: learned
/// (PREFIX.position, length x d, normal) or sines and cosines, row i column 2 j: sin(i
/// 10000^(-2j/d)), column 2 j + 1 its cosine [VSP+17, Sec. 3.5]. Rows of padding are 0.
///
/// Like BERT [DCLT19], with `cls_token` row 0 is a learned vector (PREFIX.cls), which is never
/// padding; X then has one row more than the sequence, and positions count from it. With
/// `segments`, the row of PREFIX.segment of a token's segment is added to the token: the first
/// segment until the token `segment_separator` ends it, and so on to the last.
template <class T>
class Embedding {
 public:
  /// Either `vocabulary` or `features` is positive.
  Embedding(ParameterList& list,
            const std::string& prefix,
            Index width,
            Index length,
            Index vocabulary,
            Index features,
            const EmbeddingOptions& options);
  /// Returns the number of rows of X for a sequence: N, or N + 1 with a cls_token. Throws
  /// InvalidArgument if the sequence does not fit: no tokens, more than `length`, a token id beyond
  /// the vocabulary.
  Index check(const Sequence& sequence, Mask mask) const;
  /// context.mask is the mask of the rows of X.
  void forward(const LayerContext<T>& context, const Sequence& sequence, Tokens<T> X) const;
  void backward(const LayerContext<T>& context,
                const Sequence& sequence,
                const ConstTokens<T>& dX) const;

 private:
  /// Calls function(row, segment) for each row of X.
  template <class Function>
  void for_each_segment(const Sequence& sequence, Index rows, const Function& function) const;

  Index length_;
  Index vocabulary_;
  Index features_;
  Index first_;  ///< row of the first token: 1 after a cls_token, else 0
  Index segment_separator_;
  ParameterSlot token_;
  ParameterSlot cls_;
  ParameterSlot segment_;
  std::unique_ptr<Linear<T>> feature_;
  ParameterSlot position_;
  bool has_position_ = false;
  TokenMatrix<double> position_encoding_;  ///< sinusoidal positions, else empty
};

}  // namespace matapprox::attention
