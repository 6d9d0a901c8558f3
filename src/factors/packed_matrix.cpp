#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "factors/quantizer.hpp"
#include "kernels/packed_simd.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/factors/packed.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace {

using kernels::simd::PackedRun;

/// Smallest and largest number of rows of a task.
constexpr Index kMinSegmentRows = 1024;
constexpr Index kMaxSegmentRows = 4096;
/// Number of columns of X from which on panels are unpacked once for all of them, and columns of a
/// panel.
constexpr Index kUnpackFrom = 8;
constexpr Index kUnpackedColumns = 64;

}  // namespace

PackedMatrix::PackedMatrix(Content content) : content_(std::move(content)) {
  const auto& c = content_;
  require(c.rows >= 1 && c.cols >= 1, "packed: a matrix needs at least one row and column");
  require(c.group >= 1 && (c.group >= c.rows || c.group % 8 == 0),
          "packed: groups of {} rows, not a multiple of 8",
          c.group);
  require(std::isfinite(c.unit) && std::isfinite(c.offset), "packed: unit or offset is not finite");
  require(static_cast<Index>(c.bits.size()) == c.cols,
          "packed: {} widths for {} columns",
          c.bits.size(),
          c.cols);
  // Compared as doubles, which do not overflow.
  require(static_cast<double>(c.scales.size()) ==
              static_cast<double>(groups()) * static_cast<double>(c.cols),
          "packed: {} scales for {} columns of {} groups",
          c.scales.size(),
          c.cols,
          groups());
  require(std::all_of(c.scales.begin(), c.scales.end(), [](float s) { return std::isfinite(s); }),
          "packed: a scale is not finite");
  for (const std::uint8_t bits : c.bits) {
    require(bits == 0 || is_value_width(bits),
            "packed: values of {} bits (allowed: 0 to 16, 32, 64)",
            bits);
    begins_.push_back(data_bytes_);
    // Written so that nothing overflows.
    const auto bits_left = static_cast<Index>(8 * (c.data.size() - data_bytes_));
    require(bits == 0 || c.rows <= bits_left / bits, "packed: the data end before the columns do");
    data_bytes_ += bits == 0 ? 0 : static_cast<std::size_t>(packed_bytes(c.rows, bits));
  }
  require(c.data.size() == data_bytes_,
          "packed: {} bytes of data, but the widths require {}",
          c.data.size(),
          data_bytes_);
  for (Index j = 0; j < c.cols; ++j) {
    const int bits = c.bits[static_cast<std::size_t>(j)];
    require(bits <= 16 || ieee_finite(column_data(j), c.rows, bits),
            "packed: a value is not finite");
  }
  content_.data.resize(data_bytes_ + kBytesBehindData);
}

PackedMatrix PackedMatrix::rounded(const Matrix& A,
                                   std::span<const std::uint8_t> bits,
                                   Index group) {
  require(A.allFinite(), "packed: an entry is NaN or infinite");
  if (group == 0) group = A.rows();
  Content content{A.rows(), A.cols(), group, 1, kQuantizerOffset, {}, {}, {}};
  content.bits.assign(bits.begin(), bits.end());
  require(static_cast<Index>(bits.size()) == A.cols(), "packed: one width for each column");
  // A power of 2 that brings the largest entry to about 1, so that scales are in the range of
  // floats.
  const double largest = A.cwiseAbs().maxCoeff();
  if (largest > 0) content.unit = std::exp2(std::floor(std::log2(largest)));
  std::vector<std::int32_t> integers(static_cast<std::size_t>(A.rows()));
  for (Index j = 0; j < A.cols(); ++j) {
    const Vector column = A.col(j) / content.unit;
    const std::span<const double> values(column.data(), static_cast<std::size_t>(A.rows()));
    const int width = bits[static_cast<std::size_t>(j)];
    for (std::size_t first = 0; first < values.size(); first += static_cast<std::size_t>(group)) {
      const std::size_t count = std::min(static_cast<std::size_t>(group), values.size() - first);
      if (width == 0 || width > 16) {
        content.scales.push_back(width == 0 ? 0.0F : 1.0F);
        continue;
      }
      content.scales.push_back(quantizer_scale(values.subspan(first, count), width));
      quantize(values.subspan(first, count), width, content.scales.back(), integers.data() + first);
    }
    if (width > 16) {
      append_ieee(values, width, content.data);
    } else if (width > 0) {
      append_packed(integers, width, content.data);
    }
  }
  return PackedMatrix(std::move(content));
}

