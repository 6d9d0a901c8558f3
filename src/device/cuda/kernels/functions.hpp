#pragma once

#include <cmath>

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
namespace matapprox::cuda {

// Functions of one number by their C names, which nvcc provides on both sides.

MATAPPROX_HD inline float exp_of(float x) { return ::expf(x); }
MATAPPROX_HD inline double exp_of(double x) { return ::exp(x); }
MATAPPROX_HD inline float log_of(float x) { return ::logf(x); }
MATAPPROX_HD inline double log_of(double x) { return ::log(x); }
MATAPPROX_HD inline float erf_of(float x) { return ::erff(x); }
MATAPPROX_HD inline double erf_of(double x) { return ::erf(x); }
MATAPPROX_HD inline float tanh_of(float x) { return ::tanhf(x); }
MATAPPROX_HD inline double tanh_of(double x) { return ::tanh(x); }
MATAPPROX_HD inline float sqrt_of(float x) { return ::sqrtf(x); }
MATAPPROX_HD inline double sqrt_of(double x) { return ::sqrt(x); }

}  // namespace matapprox::cuda
