#pragma once

// Which instruction sets Highway compiles the kernels for; included before foreach_target.h.
// Between the baseline (SSE2) and AVX2 there is none: SSSE3 and SSE4 have the same vectors as the
// baseline and no fused multiplication, and each costs every build a quarter of these kernels'
// time. Vectors whose length is unknown to the compiler cannot be held in arrays, as the register
// blocks here are.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
