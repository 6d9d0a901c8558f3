#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

struct WaveletOptions {
  /// Unset: default_budget. A number or a share counts 8 bytes per number.
  StorageBudget budget = {};
  double frobenius_tolerance = 0;  ///< if positive: the fewest bytes with |A - B|_F <= t |A|_F
  /// Number of levels, at most as many as leave 8 smooth coefficients on the shorter side; -1: as
  /// many as that, or none.
  Index levels = -1;
  void visit(OptionVisitor& v);
};

/// Approximates A (m x n) by quantized coefficients of the two-dimensional wavelets CDF 9/7, coded
/// in about as many bits as their entropy: for photographs, and for other matrices that are
/// smooth between edges or a few large entries in the given order of rows and columns. Without
/// levels, the entries themselves are quantized and coded: that is within 24 % of the least error
/// of any code for normal values that have nothing to do with each other.
///
/// All coefficients have one quantizer: rounded to multiples of a step, those below 0.65 steps to
/// zero; 1, 2, and 3 and more steps stand for the means of what was rounded to them. The step is
/// found for the bytes or for the error, which is measured. A coefficient costs the logarithm of
/// its probability, which is learned from its size, those of four to six neighbors and of the
/// coefficient at the same place of the next level [CDF92] [TM02]. Of a symmetric A half the
/// coefficients are stored.
///
/// The result is one factor, a WaveletMatrix. With all levels and with none it is built for both if
/// there are at most 2^16 entries; else for what a sample of the coefficients expects to be better,
/// and for the other if that fails.
///
/// Cost: about 20 operations for each entry of the transform, and some 30 to 40 ns for each entry
/// in each of about four rounds that code it; above 2^22 entries, most rounds code a sample of the
/// coefficients. Holds A and 12 m n bytes, or 20 m n with a tolerance. Throws InvalidArgument
/// (options, an empty matrix), BudgetTooSmall, NumericalError for NaN or Inf in A, NotAvailable if
/// memory does not suffice, Interrupted.
Approximation wavelet(const LinearOperator& A,
                      const WaveletOptions& options = {},
                      const RunControl& control = {});

/// Estimates the relative Frobenius error of wavelet() within `bytes`, from the coefficients of a
/// few blocks of A. Throws like HeldEntries.
double wavelet_error_estimate(const LinearOperator& A, double bytes);

}  // namespace matapprox
