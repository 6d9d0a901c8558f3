#pragma once

#include <array>
#include <memory>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

enum class ChordLinks { kReference, kPaper, kTorch };

template <>
struct EnumNames<ChordLinks> {
  static constexpr std::array<std::string_view, 3> values{"reference", "paper", "torch"};
};

/// Pattern of a fit. kAuto: several patterns are tried and the fit continues with the best.
enum class ChordFitPattern { kAlternating, kMixedRadix, kAuto, kReference, kPaper, kTorch };

template <>
struct EnumNames<ChordFitPattern> {
  static constexpr std::array<std::string_view, 6> values{
      "alternating", "mixed_radix", "auto", "reference", "paper", "torch"};
};

/// Order of rows and columns in which A is fitted: P^T W Q with permutations P and Q, which the
/// approximation stores and counts. kDefault: kAuto with the pattern kAuto, else kNatural.
enum class ChordOrder { kDefault, kNatural, kShift, kRcm, kSpectral, kHop, kAuto };

template <>
struct EnumNames<ChordOrder> {
  static constexpr std::array<std::string_view, 7> values{
      "default", "natural", "shift", "rcm", "spectral", "hop", "auto"};
};

/// Work of a fit: number of starts, and of steps of each kind. As in docs/methods.md: fast takes
/// 1000 Adam steps; default 3000 to 10000, several starts and Newton steps if N <= 64; high up to
/// four times as many and more starts.
enum class ChordEffort { kFast, kDefault, kHigh };

template <>
struct EnumNames<ChordEffort> {
  static constexpr std::array<std::string_view, 3> values{"fast", "default", "high"};
};

/// Implementation of the L-BFGS and Levenberg-Marquardt steps after Adam. kCeres: those of Ceres
/// (GradientProblemSolver and Solver), as a check of the library's own.
enum class ChordSolver { kOwn, kCeres };

template <>
struct EnumNames<ChordSolver> {
  static constexpr std::array<std::string_view, 2> values{"own", "ceres"};
};

/// Optimizer of a fit. kAdam: Adam, then L-BFGS and Levenberg-Marquardt. kBfgs: L-BFGS alone, like
/// the paper's quasi-Newton method, with at most 100,000 iterations unless max_iterations is set.
enum class ChordOptimizer { kAdam, kBfgs };

template <>
struct EnumNames<ChordOptimizer> {
  static constexpr std::array<std::string_view, 2> values{"adam", "bfgs"};
};

/// Random starts of a factor with K links. kMixed: 1/2 + z/10 for the first link, 1/2 / (K - 1) +
/// z/10 for each other link, z normal. kPaper: uniform in [1/K, 1/K + 0.01], the start of [KYCY22,
/// Sect. 5.1], in the scale of A itself; it is next to a symmetric saddle point.
enum class ChordStart { kMixed, kPaper };

template <>
struct EnumNames<ChordStart> {
  static constexpr std::array<std::string_view, 2> values{"mixed", "paper"};
};

struct ChordOptions {
  ChordFitPattern pattern = ChordFitPattern::kAlternating;
  /// Fit (P + P^T) / 2, P the product: for a symmetric A, twice the freedom for the same storage.
  /// The pattern kAuto tries this form for every symmetric A; with `symmetrize` it tries only this
  /// form.
  bool symmetrize = false;
  /// kShift: the links of the last factor are shifted cyclically to where |A| is large, at no cost
  /// in storage; not for a symmetrized product. kRcm, kSpectral: reverse Cuthill-McKee and the
  /// Fiedler vector of |A| + |A|^T, P = Q, N more numbers. kHop: an order found by annealing, in
  /// which large entries are few hops away; N more numbers for a symmetric A, else 2 N. kAuto:
  /// short fits choose among the orders that can help for A. Beyond 32 N nonzero entries, kRcm,
  /// kSpectral and kHop read the 32 largest of each column. kAuto reads all of A once, and
  /// therefore keeps the natural order beyond N = 16384 unless A is a sparse matrix.
  ChordOrder order = ChordOrder::kDefault;
  /// User-defined offsets: one list for all factors "0,1,2,4", or one list per factor, separated by
  /// ';'. Empty: the named pattern.
  std::string offsets = {};
  Index factors = 0;          ///< M; 0: ceil(log2 N), or as many as the budget admits
  StorageBudget budget = {};  ///< unset: the pattern's own size
  ChordEffort effort = ChordEffort::kDefault;  ///< sets the options below that are -1
  ChordOptimizer optimizer = ChordOptimizer::kAdam;
  ChordStart start = ChordStart::kMixed;  ///< unused for a warm start
  Index starts = -1;            ///< random starts, of which the best is kept; 1 for a warm start
  Index adam_steps = -1;        ///< annealed Adam steps; -1 after a warm start: none
  Index max_iterations = -1;    ///< number of L-BFGS iterations after Adam
  Index newton_steps = -1;      ///< Levenberg-Marquardt steps after L-BFGS, small chains only
  Index columns_per_step = -1;  ///< columns of A that an Adam step reads; 0 or >= N: all
  Index memory = 20;            ///< L-BFGS correction pairs
  /// Stop if the objective decreases relatively by less than this in 200 iterations.
  double tolerance = 1e-7;
  /// Has no effect if only Adam runs: above N = 4096 and with columns_per_step.
  ChordSolver solver = ChordSolver::kOwn;
  std::uint64_t seed = 1;
  /// Factors to start from. The fit has their pattern; `pattern` and `offsets`, if given, must
  /// agree with it. Not visited: the command line's --warm-start loads a saved file and sets it.
  std::shared_ptr<const ChordFactors> warm_start = {};
  /// P and Q of the approximation P^T W Q whose W is `warm_start`, each of order N; null: the
  /// identity. `chord` throws InvalidArgument if they are given without `warm_start`, and, if
  /// symmetrized, unless they are equal.
  std::shared_ptr<const Permutation> warm_rows = {};
  std::shared_ptr<const Permutation> warm_columns = {};
  void visit(OptionVisitor& v);
};

