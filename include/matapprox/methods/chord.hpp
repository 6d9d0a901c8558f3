#pragma once

#include <array>
#include <memory>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

enum class ChordLinks { kReference, kPaper };

template <>
struct EnumNames<ChordLinks> {
  static constexpr std::array<std::string_view, 2> values{"reference", "paper"};
};

struct ChordOptions {
  ChordLinks pattern = ChordLinks::kReference;
  /// The caller's own offsets: one list for all factors "0,1,2,4", or one list a factor, separated
  /// by ';'. Empty: the named pattern.
  std::string offsets = {};
  Index factors = 0;           ///< M; 0: ceil(log2 N), or as many as the budget admits
  StorageBudget budget = {};   ///< unset: the pattern's own size
  Index adam_steps = 1000;     ///< annealed Adam steps before L-BFGS; none after a warm start
  Index max_iterations = 300;  ///< L-BFGS iterations
  Index memory = 20;           ///< L-BFGS correction pairs
  double tolerance = 1e-7;  ///< stop at a smaller relative fall of the objective in 200 iterations
  std::uint64_t seed = 1;
  /// Factors to start from, of the same pattern. Not visited: the command line's --warm-start loads
  /// a saved file and sets it.
  std::shared_ptr<const ChordFactors> warm_start = {};
  void visit(OptionVisitor& v);
};

/// Chord sparse factorization A ~ W_1 W_2 ... W_M of a square matrix of order N >= 1: each W_m has
/// a few stored diagonals (ChordPattern), so that the product can have full rank. [KYCY22, Eq. 2]
///
/// Minimises |A - W_1...W_M|_F^2 / 2 with the analytic gradient, summed over column panels in a
/// fixed order: adam_steps of annealed Adam from a random start, then L-BFGS (Ceres) from the best
/// point seen. Stores N times the sum of the links, N ceil(log2 N) (floor(log2 N) + 1) with the
/// defaults. Cost of an evaluation (one a step, about 1.1 an L-BFGS iteration): 6 M N^2 K flops and
/// A once, by columns, or from a copy of it where N <= 4096 and memory allows. Memory besides:
/// (M + 3) N b numbers per thread for panels of b columns, and 2 (memory + 8) times the stored
/// numbers. The factors come out balanced: equal Frobenius norms.
///
/// The result has the same bits for every thread count, and whether or not the fit was stopped and
/// resumed from a checkpoint in between. control.checkpoint is also called once when the fit is
/// stopped by control, with the state to go on from.
/// Throws InvalidArgument (not square, an option outside its range, offsets, warm start or resume
/// state of another pattern), BudgetTooSmall, NumericalError for NaN or Inf in A, Interrupted if
/// stopped before the start was evaluated, NotAvailable if the fit does not fit into memory.
Approximation chord(const LinearOperator& A,
                    const ChordOptions& options = {},
                    const RunControl& control = {});

/// The pattern that `chord` uses for order n. An unset budget gives the pattern's own number of
/// factors; a larger one as many factors as fit, up to n^2 stored numbers, unless `factors` or one
/// list of offsets per factor fixes them. Throws InvalidArgument and BudgetTooSmall as `chord`.
ChordPattern chord_pattern(Index n, const ChordOptions& options);

}  // namespace matapprox
