#pragma once

#include <cmath>

#include "host_device.hpp"

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
