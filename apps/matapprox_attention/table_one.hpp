#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matapprox/attention/crossover.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// Table 1 of [WKZL23] at one setting, beside the counts of this program's layers, and the lengths
/// from which on a mechanism costs less than softmax attention by either.
class TableOne {
 public:
  TableOne(const attention::TableOneSetting& setting, Index length);
  std::string text() const;
  report::Json json() const;
  /// Lengths from which on, by the table, the mechanism costs less than softmax attention; nullopt
  /// if the table does not contain it.
  std::optional<attention::Crossover> crossover(const std::string& mechanism) const;
  /// The same lengths by the counts of the layer.
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
