#include "matapprox/attention/mechanisms/psf.hpp"

#include <cmath>
#include <utility>

#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/chord_layer.hpp"
#include "attention/kernels/elementwise.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

/// Number of tokens whose networks are evaluated together, so that the hidden layers stay in the
/// CPU's cache.
constexpr Index kPsfRows = 256;
// Arrays of the cache: hidden layers after GELU, and GELU's derivative there; then W_1 .. W_M; then
// V_0 .. V_{M-1}.
constexpr Index kPsfHidden = 0;
constexpr Index kPsfSlope = 1;
constexpr Index kFactors = 2;

struct Widths {
  Index in;
  Index hidden;
  Index value;
};

/// Initial values of the second layer of a network that computes links.
LinearStart link_start(PsfStart start, Index hidden, Index links) {
  LinearStart fan_in = LinearStart::fan_in(hidden);
  switch (start) {
    case PsfStart::kFanIn:
      return fan_in;
    case PsfStart::kUnitRow: {
      // For unit tokens, a hidden layer initialized by fan_in has variance 1/3, and after GELU a
      // mean square of 0.1175.
      constexpr double kMeanSquare = 0.1175;
      const double standard_deviation =
          1 / std::sqrt(kMeanSquare * static_cast<double>(hidden) * static_cast<double>(links));
      return {Initial::normal(standard_deviation), Initial::constant(0)};
    }
    case PsfStart::kIdentity:
      fan_in.bias = Initial::first_column(1);
      return fan_in;
  }
  throw InvalidArgument("psf: unknown start");
}

template <class T>
class Psf final : public Attention<T> {
 public:
  Psf(ParameterList& list,
      const std::string& prefix,
      const AttentionShape& shape,
      const Widths& widths,
      const PsfOptions& options)
      : shape_(shape),
        links_(options.pattern),
        pattern_(named_chord_pattern(shape.length, options.pattern)),
        widths_(widths),
        residual_(options.residual) {
    const Index all = networks(pattern_) * widths.hidden;
    const LinearStart first = LinearStart::fan_in(widths.in);
    hidden_weight_ = list.add(prefix + ".hidden.weight", widths.in, all, first.weight);
    hidden_bias_ = list.add(prefix + ".hidden.bias", 1, all, first.bias);
    const auto add = [&](const std::string& name, Index out, const LinearStart& start) {
      const ParameterSlot weight =
          list.add(prefix + name + ".weight", widths.hidden, out, start.weight);
      outputs_.push_back({weight, list.add(prefix + name + ".bias", 1, out, start.bias)});
    };
    add(".value", widths.value, LinearStart::fan_in(widths.hidden));
    for (Index m = 0; m < pattern_.factors(); ++m) {
      const Index links = pattern_.links(m);
      add(fmt::format(".factor{}", m + 1), links, link_start(options.start, widths.hidden, links));
    }
  }

  Index width_out() const override { return widths_.value; }
  Index heads() const override { return 1; }
  void forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const override {
    ChordPattern other;
    const ChordPattern& pattern = pattern_of(X, other);
    run_networks(context, X, pattern, false, cache);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> result = scope.take(X.rows(), widths_.value);
    const Index M = pattern.factors();
    for (Index m = 0; m < M; ++m) {
      TokenMap<T> next = m + 1 == M ? result : value(cache, pattern, m + 1);
      chord_links<T>(
          offsets(pattern, m), factor(cache, pattern, m), value(cache, pattern, m), next);
      if (residual_) next += value(cache, pattern, 0);
    }
    Y = result;
  }
  void backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const override {
    const Index n = X.rows();
    ChordPattern other;
    const ChordPattern& pattern = pattern_of(X, other);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> dV0 = scope.take(n, widths_.value);
    TokenMap<T> blocks[] = {scope.take(n, widths_.value), scope.take(n, widths_.value)};
    TokenMap<T>* G = &blocks[0];
    TokenMap<T>* next = &blocks[1];
    TokenMap<T> dW = scope.take(n, pattern.stored_numbers() / n);
    dV0.setZero();
    *G = dY;
    for (Index m = pattern.factors() - 1; m >= 0; --m) {
      if (residual_) dV0 += *G;
      chord_links_weights<T>(offsets(pattern, m),
                             value(cache, pattern, m),
                             *G,
                             dW.middleCols(pattern.first_value(m) / n, pattern.links(m)));
      chord_links_transposed<T>(offsets(pattern, m), factor(cache, pattern, m), *G, *next);
      std::swap(G, next);
    }
    dV0 += *G;
    clear_padding<T>(context.mask, dV0);
    clear_padding<T>(context.mask, dW);
    pull_back_networks(context, X, pattern, dV0, dW, dX, cache);
  }
  void apply_map(Context<T> context, In<T> X, Index /*head*/, In<T> B, Out<T> Y, Cache<T>& cache)
      const override {
    const Index n = X.rows();
    ChordPattern other;
    const ChordPattern& pattern = pattern_of(X, other);
    run_networks(context, X, pattern, true, cache);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> first = scope.take(n, B.cols());
    TokenMap<T> before = scope.take(n, B.cols());
    TokenMap<T> next = scope.take(n, B.cols());
    copy_tokens<T>(context.mask, B, first);
    before = first;
    for (Index m = 0; m < pattern.factors(); ++m) {
      chord_links<T>(offsets(pattern, m), factor(cache, pattern, m), before, next);
      before = next;
      if (residual_) before += first;
    }
    Y = before;
  }
  void apply_map_transpose(Context<T> context,
                           In<T> X,
                           Index /*head*/,
                           In<T> B,
                           Out<T> Y,
                           Cache<T>& cache) const override {
    const Index n = X.rows();
    ChordPattern other;
    const ChordPattern& pattern = pattern_of(X, other);
    run_networks(context, X, pattern, true, cache);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> G = scope.take(n, B.cols());
    TokenMap<T> next = scope.take(n, B.cols());
    Y.setZero();
    G = B;
    for (Index m = pattern.factors() - 1; m >= 0; --m) {
      if (residual_) Y += G;
      chord_links_transposed<T>(offsets(pattern, m), factor(cache, pattern, m), G, next);
      G = next;
    }
    Y += G;
    clear_padding<T>(context.mask, Y);
  }
  AttentionCost cost(Index length) const override {
    const ChordPattern pattern = named_chord_pattern(length, links_);
    const Index all = networks(pattern) * widths_.hidden;
    const Index links = pattern.stored_numbers() / length;
    const Index M = pattern.factors();
    return {length * (widths_.in * all + widths_.hidden * (links + widths_.value) +
                      links * widths_.value),
            length * (2 * all + links + M * widths_.value)};
  }
  std::string remark() const override { return unreachable_text(pattern_); }

