#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

/// Basis of the columns or of the rows of a matrix; see TransformKind.
enum class Basis { kAuto, kNone, kCosine, kSine, kFourier, kHadamard };

template <>
struct EnumNames<Basis> {
  static constexpr std::array<std::string_view, 6> values{
      "auto", "none", "cosine", "sine", "fourier", "hadamard"};
};

struct TransformOptions {
  /// Unset: default_budget. A number or a share counts 8 bytes per number.
  StorageBudget budget = {};
  double frobenius_tolerance = 0;  ///< if positive: the fewest bytes with |A - B|_F <= t |A|_F
  Basis left = Basis::kAuto;       ///< basis of the columns
  Basis right = Basis::kAuto;      ///< basis of the rows
  std::uint64_t seed = 1;          ///< seed of the sampled coefficients that choose the bases
  void visit(OptionVisitor& v);
};

/// Approximates A (m x n) by T_m C T_n^T, where T_m and T_n are orthogonal matrices with a fast
/// transform (TransformMatrix), or identities, and C has few coefficients or few bits for each. It
/// is exact for the matrices of these transforms, for functions of a circulant matrix or of the
/// Laplacian of a path, and near for what varies smoothly along whole columns or rows.
///
/// The bases are chosen from about 16 columns of C for each pair of them, which take a product of A
/// with 16 columns for each basis of the rows. If C has so few coefficients above rounding that
/// they fit into the budget, or take fewer bytes for the tolerance, they are stored as by exact();
/// else C is quantized and coded as by wavelet() without levels, with at most 30 bits for each
/// coefficient. The transforms take no bytes.
///
/// The result has up to three factors: a TransformMatrix, C as a PackedSparse, DictionaryMatrix or
/// WaveletMatrix, and a transposed TransformMatrix. Cost: m n (log m + log n) operations and that
/// of coding C. Holds A and 40 m n bytes. Throws InvalidArgument (options, an empty matrix, a basis
/// that does not exist for a side), BudgetTooSmall, NumericalError for NaN or Inf in A,
/// NotAvailable if memory does not suffice, Interrupted.
Approximation transform(const LinearOperator& A,
                        const TransformOptions& options = {},
                        const RunControl& control = {});

/// Estimates the relative Frobenius error of transform() within `bytes` by the sample that it
/// chooses bases from, as a rule within a factor of 4. Throws like HeldEntries.
double transform_error_estimate(const LinearOperator& A, double bytes, std::uint64_t seed);

}  // namespace matapprox
