#pragma once

// Arithmetic that kernels and the host share is compiled for both where nvcc reads it, and for the
// host alone by any other compiler: so the tests run the kernels themselves without a card.
#ifdef __CUDACC__
#define MATAPPROX_HD __host__ __device__
#else
#define MATAPPROX_HD
#endif
