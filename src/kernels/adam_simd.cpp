#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adam_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <vector>

#include "kernels/adam.hpp"
#include "matapprox/core/memory.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::soap::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A vector contains one number of each of several neighboring rows, at the same index.
using Tag = hn::CappedTag<float, kSoapRows>;
using V = hn::Vec<Tag>;
constexpr Index kLanes = hn::MaxLanes(Tag());

HWY_INLINE V all(double value) { return hn::Set(Tag(), static_cast<float>(value)); }
HWY_INLINE V load(const float* from) { return hn::LoadU(Tag(), from); }

/// Cosine and sine of a plane rotation.
struct Rotation {
  V c;
  V s;

  /// (x, y) becomes (c x - s y, s x + c y).
  HWY_INLINE void apply(float* x, float* y) const {
    const V a = load(x);
    const V b = load(y);
    hn::StoreU(hn::NegMulAdd(s, b, hn::Mul(c, a)), Tag(), x);
    hn::StoreU(hn::MulAdd(s, a, hn::Mul(c, b)), Tag(), y);
  }
};

/// The rotation that makes [pp pq; pq qq] diagonal; the angle is at most pi / 4. If squares
/// underflow it is another one, but always a rotation.
HWY_INLINE Rotation jacobi_rotation(V pp, V pq, V qq) {
  const V difference = hn::Sub(qq, pp);
  const V twice = hn::Add(pq, pq);
  const V root = hn::Sqrt(hn::MulAdd(difference, difference, hn::Mul(twice, twice)));
  const V below = hn::Add(hn::Add(hn::Abs(difference), root), all(1e-37));
  const V tangent = hn::Div(hn::CopySign(twice, hn::Xor(twice, difference)), below);
  const V c = hn::Div(all(1), hn::Sqrt(hn::MulAdd(tangent, tangent, all(1))));
  return {c, hn::Mul(tangent, c)};
}

/// Rotates axes p and q of the vector's rows.
HWY_INLINE void rotate_pair(
    Index K, Index p, Index q, float* axes, float* products, float* squares) {
  const auto at = [K](float* matrix, Index i, Index k) { return matrix + kSoapRows * (i * K + k); };
  const Rotation rotation =
      jacobi_rotation(load(at(products, p, p)), load(at(products, p, q)), load(at(products, q, q)));
  for (Index k = 0; k < K; ++k) {
    rotation.apply(at(products, p, k), at(products, q, k));
    rotation.apply(at(axes, p, k), at(axes, q, k));
  }
  for (Index k = 0; k < K; ++k) rotation.apply(at(products, k, p), at(products, k, q));
  // The squares change as if the two coordinates were uncorrelated.
  float* square_p = squares + kSoapRows * p;
  float* square_q = squares + kSoapRows * q;
  const V cc = hn::Mul(rotation.c, rotation.c);
  const V ss = hn::Mul(rotation.s, rotation.s);
  const V a = load(square_p);
  const V b = load(square_q);
  hn::StoreU(hn::MulAdd(ss, b, hn::Mul(cc, a)), Tag(), square_p);
  hn::StoreU(hn::MulAdd(ss, a, hn::Mul(cc, b)), Tag(), square_q);
}

/// One round of a round-robin tournament of the axes, in which each is paired with one other; if K
/// is odd, one axis is idle.
HWY_INLINE void rotate_axes(Index K, Index number, float* axes, float* products, float* squares) {
  const Index others = K + K % 2 - 1;
  const Index round = number % others;
  const auto meet = [&](Index p, Index q) {
    if (p < K && q < K) rotate_pair(K, std::min(p, q), std::max(p, q), axes, products, squares);
  };
  meet(others, round);
  for (Index i = 1; i <= others / 2; ++i) meet((round + i) % others, (round - i + others) % others);
}

