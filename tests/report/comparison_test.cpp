#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "report/comparison_page.hpp"
#include "report/json.hpp"

namespace matapprox {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Comparison sample() {
  Comparison comparison;
  comparison.path = "a \"quoted\" path.mtx";
  comparison.description = "sparse, 12 stored entries";
  comparison.facts = {10, 10, 12, true, 3.5, true};
  comparison.basis = "rank 2";
  comparison.rows.resize(3);
  ComparisonRow& as_is = comparison.rows[0];
  as_is.method = "as_is";
  as_is.form = "sparse, 12 stored entries";
  as_is.storage = Storage{12, 232};
  as_is.storage_share = 0.12;
  as_is.measurement = Measurement{};
  as_is.measurement->relative_error = 0.0;
  as_is.fit_seconds = 0;
  ComparisonRow& estimated = comparison.rows[1];
  estimated.method = "truncated_svd_symmetric";
  estimated.form = "symmetric";
  estimated.options = {{"rank", "2"}, {"budget", ""}};
  estimated.rank = 2;
  estimated.storage = Storage{150, 1200};
  estimated.storage_share = 1.5;
  estimated.measurement = Measurement{};
  estimated.measurement->error_frobenius = 0.35;
  estimated.measurement->relative_error = 0.1;
  estimated.measurement->error_is_exact = false;
  estimated.measurement->error_interval = {0.3, 0.4};
  estimated.measurement->apply_seconds_1 = 1.5e-6;
  estimated.fit_seconds = 0.25;
  estimated.passes = 4;
  estimated.termination = Termination::kCompleted;
  ComparisonRow& failed = comparison.rows[2];
  failed.method = "nystrom";
  failed.status = "nystrom: a reason, with a comma and a \"quote\"";
  return comparison;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> keys_of(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

DenseOperator symmetric_example(Index n) {
  const Matrix a = random_normal_matrix(1, RandomStream::kGenerator, n, n);
  return DenseOperator(a + a.transpose());
}

TEST(ComparisonTable, IsAlignedAndAtMostAHundredColumnsWide) {
  Comparison comparison = sample();
  comparison.rows[1].form = "dense, symmetric and a very long word";
  comparison.rows[0].storage->numbers = 123456789012345;
  comparison.rows[2].status = std::string(300, 'x') + " " + std::string(50, 'y');
  comparison.rows[1].message =
      "a sentence of many words that goes on and on until it no longer fits into one line";
  const std::string table = comparison_table(comparison);
  for (const std::string& line : lines_of(table)) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_THAT(table, HasSubstr("no compression"));
  EXPECT_THAT(table, HasSubstr("~1.000e-01"));
  EXPECT_THAT(table, HasSubstr("95 % interval 0.3 .. 0.4"));
  EXPECT_THAT(table, HasSubstr("10 x 10, 12 nonzeros, symmetric"));

  std::size_t title = std::string::npos;
  const std::vector<std::string> lines = lines_of(table);
  for (const std::string& line : lines) {
    if (line.rfind("method", 0) == 0) title = line.find("rel. error") + 10;
    if (line.rfind("as_is", 0) == 0) {
      EXPECT_EQ(line.substr(0, title).back(), '0') << line;
    }
  }
  ASSERT_NE(title, std::string::npos);
}

TEST(ComparisonTable, ShowsTimesOfEverySizeWithThreeDigits) {
  Comparison comparison = sample();
  const std::pair<double, const char*> cases[] = {{1.234e-7, " 1.2e-07 "},
                                                  {0.0012345, " 0.00123 "},
                                                  {0.5, " 0.500 "},
                                                  {12.34, " 12.3 "},
                                                  {99.99, " 100 "},
                                                  {1264.0, " 1264 "},
                                                  {123456.0, " 123456 "},
                                                  {2e8, " 2.0e+08 "}};
  for (const auto& [seconds, shown] : cases) {
    comparison.rows[1].fit_seconds = seconds;
    EXPECT_THAT(comparison_table(comparison), HasSubstr(shown));
  }
}

TEST(ComparisonTable, SaysThatAMethodStoppedByTimeDidSo) {
  Comparison comparison = sample();
  comparison.rows[1].termination = Termination::kMaxSeconds;
  comparison.rows[1].interrupted = true;
  EXPECT_THAT(comparison_table(comparison), HasSubstr("interrupted"));
  EXPECT_THAT(comparison_table(comparison), HasSubstr("--max-seconds"));
}

TEST(ComparisonCertificate, IsInTheTableTheJsonAndTheCsv) {
  Comparison comparison = sample();
  EXPECT_THAT(comparison_table(comparison), Not(HasSubstr("certified")));
  Certificate& certificate = comparison.rows[1].measurement->certificate.emplace();
  certificate.frobenius = CertifiedBound{0.41, 0.999};
  certificate.spectral = CertifiedBound{0.25, 0.999};
  certificate.products = 40;
  certificate.passes = 5;
  EXPECT_THAT(comparison_table(comparison),
              HasSubstr("certified |A - B|_F <= 0.41 (confidence 99.9 %)"));
  const json rows = json::parse(report::to_text(report::to_json(comparison)))["results"];
  EXPECT_EQ(rows[0]["certificate"], nullptr);
  EXPECT_EQ(rows[2]["certificate"], nullptr);
  const json& written = rows[1]["certificate"];
  EXPECT_EQ(keys_of(written),
            (std::vector<std::string>{"frobenius",
                                      "frobenius_confidence",
                                      "norm",
                                      "passes",
                                      "products",
                                      "relative",
                                      "rounding",
                                      "spectral",
                                      "spectral_confidence"}));
  EXPECT_EQ(written["norm"], "frobenius");
  EXPECT_EQ(written["frobenius"], 0.41);
  EXPECT_EQ(written["frobenius_confidence"], 0.999);
  EXPECT_EQ(written["relative"], nullptr);
  EXPECT_EQ(written["products"], 40);
  EXPECT_THAT(comparison_csv(comparison), HasSubstr(",0.41,0.999,0.25,0.999\n"));
}

TEST(ComparisonJson, HasTheDocumentedKeysAndNulls) {
  const json document = json::parse(report::to_text(report::to_json(sample())));
  EXPECT_EQ(document["schema_version"], 3);
  for (const char* key : {"version", "machine", "seed", "threads", "matrix", "results"}) {
    EXPECT_TRUE(document.contains(key)) << key;
  }
  EXPECT_EQ(document["matrix"]["path"], "a \"quoted\" path.mtx");
  EXPECT_EQ(document["matrix"]["nonzeros"], 12);
  EXPECT_EQ(document["matrix"]["symmetric"], true);
  EXPECT_EQ(document["matrix"]["frobenius_norm"], 3.5);

  const json& estimated = document["results"][1];
  for (const char* key : {"method",
                          "status",
                          "options",
                          "rank",
                          "stored_numbers",
                          "stored_bytes",
                          "storage_share",
                          "storage_precision",
                          "error_frobenius",
                          "relative_error",
                          "error_is_exact",
                          "error_interval",
                          "spectral_error_lower",
                          "certificate",
                          "fit_seconds",
                          "apply_seconds_1",
                          "apply_seconds_64",
                          "passes",
                          "peak_memory_bytes",
                          "termination",
                          "interrupted",
                          "worse_than_zero"}) {
    EXPECT_TRUE(estimated.contains(key)) << key;
  }
  EXPECT_EQ(estimated["error_frobenius"], 0.35);
  EXPECT_EQ(estimated["error_interval"], json::array({0.3, 0.4}));
  EXPECT_EQ(estimated["options"]["rank"], "2");
  EXPECT_EQ(estimated["termination"], "completed");
  EXPECT_EQ(estimated["peak_memory_bytes"], nullptr);
  EXPECT_EQ(document["results"][0]["rank"], nullptr);

  const json& failed = document["results"][2];
  EXPECT_EQ(keys_of(failed), keys_of(estimated));
  EXPECT_THAT(failed["status"].get<std::string>(), HasSubstr("a reason"));
  for (const char* key : {"stored_numbers",
                          "error_frobenius",
                          "relative_error",
                          "error_is_exact",
                          "fit_seconds",
                          "apply_seconds_1",
                          "termination",
                          "worse_than_zero"}) {
    EXPECT_EQ(failed[key], nullptr) << key;
  }
}

TEST(ComparisonJson, WritesNoNumbersThatJsonLacks) {
  Comparison comparison = sample();
  comparison.rows[1].measurement->error_frobenius = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      json::parse(report::to_text(report::to_json(comparison)))["results"][1]["error_frobenius"],
      nullptr);
}

TEST(ComparisonCsv, HasOneCellPerColumnAndQuotesText) {
  const std::vector<std::string> lines = lines_of(comparison_csv(sample()));
  ASSERT_EQ(lines.size(), 4U);
  const auto commas = [](const std::string& line) {
    return std::count(line.begin(), line.end(), ',');
  };
  EXPECT_EQ(commas(lines[2]), commas(lines[0]));
  EXPECT_THAT(lines[1], HasSubstr("\"sparse, 12 stored entries\""));
  EXPECT_EQ(commas(lines[3]), commas(lines[0]) + 1);
  EXPECT_THAT(lines[3], HasSubstr("\"nystrom: a reason, with a comma and a \"\"quote\"\"\""));
}

TEST(Compare, RowsStartWithTheMatrixAsItIs) {
  const DenseOperator A = symmetric_example(24);
  ComparisonOptions options;
  options.methods = {"truncated_svd", "truncated_svd_symmetric"};
  options.measure.time_products = false;
  const Comparison comparison = compare(A, options);
  ASSERT_EQ(comparison.rows.size(), 3U);
  const ComparisonRow& as_is = comparison.rows[0];
  EXPECT_EQ(as_is.method, "as_is");
  EXPECT_EQ(as_is.storage->numbers, 24 * 25 / 2);  // one triangle
  EXPECT_EQ(as_is.measurement->error_frobenius, 0);
  EXPECT_EQ(as_is.form, "dense, upper triangle, doubles");
  EXPECT_LT(*as_is.storage_share, 0.6);

  const Index budget = chord_reference_numbers(24);
  const ComparisonRow& plain = comparison.rows[1];
  const ComparisonRow& symmetric = comparison.rows[2];
  EXPECT_EQ(*plain.rank, budget / (2 * 24 + 1));
  EXPECT_EQ(*symmetric.rank, std::min<Index>(24, budget / (24 + 1)));
  EXPECT_LE(symmetric.storage->numbers, budget);
  EXPECT_LT(symmetric.measurement->error_frobenius, plain.measurement->error_frobenius);
}

TEST(Compare, ShowsTheSymmetricFormOnlyForSymmetricMatrices) {
  ComparisonOptions options;
  options.measure.time_products = false;
  options.settings = {{"chord", "max_iterations", "2"}, {"chord", "adam_steps", "2"}};
  const auto names = [&](const LinearOperator& A) {
    std::vector<std::string> result;
    for (const ComparisonRow& row : compare(A, options).rows) result.push_back(row.method);
    return result;
  };
  EXPECT_THAT(names(symmetric_example(8)), testing::Contains("truncated_svd_symmetric"));
  const DenseOperator other(random_normal_matrix(2, RandomStream::kGenerator, 8, 8));
  EXPECT_THAT(names(other), Not(testing::Contains("truncated_svd_symmetric")));
  EXPECT_THAT(names(other), Not(testing::Contains("exact")));  // shown as as_is
  EXPECT_EQ(names(other).size(), methods().size());
}

TEST(Compare, AMethodThatCannotRunIsARowWithTheReason) {
  const DenseOperator A(random_normal_matrix(3, RandomStream::kGenerator, 6, 9));
  ComparisonOptions options;
  options.methods = {"chord", "truncated_svd"};
  options.rank = 2;
  options.measure.time_products = false;
  const Comparison comparison = compare(A, options);
  EXPECT_FALSE(comparison.rows[1].ok());
  EXPECT_NE(comparison.rows[1].failure, nullptr);
  EXPECT_THAT(comparison.rows[1].status, HasSubstr("square"));
  EXPECT_TRUE(comparison.rows[2].ok());
  EXPECT_TRUE(comparison.any_ok());
}

TEST(Compare, StoppedBeforeItStartsRunsNothing) {
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  SparseMatrix identity(5, 5);
  identity.setIdentity();
  const SparseOperator A(identity);  // has known facts, so that only the methods are stopped
  ComparisonOptions options;
  options.measure.time_products = false;
  const Comparison comparison = compare(A, options, control);
  for (std::size_t i = 1; i < comparison.rows.size(); ++i) {
    EXPECT_THAT(comparison.rows[i].status, HasSubstr("interrupted before it started"));
  }
  EXPECT_FALSE(comparison.any_ok());
}

TEST(Compare, ReasonsOfRowsDoNotRepeatTheMethod) {
  ComparisonOptions options;
  options.budget = parse_budget("10");
  const Comparison comparison = compare(symmetric_example(40), options);
  int failed = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.ok()) continue;
    ++failed;
    for (const Method& method : methods()) {
      EXPECT_THAT(row.status, Not(HasSubstr(std::string(method.name) + ": "))) << row.method;
    }
  }
  EXPECT_GE(failed, 6);
  EXPECT_THAT(comparison_table(comparison), Not(HasSubstr("hierarchical: hierarchical")));
}

TEST(Compare, RefusesWhatItCannotMean) {
  const DenseOperator A = symmetric_example(5);
  const auto message = [&](const ComparisonOptions& options) -> std::string {
    try {
      compare(A, options);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "no exception";
  };
  ComparisonOptions options;
  options.rank = 6;
  EXPECT_THAT(message(options), HasSubstr("rank 6 is outside 1..5"));
  options.rank = -1;
  EXPECT_THAT(message(options), HasSubstr("rank -1 is outside 1..5"));
  options.rank = 2;
  options.target_error = 0.5;
  EXPECT_THAT(message(options), HasSubstr("one of"));
  options = {};
  options.methods = {"nystorm"};
  EXPECT_THAT(message(options), HasSubstr("nystrom"));
  options = {};
  options.settings = {{"nystrom", "smapling", "uniform"}};
  EXPECT_THAT(message(options), HasSubstr("nystrom: there is no option 'smapling'"));
  EXPECT_THAT(message(options), HasSubstr("'sampling'"));
  options.settings = {{"chord", "seed", "x"}};
  EXPECT_THAT(message(options), HasSubstr("chord: option seed: 'x' is not"));
}

}  // namespace
}  // namespace matapprox
