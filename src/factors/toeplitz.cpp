#include "matapprox/factors/toeplitz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "factors/factor_value.hpp"
#include "factors/fourier.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

using Coefficient = std::complex<double>;

constexpr Index kLargestSide = Index{1} << 28;

bool is_one(const ToeplitzLevel& level) { return level.rows == 1 && level.cols == 1; }

/// Position of the offset k = i - j in a cyclic array.
Index wrapped(Index k, Index length) { return k < 0 ? k + length : k; }

/// The value of a level for the offset k = i - j. For a Hankel level, columns are counted from the
/// last one: a Hankel matrix is a Toeplitz matrix with its columns reversed.
Index value_at_offset(const ToeplitzLevel& level, Index k) {
  return level.form == ToeplitzForm::kSymmetric ? std::abs(k) : k + level.cols - 1;
}

}  // namespace

Index ToeplitzLevel::values() const {
  return form == ToeplitzForm::kSymmetric ? std::max(rows, cols) : rows + cols - 1;
}

Index ToeplitzLevel::value(Index i, Index j) const {
  if (form == ToeplitzForm::kSymmetric) return std::abs(i - j);
  return form == ToeplitzForm::kHankel ? i + j : i - j + cols - 1;
}

/// Cyclic convolution of one vector at a time, as an L_1 x L_2 array.
class ToeplitzMatrix::Workspace {
 public:
  explicit Workspace(const std::array<Index, 2>& lengths)
      : lengths_(lengths),
        half_(lengths[1] / 2 + 1),
        row_(lengths[1]),
        coefficients_(static_cast<std::size_t>(lengths[0] * half_)),
        column_(static_cast<std::size_t>(lengths[0])),
        transformed_(column_.size()) {}

  Vector& row() { return row_; }
  std::vector<Coefficient>& coefficients() { return coefficients_; }

  /// Transforms row() to row r of the coefficients.
  void transform_row(Index r) {
    transform_.fwd(&coefficients_[at(r, 0)], row_.data(), static_cast<int>(lengths_[1]));
  }
  /// The inverse of transform_row.
  void restore_row(Index r) {
    transform_.inv(row_.data(), &coefficients_[at(r, 0)], static_cast<int>(lengths_[1]));
  }
  void clear_row(Index r) { std::fill_n(&coefficients_[at(r, 0)], half_, Coefficient()); }
  /// Transforms the columns of the coefficients, or inverts that.
  void transform_columns(bool inverse) {
    if (lengths_[0] == 1) return;
    const auto length = static_cast<int>(lengths_[0]);
    for (Index k = 0; k < half_; ++k) {
      for (Index r = 0; r < lengths_[0]; ++r)
        column_[static_cast<std::size_t>(r)] = coefficients_[at(r, k)];
      if (inverse) {
        transform_.inv(transformed_.data(), column_.data(), length);
      } else {
        transform_.fwd(transformed_.data(), column_.data(), length);
      }
      for (Index r = 0; r < lengths_[0]; ++r)
        coefficients_[at(r, k)] = transformed_[static_cast<std::size_t>(r)];
    }
  }

 private:
  std::size_t at(Index r, Index k) const { return static_cast<std::size_t>(r * half_ + k); }

  std::array<Index, 2> lengths_;
  Index half_;
  fourier::Transform transform_ = fourier::half_spectrum();
  Vector row_;
  std::vector<Coefficient> coefficients_;
  std::vector<Coefficient> column_;
  std::vector<Coefficient> transformed_;
};

ToeplitzMatrix::ToeplitzMatrix(Content content) : content_(std::move(content)) {
  const auto& [outer, inner] = content_.levels;
  for (const ToeplitzLevel& level : content_.levels) {
    require(level.rows >= 1 && level.cols >= 1 && level.rows <= kLargestSide &&
                level.cols <= kLargestSide,
            "toeplitz: a level of {} x {}; sides must be 1 to {}",
            level.rows,
            level.cols,
            kLargestSide);
  }
  const Index numbers = outer.values() * inner.values();
  require(content_.symbol.size() == numbers,
          "toeplitz: {} values for levels that need {}",
          content_.symbol.size(),
          numbers);
  lengths_ = {is_one(outer) ? 1 : fourier::fast_length(outer.rows + outer.cols - 1),
              fourier::fast_length(inner.rows + inner.cols - 1)};
  exponent_ = fourier::exponent_of(content_.symbol);
  Workspace work(lengths_);
  for (Index r = 0; r < lengths_[0]; ++r) work.clear_row(r);
  for (Index k1 = 1 - outer.cols; k1 < outer.rows; ++k1) {
    const Index first = value_at_offset(outer, k1) * inner.values();
    work.row().setZero();
    for (Index k2 = 1 - inner.cols; k2 < inner.rows; ++k2) {
      work.row()(wrapped(k2, lengths_[1])) = content_.symbol(first + value_at_offset(inner, k2));
    }
    multiply_by_power_of_two(work.row(), -exponent_);
    work.transform_row(wrapped(k1, lengths_[0]));
  }
  work.transform_columns(/*inverse=*/false);
  spectrum_ = std::move(work.coefficients());
}

