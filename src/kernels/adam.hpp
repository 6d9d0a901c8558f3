#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

/// Coefficients of one step of Adam [KB15]: mean = d mean + (1 - d) g, square = e square + (1 - e)
/// g^2, x -= mean_step mean / (square_scale sqrt(square) + epsilon).
struct AdamStep {
  double mean_decay = 0;    ///< d
  double square_decay = 0;  ///< e
  double mean_step = 0;     ///< step size / (1 - d^t)
  double square_scale = 1;  ///< 1 / sqrt(1 - e^t)
  double epsilon = 0;
};

/// Takes the step on `count` numbers on all threads; the bits do not depend on their number.
void adam_step(const AdamStep& step,
               const double* gradient,
               Index count,
               double* mean,
               double* square,
               double* x);

/// Rows of a block of the preconditioner below, interleaved: number i of row r is at 16 i + r.
inline constexpr Index kSoapRows = 16;

/// Number of values of a block of 16 rows of K values each: axes (K x K, one axis after the other),
/// the running mean of the products of the gradient's coordinates (K x K), and Adam's running mean
/// of their squares (K).
constexpr Index soap_block_size(Index K) { return kSoapRows * (2 * K * K + K); }

struct SoapStep {
  Index number = 0;  ///< counts the steps; selects the pairs of axes that are rotated
  AdamStep adam;
  double product_decay = 0;
};

/// Initializes a block: axes of the values themselves, and running means of zero.
void start_soap(Index K, float* block);

/// Does one step of SOAP [VMZ+25], Adam in coordinates in which the products of a row's gradient
/// are nearly uncorrelated, for `rows` <= 16 rows of K values: `gradient`, its running mean and the
/// values x are row-major. Instead of a QR factorization every few steps, every step rotates the
/// axes by one round of Jacobi rotations of disjoint pairs; K rounds cover all pairs (K - 1 if K is
/// even). After a step the axes are orthonormal to about 1e-7 K. Cost 17 K^2 flops per row, in
/// floats. Uses one thread; the bits depend only on the instruction set. A gradient whose square
/// overflows a float leaves a NaN.
void soap_step(const SoapStep& step,
               Index rows,
               Index K,
               const double* gradient,
               double* mean,
               float* block,
               double* x);

}  // namespace matapprox::kernels
