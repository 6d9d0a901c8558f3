#pragma once

// Selects the instruction sets for which Highway compiles the kernels; included before
// foreach_target.h. There is none between the baseline (SSE2) and AVX2: SSSE3 and SSE4 have the
// same vectors as the baseline and no fused multiply-add, and each costs every build a quarter of
// the time to compile these kernels. Vectors whose length is unknown to the compiler cannot be
// stored in arrays, as the register blocks here are.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
