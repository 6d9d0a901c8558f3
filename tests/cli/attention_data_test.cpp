#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "matapprox/io/matrix_files.hpp"
#include "support/attention.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CliAttentionData, TokenFilesAreImportedShownAndTrainedOn) {
  const std::string tokens = tiny_token_file();
  EXPECT_THAT(run_attention({"data", "show", "token_file", "--path", tokens}).out,
              AllOf(HasSubstr("tokens "), HasSubstr(" 32 "), HasSubstr("class ")));
  const std::string model = tokens + ".model.h5";
  const ProgramResult made = run_attention({"train",
                                            "--task",
                                            "token_file",
                                            "--path",
                                            tokens,
                                            "--steps",
                                            "2",
                                            "--batch",
                                            "2",
                                            "--attention",
                                            "mean",
                                            "-o",
                                            model});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("majority class"));
  expect_refusal(run_attention({"data", "import", "ag_nws", tokens, "-o", tokens + "2"}),
                 2,
                 "did you mean 'ag_news'?");
  expect_refusal(run_attention({"data", "import", "imdb", tokens, "-o", tokens + "2"}), 3, tokens);
  expect_refusal(run_attention({"data", "show", "token_file", "--path", model}), 3, "token file");
  std::filesystem::remove(tokens);
  expect_refusal(run_attention({"evaluate", model}), 3, "no such file");
  EXPECT_EQ(run_attention({"weights", model, "-o", tokens + ".safetensors"}).exit_code, 0);
}

TEST(CliAttentionData, PatchesOfImagesAreTokens) {
  const std::string folder = temporary_dir();
  // Images that are bright above are class 0, those bright below class 1.
  for (int k = 0; k < 24; ++k) {
    Matrix image = Matrix::Constant(8, 8, 10 + k);
    image.middleRows(k % 2 * 4, 4).array() += 150;
    const std::string place = folder + "/images/" + (k % 2 == 0 ? "above" : "below");
    std::filesystem::create_directories(place);
    write_png(place + "/" + std::to_string(k) + ".png", image);
  }
  const std::string tokens = folder + "/images.h5";
  EXPECT_THAT(
      run_attention({"data", "import", "images", folder + "/images", "--patch", "4", "-o", tokens})
          .out,
      HasSubstr("24 sequences of up to 4 tokens, 48 features a token, 2 classes"));
  const std::string model = folder + "/model.h5";
  const ProgramResult made = run_attention(
      {"train",   "--task",      "token_file",      "--path",  tokens,        "--steps", "60",
       "--batch", "8",           "--attention",     "softmax", "--positions", "learned", "--width",
       "8",       "--undivided", "--learning-rate", "0.02",    "-o",          model,     "--json",
       "-"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.json()["result"]["error"], 0);
  expect_refusal(run_attention({"data",
                                "import",
                                "images",
                                folder + "/images",
                                "--patch",
                                "3",
                                "-o",
                                tokens,
                                "--force"}),
                 3,
                 "8 x 8 pixels cannot be cut into patches of 3 x 3");
}

TEST(CliAttentionData, MotifsAreWrittenAsFastaAndComeBackWithAnAreaUnderTheCurve) {
  const std::string folder = temporary_dir() + "/genomes";
  const ProgramResult written =
      run_attention({"data", "fasta", folder, "--samples", "60", "--length", "48", "--motif", "6"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(read_file(folder + "/class1.fa"), testing::StartsWith(">sample"));
  expect_refusal(run_attention({"data", "fasta", folder, "--samples", "60"}), 3, "--force");
  const std::string tokens = folder + "/genome.h5";
  EXPECT_THAT(run_attention({"data", "import", "genome", folder, "-o", tokens}).out,
              HasSubstr("60 sequences of up to 48 tokens, 5 token ids, 2 classes"));
  const std::string model = folder + "/model.h5";
  const ProgramResult made = run_attention({"train",
                                            "--task",
                                            "token_file",
                                            "--path",
                                            tokens,
                                            "--steps",
                                            "2",
                                            "--batch",
                                            "2",
                                            "--attention",
                                            "mean",
                                            "-o",
                                            model,
                                            "--json",
                                            "-"});
  const nlohmann::json result = made.json()["result"];
  EXPECT_GE(result["roc_auc"].get<double>(), 0);
  EXPECT_LE(result["roc_auc_interval"][0].get<double>(), result["roc_auc"].get<double>());
  EXPECT_GE(result["roc_auc_interval"][1].get<double>(), result["roc_auc"].get<double>());
  EXPECT_THAT(run_attention({"evaluate", model, "--split", "train"}).out,
              HasSubstr("area under the ROC curve"));
}

}  // namespace
}  // namespace matapprox::test