std::optional<PackedMatrix> PackedMatrix::exact_integers(const Matrix& A) {
  const double least = A.minCoeff();
  const double range = A.maxCoeff() - least;
  // Matrices whose entries are integers, such as images and counts.
  const bool integral = (A.array() == A.array().round()).all() && std::abs(least) < 0x1p31;
  if (!integral || range > 65535) return std::nullopt;
  int bits = 1;
  while (std::ldexp(1.0, bits) <= range) ++bits;
  const double offset = least + std::ldexp(1.0, bits - 1);
  Content content{A.rows(), A.cols(), A.rows(), 1, offset, {}, {}, {}};
  content.bits.assign(static_cast<std::size_t>(A.cols()), static_cast<std::uint8_t>(bits));
  content.scales.assign(static_cast<std::size_t>(A.cols()), 1);
  std::vector<std::int32_t> integers(static_cast<std::size_t>(A.rows()));
  for (Index j = 0; j < A.cols(); ++j) {
    for (Index i = 0; i < A.rows(); ++i) {
      integers[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(A(i, j) - offset);
    }
    append_packed(integers, bits, content.data);
  }
  return PackedMatrix(std::move(content));
}

double PackedMatrix::scale(Index column, Index group) const {
  return content_.unit *
         static_cast<double>(content_.scales[static_cast<std::size_t>(column * groups() + group)]);
}

Storage PackedMatrix::storage() const {
  Storage total{0, static_cast<Index>(data_bytes_)};
  for (const std::uint8_t bits : content_.bits) total.numbers += bits > 0 ? content_.rows : 0;
  total.bytes += static_cast<Index>(content_.bits.size() + 4 * content_.scales.size());
  return total;
}

/// Divides each group into consecutive tasks. Their number of rows keeps all threads busy, but fits
/// into the first-level cache. The sum of a row does not depend on it.
PackedMatrix::Segments PackedMatrix::segments() const {
  const Index shared = (rows() + threads() - 1) / threads();
  const Index height = std::clamp((shared + 7) / 8 * 8, kMinSegmentRows, kMaxSegmentRows);
  return {height, (std::min(content_.group, rows()) + height - 1) / height};
}

PackedMatrix::Segment PackedMatrix::segment(const Segments& segments, Index number) const {
  const Index group = number / segments.per_group;
  const Index first = group * content_.group + number % segments.per_group * segments.rows;
  const Index end = std::min(rows(), (group + 1) * content_.group);
  return {first, std::clamp(end - first, Index{0}, segments.rows), group};
}

PackedMatrix::Segment PackedMatrix::group(Index number) const {
  const Index first = number * content_.group;
  return {first, std::min(content_.group, rows() - first), number};
}

const std::uint8_t* PackedMatrix::column_data(Index column) const {
  return content_.data.data() + begins_[static_cast<std::size_t>(column)];
}

/// Four columns are read at a time, so the one read after this column is four further on.
PackedRun PackedMatrix::run(Index column) const {
  const std::uint8_t* data = column_data(column);
  const std::ptrdiff_t next = column + 4 < cols() ? column_data(column + 4) - data : 0;
  return {data, content_.bits[static_cast<std::size_t>(column)], content_.offset, next};
}

/// True if the four columns from this one on are integers.
bool PackedMatrix::are_integers(Index column) const {
  if (column + 4 > cols()) return false;
  const auto bits = content_.bits.begin() + column;
  return std::all_of(bits, bits + 4, [](int b) { return b > 0 && b <= 16; });
}

/// y += A(rows of the segment, :) x, columns in their order, four at a time.
void PackedMatrix::add_segment(const Segment& part, const double* x, double* y) const {
  const auto factor = [&](Index j) { return scale(j, part.group) * x[j]; };
  for (Index j = 0; j < cols();) {
    const bool four = are_integers(j);
    if (four) {
      const PackedRun runs[4] = {run(j), run(j + 1), run(j + 2), run(j + 3)};
      const double factors[4] = {factor(j), factor(j + 1), factor(j + 2), factor(j + 3)};
      kernels::simd::packed_axpy_4(runs, part.first, part.count, factors, y);
    } else if (run(j).bits > 0) {
      kernels::simd::packed_axpy(run(j), part.first, part.count, factor(j), y);
    }
    j += four ? 4 : 1;
  }
}

void PackedMatrix::dot_four_columns(Index column, const double* x, double* y) const {
  const PackedRun runs[4] = {run(column), run(column + 1), run(column + 2), run(column + 3)};
  std::fill_n(y, 4, 0.0);
  for (Index g = 0; g < groups(); ++g) {
    const Segment part = group(g);
    std::array<double, 4> sums{};
    kernels::simd::packed_dot_4(runs, part.first, part.count, x + part.first, sums.data());
    for (Index k = 0; k < 4; ++k) {
      y[k] += scale(column + k, part.group) * sums[static_cast<std::size_t>(k)];
    }
  }
}

double PackedMatrix::dot_column(Index column, const double* x) const {
  const PackedRun of_column = run(column);
  if (of_column.bits == 0) return 0;
  double sum = 0;
  for (Index g = 0; g < groups(); ++g) {
    const Segment part = group(g);
    sum += scale(column, part.group) *
           kernels::simd::packed_dot(of_column, part.first, part.count, x + part.first);
  }
  return sum;
}

void PackedMatrix::unpack(Index column, Index first, Index count, double* values) const {
  const int bits = content_.bits[static_cast<std::size_t>(column)];
  if (bits == 0) {
    std::fill_n(values, count, 0.0);
    return;
  }
  kernels::simd::packed_values({column_data(column), bits, content_.offset}, first, count, values);
  for (Index done = 0; done < count;) {
    const Index group = (first + done) / content_.group;
    const Index end = std::min(count, (group + 1) * content_.group - first);
    const double factor = scale(column, group);
    for (; done < end; ++done) values[done] *= factor;
  }
}

Matrix PackedMatrix::columns(std::span<const Index> J) const {
  Matrix panel(rows(), static_cast<Index>(J.size()));
  for (Index c = 0; c < panel.cols(); ++c) {
    unpack(J[static_cast<std::size_t>(c)], 0, rows(), panel.col(c).data());
  }
  return panel;
}

Matrix PackedMatrix::unpacked(Index first, Index count) const {
  Matrix panel(rows(), count);
  parallel_for(count, [&](Index c) { unpack(first + c, 0, rows(), panel.col(c).data()); });
  return panel;
}

Matrix PackedMatrix::apply(const ConstBlock& X) const {
  Matrix Y = Matrix::Zero(rows(), X.cols());
  if (X.cols() >= kUnpackFrom) {
    for (Index first = 0; first < cols(); first += kUnpackedColumns) {
      const Index count = std::min(kUnpackedColumns, cols() - first);
      const auto no = kernels::Trans::kNo;
      kernels::gemm(no, unpacked(first, count), no, X.middleRows(first, count), Y, 1, 1);
    }
    return Y;
  }
  const Segments parts = segments();
  parallel_for(groups() * parts.per_group, [&](Index s) {
    const Segment part = segment(parts, s);
    if (part.count == 0) return;
    // Sums begin at a cache line; otherwise a SIMD vector of them would span two lines.
    thread_local kernels::Scratch<double> scratch;
    double* sums = scratch.reserve(part.count);
    for (Index c = 0; c < X.cols(); ++c) {
      std::fill_n(sums, part.count, 0.0);
      add_segment(part, X.col(c).data(), sums);
      Y.col(c).segment(part.first, part.count) = Eigen::Map<const Vector>(sums, part.count);
    }
  });
  return Y;
}

Matrix PackedMatrix::apply_transpose(const ConstBlock& X) const {
  Matrix Y(cols(), X.cols());
  if (X.cols() >= kUnpackFrom) {
    for (Index first = 0; first < cols(); first += kUnpackedColumns) {
      const Index count = std::min(kUnpackedColumns, cols() - first);
      Y.middleRows(first, count) = kernels::transpose_product(unpacked(first, count), X);
    }
    return Y;
  }
  parallel_for((cols() + 3) / 4, [&](Index four) {
    for (Index c = 0; c < X.cols(); ++c) {
      const Index first = 4 * four;
      const double* x = X.col(c).data();
      if (are_integers(first)) {
        dot_four_columns(first, x, &Y(first, c));
        continue;
      }
      for (Index j = first; j < std::min(first + 4, cols()); ++j) Y(j, c) = dot_column(j, x);
    }
  });
  return Y;
}

}  // namespace matapprox