double ToeplitzMatrix::multiplications() const {
  const auto numbers = static_cast<double>(lengths_[0] * lengths_[1]);
  return 2 * numbers * std::log2(numbers);
}

std::string ToeplitzMatrix::description() const {
  const auto name = [](const ToeplitzLevel& level) {
    return level.form == ToeplitzForm::kHankel      ? "Hankel"
           : level.form == ToeplitzForm::kSymmetric ? "symmetric Toeplitz"
                                                    : "Toeplitz";
  };
  const auto& [outer, inner] = content_.levels;
  if (is_one(outer)) return name(inner);
  return fmt::format(
      "{}, {} x {} blocks that are {}", name(outer), outer.rows, outer.cols, name(inner));
}

Matrix ToeplitzMatrix::multiply(bool transposed, const ConstBlock& X) const {
  const auto& [outer, inner] = content_.levels;
  const bool outer_reversed = outer.form == ToeplitzForm::kHankel;
  const bool inner_reversed = inner.form == ToeplitzForm::kHankel;
  const Index read = transposed ? rows() : cols();
  require(X.rows() == read, "toeplitz: a block of {} rows where {} are needed", X.rows(), read);
  Matrix Y(transposed ? cols() : rows(), X.cols());
  // Shape of x and y as arrays with a row for each block.
  const Index blocks_read = transposed ? outer.rows : outer.cols;
  const Index width_read = transposed ? inner.rows : inner.cols;
  const Index blocks_written = transposed ? outer.cols : outer.rows;
  const Index width_written = transposed ? inner.cols : inner.rows;
  const Index tasks = std::min<Index>(threads(), X.cols());
  parallel_for(tasks, [&](Index task) {
    Workspace work(lengths_);
    Vector& row = work.row();
    for (Index c = task; c < X.cols(); c += tasks) {
      const int exponent = fourier::exponent_of(X.col(c));
      for (Index r = blocks_read; r < lengths_[0]; ++r) work.clear_row(r);
      for (Index r = 0; r < blocks_read; ++r) {
        const Index block = outer_reversed && !transposed ? blocks_read - 1 - r : r;
        row.setZero();
        row.head(width_read) = X.col(c).segment(block * width_read, width_read);
        if (inner_reversed && !transposed) row.head(width_read).reverseInPlace();
        multiply_by_power_of_two(row, -exponent);
        work.transform_row(r);
      }
      work.transform_columns(/*inverse=*/false);
      for (std::size_t k = 0; k < spectrum_.size(); ++k)
        work.coefficients()[k] *= transposed ? std::conj(spectrum_[k]) : spectrum_[k];
      work.transform_columns(/*inverse=*/true);
      for (Index r = 0; r < blocks_written; ++r) {
        const Index block = outer_reversed && transposed ? blocks_written - 1 - r : r;
        work.restore_row(r);
        multiply_by_power_of_two(row, exponent_);
        multiply_by_power_of_two(row, exponent);
        if (inner_reversed && transposed) row.head(width_written).reverseInPlace();
        Y.col(c).segment(block * width_written, width_written) = row.head(width_written);
      }
    }
  });
  return Y;
}

Matrix ToeplitzMatrix::columns(bool transposed, std::span<const Index> J) const {
  const auto& [outer, inner] = content_.levels;
  Matrix result(transposed ? cols() : rows(), static_cast<Index>(J.size()));
  for (std::size_t k = 0; k < J.size(); ++k) {
    for (Index other = 0; other < result.rows(); ++other) {
      const Index i = transposed ? J[k] : other;
      const Index j = transposed ? other : J[k];
      const Index block = outer.value(i / inner.rows, j / inner.cols);
      const Index place = inner.value(i % inner.rows, j % inner.cols);
      result(other, static_cast<Index>(k)) = content_.symbol(block * inner.values() + place);
    }
  }
  return result;
}

}  // namespace matapprox
