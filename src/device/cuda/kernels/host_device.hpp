#pragma once

// Arithmetic that kernels and the host share is compiled for both where nvcc reads it, and for the
// host alone by any other compiler: so the tests run the kernels themselves without a GPU.
#ifdef __CUDACC__
#define MATAPPROX_HD __host__ __device__
#else
#define MATAPPROX_HD
#endif

// Before a loop of known length over numbers that shall stay in the registers of a GPU.
#ifdef __CUDA_ARCH__
#define MATAPPROX_UNROLL _Pragma("unroll")
#else
#define MATAPPROX_UNROLL
#endif
