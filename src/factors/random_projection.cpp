#include "matapprox/factors/random_projection.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"

// The entries of R are part of the file format: docs/random.md defines their computation.

namespace matapprox {
namespace {

constexpr RandomStream kStream = RandomStream::kJlProjection;
/// Number of columns of R generated at a time: the panel of R in memory is k x 512 numbers.
constexpr Index kPanel = 512;

/// Time to generate an entry, in multiplications of a stored matrix with one vector (0.45 ns on a
/// Zen 4 core, where a normal number takes 11.6 ns, a sign 6.1 ns and a sparse entry 15.8 ns).
constexpr double kGaussianEntry = 25;
constexpr double kSignEntry = 13;
constexpr double kSparseEntry = 35;

Index next_power_of_two(Index n) {
  return static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// Sign j of sequence i: bit (j mod 128) of the 128 bits of counter (i, floor(j / 128)), set: -1.
double random_sign(const std::array<std::uint32_t, 4>& words, Index j) {
  const auto bit = static_cast<std::size_t>(j % 128);
  return ((words[bit / 32] >> (bit % 32)) & 1U) != 0U ? -1.0 : 1.0;
}

void fill_sign_row(std::uint64_t seed,
                   Index i,
                   Index first,
                   double scale,
                   Eigen::Ref<Eigen::RowVectorXd, 0, Eigen::InnerStride<>> row) {
  for (Index c = 0; c < row.size();) {
    const auto words = random_words(seed, kStream, i, (first + c) / 128);
    do {
      row(c) = scale * random_sign(words, first + c);
      ++c;
    } while (c < row.size() && (first + c) % 128 != 0);
  }
}

double sparse_entry(std::uint64_t seed, Index i, Index j, double size) {
  const double u = random_uniform(seed, kStream, i, j);
  if (u < 1.0 / 6.0) return size;
  return u < 1.0 / 3.0 ? -size : 0.0;
}

/// Columns first .. first+count-1 of a Gaussian, Rademacher or sparse R.
Matrix independent_columns(const RandomProjection& R, Index first, Index count) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(R.rows()));
  Matrix panel(R.rows(), count);
  if (R.kind() == ProjectionKind::kGaussian) {
    fill_normal(R.seed(), kStream, panel, 0, first);
    panel *= scale;
    return panel;
  }
  const double size = std::sqrt(3.0) * scale;
  parallel_for(R.rows(), [&](Index i) {
    if (R.kind() == ProjectionKind::kRademacher) {
      fill_sign_row(R.seed(), i, first, scale, panel.row(i));
    } else {
      for (Index c = 0; c < count; ++c) panel(i, c) = sparse_entry(R.seed(), i, first + c, size);
    }
  });
  return panel;
}

/// S, D and the scale of an SRHT, made once per product.
struct Srht {
  explicit Srht(const RandomProjection& R)
      : order(next_power_of_two(R.cols())),
        rows(static_cast<std::size_t>(order)),
        signs(1, R.cols()),
        scale(1.0 / std::sqrt(static_cast<double>(R.rows()))) {  // sqrt(p/k) / sqrt(p)
    // S: the first k of a Fisher-Yates shuffle, step s swaps s with s + random_index(1, s, p - s).
    std::iota(rows.begin(), rows.end(), Index{0});
    for (Index s = 0; s < R.rows(); ++s) {
      const Index other = s + random_index(R.seed(), kStream, 1, s, order - s);
      std::swap(rows[static_cast<std::size_t>(s)], rows[static_cast<std::size_t>(other)]);
    }
    rows.resize(static_cast<std::size_t>(R.rows()));
    fill_sign_row(R.seed(), 0, 0, 1.0, signs);  // D: sign sequence 0
  }
  Index order;
  std::vector<Index> rows;
  Eigen::RowVectorXd signs;
  double scale;
};

/// x := H x without the factor 1/sqrt(p): butterflies of length 1, 2, 4, ...
void hadamard(Vector& x) {
  const Index p = x.size();
  for (Index half = 1; half < p; half *= 2) {
    for (Index block = 0; block < p; block += 2 * half) {
      for (Index i = block; i < block + half; ++i) {
        const double a = x(i);
        const double b = x(i + half);
        x(i) = a + b;
        x(i + half) = a - b;
      }
    }
  }
}

Matrix srht_apply(const RandomProjection& R, const ConstBlock& X) {
  const Srht srht(R);
  Matrix Y(R.rows(), X.cols());
  parallel_for(X.cols(), [&](Index c) {
    Vector x = Vector::Zero(srht.order);
    x.head(R.cols()) = srht.signs.transpose().cwiseProduct(X.col(c));
    hadamard(x);
    for (Index i = 0; i < R.rows(); ++i)
      Y(i, c) = srht.scale * x(srht.rows[static_cast<std::size_t>(i)]);
  });
  return Y;
}

/// Entry (i, j) of S H D: the sign of H at (i, j) is the parity of the bits that i and j share.
Matrix srht_columns(const RandomProjection& R, Index first, Index count) {
  const Srht srht(R);
  Matrix columns(R.rows(), count);
  parallel_for(count, [&](Index c) {
    const auto j = static_cast<std::uint64_t>(first + c);
    const double entry = srht.scale * srht.signs(first + c);
    for (Index i = 0; i < R.rows(); ++i) {
      const auto row = static_cast<std::uint64_t>(srht.rows[static_cast<std::size_t>(i)]);
      columns(i, c) = std::popcount(row & j) % 2 == 0 ? entry : -entry;
    }
  });
  return columns;
}

Matrix srht_apply_transpose(const RandomProjection& R, const ConstBlock& X) {
  const Srht srht(R);
  Matrix Y(R.cols(), X.cols());
  parallel_for(X.cols(), [&](Index c) {
    Vector x = Vector::Zero(srht.order);
    for (Index i = 0; i < R.rows(); ++i)
      x(srht.rows[static_cast<std::size_t>(i)]) = srht.scale * X(i, c);
    hadamard(x);
    Y.col(c) = srht.signs.transpose().cwiseProduct(x.head(R.cols()));
  });
  return Y;
}

}  // namespace