 private:
  /// Number of networks. Network 0 computes V_0, network m the factor W_m. Their hidden layers are
  /// stored side by side.
  Index networks(const ChordPattern& pattern) const { return pattern.factors() + 1; }
  /// Returns the pattern at the length of a sample. It is stored in `other` unless this is the
  /// largest length.
  const ChordPattern& pattern_of(In<T> X, ChordPattern& other) const {
    shape_.check_sample(X.rows(), X.cols());
    if (X.rows() == pattern_.order) return pattern_;
    other = named_chord_pattern(X.rows(), links_);
    return other;
  }
  static const std::vector<Index>& offsets(const ChordPattern& pattern, Index m) {
    return pattern.offsets[static_cast<std::size_t>(m)];
  }
  TokenMap<T> factor(Cache<T>& cache, const ChordPattern& pattern, Index m) const {
    const auto slot = kFactors + m;
    return cache.array(slot, pattern.order, pattern.links(m));
  }
  TokenMap<T> value(Cache<T>& cache, const ChordPattern& pattern, Index m) const {
    const auto slot = kFactors + pattern_.factors() + m;
    return cache.array(slot, pattern.order, widths_.value);
  }
  /// Fills W_1 .. W_M, and V_0 unless `factors_only`.
  void run_networks(Context<T> context,
                    In<T> X,
                    const ChordPattern& pattern,
                    bool factors_only,
                    Cache<T>& cache) const {
    const Index n = X.rows();
    const Index all = networks(pattern) * widths_.hidden;
    const auto weight = context.value(hidden_weight_).leftCols(all);
    const T* bias = context.value(hidden_bias_).data();
    TokenMap<T> hidden = cache.array(kPsfHidden, n, all);
    TokenMap<T> slope = cache.array(kPsfSlope, n, all);
    for (Index i = 0; i < n; i += kPsfRows) {
      const Index rows = std::min(kPsfRows, n - i);
      Tokens<T> own = hidden.middleRows(i, rows);
      multiply<T>(X.middleRows(i, rows), weight, own);
      kernels::biased_gelu_with_slope(bias, own.data(), slope.row(i).data(), rows, all);
      for (Index q = factors_only ? 1 : 0; q < networks(pattern); ++q) {
        const auto& out = outputs_[static_cast<std::size_t>(q)];
        TokenMap<T> to = q == 0 ? value(cache, pattern, 0) : factor(cache, pattern, q - 1);
        Tokens<T> part = to.middleRows(i, rows);
        const auto columns = to.cols();
        multiply<T>(own.middleCols(q * widths_.hidden, widths_.hidden),
                    context.value(out.weight).leftCols(columns),
                    part);
        kernels::add_to_rows(context.value(out.bias).data(), part.data(), rows, columns, columns);
      }
    }
    if (context.mask.empty()) return;
    if (!factors_only) clear_padding<T>(context.mask, value(cache, pattern, 0));
    for (Index m = 0; m < pattern.factors(); ++m) {
      TokenMap<T> W = factor(cache, pattern, m);
      clear_padding<T>(context.mask, W);
      for (Index i = 0; i < n; ++i) {
        if (!is_token(context.mask, i)) W(i, 0) = T(1);
      }
    }
  }
  /// Adds to the gradients of the second layers' biases, from dW_1 .. dW_M and dV_0.
  void pull_back_biases(Context<T> context,
                        const ChordPattern& pattern,
                        In<T> dV0,
                        In<T> dW) const {
    T* d_value = context.gradient_of(outputs_[0].bias).data();
    kernels::sum_rows(dV0.data(), dV0.rows(), dV0.cols(), dV0.outerStride(), d_value);
    // Sums of all factors side by side, like dW.
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> sums = scope.take(1, dW.cols());
    const auto over_factors = [&](const auto& function) {
      Index column = 0;
      for (Index m = 0; m < pattern.factors(); ++m) {
        const Index links = pattern.links(m);
        const auto& out = outputs_[static_cast<std::size_t>(m + 1)];
        function(sums.middleCols(column, links), context.gradient_of(out.bias).leftCols(links));
        column += links;
      }
    };
    over_factors([](auto sum, const auto& d_bias) { sum = d_bias; });
    kernels::sum_rows(dW.data(), dW.rows(), dW.cols(), dW.outerStride(), sums.data());
    over_factors([](const auto& sum, auto d_bias) { d_bias = sum; });
  }
  /// Adds to the gradients of all parameters and sets dX, from dW_1 .. dW_M and dV_0.
  void pull_back_networks(Context<T> context,
                          In<T> X,
                          const ChordPattern& pattern,
                          In<T> dV0,
                          Out<T> dW,
                          Out<T> dX,
                          Cache<T>& cache) const {
    const Index n = X.rows();
    const Index all = networks(pattern) * widths_.hidden;
    const TokenMap<T> hidden = cache.array(kPsfHidden, n, all);
    const TokenMap<T> slope = cache.array(kPsfSlope, n, all);
    pull_back_biases(context, pattern, dV0, dW);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> d_after = scope.take(kPsfRows, all);
    for (Index i = 0; i < n; i += kPsfRows) {
      const Index rows = std::min(kPsfRows, n - i);
      Index column = 0;
      for (Index q = 0; q < networks(pattern); ++q) {
        const auto& out = outputs_[static_cast<std::size_t>(q)];
        const Index columns = q == 0 ? widths_.value : pattern.links(q - 1);
        const ConstTokens<T> d_out = q == 0 ? ConstTokens<T>(dV0.middleRows(i, rows))
                                            : ConstTokens<T>(dW.block(i, column, rows, columns));
        if (q > 0) column += columns;
        const auto own = hidden.block(i, q * widths_.hidden, rows, widths_.hidden);
        multiply_transposed<T>(
            own, d_out, context.gradient_of(out.weight).leftCols(columns), 1, true);
        multiply_by_transpose<T>(
            d_out,
            context.value(out.weight).leftCols(columns),
            d_after.middleCols(q * widths_.hidden, widths_.hidden).topRows(rows));
      }
      Tokens<T> d_hidden = d_after.topRows(rows);
      kernels::scale_and_sum_rows(slope.row(i).data(),
                                  d_hidden.data(),
                                  rows,
                                  all,
                                  context.gradient_of(hidden_bias_).data());
      multiply_transposed<T>(X.middleRows(i, rows),
                             d_hidden,
                             context.gradient_of(hidden_weight_).leftCols(all),
                             1,
                             true);
      multiply_by_transpose<T>(
          d_hidden, context.value(hidden_weight_).leftCols(all), dX.middleRows(i, rows));
    }
  }

