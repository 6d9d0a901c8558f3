#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/chord_objective.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/chord/fit_state.hpp"
#include "methods/chord/target.hpp"

namespace matapprox::chord_fit {

/// The objective of one fit, on the processor or, where control.on_device, on a card. If the card
/// fails after the first evaluation, the fit goes on on the processor, and note() says so.
///
/// All functions throw Stopped once the caller's control asks to stop.
class Evaluation {
 public:
  /// `most_columns`: of one evaluation. Throws NotAvailable if the card cannot be used.
  Evaluation(const ChordPattern& pattern,
             const Target& target,
             Index most_columns,
             const RunControl& control);

  /// f of all columns and, unless null, its gradient.
  double of_all(const double* values, double* gradient);
  /// (N / |J|) times the part of the columns J.
  double of_sample(std::span<const Index> J, const double* values, double* gradient);

  /// What the caller should know: empty, or that the card failed.
  const std::string& note() const { return note_; }

 private:
  /// On the card if there is one; false: it is not, or no longer.
  bool on_card(std::span<const Index> J, const double* values, double* gradient, double& f);
  void columns(std::span<const Index> J, double* panel) const;

  const ChordPattern& pattern_;
  const Target& target_;
  const RunControl& control_;
  std::vector<Index> all_;
  std::unique_ptr<DeviceChordObjective> card_;
  bool card_has_worked_ = false;
  std::string note_;
};

}  // namespace matapprox::chord_fit
