#include <cmath>
#include <limits>

#include "attention/kernels/axis_softmax.hpp"
#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/dropout.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/low_rank.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

constexpr Index kInverseSteps = 6;
// Arrays of the cache; Z_0 .. Z_6 come last. Those after dropout exist only if dropout acts.
enum NystromformerArray : Index {
  kQueryLandmarks,
  kKeyLandmarks,
  kQueriesToLandmarks,
  kLandmarksToLandmarks,
  kLandmarksToKeys,
  kLandmarkValues,
  kInvertedValues,
  kKeptToLandmarks,
  kKeptToKeys,
  kInverses
};
// Dropout masks of a head: for the attention of queries to landmarks, and of landmarks to keys.
constexpr Index kToLandmarksSite = 0;
constexpr Index kToKeysSite = 1;

/// Run s of `count` covers rows begin(s) .. begin(s + 1) - 1 of n.
struct Runs {
  Index n;
  Index count;
  Index begin(Index s) const { return s * n / count; }
  Index tokens(Mask mask, Index s) const {
    if (mask.empty()) return begin(s + 1) - begin(s);
    return count_tokens(mask.subspan(static_cast<std::size_t>(begin(s)),
                                     static_cast<std::size_t>(begin(s + 1) - begin(s))),
                        begin(s + 1) - begin(s));
  }
};

/// Calls function(s, i, share) for each token i of each run s, where the shares of a run add up
/// to 1.
template <class T, class Function>
void for_each_token(Mask mask, const Runs& runs, const Function& function) {
  for (Index s = 0; s < runs.count; ++s) {
    const T share(1.0 / static_cast<double>(std::max<Index>(runs.tokens(mask, s), 1)));
    for (Index i = runs.begin(s); i < runs.begin(s + 1); ++i) {
      if (is_token(mask, i)) function(s, i, share);
    }
  }
}

template <class T>
void run_means(Mask mask, const Runs& runs, In<T> X, Out<T> means) {
  means.setZero();
  for_each_token<T>(
      mask, runs, [&](Index s, Index i, T share) { means.row(s) += X.row(i) * share; });
}

/// Adds the gradient of run_means to dX.
template <class T>
void run_means_backward(Mask mask, const Runs& runs, In<T> d_means, Out<T> dX) {
  for_each_token<T>(
      mask, runs, [&](Index s, Index i, T share) { dX.row(i) += d_means.row(s) * share; });
}

/// Returns the column of A with the largest sum, and that sum. Since A is row-stochastic, A^T
/// divided by the sum has norm <= 1.
template <class T>
std::pair<Index, T> largest_column(In<T> A) {
  Index best = 0;
  T largest = A.col(0).sum();
  for (Index j = 1; j < A.cols(); ++j) {
    const T sum = A.col(j).sum();
    if (sum > largest) {
      best = j;
      largest = sum;
    }
  }
  return {best, largest};
}

/// X = c I - X.
template <class T>
void subtract_from(double c, Out<T> X) {
  X = -X;
  for (Index i = 0; i < X.rows(); ++i) X(i, i) += T(c);
}

/// P = A Z, R1 = 7 I - P, R2 = 15 I - P R1, R3 = 13 I - P R2: the next Z is Z R3 / 4.
template <class T>
struct InverseStep {
  TokenMap<T> P, R1, R2, R3;

  InverseStep(typename Workspace<T>::Scope& scope, Index order)
      : P(scope.take(order, order)),
        R1(scope.take(order, order)),
        R2(scope.take(order, order)),
        R3(scope.take(order, order)) {}

  void evaluate(In<T> A, In<T> Z) {
    multiply<T>(A, Z, P);
    R1 = P;
    subtract_from<T>(7, R1);
    multiply<T>(P, R1, R2);
    subtract_from<T>(15, R2);
    multiply<T>(P, R2, R3);
    subtract_from<T>(13, R3);
  }
};

template <class T>
class NystromformerCore final : public HeadCore<T> {
 public:
  NystromformerCore(const AttentionShape& shape,
                    Index landmarks,
                    Index width,
                    const ParameterSlot& kernel)
      : scale_(1 / std::sqrt(static_cast<double>(shape.head_width()))),
        dropout_(shape),
        landmarks_(landmarks),
        width_(width),
        kernel_(kernel) {}

  void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const override {
    const bool drops = dropout_.acts(context);
    Arrays a(cache, runs_of(in.Q.rows()), in.Q.cols(), in.V.cols(), drops);
    run_means<T>(context.mask, a.runs, in.Q, a.Ql);
    run_means<T>(context.mask, a.runs, in.K, a.Kl);
    multiply_by_transpose<T>(in.Q, a.Kl, a.F1);
    softmax_rows<T>(a.F1, scale_, a.F1);
    multiply_by_transpose<T>(a.Ql, a.Kl, a.A);
    softmax_rows<T>(a.A, scale_, a.A);
    multiply_by_transpose<T>(a.Ql, in.K, a.F3);
    hide_padding(context.mask, a.F3);
    softmax_rows<T>(a.F3, scale_, a.F3);
    invert(context, a, cache);
    if (drops) {
      a.kept_F1 = a.F1;
      a.kept_F3 = a.F3;
      dropout_.apply<T>(context, in.head, 0, 0, a.kept_F1, kToLandmarksSite);
      dropout_.apply<T>(context, in.head, 0, 0, a.kept_F3, kToKeysSite);
    }
    multiply<T>(a.kept_F3, in.V, a.U);
    multiply<T>(a.inverse(cache, kInverseSteps), a.U, a.ZU);
    multiply<T>(a.kept_F1, a.ZU, H);
    convolve(context, in.head, in.V, H);
  }

