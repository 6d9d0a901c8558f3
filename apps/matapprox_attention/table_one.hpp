#pragma once

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

 private:
  struct Row {
    std::string mechanism;
    attention::AttentionCost theory;
    attention::AttentionCost counted;
    attention::Crossover theory_from;
    attention::Crossover counted_from;
  };
  attention::TableOneSetting setting_;
  Index length_;
  std::vector<Row> rows_;
};

}  // namespace matapprox::app
