#include "matapprox/methods/chord.hpp"

#include "matapprox/core/require.hpp"
#include "methods/chord/fit.hpp"

namespace matapprox {
namespace {

/// W, P and Q of a product W or P^T W Q; the pointers share the factors' values. All are null for
/// another product.
struct ChordParts {
  std::shared_ptr<const ChordFactors> chain;
  std::shared_ptr<const Permutation> rows;
  std::shared_ptr<const Permutation> columns;
};

template <class T>
std::shared_ptr<const T> content(const Factor& factor) {
  return {factor.value, std::get_if<T>(factor.value.get())};
}

std::shared_ptr<const ChordFactors> chain_of(const Factor& factor) {
  if (const auto* placed = std::get_if<PlacedChord>(factor.value.get()))
    return std::make_shared<const ChordFactors>(placed->to_host());
  return content<ChordFactors>(factor);
}

ChordParts chord_parts(const FactorProduct& product) {
  const std::vector<Factor>& factors = product.factors();
  if (factors.size() == 1) return {chain_of(factors[0]), nullptr, nullptr};
  if (factors.size() != 3 || !factors[0].transposed || factors[1].transposed ||
      factors[2].transposed)
    return {};
  const ChordParts parts{
      chain_of(factors[1]), content<Permutation>(factors[0]), content<Permutation>(factors[2])};
  return parts.rows != nullptr && parts.columns != nullptr ? parts : ChordParts{};
}

}  // namespace

void ChordOptions::visit(OptionVisitor& v) {
  v.visit_enum("pattern",
               pattern,
               "alternating: links 0, 1, 2, 4 .. 2^(floor(log2 N) - 1), with signs that change "
               "from factor to factor; mixed_radix: three wide factors of the same size; auto: "
               "chosen from these by short fits, with and without symmetrize; reference: all signs "
               "+, as in the paper's code; paper: as in its text, one link fewer if N is a power "
               "of two; torch: as in its attention module, floor(log2 N) factors");
  v.visit("symmetrize",
          symmetrize,
          "fit (P + P^T)/2, P the product of the factors, to a symmetric matrix");
  v.visit_enum("order",
               order,
               "order in which rows and columns are fitted: natural; shift: the last factor's "
               "links shifted to where the matrix is large; rcm: reverse Cuthill-McKee; spectral: "
               "by the Fiedler vector; hop: found by annealing, so that large entries are few hops "
               "away; auto: chosen by short fits; default: natural, or auto with pattern auto");
  v.visit("offsets",
          offsets,
          "user-defined links (column - row) mod N: one list for all factors, such as 0,1,2,4, or "
          "one per factor, such as 0,1;0,2;0,4");
  v.visit(
      "factors", factors, "number of factors; 0: ceil(log2 N), more where the budget admits them");
  v.visit("budget", budget, "storage limit, e.g. 18432, 10% or 4MB; unset: the pattern's own size");
  v.visit_enum("effort", effort, "work of the fit; sets each option below that is -1");
  v.visit_enum("optimizer",
               optimizer,
               "adam: Adam, then L-BFGS and Levenberg-Marquardt; bfgs: L-BFGS alone, as in the "
               "paper");
  v.visit_enum(
      "start",
      start,
      "random starts: mixed, half of each row on the diagonal; paper: uniform in [1/K, 1/K "
      "+ 0.01]");
  v.visit("starts",
          starts,
          "number of random starts, of which the best is kept; one after a warm start; -1: by "
          "effort and N");
  v.visit("adam_steps",
          adam_steps,
          "number of annealed Adam steps; -1: by effort and N, none after a warm start");
  v.visit("max_iterations",
          max_iterations,
          "maximum number of L-BFGS iterations after Adam; -1: by effort and N");
  v.visit("newton_steps",
          newton_steps,
          "maximum number of Levenberg-Marquardt steps after L-BFGS, for small chains; -1: by "
          "effort and N");
  v.visit("columns_per_step",
          columns_per_step,
          "number of matrix columns that an Adam step reads; 0: all; -1: by N");
  v.visit("memory", memory, "number of L-BFGS correction pairs, 1..1000");
  v.visit(
      "tolerance",
      tolerance,
      "L-BFGS stops if the squared error decreases by less than this fraction in 200 iterations");
  v.visit_enum(
      "solver",
      solver,
      "implementation of L-BFGS and Levenberg-Marquardt after Adam: the library's own, or Ceres");
  v.visit("seed", seed, "seed of the random start");
}

Approximation chord(const LinearOperator& A,
                    const ChordOptions& options,
                    const RunControl& control) {
  return chord_fit::fit_chord(A, options, control, make_device_chord_objective);
}

ChordOptions warm_started(ChordOptions options,
                          const FactorProduct& found,
                          const std::string& what) {
  const ChordParts parts = chord_parts(found);
  require(parts.chain != nullptr, "{}: is not a Chord approximation", what);
  options.symmetrize = found.symmetrized();
  options.warm_start = parts.chain;
  options.warm_rows = parts.rows;
  options.warm_columns = parts.columns;
  return options;
}

}  // namespace matapprox
