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
  Index rank = 0;  ///< r, 1..min(m,n); 0: the largest that the budget admits
  /// Budget of the approximation, (m + n + 1) r numbers; unset: default_budget.
  StorageBudget budget = {};
  Index range_size = 0;  ///< k, r..min(m,n); 0: 4 r + 1
  Index core_size = 0;   ///< s, at least k; 0: 2 k + 1
  /// Budget of the sketch, k (m + n) + s^2 + q n numbers. If the rank is given, k and s are chosen
  /// within this budget to minimize the bound below at rho = r; otherwise it also determines the
  /// rank, with the default k and s above.
  StorageBudget sketch_budget = {};
  Index error_samples = 10;  ///< q of the error estimate; 0: none
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Returns the options with the rank, k and s that StreamingSketch uses. Throws InvalidArgument and
/// BudgetTooSmall as its constructor does.
SketchOptions resolved_sketch_options(Index rows, Index cols, const SketchOptions& options);

/// Rows first .. first + count - 1, counted from 0.
struct RowRange {
  Index first = 0;
  Index count = 0;
};

/// Complete state of a StreamingSketch, as stored in a checkpoint.
struct SketchState {
  Index rows = 0;  ///< m, or 0 if not known in advance
  Index cols = 0;  ///< n
  SketchOptions options;
  Matrix row_sums;                  ///< (k + q) x n: X = Upsilon A above W = Theta A
  Matrix range_transposed;          ///< k x m, or k x (allocated rows): Y^T
  Matrix core;                      ///< s x s: Z = Phi A Psi^T
  std::vector<RowRange> seen = {};  ///< ascending, with gaps between them
  double frobenius_norm = 0;        ///< norm of the rows seen; unused for a general stream
  bool general = false;             ///< linear_update was called
};

/// Estimate of an approximation B's error from the error sketch [TYUC19, Alg. 6.1].
///
/// W = Theta A has q rows, Theta independent standard normals that B does not depend on, so error^2
/// = |Theta (A - B)|_F^2 / q has the expectation |A - B|_F^2. It is a weighted mean of q
/// chi-squares, whose moment generating function is largest if A - B has rank 1. Hence for every
/// matrix
///   P(error^2 <= x |A - B|_F^2) <= (x e^(1-x))^(q/2)  for x < 1, and the same for >= and x > 1.
/// With both tails at 0.025, |A - B|_F is in low .. high with probability 0.95 at least, over the
/// draw of the seed; for q = 10 this is error / 1.66 .. 2.14 error, which is wider than necessary
/// if many singular values share the error. A stream that was constructed with knowledge of the
/// seed is not covered, and below about 1e-14 |A|_F the estimate consists of rounding.
struct SketchError {
  double error = 0;
  double low = 0;
  double high = 0;
  Index samples = 0;           ///< q
  double frobenius_norm = 0;   ///< |A|_F
  bool norm_is_exact = false;  ///< summed from the rows; else |W|_F / sqrt(q)
};

struct SketchedApproximation {
  Approximation approximation;
  std::optional<SketchError> error;  ///< empty without error samples
};

/// A rank-r approximation of an m x n matrix A that is read once, row block by row block, and never
/// held: the streaming sketch of [TYUC19].
///
/// The sketch consists of X = Upsilon A (k x n), Y = A Omega^T (m x k), Z = Phi A Psi^T (s x s)
/// and, for the error estimate, W = Theta A (q x n), where Upsilon (k x m), Omega (k x n), Phi (s x
/// m), Psi (s x n) and Theta (q x m) have independent standard normal entries. All are linear in A,
/// so each row block adds its contribution. finish() computes orthonormal bases Q of Y and P of
/// X^T, the core C = (Phi Q)^+ Z ((Psi P)^+)^T, and the best approximation of rank r of Q C P^T.
///
/// With k >= r + 2 and s >= 2 k + 1, the untruncated Q C P^T has [TYUC19, Thm. 5.1]
///   E |A - Q C P^T|_F^2 <= (s - 1) / (s - k - 1) min_{rho < k-1} (k + rho - 1) / (k - rho - 1)
///                          tau_{rho+1}^2,      tau_{j}^2 = sum_{i >= j} sigma_i^2,
/// which is at most 10/3 tau_{r+1}^2 for the defaults k = 4 r + 1, s = 2 k + 1, and the result of
/// rank r has
///   E |A - B|_F <= tau_{r+1} + 2 (that)^(1/2).
/// The flatter the spectrum, the farther the result is from the best approximation of rank r: if A
/// can be read twice, truncated_svd is better. s may exceed min(m, n), where the paper has s <=
/// min(m, n).
///
/// Random matrices are functions of (seed, row or column), so row blocks may come in any order,
/// each row once, from several machines (merge), and the number of rows need not be known. The same
/// blocks in the same order give bit-identical results for any number of threads; other blocks or
/// another order give the same Y bit for bit, and X, Z and W up to rounding.
///
/// Memory, in numbers: the sketch, k (m + n) + s^2 + q n; Omega and Psi, n (k + s); for a block of
/// b rows b (n + 2 k + 2 s + q), the block itself included; in finish() (m + n)(k + r) in addition
/// to the sketch. Cost per row: 2 n (2 k + s + q) + 2 s^2 flops and 2 (k + s + q) random numbers.
class StreamingSketch {
 public:
  /// rows = 0: the number of rows is not known in advance; the rank must then be given. Throws
  /// InvalidArgument for sizes outside their range, BudgetTooSmall, NotAvailable if memory does not
  /// suffice.
  StreamingSketch(Index rows, Index cols, const SketchOptions& options);
  /// Continues from a saved state. Throws InvalidArgument if its parts are inconsistent.
  explicit StreamingSketch(SketchState state);

  /// Adds the rows of A from first_row on, b x n. Throws InvalidArgument for another width, rows
  /// beyond m and rows that were added before; NumericalError, naming row and column, counted from
  /// 1, for NaN and Inf. The sketch is then unchanged. A StopScope of the caller does not stop it.
  void update(Index first_row, const ConstBlock& rows);

  /// A <- theta A + eta H, where H is zero except for `rows` from first_row on. A row may be
  /// updated any number of times; rows that are never updated are zero. A sketch accepts either
  /// these updates or those of update(). Throws as update() does, and InvalidArgument for theta or
  /// eta that are not finite.
  void linear_update(double theta, double eta, Index first_row, const ConstBlock& rows);

  /// Adds the contributions of another sketch: other rows of the same matrix, or, after
  /// linear_update, a matrix to be added. Throws InvalidArgument if sizes, options or seeds differ,
  /// or if both sketches have seen the same row.
  void merge(const StreamingSketch& other);

  /// Returns the missing rows, counted from 0: below m, or below the last row that was added.
  std::vector<RowRange> missing() const;
  Index rows_seen() const;

  /// Computes the approximation. Throws InvalidArgument, naming the rows, counted from 1, that are
  /// missing, and for a rank above the number of rows; NumericalError if the sketch overflows.
  SketchedApproximation finish() const;

  const SketchState& state() const { return state_; }
  /// Returns k (m + n) + s^2 + q n, with the number of rows added if m is not known.
  Index stored_numbers() const;
  /// Bytes of memory for streaming `rows` rows in blocks of `block_rows` rows and for finish(), as
  /// given above.
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

/// Returns text like "rows 3..7, 9", counted from 1: a few ranges and the number of the others.
std::string row_text(const std::vector<RowRange>& ranges);

}  // namespace matapprox
