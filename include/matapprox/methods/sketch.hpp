#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/types.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

struct SketchOptions {
  Index rank = 0;  ///< r, 1..min(m,n); 0: the largest that a budget admits
  StorageBudget budget =
      {};                ///< of the approximation, (m + n + 1) r numbers; unset: default_budget
  Index range_size = 0;  ///< k, r..min(m,n); 0: 4 r + 1
  Index core_size = 0;   ///< s, at least k; 0: 2 k + 1
  /// Of the sketch, k (m + n) + s^2 + q n numbers. With a rank, k and s are those that fit and make
  /// the bound below smallest at rho = r; without one, it gives the rank too, with the k and s
  /// above.
  StorageBudget sketch_budget = {};
  Index error_samples = 10;  ///< q of the error estimate; 0: none
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// The options with rank, k and s as StreamingSketch takes them. Throws InvalidArgument and
/// BudgetTooSmall as that does.
SketchOptions resolved_sketch_options(Index rows, Index cols, const SketchOptions& options);

/// Rows first .. first + count - 1, counted from 0.
struct RowRange {
  Index first = 0;
  Index count = 0;
};

/// Everything that a StreamingSketch knows: what a checkpoint holds.
struct SketchState {
  Index rows = 0;  ///< m, or 0 if as many rows come as will come
  Index cols = 0;  ///< n
  SketchOptions options;
  Matrix row_sums;                  ///< (k + q) x n: X = Upsilon A above W = Theta A
  Matrix range_transposed;          ///< k x m, or k x (rows for which there is room): Y^T
  Matrix core;                      ///< s x s: Z = Phi A Psi^T
  std::vector<RowRange> seen = {};  ///< ascending, with gaps between them
  double frobenius_norm = 0;        ///< of the rows seen; not of a general stream
  bool general = false;             ///< linear_update was called
};

/// What the error sketch says about an approximation B [TYUC19, Alg. 6.1].
///
/// W = Theta A has q rows, Theta independent standard normals that B does not depend on, so
/// error^2 = |Theta (A - B)|_F^2 / q has the expectation |A - B|_F^2. It is a weighted mean of q
/// chi-squares, whose moment generating function is largest where A - B has rank 1: for every
/// matrix
///   P(error^2 <= x |A - B|_F^2) <= (x e^(1-x))^(q/2)  for x < 1, and the same for >= and x > 1.
/// With both tails at 0.025, |A - B|_F is in low .. high with probability 0.95 at least, over the
/// draw of the seed; for q = 10 that is error / 1.66 .. 2.14 error, wider than it need be where
/// many singular values share the error. A stream that was made with the seed known is not covered,
/// and below about 1e-14 |A|_F the estimate sees rounding.
struct SketchError {
  double error = 0;
  double low = 0;
  double high = 0;
  Index samples = 0;           ///< q
  double frobenius_norm = 0;   ///< |A|_F
  bool norm_is_exact = false;  ///< added up from the rows; else |W|_F / sqrt(q)
};

struct SketchedApproximation {
  Approximation approximation;
  std::optional<SketchError> error;  ///< nothing without error samples
};

/// A rank-r approximation of an m x n matrix A that is met once, row block by row block, and never
/// held: the streaming sketch of [TYUC19].
///
/// Kept are X = Upsilon A (k x n), Y = A Omega^T (m x k), Z = Phi A Psi^T (s x s) and, for the
/// error estimate, W = Theta A (q x n), where Upsilon (k x m), Omega (k x n), Phi (s x m), Psi (s x
/// n) and Theta (q x m) have independent standard normal entries. All are linear in A, so a row
/// block adds its part. finish() takes orthonormal bases Q of Y and P of X^T, the core C = (Phi
/// Q)^+ Z
/// ((Psi P)^+)^T, and the best rank r of Q C P^T.
///
/// With k >= r + 2 and s >= 2 k + 1, the untruncated Q C P^T has [TYUC19, Thm. 5.1]
///   E |A - Q C P^T|_F^2 <= (s - 1) / (s - k - 1) min_{rho < k-1} (k + rho - 1) / (k - rho - 1)
///                          tau_{rho+1}^2,      tau_{j}^2 = sum_{i >= j} sigma_i^2,
/// 10/3 tau_{r+1}^2 at most for the defaults k = 4 r + 1, s = 2 k + 1, and the result of rank r
///   E |A - B|_F <= tau_{r+1} + 2 (that)^(1/2).
/// It is the farther from the best rank r the flatter the spectrum: where A can be read twice,
/// truncated_svd is better. s may exceed min(m, n), where the paper has s <= min(m, n).
///
/// Random matrices are functions of (seed, row or column), so row blocks may come in any order,
/// each row once, from several machines (merge), and nothing has to be known of the number of rows.
/// Results are the same to the bit for any number of threads and the same blocks in the same order;
/// for other blocks or another order Y is the same to the bit, X, Z and W to rounding.
///
/// Memory, in numbers: the sketch, k (m + n) + s^2 + q n; Omega and Psi, n (k + s); for a block of
/// b rows b (n + 2 k + 2 s + q), the block itself included; in finish() (m + n)(k + r) beside the
/// sketch. Cost per row: 2 n (2 k + s + q) + 2 s^2 flops and 2 (k + s + q) random numbers.
class StreamingSketch {
 public:
  /// rows = 0: as many as will come; the rank must be given then. Throws InvalidArgument for sizes
  /// outside their range, BudgetTooSmall, NotAvailable if memory does not suffice.
  StreamingSketch(Index rows, Index cols, const SketchOptions& options);
  /// Goes on from a saved state. Throws InvalidArgument if its parts do not fit together.
  explicit StreamingSketch(SketchState state);

