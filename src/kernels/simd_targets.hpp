#pragma once

// Which instruction sets Highway compiles the kernels for; included before foreach_target.h. SSE4
// covers what SSSE3 would, and vectors whose length is unknown to the compiler cannot be held in
// arrays, as the register blocks here are.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
