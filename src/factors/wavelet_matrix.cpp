#include "matapprox/factors/wavelet_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

#include "core/unit_columns.hpp"
#include "factors/coded_streams.hpp"
#include "factors/wavelet_coding.hpp"
#include "factors/wavelet_transform.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace wavelets {

/// Coefficients of one band, in units of the step.
struct BandValues {
  Matrix dense;  ///< empty if the band is a list
  /// Column by column: rows and values of the nonzero entries, and where each column begins.
  std::vector<std::int32_t> rows;
  std::vector<double> values;
  std::vector<Index> begins;
  Index cols() const {
    return dense.size() > 0 ? dense.cols() : static_cast<Index>(begins.size()) - 1;
  }
};

}  // namespace wavelets

namespace {

using wavelets::Axis;
using wavelets::BandValues;
using wavelets::Direction;
using wavelets::Integers;
using wavelets::Layout;

/// A coefficient takes at least 0.0014 bits, at the greatest probability of the code, and a
/// symmetric matrix stores half of them. A file with more entries is damaged.
constexpr double kMaxEntriesPerByte = 12000;
/// Bands with fewer nonzero entries than this share are stored as a list.
constexpr double kSparseShare = 1.0 / 3;
/// Number of columns of X that a list multiplies together.
constexpr Index kTogether = 8;
/// Number of columns of a list in one task of a transposed product.
constexpr Index kChunk = 512;
/// A list of more than kFewEntries is divided into kParts parts for a product.
constexpr Index kParts = 4;
constexpr Index kFewEntries = 20000;
/// Multiplications of one value in one level: four lifting steps of its half, and a scale.
constexpr double kPerValue = 3;

Index storage_bytes(const WaveletMatrix::Content& content) {
  return static_cast<Index>(kLengthBytes * content.lengths.size() + content.data.size());
}

BandValues band_values(const Eigen::Ref<const Integers, 0, Eigen::OuterStride<>>& q,
                       const std::array<std::int8_t, 3>& shifts) {
  BandValues band;
  const auto nonzeros = static_cast<double>((q.array() != 0).count());
  if (nonzeros > kSparseShare * static_cast<double>(q.size())) {
    band.dense.resize(q.rows(), q.cols());
    for (Index j = 0; j < q.cols(); ++j) {
      for (Index i = 0; i < q.rows(); ++i)
        band.dense(i, j) = wavelets::value_in_steps(q(i, j), shifts);
    }
    return band;
  }
  band.rows.reserve(static_cast<std::size_t>(nonzeros));
  band.values.reserve(static_cast<std::size_t>(nonzeros));
  for (Index j = 0; j < q.cols(); ++j) {
    band.begins.push_back(static_cast<Index>(band.rows.size()));
    for (Index i = 0; i < q.rows(); ++i) {
      if (q(i, j) == 0) continue;
      band.rows.push_back(static_cast<std::int32_t>(i));
      band.values.push_back(wavelets::value_in_steps(q(i, j), shifts));
    }
  }
  band.begins.push_back(static_cast<Index>(band.rows.size()));
  return band;
}

/// Up to kTogether columns of X, as rows.
Matrix transposed_columns(const ConstBlock& X, Index first) {
  return X.middleCols(first, std::min(kTogether, X.cols() - first)).transpose();
}

/// Adds the product of columns `begin` to `end` of a list to y: every entry multiplies `width`
/// columns of X, which are rows of x.
void add_list_product(const BandValues& B, Index begin, Index end, const Matrix& x, Matrix& y) {
  const Index width = x.rows();
  for (Index j = begin; j < end; ++j) {
    const double* from = x.col(j).data();
    for (Index k = B.begins[static_cast<std::size_t>(j)];
         k < B.begins[static_cast<std::size_t>(j) + 1];
         ++k) {
      double* to = y.col(B.rows[static_cast<std::size_t>(k)]).data();
      const double value = B.values[static_cast<std::size_t>(k)];
      for (Index c = 0; c < width; ++c) to[c] += value * from[c];
    }
  }
}

/// Y += B X. A list is divided into a fixed number of parts, whose products are added in order.
void add_product(const BandValues& B, const ConstBlock& X, Block Y) {
  if (B.dense.size() > 0) {
    kernels::gemm(kernels::Trans::kNo, B.dense, kernels::Trans::kNo, X, Y, 1, 1);
    return;
  }
  const Index parts = static_cast<Index>(B.rows.size()) < kFewEntries ? 1 : kParts;
  for (Index first = 0; first < X.cols(); first += kTogether) {
    const Matrix x = transposed_columns(X, first);
    std::array<Matrix, kParts> products;
    parallel_for(parts, [&](Index part) {
      Matrix& y = products[static_cast<std::size_t>(part)];
      y.setZero(x.rows(), Y.rows());
      add_list_product(B, part * B.cols() / parts, (part + 1) * B.cols() / parts, x, y);
    });
    for (Index part = 0; part < parts; ++part)
      Y.middleCols(first, x.rows()) += products[static_cast<std::size_t>(part)].transpose();
  }
}

/// Y += B X for X of mostly zeros.
void add_product_with_zeros(const BandValues& B, const ConstBlock& X, Block Y) {
  parallel_for(X.cols(), [&](Index c) {
    double* y = Y.col(c).data();
    for (Index j = 0; j < B.cols(); ++j) {
      const double x = X(j, c);
      if (x == 0) continue;
      if (B.dense.size() > 0) {
        Y.col(c) += x * B.dense.col(j);
        continue;
      }
      for (Index k = B.begins[static_cast<std::size_t>(j)];
           k < B.begins[static_cast<std::size_t>(j) + 1];
           ++k)
        y[B.rows[static_cast<std::size_t>(k)]] += B.values[static_cast<std::size_t>(k)] * x;
    }
  });
}

/// Y += B^T X.
void add_transpose_product(const BandValues& B, const ConstBlock& X, Block Y) {
  if (B.dense.size() > 0) {
    kernels::gemm(kernels::Trans::kYes, B.dense, kernels::Trans::kNo, X, Y, 1, 1);
    return;
  }
  const Index chunks = (B.cols() + kChunk - 1) / kChunk;
  for (Index first = 0; first < X.cols(); first += kTogether) {
    const Matrix x = transposed_columns(X, first);
    const Index width = x.rows();
    parallel_for(chunks, [&](Index chunk) {
      for (Index j = chunk * kChunk; j < std::min((chunk + 1) * kChunk, B.cols()); ++j) {
        std::array<double, kTogether> sums{};
        for (Index k = B.begins[static_cast<std::size_t>(j)];
             k < B.begins[static_cast<std::size_t>(j) + 1];
             ++k) {
          const double* from = x.col(B.rows[static_cast<std::size_t>(k)]).data();
          const double value = B.values[static_cast<std::size_t>(k)];
          for (Index c = 0; c < width; ++c) sums[static_cast<std::size_t>(c)] += value * from[c];
        }
        for (Index c = 0; c < width; ++c) Y(j, first + c) += sums[static_cast<std::size_t>(c)];
      }
    });
  }
}

}  // namespace

