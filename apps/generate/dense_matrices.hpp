#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::generate {

/// 1 / (i + j + 1), indices from 0: the singular values decay geometrically.
Matrix hilbert(Index n);

/// 1 / (i - j + 1/2): Toeplitz and not symmetric; most singular values are close to pi (Parter).
Matrix parter(Index n);

/// correlation^|i - j|: covariance of a stationary AR(1) process with unit variance.
Matrix ar1_covariance(Index n, double correlation);

/// Loadings B of n variables on `factors` common factors, standard normal.
Matrix factor_loadings(Index n, Index factors, std::uint64_t seed);

/// B B^T + D with D diagonal, uniform in 0.5..1.5: covariance of the factor model.
Matrix factor_covariance(const Matrix& loadings, std::uint64_t seed);

/// Rows are samples of the factor model, rounded to six decimals.
Matrix factor_samples(const Matrix& loadings, Index samples, std::uint64_t seed);

/// The orthogonal discrete cosine transform DCT-II; n must be divisible by 2.
Matrix discrete_cosine_transform(Index n);

/// Points (rows) around `clusters` centers from N(0, 16 I), with standard deviation 1, rounded to
/// six decimals.
Matrix clustered_points(Index points, Index dimension, Index clusters, std::uint64_t seed);

/// exp(-|x - y|^2 / (2 bandwidth^2)) of all pairs of rows.
Matrix gaussian_kernel(const Matrix& points, double bandwidth);

}  // namespace matapprox::generate
