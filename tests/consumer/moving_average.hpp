#pragma once

#include "matapprox/matapprox.hpp"

struct MovingAverageOptions {
  double decay = 0.5;
  void visit(matapprox::OptionVisitor& v) { v.visit("decay", decay, "share of the mean so far"); }
};

/// h_i = decay h_{i-1} + (1 - decay) v_i over the tokens.
template <class T>
class MovingAverage final : public matapprox::attention::HeadCore<T> {
  using Index = matapprox::Index;
  using LayerContext = matapprox::attention::LayerContext<T>;
  using Cache = matapprox::attention::Cache<T>;
  using In = matapprox::attention::ConstTokens<T>;
  using Out = matapprox::attention::Tokens<T>;

 public:
  explicit MovingAverage(double decay) : decay_(decay) {}

  void forward(const LayerContext& context,
               Index /*head*/,
               const In& /*Q*/,
               const In& /*K*/,
               const In& V,
               Out H,
               Cache& /*cache*/) const override {
    for (Index i = 0; i < V.rows(); ++i) {
      if (matapprox::attention::is_token(context.mask, i)) {
        H.row(i) = (T(1) - decay_) * V.row(i);
        if (i > 0) H.row(i) += decay_ * H.row(i - 1);
      } else if (i > 0) {
        H.row(i) = H.row(i - 1);
      } else {
        H.row(i).setZero();
      }
    }
  }

  void backward(const LayerContext& context,
                Index /*head*/,
                const In& /*Q*/,
                const In& /*K*/,
                const In& /*V*/,
                const In& /*H*/,
                const In& dH,
                Out /*dQ*/,
                Out /*dK*/,
                Out dV,
                Cache& /*cache*/) const override {
    dV = dH;  // dH_i, to which the part of h_{i+1} is added below
    for (Index i = dV.rows() - 1; i >= 0; --i) {
      const bool token = matapprox::attention::is_token(context.mask, i);
      if (i > 0) dV.row(i - 1) += (token ? decay_ : T(1)) * dV.row(i);
      dV.row(i) *= token ? T(1) - decay_ : T(0);
    }
  }

  matapprox::attention::AttentionCost cost(Index length, Index width) const override {
    return {2 * length * width, 0};
  }

 private:
  T decay_;
};

template <class T>
std::unique_ptr<matapprox::attention::Attention<T>> moving_average(
    matapprox::attention::ParameterList& list,
    const std::string& prefix,
    const matapprox::attention::AttentionShape& shape,
    const MovingAverageOptions& options = {}) {
  shape.validate("moving_average");
  return std::make_unique<matapprox::attention::MultiHead<T>>(
      list,
      prefix,
      shape,
      std::make_unique<MovingAverage<T>>(options.decay),
      matapprox::attention::MultiHeadOptions{.queries = false});
}
