#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels::simd {

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