  void backward(Context<T> context,
                HeadInputs<T> in,
                In<T> /*H*/,
                In<T> dH,
                HeadGradients<T> d,
                Cache<T>& cache) const override {
    const Index n = in.Q.rows();
    Arrays a(cache, runs_of(n), in.Q.cols(), in.V.cols(), dropout_.acts(context));
    const Index L = a.runs.count;
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> dF1 = scope.take(n, L);
    TokenMap<T> dA = scope.take(L, L);
    TokenMap<T> dF3 = scope.take(L, n);
    TokenMap<T> dU = scope.take(L, in.V.cols());
    TokenMap<T> dZU = scope.take(L, in.V.cols());
    TokenMap<T> dZ = scope.take(L, L);
    TokenMap<T> dQl = scope.take(L, in.Q.cols());
    TokenMap<T> dKl = scope.take(L, in.K.cols());

    multiply_by_transpose<T>(dH, a.ZU, dF1);
    dropout_.apply<T>(context, in.head, 0, 0, dF1, kToLandmarksSite);
    multiply_transposed<T>(a.kept_F1, dH, dZU);
    multiply_by_transpose<T>(dZU, a.U, dZ);
    multiply_transposed<T>(a.inverse(cache, kInverseSteps), dZU, dU);
    multiply_by_transpose<T>(dU, in.V, dF3);
    dropout_.apply<T>(context, in.head, 0, 0, dF3, kToKeysSite);
    multiply_transposed<T>(a.kept_F3, dU, d.V);
    convolve_backward(context, in.head, in.V, dH, d.V);
    invert_backward(context, a, cache, dZ, dA);

    softmax_rows_backward<T>(a.F1, scale_, dF1, dF1);
    softmax_rows_backward<T>(a.A, scale_, dA, dA);
    softmax_rows_backward<T>(a.F3, scale_, dF3, dF3);
    multiply<T>(dF1, a.Kl, d.Q);
    multiply_transposed<T>(dF1, in.Q, dKl);
    multiply<T>(dA, a.Kl, dQl);
    multiply_transposed<T>(dA, a.Ql, dKl, 1, true);
    multiply<T>(dF3, in.K, dQl, 1, true);
    multiply_transposed<T>(dF3, a.Ql, d.K);
    run_means_backward<T>(context.mask, a.runs, dQl, d.Q);
    run_means_backward<T>(context.mask, a.runs, dKl, d.K);
  }

  AttentionCost cost(Index length, Index width) const override {
    const Index L = std::min(landmarks_, length);
    return {
        4 * length * L * width + kInverseSteps * 4 * L * L * L + length * width_ * width,
        (dropout_.rate() > 0 ? 4 : 2) * length * L + (kInverseSteps + 2) * L * L + 4 * L * width};
  }

 private:
  struct Arrays {
    Runs runs;
    TokenMap<T> Ql, Kl, F1, A, F3, kept_F1, kept_F3, U, ZU;
    Arrays(Cache<T>& cache, const Runs& r, Index p, Index v, bool drops)
        : runs(r),
          Ql(cache.array(kQueryLandmarks, r.count, p)),
          Kl(cache.array(kKeyLandmarks, r.count, p)),
          F1(cache.array(kQueriesToLandmarks, r.n, r.count)),
          A(cache.array(kLandmarksToLandmarks, r.count, r.count)),
          F3(cache.array(kLandmarksToKeys, r.count, r.n)),
          kept_F1(cache.array(drops ? kKeptToLandmarks : kQueriesToLandmarks, r.n, r.count)),
          kept_F3(cache.array(drops ? kKeptToKeys : kLandmarksToKeys, r.count, r.n)),
          U(cache.array(kLandmarkValues, r.count, v)),
          ZU(cache.array(kInvertedValues, r.count, v)) {}
    TokenMap<T> inverse(Cache<T>& cache, Index step) const {
      return cache.array(kInverses + step, runs.count, runs.count);
    }
  };

  Runs runs_of(Index n) const { return {n, std::min(landmarks_, n)}; }

  static void hide_padding(Mask mask, Out<T> scores) {
    if (mask.empty()) return;
    for (Index j = 0; j < scores.cols(); ++j) {
      if (!is_token(mask, j))
        scores.col(j).setConstant(T(-std::numeric_limits<double>::infinity()));
    }
  }

