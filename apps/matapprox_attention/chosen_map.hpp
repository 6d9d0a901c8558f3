#pragma once

#include <memory>
#include <optional>
#include <string>

#include "command_line/command_line.hpp"
#include "matapprox/training/attention_on_sample.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// The choice of one of a model's attention matrices: --layer and --head, or --summary.
class ChosenMap {
 public:
  void add(const Command& command);
  /// Throws InvalidArgument for an option that has no effect.
  void check() const;
  std::shared_ptr<const LinearOperator> matrix(const training::AttentionOnSample& attention) const;
  /// "layer 0, head 1"
  std::string text() const;
  /// Adds `summary`, `layer` and `head`; the last two are null with --summary.
  void describe(report::Json& json) const;

 private:
  std::optional<Command> command_;
  Index layer_ = 0;
  Index head_ = 0;
  bool summary_ = false;
};

}  // namespace matapprox::app