struct WaveletMatrix::Bands {
  explicit Bands(const Content& content)
      : layout(content.rows, content.cols, content.levels, content.symmetric) {
    const Integers q = wavelets::decode(layout, content.lengths, content.data);
    require((q.array() != 0).count() == content.nonzeros,
            "wavelet coefficients: not as many as stated are not 0");
    const auto largest = static_cast<double>(q.array().abs().maxCoeff());
    require(std::isfinite(std::ldexp(content.step * largest, -static_cast<int>(content.levels))),
            "wavelet coefficients: entries beyond the range of doubles");
    const auto band = [&](Index row, Index rows, Index col, Index cols) {
      return band_values(q.block(row, col, rows, cols), content.shifts);
    };
    smooth = band(0, layout.heights.back(), 0, layout.widths.back());
    for (std::size_t l = 0; l + 1 < layout.heights.size(); ++l) {
      const Index h = layout.heights[l + 1];
      const Index w = layout.widths[l + 1];
      const Index detail_rows = layout.heights[l] - h;
      const Index detail_cols = layout.widths[l] - w;
      levels.push_back({band(0, h, w, detail_cols),
                        band(h, detail_rows, 0, w),
                        band(h, detail_rows, w, detail_cols)});
    }
  }

  /// Bands of one level, named after what their rows and columns are.
  struct Level {
    BandValues smooth_details;
    BandValues details_smooth;
    BandValues details_details;
  };

  Layout layout;
  std::vector<Level> levels;
  BandValues smooth;
};

struct WaveletMatrix::Decoded {
  std::once_flag once;
  std::optional<Bands> bands;
};

