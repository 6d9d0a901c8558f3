#include "support/attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

TEST(CliAttention, TrainEvaluateMapCompare) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/adding.h5";
  const json trained = run_attention(small_run(model, {"--quiet", "--json", "-"})).json();
  EXPECT_EQ(trained["schema_version"], 3);
  EXPECT_EQ(trained["task"]["name"], "adding");
  EXPECT_EQ(trained["task"]["options"]["length"], "16");
  EXPECT_EQ(trained["model"]["options"]["attention"], "psf");
  EXPECT_EQ(trained["model"]["attention_options"]["value_width"], "8");
  // Layers: 2 features to 32; 32 to the 4 factors' hidden 32 and the values' hidden 32; 8 values; 4
  // factors of 5 links; 16 tokens of width 8 to one number.
  EXPECT_EQ(trained["model"]["parameters"],
            (2 + 1) * 32 + (32 + 1) * 5 * 32 + (32 + 1) * 8 + 4 * (32 + 1) * 5 + (16 * 8 + 1));
  EXPECT_EQ(trained["training"]["steps_taken"], 100);
  EXPECT_EQ(trained["training"]["end"], "steps");
  EXPECT_EQ(trained["saved_to"], model);
  ASSERT_EQ(trained["history"].size(), 5U);
  EXPECT_EQ(trained["history"][4]["step"], 100);
  EXPECT_LT(trained["history"][4]["validation_loss"], trained["history"][0]["validation_loss"]);
  EXPECT_EQ(trained["result"]["samples"], 200);
  EXPECT_EQ(trained["result"]["split"], "test");
  EXPECT_NEAR(trained["baselines"][0]["error"].get<double>(), std::pow(1 - 2 * 0.04, 2), 1e-12);

  const json again = run_attention({"evaluate", model, "--samples", "200", "--json", "-"}).json();
  EXPECT_EQ(again["result"], trained["result"]);
  EXPECT_EQ(again["history"], trained["history"]);
  const json described = run_program({"info", model, "--json", "-"}).json();
  EXPECT_EQ(described["kind"], "model");
  EXPECT_EQ(described["training"]["options"], trained["training"]["options"]);
  EXPECT_THAT(run_program({"info", model}).out,
              AllOf(HasSubstr("saved model"), HasSubstr("value_width = 8")));

  const std::string map = folder + "/map.npy";
  const json mapped =
      run_attention({"map", model, "--sample", "3", "-o", map, "--quiet", "--json", "-"}).json();
  EXPECT_EQ(mapped["rows"], 16);
  EXPECT_EQ(mapped["layer"], 0);
  EXPECT_EQ(mapped["output"], map);
  const json compared =
      run_program(
          {"compare", map, "--methods", "truncated_svd", "--rank", "16", "--quiet", "--json", "-"})
          .json();
  EXPECT_EQ(compared["matrix"]["rows"], 16);
  EXPECT_LT(compared["results"][1]["relative_error"].get<double>(), 1e-12);
}

TEST(CliAttention, RefusesWrongWordsAndNumbers) {
  const std::string folder = temporary_dir();
  expect_refusal(run_attention({}), 2, "See: matapprox attention --help");
  expect_refusal(run_attention({"trian"}), 2, "unknown subcommand 'trian'; did you mean train?");
  expect_refusal(run_attention({"data", "shwo"}), 2, "attention data: unknown subcommand 'shwo'");
  expect_refusal(run_attention({"train", "--wdith", "3"}), 2, "did you mean --width?");
  expect_refusal(run_attention({"evaluate"}), 2, "model is required");
  expect_refusal(run_attention({"list", "linfomer"}), 2, "did you mean 'linformer'?");
  const Arguments adding{"train", "--task", "adding", "--length", "16"};
  const auto refused = [&](const Arguments& more, const std::string& text, int code = 2) {
    expect_refusal(
        run_attention(adding + Arguments{"--quiet", "-o", folder + "/x.h5"} + more), code, text);
  };
  expect_refusal(run_attention({"train", "--task", "ading", "-o", folder + "/x.h5"}),
                 2,
                 "did you mean 'adding'?");
  expect_refusal(run_attention({"train", "--task", "adding"}), 2, "give -o");
  expect_refusal(run_attention({"train", "--task", "adding", "-o", "/no/such/x.h5"}),
                 3,
                 "the folder '/no/such' does not exist");
  refused({"--resume"}, "does not exist", 2);
  refused({"--attention", "softmx"}, "did you mean 'softmax'?");
  refused({"--rank", "3"}, "psf has no option --rank; it belongs to linformer");
  refused({"--chart", "x.gif"}, "must end with .svg or .png");
  refused({"--steps", "0"}, "steps 0 is below 1");
  refused({"--max-seconds", "0"}, "--max-seconds 0 is not positive");
  refused({"--checkpoint-seconds", "nan"}, "--checkpoint-seconds nan is not positive");
  refused({"--test-samples", "0"}, "--test-samples 0 is below 1");
  refused({"--width", "1000000000"}, "width 1000000000 is outside 1..16777216");
  refused({"--width", "9223372036854775807"}, "is outside 1..16777216");
  refused({"--feed-forward", "4000000000000000000"}, "is outside 0..16777216");
  refused({"--hidden", "4000000000000000000"}, "is outside 0..16777216");
  refused({"--layers", "1000000000"}, "layers 1000000000 is outside 1..1024");
  refused({"--batch", "4000000000000000000", "--accumulate", "4"}, "samples a step");
  refused({"--width", "100000"}, "GB for a sample of 16 tokens", 5);
  refused({"--width", "10000000"}, "more than 2^40 numbers");
  EXPECT_FALSE(std::filesystem::exists(folder + "/x.h5"));
}

