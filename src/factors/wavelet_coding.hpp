#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>
#include <vector>

#include "matapprox/core/types.hpp"

// Integer wavelet coefficients as bytes: adaptive arithmetic coding, where the statistics of a
// coefficient depend on the sizes of its neighbors and of its parent.

namespace matapprox::wavelets {

/// The coefficients of a matrix, each band in its place.
using Integers = MatrixOf<std::int32_t>;

/// Coefficients have at most this many bits, besides their sign.
inline constexpr int kMaxBits = 30;
/// The value, in steps, of a coefficient q: sizes of 1, 2 and above stand for |q| + shift / 256.
inline double value_in_steps(std::int32_t q, const std::array<std::int8_t, 3>& shifts) {
  if (q == 0) return 0;
  const int size = std::abs(q);
  const double shift = shifts[static_cast<std::size_t>(std::min(size, 3) - 1)];
  return std::copysign(size + shift / 256, static_cast<double>(q));
}
/// A coefficient is rounded away from zero if the next multiple of the step is at most this part of
/// a step away: fewer bits for nearly the same error. Chosen on camera and ship, where 0.30 to 0.42
/// differ by less than 1 %.
inline constexpr double kRoundedUp = 0.35;

/// The coefficients of one kind: smooth, or details of one level in one direction or in both.
struct Band {
  Index row = 0;  ///< place in the matrix of all coefficients
  Index rows = 0;
  Index col = 0;
  Index cols = 0;
  bool detail_rows = false;  ///< details within columns
  bool detail_cols = false;  ///< details within rows
  bool halved = false;       ///< symmetric: only entries on and below the diagonal are coded
  /// The same kind, of the next coarser level, in which every coefficient is the parent of up to
  /// four; empty for the coarsest details and the smooth band.
  Index parent_row = 0;
  Index parent_rows = 0;
  Index parent_col = 0;
  Index parent_cols = 0;
};

/// A rectangle of a band.
struct Tile {
  Band band;
  Index row = 0;  ///< within the band
  Index rows = 0;
  Index col = 0;
  Index cols = 0;
};

/// Division of the coefficients of an m x n matrix after `levels` levels into tiles, and of the
/// tiles into streams, each of which is coded by itself. A stream depends on those of the steps
/// before, since they have the parents of its coefficients.
struct Layout {
  /// Throws InvalidArgument unless there are between 0 and max_levels(m, n) levels and, if
  /// symmetric, as many rows as columns.
  Layout(Index m, Index n, Index levels, bool symmetric);

  Index rows;
  Index cols;
  Index levels;
  bool symmetric;
  /// Sides of the smooth part after 0 .. `levels` levels.
  std::vector<Index> heights;
  std::vector<Index> widths;
  std::vector<std::vector<Tile>> streams;
  std::vector<std::size_t> step_ends;  ///< streams before these indices belong to earlier steps
};

/// Estimated bits and squared error of independent coefficients at a step: r^2 / 0.65^2 bits for r
/// steps below 0.65, else log2(9 r). It estimates errors as 0.7 to 1.1 times the actual ones, at
/// 0.3 to 6.4 bits per entry (camera, ship, bridge, attention with positions, normal noise).
struct Rate {
  double bits = 0;
  double nonzeros = 0;  ///< number of coefficients that are not rounded to zero
  double squared_error = 0;
};

/// The number of coefficients of each size, in classes of 1/32 of an octave: the rate at a step
/// then takes no pass over the coefficients.
class SizeHistogram {
 public:
  /// `largest`: an upper bound of the absolute values, above zero.
  explicit SizeHistogram(double largest);
  /// Counts coefficients that are not all zero.
  explicit SizeHistogram(const Eigen::Ref<const Vector>& coefficients);

  /// Adds coefficients, each of which stands for `weight` of them.
  void add(const Eigen::Ref<const Vector>& coefficients, double weight = 1);
  Rate rate(double step) const;
  /// The step at which the coefficients are estimated to take that many bits.
  double step_for_bits(double bits) const;

 private:
  struct Class {
    double count = 0;
    double squares = 0;
  };
  double largest_;
  std::uint64_t lowest_ = 0;  ///< key of the first class, which also has all smaller coefficients
  std::vector<Class> classes_;
};

/// The step, at most twice the largest coefficient, at which coefficients take that many bits.
double step_for_bits(double largest,
                     double bits,
                     const std::function<double(double)>& bits_at_step);

/// Levels after which the shorter side has at least 8 smooth coefficients.
Index max_levels(Index rows, Index cols);

/// The bytes of one stream; coefficients must have at most kMaxBits bits. In halved bands, entries
/// below the diagonal also stand for their mirror images, and of the two bands with details in one
/// direction only those within columns are coded.
std::vector<std::uint8_t> encode_stream(const Layout& layout,
                                        std::size_t stream,
                                        const Integers& values);
/// Throws InvalidArgument unless there is a length for each stream, which add up to the data.
void check_lengths(const Layout& layout,
                   std::span<const Index> lengths,
                   std::span<const std::uint8_t> data);
/// Decodes all streams. `lengths`: bytes of each. Throws InvalidArgument if lengths do not match,
/// or if a coefficient has more than kMaxBits bits, and NotAvailable if memory does not suffice.
Integers decode(const Layout& layout,
                std::span<const Index> lengths,
                std::span<const std::uint8_t> data);

}  // namespace matapprox::wavelets
