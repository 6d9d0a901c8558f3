#include "matapprox/attention/mechanisms/softmax.hpp"

#include <cmath>

#include "attention/kernels/instantiate.hpp"
#include "attention/kernels/tiled_softmax.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {

void SoftmaxOptions::visit(OptionVisitor& v) {
  v.visit("residual_scores", residual_scores, "add the scores of the layers below (Realformer)");
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> softmax(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const SoftmaxOptions& options) {
  shape.validate("softmax", Probabilities::kFormed);
  const MultiHeadOptions heads{.output_projection = options.output_projection,
                               .residual_scores = options.residual_scores};
  auto core = std::make_unique<TiledSoftmaxCore<T>>(shape, std::make_unique<AllTiles>());
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(softmax, SoftmaxOptions);

Matrix softmax_map(const Matrix& Q, const Matrix& K) {
  require(Q.cols() == K.cols() && Q.cols() >= 1,
          "softmax_map: Q is {} x {}, K {} x {}",
          Q.rows(),
          Q.cols(),
          K.rows(),
          K.cols());
  Matrix S = Q * K.transpose() / std::sqrt(static_cast<double>(Q.cols()));
  for (Index i = 0; i < S.rows(); ++i) {
    S.row(i) = (S.row(i).array() - S.row(i).maxCoeff()).exp().matrix();
    S.row(i) /= S.row(i).sum();
  }
  return S;
}

ProjectedSoftmaxErrors projected_softmax_errors(const Matrix& Q,
                                                const Matrix& K,
                                                const Matrix& V,
                                                Index k,
                                                std::span<const double> deltas,
                                                std::uint64_t seed) {
  const Index n = K.rows();
  require(V.rows() == n, "projected_softmax: K has {} rows, V {}", n, V.rows());
  require(k >= 1, "projected_softmax: k = {} is below 1", k);
  const Matrix R = random_normal_matrix(seed, RandomStream::kJlProjection, k, n) /
                   std::sqrt(static_cast<double>(k));
  const Matrix P = softmax_map(Q, K);
  const Matrix exact = P * V;
  const Matrix RV = R * V;
  const Matrix off = P * (R.transpose() * RV) - exact;
  ProjectedSoftmaxErrors errors;
  errors.k = k;
  errors.product = off.norm() / exact.norm();
  const Vector rows = P.rowwise().norm();
  const Vector columns = V.colwise().norm();
  errors.pair =
      (rows.cwiseInverse().asDiagonal() * off * columns.cwiseInverse().asDiagonal()).norm() /
      std::sqrt(static_cast<double>(off.size()));
  const Matrix RK = R * K;
  for (const double delta : deltas) {
    require(std::isfinite(delta), "projected_softmax: delta {} is not finite", delta);
    const Matrix constructed = softmax_map(Q, delta * RK) * (std::exp(-delta) * RV);
    errors.constructed.push_back((constructed - exact).norm() / exact.norm());
  }
  return errors;
}

namespace {

class BigBirdTiles final : public TilePattern {
 public:
  BigBirdTiles(const AttentionShape& shape, const BigBirdOptions& options)
      : size_(options.block), rows_((shape.length + options.block - 1) / options.block) {
    for (Index head = 0; head < shape.heads; ++head) {
      for (Index i = 0; i < rows_; ++i) random_.push_back(draw(shape, head, i, options));
    }
  }
  Index size() const override { return size_; }
  bool meets(Index head, Index i, Index j, Index tiles) const override {
    if (always(i, j, tiles)) return true;
    if (i >= rows_) return false;  // beyond the largest length, where only a cost is computed
    const auto& others = random_[static_cast<std::size_t>(head * rows_ + i)];
    return std::find(others.begin(), others.end(), j) != others.end();
  }

 private:
  static bool always(Index i, Index j, Index tiles) {
    const auto global = [&](Index tile) { return tile == 0 || tile == tiles - 1; };
    return global(i) || global(j) || (i - j >= -1 && i - j <= 1);
  }

  /// Draws options.random_blocks distinct tiles, or fewer if there are no more, among the tiles
  /// that row i does not always attend to.
  std::vector<Index> draw(const AttentionShape& shape,
                          Index head,
                          Index i,
                          const BigBirdOptions& options) const {
    std::vector<Index> left;
    for (Index j = 0; j < rows_; ++j) {
      if (!always(i, j, rows_)) left.push_back(j);
    }
    std::vector<Index> drawn;
    const Index row = (shape.layer * shape.heads + head) * rows_ + i;
    while (static_cast<Index>(drawn.size()) < options.random_blocks && !left.empty()) {
      const Index at = random_index(shape.seed,
                                    RandomStream::kAttentionBuffer,
                                    row,
                                    static_cast<Index>(drawn.size()),
                                    static_cast<Index>(left.size()));
      drawn.push_back(left[static_cast<std::size_t>(at)]);
      left.erase(left.begin() + at);
    }
    return drawn;
  }

  Index size_;
  Index rows_;
  std::vector<std::vector<Index>> random_;  ///< indexed by head and tile of queries
};

}  // namespace

void BigBirdOptions::visit(OptionVisitor& v) {
  v.visit("block", block, "tokens per block");
  v.visit("random_blocks", random_blocks, "random blocks of keys per block of queries");
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> bigbird(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const BigBirdOptions& options) {
  shape.validate("bigbird", Probabilities::kFormed);
  require(options.block >= 1, "bigbird: block {} is below 1", options.block);
  require(
      options.random_blocks >= 0, "bigbird: random_blocks {} is negative", options.random_blocks);
  auto tiles = std::make_unique<BigBirdTiles>(shape, options);
  const MultiHeadOptions heads{.output_projection = options.output_projection};
  auto core = std::make_unique<TiledSoftmaxCore<T>>(shape, std::move(tiles));
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(bigbird, BigBirdOptions);

}  // namespace matapprox::attention