RandomProjection::RandomProjection(ProjectionKind kind, std::uint64_t seed, Index k, Index n)
    : kind_(kind), seed_(seed), k_(k), n_(n) {
  require(n >= 1, "random projection: {} columns; it needs at least 1", n);
  const Index most =
      kind == ProjectionKind::kSrht ? next_power_of_two(n) : std::numeric_limits<Index>::max();
  require(k >= 1 && k <= most, "random projection: dimension {} is outside 1..{}", k, most);
}

Matrix RandomProjection::apply(const ConstBlock& X) const {
  require(
      X.rows() == n_, "random projection: the block has {} rows, R has {} columns", X.rows(), n_);
  if (kind_ == ProjectionKind::kSrht) return srht_apply(*this, X);
  Matrix Y = Matrix::Zero(k_, X.cols());
  for (Index first = 0; first < n_; first += kPanel) {
    const Index count = std::min(kPanel, n_ - first);
    kernels::gemm(kernels::Trans::kNo,
                  independent_columns(*this, first, count),
                  kernels::Trans::kNo,
                  X.middleRows(first, count),
                  Y,
                  1.0,
                  1.0);
  }
  return Y;
}

Matrix RandomProjection::apply_transpose(const ConstBlock& X) const {
  require(X.rows() == k_, "random projection: the block has {} rows, R has {} rows", X.rows(), k_);
  if (kind_ == ProjectionKind::kSrht) return srht_apply_transpose(*this, X);
  Matrix Y(n_, X.cols());
  for (Index first = 0; first < n_; first += kPanel) {
    const Index count = std::min(kPanel, n_ - first);
    kernels::gemm(kernels::Trans::kYes,
                  independent_columns(*this, first, count),
                  kernels::Trans::kNo,
                  X,
                  Y.middleRows(first, count));
  }
  return Y;
}

Matrix RandomProjection::columns(Index first, Index count) const {
  require(first >= 0 && count >= 0 && first + count <= n_,
          "random projection: columns {}..{} are outside 0..{}",
          first,
          first + count - 1,
          n_ - 1);
  return kind_ == ProjectionKind::kSrht ? srht_columns(*this, first, count)
                                        : independent_columns(*this, first, count);
}

double RandomProjection::multiplications() const {
  const auto p = static_cast<double>(next_power_of_two(n_));
  if (kind_ == ProjectionKind::kSrht) return p * std::max(1.0, std::log2(p));
  double per_entry = kSignEntry;
  if (kind_ == ProjectionKind::kGaussian) per_entry = kGaussianEntry;
  if (kind_ == ProjectionKind::kSparse) per_entry = kSparseEntry;
  return per_entry * static_cast<double>(k_) * static_cast<double>(n_);
}

}  // namespace matapprox