/// Chord sparse factorization A ~ W_1 W_2 ... W_M of a square matrix of order N >= 1: each W_m has
/// a few stored diagonals (ChordPattern), so that the product can have full rank. [KYCY22, Eq. 2]
///
/// Minimizes |A - Z|_F^2 / 2, Z = W_1...W_M or, symmetrized, its symmetric part, with the analytic
/// gradient, summed over column panels in a fixed order. From each random start it runs annealed
/// Adam, then L-BFGS [NW06, Alg. 7.5] from the best point seen, then Levenberg-Marquardt on Gram
/// matrices if the chain stores at most 2500 numbers. The best point of all is kept. Stores N times
/// the sum of the links, N ceil(log2 N) (floor(log2 N) + 1) with the defaults, and N or 2 N for an
/// order. Cost of an evaluation (one per step, about 1.1 per L-BFGS iteration): 6 M N^2 K flops (8
/// if symmetrized) and one read of A, by columns, or from a copy of A if N <= 4096 and memory
/// allows. Further memory: (M + 3) N b numbers per thread for panels of b columns, and 2 (memory +
/// 8) times the stored numbers. The resulting factors are balanced: they have equal Frobenius
/// norms.
///
/// Above N = 4096, or with columns_per_step, each Adam step reads only that many columns of A,
/// every column once before any is used again, and there is neither L-BFGS nor Levenberg-Marquardt:
/// 6 M N K flops per column. The message then states the error on 256 separately drawn columns,
/// with its 95 % interval.
///
/// The result is bit-identical for any thread count, and also if the fit was stopped and resumed
/// from a checkpoint in between. control.checkpoint is also called once when control stops the fit,
/// with the state to resume from. Throws InvalidArgument (not square, an option outside its range,
/// or offsets, a warm start or a resume state of another pattern), BudgetTooSmall, NumericalError
/// for NaN or Inf in A, Interrupted if stopped before the start was evaluated, NotAvailable if
/// memory does not suffice, and for kCeres in a build without MATAPPROX_WITH_CERES.
Approximation chord(const LinearOperator& A,
                    const ChordOptions& options = {},
                    const RunControl& control = {});

/// Returns `options` with a warm start at `found`: its factors, its order and whether it is
/// symmetrized. Throws InvalidArgument, with a message that begins with `what`, unless `found` is W
/// or P^T W Q with a Chord chain W.
ChordOptions warm_started(ChordOptions options,
                          const FactorProduct& found,
                          const std::string& what);

/// Returns the pattern that `chord` uses for order n; for kAuto the alternating one. An unset
/// budget gives the pattern's own number of factors; a larger one gives as many factors as fit, up
/// to n^2 stored numbers, unless `factors` or one list of offsets per factor fixes the number;
/// mixed_radix gets wider factors instead. Throws InvalidArgument and BudgetTooSmall as `chord`
/// does.
ChordPattern chord_pattern(Index n, const ChordOptions& options);
/// Returns the pattern of that name for order n >= 1, with its own number of factors.
ChordPattern named_chord_pattern(Index n, ChordLinks links);

}  // namespace matapprox
