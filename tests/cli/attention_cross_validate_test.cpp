#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "support/attention.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// Imports texts in the format of AG News whose second word determines their class; returns the
/// token file.
std::string news_tokens(const std::string& folder, int rows, const Arguments& vocabulary) {
  std::string text;
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{},title{},word{} end\n", 1 + i % 2, i % 3, i % 2);
  write_file(folder + "/news.csv", text);
  const std::string tokens = folder + "/news.h5";
  const ProgramResult made = run_attention(
      Arguments{"data", "import", "ag_news", folder + "/news.csv", "-o", tokens, "--force"} +
      Arguments{"--tokens", "words"} + vocabulary);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return tokens;
}

Arguments cross_validate(const std::string& tokens,
                         const std::string& folder,
                         const Arguments& more = {}) {
  return Arguments{"cross-validate",
                   "--task",
                   "token_file",
                   "--path",
                   tokens,
                   "--folds",
                   "3",
                   "-o",
                   folder,
                   "--steps",
                   "40",
                   "--batch",
                   "8",
                   "--width",
                   "8",
                   "--attention",
                   "mean",
                   "--evaluate-every",
                   "20",
                   "--learning-rate",
                   "0.02"} +
         more;
}

TEST(CliAttentionCrossValidate, StatesMeanAndDeviationAndResumes) {
  const std::string folder = temporary_dir();
  const std::string tokens = news_tokens(folder, 32, {"--vocabulary", "20"});
  const std::string folds = folder + "/folds";
  const json first = run_attention(cross_validate(tokens, folds, {"--json", "-"})).json();
  ASSERT_EQ(first["rows"].size(), 3U);
  double mean = 0;
  int samples = 0;
  for (const json& row : first["rows"]) {
    mean += row["error"].get<double>() / 3;
    samples += row["samples"].get<int>();
  }
  double square = 0;
  for (const json& row : first["rows"]) square += std::pow(row["error"].get<double>() - mean, 2);
  EXPECT_EQ(samples, 32);  // each row of the file once
  EXPECT_NEAR(first["error"]["mean"].get<double>(), mean, 1e-12);
  EXPECT_NEAR(first["error"]["standard_deviation"].get<double>(), std::sqrt(square / 2), 1e-12);
  EXPECT_EQ(first["baselines"][0]["name"], "majority class");
  EXPECT_LT(mean, first["baselines"][0]["mean"].get<double>());

  // A missing fold is trained again, to the same numbers, with any number of threads.
  std::filesystem::remove(folds + "/token_file-mean-mean-3-seed1-fold1.json");
  const ProgramResult again =
      run_attention(cross_validate(tokens, folds, {"--json", "-", "--threads", "1"}));
  EXPECT_THAT(again.err, HasSubstr("1 of 3 folds are to be trained"));
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_EQ(again.json()["rows"][k]["error"], first["rows"][k]["error"]);
  EXPECT_THAT(run_attention(cross_validate(tokens, folds)).out,
              AllOf(HasSubstr("fold 2"), HasSubstr("standard deviation over the folds")));

  // The file has different rows, so no cached fold is used.
  news_tokens(folder, 34, {"--vocabulary", "20"});
  EXPECT_THAT(run_attention(cross_validate(tokens, folds)).err,
              HasSubstr("3 of 3 folds are to be trained"));
}