  /// Rows first_row .. of A, b x n. Throws InvalidArgument for another width, rows beyond m and
  /// rows that came before; NumericalError, naming row and column, counted from 1, for NaN and Inf;
  /// after either the sketch is as it was. A StopScope of the caller does not stop it.
  void update(Index first_row, const ConstBlock& rows);

  /// A <- theta A + eta H, H being zero but for `rows` from first_row on. Any row may come any
  /// number of times, and what never comes is zero. A sketch has either these updates or those
  /// above. Throws as update, and InvalidArgument for theta or eta that are not finite.
  void linear_update(double theta, double eta, Index first_row, const ConstBlock& rows);

  /// Adds what another sketch has seen: other rows of the same matrix, or, after linear_update, a
  /// matrix to be added. Throws InvalidArgument if sizes, options or seeds differ, or if both saw a
  /// row.
  void merge(const StreamingSketch& other);

  /// The rows that are still to come, counted from 0: below m, or below the last one that came.
  std::vector<RowRange> missing() const;
  Index rows_seen() const;

  /// Throws InvalidArgument, naming the rows, counted from 1, that never came, and for a rank above
  /// the rows that came; NumericalError where the sketch overflows.
  SketchedApproximation finish() const;

  const SketchState& state() const { return state_; }
  /// k (m + n) + s^2 + q n, with the rows that came where m is not known.
  Index stored_numbers() const;
  /// Bytes that streaming in blocks of `block_rows` rows and finish() take, as said above, if
  /// `rows` rows come.
  double memory_bytes(Index rows, Index block_rows) const;

 private:
  void check_block(Index first_row, const ConstBlock& rows) const;
  void add(double theta, double eta, Index first_row, const ConstBlock& rows);
  void make_room(Index rows);
  Matrix rows_test_product(Index first_column, Index count, const ConstBlock& Q) const;
  SketchError error_of(const Matrix& U, const Vector& S, const Matrix& V) const;

  SketchState state_;
  Matrix column_tests_;  ///< n x (k + s): Omega^T beside Psi^T
};

/// "rows 3..7, 9", counted from 1, at most a few of them, with what is left out.
std::string row_text(const std::vector<RowRange>& ranges);

}  // namespace matapprox