  AttentionShape shape_;
  ChordLinks links_;
  ChordPattern pattern_;  ///< at the largest length
  Widths widths_;
  bool residual_;
  ParameterSlot hidden_weight_;
  ParameterSlot hidden_bias_;
  struct Output {
    ParameterSlot weight;
    ParameterSlot bias;
  };
  std::vector<Output> outputs_;  ///< second layers of the networks
};

}  // namespace

void PsfOptions::visit(OptionVisitor& v) {
  v.visit_enum(
      "pattern",
      pattern,
      "links and factors: reference; paper: as in the paper's text; torch: as in its module");
  v.visit("value_width", value_width, "width c of the values; 0: the width of a token");
  v.visit("hidden",
          hidden,
          "hidden width of the networks that compute factors and values; 0: the width of a token");
  v.visit("residual", residual, "add V_0 after each factor");
  v.visit_enum("start",
               start,
               "initial weights; fan_in: as published; unit_row: rows of norm 1 on average; "
               "identity: links of a row to itself are 1");
}

template <class T>
std::unique_ptr<Attention<T>> psf(ParameterList& list,
                                  const std::string& prefix,
                                  const AttentionShape& shape,
                                  const PsfOptions& options) {
  shape.validate("psf");
  require(shape.heads == 1, "psf: has one head, not {}", shape.heads);
  require(!shape.causal, "psf: cannot be causal: its links lead around the ring of tokens");
  check_width("psf", "value_width", options.value_width, 0);
  check_width("psf", "hidden", options.hidden, 0);
  const Widths widths{shape.width,
                      options.hidden == 0 ? shape.width : options.hidden,
                      options.value_width == 0 ? shape.width : options.value_width};
  return std::make_unique<Psf<T>>(list, prefix, shape, widths, options);
}

MATAPPROX_INSTANTIATE_MECHANISM(psf, PsfOptions);

}  // namespace matapprox::attention
