#include "warm_start.hpp"

#include <memory>

#include "matapprox/core/require.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/methods/chord.hpp"

namespace matapprox::app {
namespace {

/// W, P and Q of W or P^T W Q; pointers share the factors' values. Nothing of another product.
struct ChordParts {
  std::shared_ptr<const ChordFactors> chain;
  std::shared_ptr<const Permutation> rows;
  std::shared_ptr<const Permutation> columns;
};

template <class T>
std::shared_ptr<const T> content(const Factor& factor) {
  return {factor.value, std::get_if<T>(factor.value.get())};
}

ChordParts chord_parts(const FactorProduct& product) {
  const std::vector<Factor>& factors = product.factors();
  if (factors.size() == 1) return {content<ChordFactors>(factors[0]), nullptr, nullptr};
  if (factors.size() != 3 || !factors[0].transposed || factors[1].transposed ||
      factors[2].transposed)
    return {};
  const ChordParts parts{content<ChordFactors>(factors[1]),
                         content<Permutation>(factors[0]),
                         content<Permutation>(factors[2])};
  return parts.rows != nullptr && parts.columns != nullptr ? parts : ChordParts{};
}

}  // namespace

Fit warm_started_fit(const Method& method,
                     const NamedOptions& options,
                     const std::string& warm_start) {
  require(method.name == "chord", "--warm-start is for chord, not {}", method.name);
  const SavedApproximation saved = load_approximation(warm_start);
  const ChordParts parts = chord_parts(saved.approximation);
  require(parts.chain != nullptr,
          "{}: is not a Chord approximation; --warm-start needs one",
          warm_start);
  ChordOptions chord_options;
  for (const auto& [name, value] : options) {
    OptionSetter setter(name, value);
    chord_options.visit(setter);
  }
  chord_options.symmetrize = saved.approximation.symmetrized();
  chord_options.warm_start = parts.chain;
  chord_options.warm_rows = parts.rows;
  chord_options.warm_columns = parts.columns;
  return [chord_options](const LinearOperator& A, const RunControl& control) {
    return chord(A, chord_options, control);
  };
}

}  // namespace matapprox::app