TEST(CliAttentionCrossValidate, AModelIsEvaluatedOnAnotherFileOfItsVocabulary) {
  const std::string folder = temporary_dir();
  const std::string tokens = news_tokens(folder, 32, {"--vocabulary", "20"});
  const std::string model = folder + "/model.h5";
  const ProgramResult made = run_attention({"train",
                                            "--task",
                                            "token_file",
                                            "--path",
                                            tokens,
                                            "--steps",
                                            "40",
                                            "--batch",
                                            "8",
                                            "--width",
                                            "8",
                                            "--attention",
                                            "mean",
                                            "-o",
                                            model});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const std::string other = temporary_dir();
  const std::string others = news_tokens(other, 10, {"--vocabulary-file", tokens});
  const json result = run_attention({"evaluate", model, "--data", others, "--json", "-"}).json();
  EXPECT_EQ(result["result"]["samples"], 10);
  EXPECT_EQ(result["task"]["options"]["path"], others);
  const std::string strange = news_tokens(other, 10, {"--vocabulary", "5"});
  expect_refusal(
      run_attention({"evaluate", model, "--data", strange}), 2, "has 5 token ids, but the model");
  expect_refusal(run_attention({"evaluate", model, "--data", model}), 3, "not a token file");
}

TEST(CliAttentionCrossValidate, SetsOfLabelsHaveScores) {
  const std::string folder = temporary_dir();
  std::string text = "text,labels\n";
  for (int i = 0; i < 48; ++i) {
    text += fmt::format("{} {} end,{};{}\n",
                        i % 2 == 0 ? "red" : "blue",
                        i % 3 == 0 ? "round" : "flat",
                        i % 2 == 0 ? "r" : "",
                        i % 3 == 0 ? "o" : "");
  }
  write_file(folder + "/x.csv", text);
  const std::string tokens = folder + "/x.h5";
  const ProgramResult imported = run_attention({"data",
                                                "import",
                                                "csv",
                                                folder + "/x.csv",
                                                "-o",
                                                tokens,
                                                "--tokens",
                                                "words",
                                                "--vocabulary",
                                                "20",
                                                "--label-columns",
                                                "labels",
                                                "--label-separator",
                                                ";"});
  EXPECT_THAT(imported.out, HasSubstr("48 sequences of up to 3 tokens, 7 token ids, 2 labels"));
  const json folds =
      run_attention(cross_validate(tokens, folder + "/folds", {"--json", "-"})).json();
  EXPECT_EQ(folds["error"]["mean"], 0) << folds["error"];
  EXPECT_EQ(folds["micro_f1"]["mean"], 1);
  EXPECT_EQ(folds["macro_auc"]["mean"], 1);
  EXPECT_EQ(folds["rows"][0]["baselines"][1]["name"], "no labels");
  // The same results from the cached folds, as text, and from a single model.
  const ProgramResult again = run_attention(cross_validate(tokens, folder + "/folds"));
  EXPECT_THAT(again.out, AllOf(HasSubstr("mean F1 of a label"), HasSubstr("1.0000")));
  const std::string model = folder + "/folds/token_file-mean-mean-3-seed1-fold0.h5";
  const json result = run_attention({"evaluate", model, "--json", "-"}).json()["result"];
  EXPECT_EQ(result["answers"], 2 * result["samples"].get<int>());
  EXPECT_EQ(result["macro_f1"], 1);
  EXPECT_EQ(result["labels"][1]["roc_auc"], 1);
  EXPECT_NEAR(result["labels"][1]["positives"].get<int>(), 8, 1);  // half of the 16 samples
  EXPECT_THAT(run_attention({"evaluate", model}).out, HasSubstr("F1 of all labels together"));
  EXPECT_THAT(run_attention({"data", "show", "token_file", "--path", tokens}).out,
              HasSubstr("labels "));
}

TEST(CliAttentionCrossValidate, Refusals) {
  const std::string folder = temporary_dir();
  expect_refusal(run_attention({"cross-validate", "--task", "adding", "-o", folder}),
                 2,
                 "adding has no folds");
  const std::string tokens = news_tokens(folder, 8, {"--vocabulary", "20"});
  expect_refusal(
      run_attention({"cross-validate", "--task", "token_file", "--path", tokens, "-o", folder}),
      2,
      "give --folds");
  expect_refusal(run_attention(cross_validate(tokens, folder, {"--folds", "9"})), 2, "--folds");
  expect_refusal(run_attention(cross_validate(tokens, tokens)), 3, "news.h5");
}

}  // namespace
}  // namespace matapprox::test
