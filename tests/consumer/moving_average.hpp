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
  using Context = matapprox::attention::Context<T>;
  using HeadInputs = matapprox::attention::HeadInputs<T>;
  using HeadGradients = matapprox::attention::HeadGradients<T>;
  using Cache = matapprox::attention::Cache<T>;
  using In = matapprox::attention::In<T>;
  using Out = matapprox::attention::Out<T>;

 public:
  explicit MovingAverage(double decay) : decay_(decay) {}

  void forward(Context context, HeadInputs in, Out H, Cache& /*cache*/) const override {
    for (Index i = 0; i < H.rows(); ++i) {
      if (matapprox::attention::is_token(context.mask, i)) {
        H.row(i) = (T(1) - decay_) * in.V.row(i);
        if (i > 0) H.row(i) += decay_ * H.row(i - 1);
      } else if (i > 0) {
        H.row(i) = H.row(i - 1);
      } else {
        H.row(i).setZero();
      }
    }
  }

  void backward(Context context,
                HeadInputs /*in*/,
                In /*H*/,
                In dH,
                HeadGradients d,
                Cache& /*cache*/) const override {
    d.V = dH;  // dH_i, to which the part of h_{i+1} is added below
    for (Index i = dH.rows() - 1; i >= 0; --i) {
      const bool token = matapprox::attention::is_token(context.mask, i);
      if (i > 0) d.V.row(i - 1) += (token ? decay_ : T(1)) * d.V.row(i);
      d.V.row(i) *= token ? T(1) - decay_ : T(0);
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
