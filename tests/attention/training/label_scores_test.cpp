#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "matapprox/attention/training/scores.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"

namespace matapprox::training {
namespace {

TEST(LabelScores, AreThoseOfScikitLearn) {
  nlohmann::json reference;
  std::ifstream(test::source_dir() + "/tests/reference/label_scores.json") >> reference;
  ASSERT_GE(reference["cases"].size(), 5U);
  for (const nlohmann::json& expected : reference["cases"]) {
    const auto labels = expected["labels"].get<Index>();
    const LabelScores found = label_scores(expected["scores"].get<std::vector<double>>(),
                                           expected["targets"].get<std::vector<std::uint8_t>>(),
                                           labels);
    EXPECT_NEAR(found.micro_f1, expected["micro_f1"].get<double>(), 1e-12);
    EXPECT_NEAR(found.macro_f1, expected["macro_f1"].get<double>(), 1e-12);
    EXPECT_NEAR(found.macro_auc, expected["macro_auc"].get<double>(), 1e-12);
    ASSERT_EQ(std::ssize(found.roc), labels);
    for (std::size_t c = 0; c < found.roc.size(); ++c) {
      const nlohmann::json& area = expected["areas"][c];
      ASSERT_EQ(found.roc[c].has_value(), !area.is_null()) << c;
      if (found.roc[c]) {
        EXPECT_NEAR(found.roc[c]->area, area.get<double>(), 1e-12) << c;
      }
    }
  }
}

TEST(LabelScores, Refusals) {
  const std::vector<double> scores{1, 2, 3};
  EXPECT_REFUSED(InvalidArgument,
                 label_scores(scores, std::vector<std::uint8_t>{0, 1, 0}, 2),
                 "3 scores do not form rows of 2 labels");
  EXPECT_REFUSED(InvalidArgument,
                 label_scores(scores, std::vector<std::uint8_t>{0, 1}, 3),
                 "3 scores and 2 targets");
  EXPECT_REFUSED(InvalidArgument, label_scores({}, {}, 1), "0 scores");
  const std::vector<double> infinite{1, std::numeric_limits<double>::infinity()};
  EXPECT_REFUSED(InvalidArgument,
                 label_scores(infinite, std::vector<std::uint8_t>{0, 1}, 1),
                 "score 1 is not finite");
}

}  // namespace
}  // namespace matapprox::training
