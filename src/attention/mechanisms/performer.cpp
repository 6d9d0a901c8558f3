#include <cmath>

#include "attention/kernels/elementwise.hpp"
#include "attention/kernels/instantiate.hpp"
#include "attention/mechanisms/feature_attention.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/linear_attention.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache.
enum PerformerArray : Index {
  kQueryRandomFeatures,
  kKeyRandomFeatures,
  kQueryPeaks,  ///< column of the largest entry of each row
  kKeyPeak      ///< row and column of the largest entry
};

template <class T>
class PerformerCore final : public HeadCore<T> {
 public:
  PerformerCore(Index head_width, const ParameterSlot& omega)
      : scale_(std::pow(static_cast<double>(head_width), -0.25)),
        share_(1 / std::sqrt(static_cast<double>(omega.rows))),
        omega_(omega) {}

  void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const override {
    const Index n = in.Q.rows();
    TokenMap<T> F = cache.array(kQueryRandomFeatures, n, omega_.rows);
    TokenMap<T> G = cache.array(kKeyRandomFeatures, n, omega_.rows);
    exponents(context, in.Q, F);
    exponents(context, in.K, G);
    stabilise_rows(context, F, cache.array(kQueryPeaks, n, 1));
    stabilise_all(context, G, cache.array(kKeyPeak, 1, 2));
    to_features(F);
    to_features(G);
    clear_padding<T>(context.mask, G);
    feature_attention<T>(context, {F, G, in.V}, false, H, cache.child(0));
  }

  void backward(Context<T> context,
                HeadInputs<T> in,
                In<T> H,
                In<T> dH,
                HeadGradients<T> d,
                Cache<T>& cache) const override {
    const Index n = in.Q.rows();
    const Index D = omega_.rows;
    const TokenMap<T> F = cache.array(kQueryRandomFeatures, n, D);
    const TokenMap<T> G = cache.array(kKeyRandomFeatures, n, D);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> dF = scope.take(n, D);
    TokenMap<T> dG = scope.take(n, D);
    feature_attention_backward<T>(
        context, {F, G, in.V}, false, H, dH, {dF, dG, d.V}, cache.child(0));
    from_features(F, dF);
    from_features(G, dG);
    // The peak was subtracted from each entry, so its derivative is minus the sum of theirs.
    const TokenMap<T> peaks = cache.array(kQueryPeaks, n, 1);
    for (Index i = 0; i < n; ++i) dF(i, place(peaks(i, 0))) -= dF.row(i).sum();
    const TokenMap<T> peak = cache.array(kKeyPeak, 1, 2);
    if (count_tokens(context.mask, n) > 0) dG(place(peak(0, 0)), place(peak(0, 1))) -= dG.sum();
    exponents_backward(context, in.Q, dF, d.Q);
    exponents_backward(context, in.K, dG, d.K);
  }

  AttentionCost cost(Index length, Index width) const override {
    const Index D = omega_.rows;
    return {2 * length * D * width + 2 * length * D * (width + 1),
            2 * length * D + length * (width + 3)};
  }

 private:
  /// E = x Omega^T - |x|^2 / 2 for each row x of scale X.
  void exponents(Context<T> context, In<T> X, Out<T> E) const {
    multiply_by_transpose<T>(X, context.value(omega_), E, scale_);
    for (Index i = 0; i < X.rows(); ++i)
      E.row(i).array() -= X.row(i).squaredNorm() * T(scale_ * scale_ / 2);
  }
  void exponents_backward(Context<T> context, In<T> X, In<T> dE, Out<T> dX) const {
    multiply<T>(dE, context.value(omega_), dX, scale_);
    for (Index i = 0; i < X.rows(); ++i)
      dX.row(i) -= X.row(i) * (dE.row(i).sum() * T(scale_ * scale_));
  }

  /// Subtracts from each row its largest entry. `peaks` stores the column of this entry as a
  /// number.
  static void stabilise_rows(Context<T> /*context*/, Out<T> E, Out<T> peaks) {
    for (Index i = 0; i < E.rows(); ++i) {
      Index best = 0;
      for (Index j = 1; j < E.cols(); ++j) best = E(i, j) > E(i, best) ? j : best;
      peaks(i, 0) = static_cast<T>(best);
      const T peak = E(i, best);
      E.row(i).array() -= peak;
    }
  }
  static void stabilise_all(Context<T> context, Out<T> E, Out<T> peak) {
    Index row = -1;
    Index column = 0;
    for (Index i = 0; i < E.rows(); ++i) {
      if (!is_token(context.mask, i)) {
        E.row(i).setZero();
        continue;
      }
      if (row < 0) row = i;
      for (Index j = 0; j < E.cols(); ++j) {
        if (E(i, j) > E(row, column)) {
          row = i;
          column = j;
        }
      }
    }
    if (row < 0) return;
    peak(0, 0) = static_cast<T>(row);
    peak(0, 1) = static_cast<T>(column);
    const T largest = E(row, column);
    E.array() -= largest;
  }
  static Index place(T number) { return static_cast<Index>(number); }

  void to_features(Out<T> E) const {
    for (Index i = 0; i < E.rows(); ++i) kernels::exp(E.row(i).data(), E.row(i).data(), E.cols());
    E.array() = (E.array() + T(kMinFeature)) * T(share_);
  }
  /// dE = dF o dF/dE, where dF/dE is the exponential: F minus the constant.
  void from_features(In<T> F, Out<T> dF) const {
    dF.array() *= F.array() - T(kMinFeature * share_);
  }

  double scale_;
  double share_;
  ParameterSlot omega_;
};

}  // namespace

void PerformerOptions::visit(OptionVisitor& v) {
  v.visit("features", features, "number D of random features per head; 0: floor(p ln p)");
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

Index performer_features(const PerformerOptions& options, Index head_width) {
  const auto p = static_cast<double>(head_width);
  return options.features > 0 ? options.features
                              : std::max<Index>(static_cast<Index>(p * std::log(p)), 1);
}

template <class T>
std::unique_ptr<Attention<T>> performer(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const PerformerOptions& options) {
  shape.validate("performer");
  check_width("performer", "features", options.features, 0);
  require(
      !shape.causal,
      "performer: cannot be causal: its features of keys are scaled by a maximum over all tokens");
  const Index p = shape.head_width();
  const Index features = performer_features(options, p);
  const ParameterSlot omega = list.add(prefix + ".omega", features, p, Initial::orthogonal());
  list.set_trained(prefix + ".omega", false);
  const MultiHeadOptions heads{.output_projection = options.output_projection};
  auto core = std::make_unique<PerformerCore<T>>(p, omega);
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(performer, PerformerOptions);

}  // namespace matapprox::attention
