#pragma once

#include <array>

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
  std::string offsets;
  Index factors = 0;           ///< M; 0: ceil(log2 N), or as many as the budget admits
  StorageBudget budget;        ///< unset: the pattern's own size
  Index max_iterations = 300;  ///< L-BFGS iterations
  Index memory = 20;           ///< L-BFGS correction pairs
  double tolerance = 1e-7;  ///< stop at a smaller relative fall of the objective in 200 iterations
  std::string warm_start;   ///< a saved Chord approximation of the same pattern to start from
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Chord sparse factorization A ~ W_1 W_2 ... W_M of a square matrix of order N >= 2: each W_m has
/// a few stored diagonals (ChordPattern), so the product has full rank. [KYCY22, Eq. 2]
///
/// Minimises |A - W_1...W_M|_F^2 / 2 by L-BFGS (Ceres) from a random start, with the analytic
/// gradient summed over column panels in a fixed order. Stores N times the sum of the links,
/// N ceil(log2 N) (floor(log2 N) + 1) with the defaults. Cost per evaluation: about 6 M N^2 K flops
/// and A once, by columns; memory (M + 3) N b numbers per thread for panels of b columns, and
/// 2 (memory + 5) times the stored numbers for the optimiser; nothing of size N^2.
/// The factors come out balanced: equal Frobenius norms.
/// Throws InvalidArgument (not square, N < 2, offsets, warm start of another pattern),
/// BudgetTooSmall, NumericalError for NaN or Inf in A.
Approximation chord(const LinearOperator& A,
                    const ChordOptions& options = {},
                    const RunControl& control = {});

/// The pattern that `chord` would use for order n.
ChordPattern chord_pattern(Index n, const ChordOptions& options);

}  // namespace matapprox