TEST(CliAttention, RefusesDamagedAndForeignFiles) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/model.h5";
  ASSERT_EQ(run_attention(kSmallRun + Arguments{"--steps", "1", "-o", model}).exit_code, 0);
  const std::string bytes = read_file(model);
  const std::string damaged = folder + "/damaged.h5";
  const auto refused = [&](const std::string& content, const std::string& text) {
    write_file(damaged, content);
    expect_refusal(run_attention({"evaluate", damaged}), 3, text);
  };
  refused("", "empty");
  refused("no HDF5", "not an HDF5 file");
  refused(bytes.substr(0, bytes.size() / 2), "damaged");
  std::string flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 8);
  refused(flipped, "damaged");

  const std::string saved = folder + "/svd.h5";
  ASSERT_EQ(run_program({"approximate", mesh_file(3), "truncated_svd", "-o", saved}).exit_code, 0);
  for (const Arguments& command : {Arguments{"evaluate", saved},
                                   Arguments{"map", saved, "-o", "-"},
                                   Arguments{"weights", saved, "-o", folder + "/w.safetensors"}}) {
    expect_refusal(run_attention(command), 3, "not a model that `attention train` saved");
  }
  expect_refusal(run_program({"measure", model, mesh_file(3)}), 3, "`attention map` writes");
  expect_refusal(run_program({"apply", model, mesh_file(3)}), 3, "`attention map` writes");
  expect_refusal(run_attention({"weights", model, "-o", folder + "/w.npz"}), 2, ".safetensors");
  expect_refusal(run_attention({"evaluate", model, "--split", "dev"}), 2, "train, validation");
  expect_refusal(run_attention({"evaluate", model, "--truncate-rank", "1"}), 2, "no queries");
}

TEST(CliAttention, AnUnknownTaskIsNamedBeforeTheOptionsOfOthers) {
  const std::string output = temporary_dir() + "/m.h5";
  expect_refusal(run_attention({"train", "--task", "bogus", "--length", "64", "-o", output}),
                 2,
                 "task: there is no 'bogus'");
  expect_refusal(
      run_attention(
          {"train", "--task", "adding", "--attention", "sofmax", "--rank", "4", "-o", output}),
      2,
      "attention: there is no 'sofmax'; did you mean 'softmax'?");
  expect_refusal(run_attention({"data", "show", "ading", "--length", "64"}),
                 2,
                 "task: there is no 'ading'; did you mean 'adding'?");
}

TEST(CliAttention, ListKnowsMechanismsTasksAndTheirOptions) {
  const std::string all = run_attention({"list"}).out;
  EXPECT_THAT(all, AllOf(HasSubstr("softmax"), HasSubstr("psf"), HasSubstr("listops")));
  const json one = run_attention({"list", "linformer", "--json", "-"}).json();
  EXPECT_EQ(one["tasks"], json::array());
  ASSERT_EQ(one["mechanisms"].size(), 1U);
  bool found = false;
  for (const json& option : one["mechanisms"][0]["options"]) {
    EXPECT_FALSE(option["help"].get<std::string>().empty());
    found = found ||
            (option["name"] == "scope" && option["choices"] == json({"head", "layer", "model"}));
  }
  EXPECT_TRUE(found);
}

TEST(CliAttention, EverySubcommandHasHelpWithAnExample) {
  for (const Arguments& words : {Arguments{"train"},
                                 Arguments{"evaluate"},
                                 Arguments{"map"},
                                 Arguments{"spectrum"},
                                 Arguments{"data", "import"},
                                 Arguments{"data", "show"},
                                 Arguments{"bench"},
                                 Arguments{"weights"},
                                 Arguments{"list"}}) {
    const ProgramResult help = run_attention(words + Arguments{"--help"});
    EXPECT_EQ(help.exit_code, 0) << help.err;
    EXPECT_THAT(help.out, HasSubstr("\n  matapprox attention " + words.front()));
  }
}

}  // namespace
}  // namespace matapprox::test