  void invert(Context<T> context, const Arrays& a, Cache<T>& cache) const {
    typename Workspace<T>::Scope scope(*context.workspace);
    InverseStep<T> step(scope, a.runs.count);
    TokenMap<T> first = a.inverse(cache, 0);
    first = a.A.transpose() / largest_column<T>(a.A).second;
    for (Index t = 0; t < kInverseSteps; ++t) {
      const TokenMap<T> Z = a.inverse(cache, t);
      step.evaluate(a.A, Z);
      multiply<T>(Z, step.R3, a.inverse(cache, t + 1), 0.25);
    }
  }

  /// Sets dA from dZ, the derivative with respect to the last Z. Overwrites dZ.
  void invert_backward(
      Context<T> context, const Arrays& a, Cache<T>& cache, Out<T> dZ, Out<T> dA) const {
    const Index L = a.runs.count;
    typename Workspace<T>::Scope scope(*context.workspace);
    InverseStep<T> step(scope, L);
    TokenMap<T> dP = scope.take(L, L);
    TokenMap<T> dR3 = scope.take(L, L);
    TokenMap<T> dR2 = scope.take(L, L);
    TokenMap<T> dR1 = scope.take(L, L);
    TokenMap<T> before = scope.take(L, L);
    dA.setZero();
    for (Index t = kInverseSteps - 1; t >= 0; --t) {
      const TokenMap<T> Z = a.inverse(cache, t);
      step.evaluate(a.A, Z);
      multiply_transposed<T>(Z, dZ, dR3, 0.25);
      multiply_by_transpose<T>(dZ, step.R3, before, 0.25);
      multiply_by_transpose<T>(dR3, step.R2, dP, -1);
      multiply_transposed<T>(step.P, dR3, dR2, -1);
      multiply_by_transpose<T>(dR2, step.R1, dP, -1, true);
      multiply_transposed<T>(step.P, dR2, dR1, -1);
      dP -= dR1;
      multiply_by_transpose<T>(dP, Z, dA, 1, true);
      multiply_transposed<T>(a.A, dP, before, 1, true);
      dZ = before;
    }
    const auto [column, sum] = largest_column<T>(a.A);
    T along(0);
    for (Index i = 0; i < L; ++i) along += dZ.row(i).dot(a.A.col(i));
    dA += dZ.transpose() / sum;
    dA.col(column).array() -= along / (sum * sum);
  }

  /// Calls function(t, i, j) for the rows i and j = i + t - w/2 that tap t of the convolution
  /// connects, if row j is a token.
  template <class Function>
  void for_each_tap(Mask mask, Index n, const Function& function) const {
    for (Index t = 0; t < width_; ++t) {
      const Index shift = t - width_ / 2;
      for (Index i = std::max<Index>(0, -shift); i < std::min(n, n - shift); ++i) {
        if (is_token(mask, i + shift)) function(t, i, i + shift);
      }
    }
  }
  void convolve(Context<T> context, Index head, In<T> V, Out<T> H) const {
    if (width_ == 0) return;
    const ConstTokenMap<T> c = context.value(kernel_);
    for_each_tap(context.mask, V.rows(), [&](Index t, Index i, Index j) {
      H.row(i) += c(head, t) * V.row(j);
    });
  }
  void convolve_backward(Context<T> context, Index head, In<T> V, In<T> dH, Out<T> dV) const {
    if (width_ == 0) return;
    const ConstTokenMap<T> c = context.value(kernel_);
    TokenMap<T> dc = context.gradient_of(kernel_);
    for_each_tap(context.mask, V.rows(), [&](Index t, Index i, Index j) {
      dV.row(j) += c(head, t) * dH.row(i);
      dc(head, t) += dH.row(i).dot(V.row(j));
    });
  }

  double scale_;
  ProbabilityDropout dropout_;
  Index landmarks_;
  Index width_;
  ParameterSlot kernel_;
};

}  // namespace

void NystromformerOptions::visit(OptionVisitor& v) {
  v.visit("landmarks", landmarks, "number L of landmarks, which are means of runs of tokens");
  v.visit("convolution", convolution, "width of the convolution of the values, odd; 0: none");
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> nystromformer(ParameterList& list,
                                            const std::string& prefix,
                                            const AttentionShape& shape,
                                            const NystromformerOptions& options) {
  shape.validate("nystromformer", Probabilities::kFormed);
  require(options.landmarks >= 1, "nystromformer: landmarks {} is below 1", options.landmarks);
  require(options.convolution == 0 || (options.convolution > 0 && options.convolution % 2 == 1),
          "nystromformer: convolution {} is neither 0 nor odd",
          options.convolution);
  require(!shape.causal, "nystromformer: cannot be causal: its landmarks hold later tokens");
  ParameterSlot kernel;
  if (options.convolution > 0) {
    const Initial start = LinearStart::fan_in(options.convolution).weight;
    kernel = list.add(prefix + ".convolution", shape.heads, options.convolution, start);
  }
  auto core =
      std::make_unique<NystromformerCore<T>>(shape, options.landmarks, options.convolution, kernel);
  const MultiHeadOptions heads{.output_projection = options.output_projection};
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(nystromformer, NystromformerOptions);

}  // namespace matapprox::attention
