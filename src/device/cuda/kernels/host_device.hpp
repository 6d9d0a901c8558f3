#pragma once

// Functions that kernels and the host share are compiled for both by nvcc, and for the host only by
// any other compiler: so the tests run the kernels themselves without a GPU.
#ifdef __CUDACC__
#define MATAPPROX_HD __host__ __device__
#else
#define MATAPPROX_HD
#endif

// Unrolls a loop of known length, so that the numbers it uses stay in the registers of a GPU.
#ifdef __CUDA_ARCH__
#define MATAPPROX_UNROLL _Pragma("unroll")
#else
#define MATAPPROX_UNROLL
#endif
