#pragma once

#include <array>

#include "matapprox/attention/layer.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

enum class Pool { kFlatten, kCls, kMean, kMax, kMaxMean, kNone };

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::Pool> {
  static constexpr std::array<std::string_view, 6> values{
      "flatten", "cls", "mean", "max", "max_mean", "none"};
};

}  // namespace matapprox

namespace matapprox::attention {

/// Reduces all tokens to one row: all rows one after the other (`flatten`, which ties a model to
/// one N), row 0 (`cls`), the mean or the maximum of each column over the tokens, these two side by
/// side (`max_mean`); or leaves the rows unchanged (`none`). Padding counts as 0 in `flatten` and
/// is ignored elsewhere; without any token the result is 0.
template <class T>
class Pooling {
 public:
  /// For tokens of that width; `flatten` requires N = length.
  Pooling(Pool pool, Index width, Index length);
  Index width_out() const;
  Index rows_out(Index length) const { return pool_ == Pool::kNone ? length : 1; }
  /// Throws InvalidArgument for another N with `flatten`.
  void forward(const LayerContext<T>& context, const ConstTokens<T>& X, Tokens<T> Y) const;
  void backward(const LayerContext<T>& context,
                const ConstTokens<T>& X,
                const ConstTokens<T>& dY,
                Tokens<T> dX) const;

 private:
  Pool pool_;
  Index width_;
  Index length_;
};

}  // namespace matapprox::attention