WaveletMatrix::WaveletMatrix(Content content, Decode decode)
    : content_(std::move(content)), decoded_(std::make_shared<Decoded>()) {
  require(std::isfinite(content_.step) && content_.step > 0,
          "wavelet coefficients: a step of {:g}",
          content_.step);
  const double entries = static_cast<double>(content_.rows) * static_cast<double>(content_.cols);
  const auto bytes = static_cast<double>(storage_bytes(content_));
  require(entries <= kMaxEntriesPerByte * bytes,
          "wavelet coefficients: {} bytes cannot hold a {} x {} matrix",
          bytes,
          content_.rows,
          content_.cols);
  wavelets::check_lengths(Layout(content_.rows, content_.cols, content_.levels, content_.symmetric),
                          content_.lengths,
                          content_.data);
  if (decode == Decode::kNow) bands();
}

const WaveletMatrix::Bands& WaveletMatrix::bands() const {
  std::call_once(decoded_->once, [&] { decoded_->bands.emplace(content_); });
  return *decoded_->bands;
}

WaveletMatrix WaveletMatrix::multiplied(int exponent) const {
  WaveletMatrix result = *this;
  result.content_.step = std::ldexp(content_.step, exponent);
  if (!std::isnormal(result.content_.step)) {
    throw NumericalError(
        fmt::format("wavelet coefficients: a step of {:g}; multiply the matrix by a power of 2",
                    result.content_.step));
  }
  return result;
}

Storage WaveletMatrix::storage() const {
  // Pairs of mirror images are stored once, most of those on the diagonal have no pair.
  const Index numbers = content_.symmetric ? (content_.nonzeros + 1) / 2 : content_.nonzeros;
  return {numbers, storage_bytes(content_)};
}

double WaveletMatrix::multiplications() const {
  const double transforms =
      content_.levels == 0 ? 0 : 2 * kPerValue * static_cast<double>(rows() + cols());
  return static_cast<double>(content_.nonzeros) + transforms;
}

std::string WaveletMatrix::description() const {
  return fmt::format("{} levels of wavelets, {} coefficients", content_.levels, content_.nonzeros);
}

Matrix WaveletMatrix::columns(bool transposed, std::span<const Index> J) const {
  return multiply(transposed, unit_columns(transposed ? rows() : cols(), J), true);
}

/// Every level maps smooth and detail parts of X to those of Y: details of Y come from both parts
/// of X, the smooth part of Y from details of X and from the next level.
Matrix WaveletMatrix::multiply(bool transposed, const ConstBlock& X, bool mostly_zeros) const {
  const Index read = transposed ? rows() : cols();
  require(X.rows() == read,
          "wavelet coefficients: a block of {} rows where {} are needed",
          X.rows(),
          read);
  const Bands& bands = this->bands();
  const Layout& layout = bands.layout;
  const std::vector<Index>& reads = transposed ? layout.heights : layout.widths;
  const std::vector<Index>& writes = transposed ? layout.widths : layout.heights;
  const auto add = [&](const BandValues& B, const ConstBlock& from, Block& to) {
    if (transposed) {
      add_transpose_product(B, from, to);
    } else if (mostly_zeros) {
      add_product_with_zeros(B, from, to);
    } else {
      add_product(B, from, to);
    }
  };
  // The coefficients of X: those of each level replace its smooth part, but products need both.
  Matrix x = X;
  std::vector<Matrix> smooth_parts;
  for (std::size_t l = 0; l + 1 < reads.size(); ++l) {
    wavelets::transform(x.topRows(reads[l]), Axis::kColumns, Direction::kSynthesizeTransposed);
    smooth_parts.emplace_back(x.topRows(reads[l + 1]));
  }
  Matrix y = Matrix::Zero(transposed ? cols() : rows(), X.cols());
  Block y_last = y.topRows(writes.back());
  add(bands.smooth, x.topRows(reads.back()), y_last);
  for (std::size_t l = bands.levels.size(); l-- > 0;) {
    const Bands::Level& level = bands.levels[l];
    const Matrix& smooth = smooth_parts[l];
    const auto details = x.middleRows(reads[l + 1], reads[l] - reads[l + 1]);
    Block y_smooth = y.topRows(writes[l + 1]);
    Block y_details = y.middleRows(writes[l + 1], writes[l] - writes[l + 1]);
    add(transposed ? level.details_smooth : level.smooth_details, details, y_smooth);
    add(transposed ? level.smooth_details : level.details_smooth, smooth, y_details);
    add(level.details_details, details, y_details);
    wavelets::transform(y.topRows(writes[l]), Axis::kColumns, Direction::kSynthesize);
  }
  return content_.step * y;
}

}  // namespace matapprox