/// Updates coordinates and products for the rows of one vector; the direction of the step
/// overwrites `mean`.
HWY_INLINE void precondition(
    const SoapStep& step, Index K, const float* gradient, float* mean, float* block, float* work) {
  const Tag d;
  float* axes = block;
  float* products = axes + kSoapRows * K * K;
  float* squares = products + kSoapRows * K * K;
  rotate_axes(K, step.number, axes, products, squares);
  float* coordinates = work;
  float* moves = work + kSoapRows * K;
  for (Index p = 0; p < K; ++p) {
    V g = hn::Zero(d);
    V m = hn::Zero(d);
    for (Index k = 0; k < K; ++k) {
      const V axis = load(axes + kSoapRows * (p * K + k));
      g = hn::MulAdd(axis, load(gradient + kSoapRows * k), g);
      m = hn::MulAdd(axis, load(mean + kSoapRows * k), m);
    }
    float* square = squares + kSoapRows * p;
    const V fresh = hn::Mul(all(1 - step.adam.square_decay), hn::Mul(g, g));
    const V v = hn::MulAdd(all(step.adam.square_decay), load(square), fresh);
    hn::StoreU(v, d, square);
    hn::StoreU(g, d, coordinates + kSoapRows * p);
    const V below = hn::MulAdd(all(step.adam.square_scale), hn::Sqrt(v), all(step.adam.epsilon));
    hn::StoreU(hn::Div(m, below), d, moves + kSoapRows * p);
  }
  for (Index p = 0; p < K; ++p) {
    const V g = hn::Mul(all(1 - step.product_decay), load(coordinates + kSoapRows * p));
    for (Index q = 0; q < K; ++q) {
      float* product = products + kSoapRows * (p * K + q);
      const V old = hn::Mul(all(step.product_decay), load(product));
      hn::StoreU(hn::MulAdd(g, load(coordinates + kSoapRows * q), old), d, product);
    }
  }
  for (Index k = 0; k < K; ++k) {
    V move = hn::Zero(d);
    for (Index p = 0; p < K; ++p)
      move = hn::MulAdd(load(axes + kSoapRows * (p * K + k)), load(moves + kSoapRows * p), move);
    hn::StoreU(move, d, mean + kSoapRows * k);
  }
}

void step_block(const SoapStep& step,
                Index rows,
                Index K,
                const double* gradient,
                double* mean,
                float* block,
                double* x) {
  thread_local std::vector<float> scratch;
  scratch.assign(static_cast<std::size_t>(4 * kSoapRows * K), 0.0F);
  float* gradients = scratch.data();
  float* means = gradients + kSoapRows * K;
  float* work = means + kSoapRows * K;
  for (Index r = 0; r < rows; ++r) {
    for (Index k = 0; k < K; ++k) {
      const double g = gradient[r * K + k];
      double& m = mean[r * K + k];
      m = step.adam.mean_decay * m + (1 - step.adam.mean_decay) * g;
      gradients[kSoapRows * k + r] = static_cast<float>(g);
      means[kSoapRows * k + r] = static_cast<float>(m);
    }
  }
  for (Index r = 0; r < kSoapRows; r += kLanes)
    precondition(step, K, gradients + r, means + r, block + r, work + r);
  for (Index r = 0; r < rows; ++r) {
    for (Index k = 0; k < K; ++k) x[r * K + k] -= step.adam.mean_step * means[kSoapRows * k + r];
  }
}

}  // namespace matapprox::kernels::soap::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels {
namespace soap {

HWY_EXPORT(step_block);

}  // namespace soap

void adam_step(const AdamStep& step,
               const double* gradient,
               Index count,
               double* mean,
               double* square,
               double* x) {
  constexpr Index kChunk = 8192;
  parallel_for((count + kChunk - 1) / kChunk, [&](Index chunk) {
    const Index first = chunk * kChunk;
    const Index size = std::min(kChunk, count - first);
    const auto g = Eigen::Map<const Vector>(gradient + first, size).array();
    auto m = Eigen::Map<Vector>(mean + first, size).array();
    auto v = Eigen::Map<Vector>(square + first, size).array();
    m = step.mean_decay * m + (1 - step.mean_decay) * g;
    v = step.square_decay * v + (1 - step.square_decay) * g.square();
    Eigen::Map<Vector>(x + first, size).array() -=
        step.mean_step * m / (v.sqrt() * step.square_scale + step.epsilon);
  });
}

void start_soap(Index K, float* block) {
  std::fill_n(block, soap_block_size(K), 0.0F);
  for (Index k = 0; k < K; ++k) std::fill_n(block + kSoapRows * (k * K + k), kSoapRows, 1.0F);
}

void soap_step(const SoapStep& step,
               Index rows,
               Index K,
               const double* gradient,
               double* mean,
               float* block,
               double* x) {
  using namespace soap;
  HWY_DYNAMIC_DISPATCH(step_block)(step, rows, K, gradient, mean, block, x);
}

}  // namespace matapprox::kernels
#endif  // HWY_ONCE
