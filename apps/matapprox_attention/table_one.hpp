#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matapprox/attention/crossover.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// Table 1 of [WKZL23] at one setting, beside what the layers of this program count, and the
/// lengths from which on either says that a mechanism costs less than softmax attention.
class TableOne {
 public:
  TableOne(const attention::TableOneSetting& setting, Index length);
  std::string text() const;
  report::Json json() const;
  /// From which lengths on the table says that the mechanism costs less than softmax attention;
  /// nothing for one that is not in it.
  std::optional<attention::Crossover> crossover(const std::string& mechanism) const;
  /// The same as its layer counts.
  std::optional<attention::Crossover> counted_crossover(const std::string& mechanism) const;

 private:
  struct Row {
    std::string mechanism;
    attention::AttentionCost theory;
    attention::AttentionCost counted;
    attention::Crossover theory_from;
    attention::Crossover counted_from;
  };
  const Row* row_of(const std::string& mechanism) const;
  attention::TableOneSetting setting_;
  Index length_;
  std::vector<Row> rows_;
};

}  // namespace matapprox::app
