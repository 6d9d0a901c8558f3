#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "matapprox/io/safetensors.hpp"
#include "support/attention.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(CliAttentionBench, BenchTimesEveryMechanism) {
  const json all = run_attention({"bench",
                                  "--lengths",
                                  "8",
                                  "--rounds",
                                  "1",
                                  "--width",
                                  "16",
                                  "--heads",
                                  "2",
                                  "--json",
                                  "-"})
                       .json();
  const json listed = run_attention({"list", "--json", "-"}).json();
  ASSERT_EQ(all["rows"].size(), listed["mechanisms"].size());
  for (const json& row : all["rows"]) {
    EXPECT_GT(row["forward_seconds"].get<double>(), 0);
    EXPECT_GT(row["training_seconds"], row["forward_seconds"]);
    EXPECT_EQ(all["growth"][row["mechanism"].get<std::string>()], nullptr);
  }
  expect_refusal(run_attention({"bench", "--mechanisms", "sofmax"}), 2, "did you mean 'softmax'?");
  expect_refusal(
      run_attention({"bench", "--mechanisms", "linformer:rang=3"}), 2, "did you mean 'rank'?");
  expect_refusal(run_attention({"bench", "--mechanisms", "linformer:3"}), 2, "is not OPTION=VALUE");
  expect_refusal(run_attention({"bench", "--lengths", "0"}), 2, "--lengths 0 is below 1");
  expect_refusal(run_attention({"bench", "--rounds", "0"}), 2, "--rounds 0 is below 1");
}

TEST(CliAttentionBench, DrawsTimeAndMemory) {
  if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "there is no gnuplot";
  const std::string folder = temporary_dir();
  const std::string time = folder + "/time.svg";
  const std::string memory = folder + "/memory.svg";
  const Arguments bench{
      "bench", "--mechanisms", "softmax,psf", "--lengths", "8,16,32", "--rounds", "1"};
  EXPECT_EQ(run_attention(bench + Arguments{"--chart", time, "--memory-chart", memory}).exit_code,
            0);
  for (const char* part : {"softmax", "psf", "tokens N", "seconds of a forward pass"})
    EXPECT_THAT(read_file(time), HasSubstr(part));
  EXPECT_THAT(read_file(memory), HasSubstr("bytes of a forward and a backward pass"));
  const std::string both = folder + "/both.svg";
  expect_refusal(
      run_attention(bench + Arguments{"--chart", both, "--memory-chart", both}), 2, "both.svg");
}

TEST(CliAttentionBench, BenchWritesTensors) {
  const std::string path = temporary_dir() + "/layer.safetensors";
  const Arguments bench{"bench",
                        "--lengths",
                        "8",
                        "--rounds",
                        "1",
                        "--width",
                        "8",
                        "--heads",
                        "2",
                        "--mechanisms",
                        "linformer:rank=3"};
  EXPECT_EQ(run_attention(bench + Arguments{"--tensors", path}).exit_code, 0);
  std::vector<std::string> names;
  for (const NamedTensor& tensor : read_safetensors(path).tensors) names.push_back(tensor.name);
  for (const char* name : {"X", "Y", "layer.E", "gradient.X", "gradient.layer.query.weight"})
    EXPECT_THAT(names, testing::Contains(name));
  expect_refusal(run_attention(bench + Arguments{"--tensors", path}), 3, "--force");
  expect_refusal(
      run_attention(bench + Arguments{"--tensors", "layer.txt"}), 2, "must end with .safetensors");
  expect_refusal(run_attention({"bench", "--tensors", "new.safetensors"}),
                 2,
                 "needs one mechanism and one length");
}

/// Lengths of [WKZL23, Table 1] at the setting of its experiments, beside the counts of the layers.
TEST(CliAttentionBench, BenchShowsTheTableOfThePaperBesideWhatIsCounted) {
  const Arguments bench{"bench",
                        "--lengths",
                        "8",
                        "--rounds",
                        "1",
                        "--width",
                        "384",
                        "--heads",
                        "6",
                        "--mechanisms",
                        "linformer:rank=256"};
  const json tables = run_attention(bench + Arguments{"--json", "-"}).json()["table_one"];
  ASSERT_EQ(tables.size(), 1U);  // the bench runs at that setting
  const json& linformer = tables[0]["rows"][1];
  const json& singularformer = tables[0]["rows"][2];
  EXPECT_EQ(linformer["table_below_softmax_from"],
            (json{{"multiplications", 513}, {"numbers", 420}}));
  EXPECT_EQ(singularformer["table_below_softmax_from"],
            (json{{"multiplications", 72}, {"numbers", 87}}));
  // The layer projects k mixed tokens to keys and values, the table all N: 2 (N - k) d² fewer.
  const int fewer = 2 * (1024 - 256) * 384 * 384;
  for (const json& row : tables[0]["rows"])
    EXPECT_EQ(row["counted"]["multiplications"].get<int>(),
              row["table"]["multiplications"].get<int>() - (row == linformer ? fewer : 0));
  const std::string text = run_attention(bench).out;
  EXPECT_NE(text.find("d = 384, 6 heads, k = 256, r = 64"), std::string::npos) << text;
  const json small = run_attention({"bench",
                                    "--lengths",
                                    "8",
                                    "--rounds",
                                    "1",
                                    "--width",
                                    "16",
                                    "--heads",
                                    "2",
                                    "--mechanisms",
                                    "singularformer:rank=0",
                                    "--json",
                                    "-"})
                         .json()["table_one"];
  ASSERT_EQ(small.size(), 2U);
  EXPECT_EQ(small[0]["singularformer_rank"], 8);
  EXPECT_EQ(small[1]["width"], 384);
}

}  // namespace
}  // namespace matapprox::test
