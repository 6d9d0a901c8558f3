#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include "matapprox/attention/training/model_file.hpp"
#include "support/attention.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

TEST(CliAttentionTrain, ResumedTrainingEndsAtTheSameBits) {
  const std::string folder = temporary_dir();
  const std::string whole = folder + "/whole.h5";
  const std::string cut = folder + "/cut.h5";
  const Arguments longer{"--quiet", "--batch", "8"};
  const auto command = [&](const std::string& output) {
    return kSmallRun + longer +
           Arguments{"--steps", "600", "--evaluate-every", "100", "-o", output};
  };
  ASSERT_EQ(run_attention(command(whole) + Arguments{"--threads", "1"}).exit_code, 0);

  RunningProgram running(Arguments{"attention"} + command(cut) +
                         Arguments{"--threads", "2", "--json", "-"});
  while (!std::filesystem::exists(cut)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  running.send(SIGINT);
  const ProgramResult stopped = running.wait();
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_EQ(stopped.json()["training"]["end"], "interrupted");
  EXPECT_EQ(stopped.json()["saved_to"], cut);
  const json described = run_program({"info", cut, "--json", "-"}).json();
  EXPECT_EQ(stopped.json()["training"]["steps_taken"], described["training"]["steps_taken"]);
  EXPECT_GE(described["training"]["steps_taken"], 100);
  ASSERT_LT(described["training"]["steps_taken"], 600);

  const auto refused = [&](const Arguments& more, const std::string& text) {
    expect_refusal(run_attention(command(cut) + Arguments{"--resume"} + more), 2, text);
  };
  refused({"--learning-rate", "0.1"}, "learning_rate of the training is 0.1 now and was 0.001");
  refused({"--min-gap", "2"}, "min_gap of the task is 2 now and was 1");
  refused({"--width", "16"}, "width of the model is 16 now and was 32");
  refused({"--hidden", "16"}, "hidden of the mechanism is 16 now and was 0");
  refused({"--seed", "2"}, "with seed 1");
  refused({"--start-from", whole}, "exclude each other");

  const ProgramResult timed =
      run_attention(command(cut) + Arguments{"--resume", "--max-seconds", "1e-9"});
  EXPECT_EQ(timed.exit_code, 0) << timed.err;
  EXPECT_THAT(timed.out, AllOf(HasSubstr("ended by max_seconds"), HasSubstr("--resume continues")));
  const ProgramResult resumed = run_attention(command(cut) + Arguments{"--resume"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("ended by steps"));
  EXPECT_EQ(parameters_of(whole), parameters_of(cut));
}

/// The file of an older version lacks some options; they had their defaults.
TEST(CliAttentionTrain, AnOptionThatTheFileHasNotWasAtItsDefault) {
  const std::string path = temporary_dir() + "/older.h5";
  const Arguments command =
      kSmallRun + Arguments{"--quiet", "--steps", "4", "--evaluate-every", "2", "-o", path};
  ASSERT_EQ(run_attention(command).exit_code, 0);
  training::SavedModel saved = training::load_model(path);
  EXPECT_EQ(
      std::erase_if(saved.training_options,
                    [](const auto& option) { return option.first == "attention_std_samples"; }),
      1U);
  training::save_model(path, saved);
  expect_refusal(run_attention(command + Arguments{"--resume", "--attention-std-samples", "3"}),
                 2,
                 "attention_std_samples of the training is 3 now and was 0");
  EXPECT_EQ(run_attention(command + Arguments{"--resume"}).exit_code, 0);
}

TEST(CliAttentionTrain, AFinishedRunIsNotTrainedFurther) {
  const std::string model = temporary_dir() + "/adding.h5";
  const auto steps = [&](const Arguments& more) {
    const json made =
        run_attention(small_run(model, {"--target-error", "0.99", "--json", "-"}) + more).json();
    EXPECT_EQ(made["training"]["end"], "target_error");
    return made["training"]["steps_taken"].get<int>();
  };
  const int first = steps({});
  EXPECT_EQ(first % 20, 0);
  EXPECT_EQ(steps({"--resume"}), first);
}

TEST(CliAttentionTrain, NumbersThatBreakDownLeaveTheLastGoodState) {
  const std::string folder = temporary_dir();
  const Arguments wild{"--learning-rate", "1e30", "--quiet"};
  expect_refusal(run_attention(small_run(folder + "/none.h5") + wild), 4, "nothing was saved");
  EXPECT_FALSE(std::filesystem::exists(folder + "/none.h5"));

  // The learning rate grows step by step until the numbers break down, long after the first
  // validation.
  const std::string model = folder + "/adding.h5";
  const Arguments rising{"train",
                         "--task",
                         "adding",
                         "--length",
                         "16",
                         "--optimizer",
                         "sgd",
                         "--warmup",
                         "1000000",
                         "--learning-rate",
                         "1e8",
                         "--steps",
                         "20000",
                         "--batch",
                         "2",
                         "--quiet",
                         "--evaluate-every",
                         "1",
                         "--evaluation-samples",
                         "2",
                         "-o",
                         model};
  const ProgramResult broken = run_attention(rising);
  expect_refusal(broken, 4, model + " holds step ");
  EXPECT_THAT(broken.err, HasSubstr("is not finite"));
  EXPECT_EQ(run_attention({"evaluate", model, "--samples", "10"}).exit_code, 0);
}

TEST(CliAttentionTrain, StartsFromTheParametersOfAnotherModel) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/adding.h5";
  ASSERT_EQ(run_attention(small_run(model)).exit_code, 0);
  const std::string bytes = parameters_of(model);
  // Everything is frozen in the single step that follows: the written parameters are those read.
  const Arguments frozen{"--freeze", "embedding,block0,head", "--quiet"};
  for (const std::string& source : {model, model + ".safetensors"}) {
    const std::string copy = folder + "/copy.h5";
    const ProgramResult made =
        run_attention(kSmallRun + frozen +
                      Arguments{"--steps", "1", "--start-from", source, "-o", copy, "--force"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const std::string copied = parameters_of(copy);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t size = bytes.size() - 8 - header;
    EXPECT_EQ(copied.substr(copied.size() - size), bytes.substr(bytes.size() - size));
  }
  expect_refusal(run_attention({"train",
                                "--task",
                                "copy",
                                "--length",
                                "32",
                                "--width",
                                "9",
                                "--attention",
                                "mean",
                                "--start-from",
                                model,
                                "-o",
                                folder + "/x.h5"}),
                 2,
                 "no parameter that matches");
}

TEST(CliAttentionTrain, ConfigFilesGiveWhatTheCommandLineDoesNot) {
  const std::string folder = temporary_dir();
  const std::string config = folder + "/run.toml";
  const auto train = [&](const std::string& text, const Arguments& more = {}) {
    write_file(config, text);
    return run_attention(Arguments{"train",
                                   "--config",
                                   config,
                                   "-o",
                                   folder + "/m.h5",
                                   "--force",
                                   "--quiet",
                                   "--json",
                                   "-"} +
                         more);
  };
  const std::string good =
      "# a comment\ntask = \"adding\"\nlength = 16\nresidual = false\n[training]\nsteps = 3\n"
      "evaluation_samples = 10\ntest_samples = 10\n";
  const json made = train(good, {"--steps", "2"}).json();
  EXPECT_EQ(made["training"]["steps_taken"], 2);
  EXPECT_EQ(made["task"]["options"]["length"], "16");
  EXPECT_EQ(made["model"]["attention_options"]["residual"], "false");
  expect_refusal(
      train(good + "widht = 3\n"), 2, "there is no option 'widht'; did you mean 'width'");
  expect_refusal(train(good + "steps = 4\n"), 2, "run.toml: steps is given twice");
  expect_refusal(train(good + "seed = \"x\"\n"), 2, "run.toml: --seed 'x' is not a whole number");
  expect_refusal(train(good + "batch = [1, 2]\n"), 2, "run.toml: --batch");
  expect_refusal(train(good + "batch = \"x\"\n"), 2, "option batch: 'x' is not a whole number");
  expect_refusal(train(good + "pairs = 2\n"), 2, "adding has no option --pairs");
  expect_refusal(train(""), 2, "give a --task");
  // A line that is not an option is refused, not skipped in whole or in part.
  expect_refusal(train(good + "batch = 1 2\n"), 2, "run.toml:9: 'batch = 1 2' has several values");
  expect_refusal(train(good + "= 3\n"), 2, "run.toml:9: '= 3' is not `option = value`");
  expect_refusal(train(good + "[model] x\n"), 2, "run.toml:9: '[model] x' is not a table header");
  expect_refusal(train(good + "batch\n"), 2, "run.toml:9: 'batch' is not `option = value`");
  expect_refusal(train(good + "batch =\n"), 2, "run.toml:9: 'batch =' has no value");
  expect_refusal(train(good + "stray \"text\n"), 2, "a quoted string that does not end");
  expect_refusal(train(good + "batch = [1, 2\n"), 2, "unbalanced brackets");
  expect_refusal(train(good + "\a\n"), 2, "run.toml:9: '\\u0007' has a control character");
  expect_refusal(train(good + std::string(1, '\0')), 3, "run.toml: contains zero bytes");
  expect_refusal(train(std::string(1 << 21, '\n')), 3, "run.toml: has more than 1048576 bytes");
  EXPECT_EQ(train(good + "\tbatch = [ 4 ]  # four\r\n", {"--steps", "1"}).exit_code, 0);
  expect_refusal(run_attention({"train", "--config", folder + "/no.toml", "-o", folder + "/m.h5"}),
                 3,
                 "no.toml: cannot be opened");
}

TEST(CliAttentionTrain, EveryPublishedConfigurationIsAccepted) {
  const std::string tokens = tiny_token_file();
  const std::string output = temporary_dir() + "/model.h5";
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(source_dir() + "/configs")) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    Arguments command{"train",
                      "--config",
                      entry.path().string(),
                      "-o",
                      output,
                      // Given last: its refusal shows that everything else was accepted.
                      "--target-error",
                      "2"};
    const std::string text = read_file(entry.path().string());
    if (text.find("\"token_file\"") != std::string::npos)
      command = command + Arguments{"--path", tokens};
    // The tiny file has single texts, and no separator token for pairs.
    if (text.find("\npair_separator") != std::string::npos)
      command = command + Arguments{"--pair-separator", "32"};
    expect_refusal(run_attention(command), 2, "target_error 2 is outside 0..1");
  }
  EXPECT_GT(files, 10);
}

}  // namespace
}  // namespace matapprox::test
