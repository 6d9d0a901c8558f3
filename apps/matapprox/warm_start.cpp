#include "warm_start.hpp"

#include "matapprox/core/require.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/methods/chord.hpp"

namespace matapprox::app {

Fit warm_started_fit(const Method& method,
                     const NamedOptions& options,
                     const std::string& warm_start) {
  require(method.name == "chord", "--warm-start is for chord, not {}", method.name);
  const ChordOptions chord_options = warm_started(options_from<ChordOptions>(options),
                                                  load_approximation(warm_start).approximation,
                                                  "--warm-start " + warm_start);
  return [chord_options](const LinearOperator& A, const RunControl& control) {
    return chord(A, chord_options, control);
  };
}

}  // namespace matapprox::app
