#pragma once

#include <cstddef>
#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels::simd {

/// A run of values in `bits` bits each, the least significant bit first, from the first bit of
/// `data` on: two's complement integers q for 1 to 16 bits, IEEE numbers for 32 and 64. The value
/// of an integer is q + offset; IEEE numbers are unchanged. Eight values of b <= 16 bits fill b
/// bytes, so that every eighth value begins at a byte. Up to 16 bytes past the last one may be
/// read.
struct PackedRun {
  const std::uint8_t* data = nullptr;
  int bits = 0;
  double offset = 0;
  /// Distance in bytes from `data` to the run that is read next: the functions of four runs
  /// prefetch it into the cache. 0: no prefetch.
  std::ptrdiff_t next = 0;
};

/// values[i] = factor * value first + i, for i < count; `first` is a multiple of 8.
void packed_values(
    const PackedRun& run, Index first, Index count, double* values, double factor = 1);

/// One bfloat16 for each 64 values of a run, times `unit`.
struct PackedScales {
  static constexpr Index kGroup = 64;
  double unit = 1;
  const std::uint16_t* scales = nullptr;
};

/// values[i] = value first + i times its scale, for i < count; `first` is a multiple of 8.
void packed_scaled_values(
    const PackedRun& run, Index first, Index count, const PackedScales& scales, double* values);

/// y[i] += alpha * value first + i, for i < count; `first` is a multiple of 8.
void packed_axpy(const PackedRun& run, Index first, Index count, double alpha, double* y);

/// The same for four runs, each of at most 16 bits: the sum over k of alpha[k] * value of runs[k].
void packed_axpy_4(
    const PackedRun runs[4], Index first, Index count, const double alpha[4], double* y);

/// The sum of x[i] * value first + i over i < count; `first` is a multiple of 8.
double packed_dot(const PackedRun& run, Index first, Index count, const double* x);

/// The same for four runs, each of at most 16 bits, into sums[k] for runs[k].
void packed_dot_4(
    const PackedRun runs[4], Index first, Index count, const double* x, double sums[4]);

/// y += S x over columns first .. last - 1 of the upper triangle of a symmetric matrix S and over
/// the rows below the diagonal that mirror them. `columns` has the triangle from column `first` on,
/// column j with its j + 1 values after column j - 1.
void triangle_product(const double* columns, Index first, Index last, const double* x, double* y);

/// The rows x cols block that is the sum over k < count of unit s_k u_k v_k^T. s_k is a bfloat16;
/// the values of u_k and v_k are q + offset, with q a two's complement integer of bits[k] bits, 1
/// to 16, the least significant bit first. `data` has u_0, v_0, u_1, v_1, ..., each from a whole
/// byte on, or u_0, u_1, ... for a symmetric block, where v_k = u_k. Up to 16 bytes past the last
/// one may be read.
struct LowRankBlock {
  Index rows = 0;
  Index cols = 0;
  Index count = 0;
  bool symmetric = false;
  double unit = 1;
  double offset = 0;
  const std::uint8_t* bits = nullptr;
  const std::uint16_t* scales = nullptr;
  const std::uint8_t* data = nullptr;
};

/// y += B x.
void low_rank_product(const LowRankBlock& B, const double* x, double* y);
/// y += B^T x.
void low_rank_transpose_product(const LowRankBlock& B, const double* x, double* y);
/// y += B x and mirrored_y += B^T mirrored_x, unpacking each value once.
void low_rank_products(const LowRankBlock& B,
                       const double* x,
                       double* y,
                       const double* mirrored_x,
                       double* mirrored_y);

}  // namespace matapprox::kernels::simd
