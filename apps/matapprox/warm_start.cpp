#include "warm_start.hpp"

#include <memory>

#include "core/require.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/methods/chord.hpp"

namespace matapprox::app {

Fit warm_started_fit(const Method& method,
                     const NamedOptions& options,
                     const std::string& warm_start) {
  require(method.name == "chord", "--warm-start is for chord, not {}", method.name);
  const SavedApproximation saved = load_approximation(warm_start);
  const std::vector<Factor>& factors = saved.approximation.factors();
  const auto* chain =
      factors.size() == 1 ? std::get_if<ChordFactors>(factors.front().value.get()) : nullptr;
  require(chain != nullptr, "{}: is not a Chord approximation; --warm-start needs one", warm_start);
  ChordOptions chord_options;
  for (const auto& [name, value] : options) {
    OptionSetter setter(name, value);
    chord_options.visit(setter);
  }
  chord_options.symmetrize = saved.approximation.symmetrized();
  // Shares the value with `saved`, so that the fit may outlive it.
  chord_options.warm_start = std::shared_ptr<const ChordFactors>(factors.front().value, chain);
  return [chord_options](const LinearOperator& A, const RunControl& control) {
    return chord(A, chord_options, control);
  };
}

}  // namespace matapprox::app
