#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <thread>

#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using Arguments = std::vector<std::string>;

Arguments operator+(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

ProgramResult run_attention(const Arguments& arguments) {
  return run_program(Arguments{"attention"} + arguments);
}

/// A model of a few thousand numbers that learns `adding` in a hundred steps.
const Arguments kSmallRun{"train",
                          "--task",
                          "adding",
                          "--length",
                          "16",
                          "--block",
                          "bare",
                          "--value-width",
                          "8",
                          "--pool",
                          "flatten",
                          "--evaluation-samples",
                          "200",
                          "--test-samples",
                          "200"};

Arguments small_run(const std::string& output, const Arguments& more = {}) {
  return kSmallRun + Arguments{"--steps", "100", "--evaluate-every", "20", "-o", output} + more;
}

/// The parameters of a saved model, as bytes.
std::string parameters_of(const std::string& model) {
  const std::string path = model + ".safetensors";
  const ProgramResult written = run_attention({"weights", model, "-o", path, "--force"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  return read_file(path);
}

void expect_refusal(const ProgramResult& result, int exit_code, const std::string& text) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(text));
  EXPECT_THAT(result.err, testing::Not(HasSubstr("defect")));
}

std::vector<double> csv_numbers(std::string csv) {
  std::replace(csv.begin(), csv.end(), ',', ' ');
  std::istringstream stream(csv);
  return {std::istream_iterator<double>(stream), std::istream_iterator<double>()};
}

TEST(CliAttention, TrainEvaluateMapCompare) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/adding.h5";
  const json trained = run_attention(small_run(model, {"--quiet", "--json", "-"})).json();
  EXPECT_EQ(trained["schema_version"], 3);
  EXPECT_EQ(trained["task"]["name"], "adding");
  EXPECT_EQ(trained["task"]["options"]["length"], "16");
  EXPECT_EQ(trained["model"]["options"]["attention"], "psf");
  EXPECT_EQ(trained["model"]["attention_options"]["value_width"], "8");
  // 2 features to 32; 32 to 4 factors' hidden 32 and the values' hidden 32; 8 values; 4 factors of
  // 5 links; 16 tokens of width 8 to a number.
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

TEST(CliAttention, MapWritesImagesNumbersAndRows) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/adding.h5";
  const Arguments other_seed{"--steps", "2", "--quiet", "--seed", "2"};
  ASSERT_EQ(run_attention(kSmallRun + Arguments{"--steps", "2", "-o", model}).exit_code, 0);
  ASSERT_EQ(run_attention(kSmallRun + other_seed + Arguments{"-o", folder + "/b.h5"}).exit_code, 0);
  for (const char* extension : {"png", "svg", "csv", "mtx", "h5"}) {
    const std::string output = folder + "/map." + extension;
    const ProgramResult result = run_attention({"map", model, "-o", output});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(std::filesystem::file_size(output), 0U);
    expect_refusal(run_attention({"map", model, "-o", output}), 3, "--force");
  }
  EXPECT_EQ(read_file(folder + "/map.png").substr(1, 3), "PNG");
  EXPECT_THAT(read_file(folder + "/map.svg"), HasSubstr("psf, layer 0, head 0, test sample 0"));

  // Rows 0 and 2 of the whole map, found by other products.
  const std::string rows = run_attention({"map", model, "--rows", "0,2", "-o", "-"}).out;
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 2);
  const std::vector<double> all = csv_numbers(read_file(folder + "/map.csv"));
  const std::vector<double> two = csv_numbers(rows);
  ASSERT_EQ(all.size(), 256U);
  ASSERT_EQ(two.size(), 32U);
  for (std::size_t j = 0; j < 16; ++j) {
    EXPECT_NEAR(two[j], all[j], 1e-12);
    EXPECT_NEAR(two[16 + j], all[32 + j], 1e-12);
  }

  const json same = run_attention({"map", model, "--correlate", model, "--json", "-"}).json();
  EXPECT_EQ(same["correlations"].size(), 20U);
  EXPECT_NEAR(same["mean"].get<double>(), 1, 1e-12);
  const json other =
      run_attention({"map", model, "--correlate", folder + "/b.h5", "--json", "-"}).json();
  EXPECT_LT(other["mean"].get<double>(), 0.99);

  expect_refusal(run_attention({"map", model}), 2, "give -o");
  expect_refusal(run_attention({"map", model, "-o", folder + "/x.txt"}), 2, ".npy, .mtx, .csv");
  expect_refusal(run_attention({"map", model, "-o", "-", "--head", "1"}), 2, "outside 0..0");
  expect_refusal(run_attention({"map", model, "-o", "-", "--layer", "1"}), 2, "outside 0..0");
  expect_refusal(run_attention({"map", model, "-o", "-", "--sample", "-1"}), 2, "below 0");
  expect_refusal(run_attention({"map", model, "-o", "-", "--rows", "16"}), 2, "outside 0..15");
  expect_refusal(run_attention({"map", model, "-o", "-", "--json", "-"}), 2, "exclude each other");
}

TEST(CliAttention, ResumedTrainingEndsAtTheSameBits) {
  const std::string folder = temporary_dir();
  const std::string whole = folder + "/whole.h5";
  const std::string cut = folder + "/cut.h5";
  const Arguments longer{"--quiet", "--batch", "8"};
  const auto command = [&](const std::string& output) {
    return kSmallRun + longer +
           Arguments{"--steps", "600", "--evaluate-every", "100", "-o", output};
  };
  ASSERT_EQ(run_attention(command(whole) + Arguments{"--threads", "1"}).exit_code, 0);

  RunningProgram running(Arguments{"attention"} + command(cut) + Arguments{"--threads", "2"});
  while (!std::filesystem::exists(cut)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  running.send(SIGINT);
  const ProgramResult stopped = running.wait();
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_EQ(stopped.out, "");
  const json described = run_program({"info", cut, "--json", "-"}).json();
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
  EXPECT_THAT(timed.out, AllOf(HasSubstr("ended by max_seconds"), HasSubstr("--resume goes on")));
  const ProgramResult resumed = run_attention(command(cut) + Arguments{"--resume"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("ended by steps"));
  EXPECT_EQ(parameters_of(whole), parameters_of(cut));
}

TEST(CliAttention, AFinishedRunIsNotTrainedFurther) {
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

TEST(CliAttention, NumbersThatBreakDownLeaveTheLastGoodState) {
  const std::string folder = temporary_dir();
  const Arguments wild{"--learning-rate", "1e30", "--quiet"};
  expect_refusal(run_attention(small_run(folder + "/none.h5") + wild), 4, "nothing was saved");
  EXPECT_FALSE(std::filesystem::exists(folder + "/none.h5"));

  // The rate grows step by step until the numbers break down, long after the first validation.
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

TEST(CliAttention, StartsFromTheParametersOfAnotherModel) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/adding.h5";
  ASSERT_EQ(run_attention(small_run(model)).exit_code, 0);
  const std::string bytes = parameters_of(model);
  // Nothing is trained in the one step that follows: what was read is what is written.
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
                 "no parameter of the name and size");
}

TEST(CliAttention, ConfigFilesGiveWhatTheCommandLineDoesNot) {
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
  expect_refusal(run_attention({"train", "--config", folder + "/no.toml", "-o", folder + "/m.h5"}),
                 3,
                 "no.toml: cannot be opened");
}

/// A token file of the smallest: two classes, three texts each.
std::string tiny_token_file() {
  const std::string folder = temporary_dir();
  std::string text = "\"1\",\"Title\",\"some text\"\n\"2\",\"Other\",\"text\"\n";
  write_file(folder + "/train.csv", text + text + text);
  write_file(folder + "/test.csv", text);
  const ProgramResult made =
      run_attention({"data", "import", "ag_news", folder, "-o", folder + "/tokens.h5"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("8 sequences of up to 15 tokens, 256 token ids, 4 classes"));
  return folder + "/tokens.h5";
}

TEST(CliAttention, TokenFilesAreImportedShownAndTrainedOn) {
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

TEST(CliAttention, EveryPublishedConfigurationIsAccepted) {
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
                      // Given last: it is what is complained about if all else is right.
                      "--target-error",
                      "2"};
    if (read_file(entry.path().string()).find("\"token_file\"") != std::string::npos)
      command = command + Arguments{"--path", tokens};
    expect_refusal(run_attention(command), 2, "target_error 2 is outside 0..1");
  }
  EXPECT_GT(files, 10);
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
  refused({"--chart", "x.gif"}, "an .svg or a .png");
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
  refused({"--width", "100000"}, "parameters needs", 5);
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

TEST(CliAttention, SpectrumOfAFileAndOfRandomMatrices) {
  const std::string matrix = temporary_dir() + "/a.csv";
  // Singular values 4 and 3; with the column means taken off a rank of one.
  write_file(matrix, "4,0\n0,3\n");
  const json file = run_attention({"spectrum", matrix, "--ranks", "1,2", "--json", "-"}).json();
  ASSERT_EQ(file["spectra"].size(), 2U);
  const json& plain = file["spectra"][0];
  EXPECT_EQ(plain["centered"], false);
  EXPECT_NEAR(plain["shares"][0]["values"].get<double>(), 4.0 / 7, 1e-12);
  EXPECT_NEAR(plain["shares"][0]["squares"].get<double>(), 16.0 / 25, 1e-12);
  EXPECT_NEAR(plain["shares"][1]["values"].get<double>(), 1, 1e-12);
  EXPECT_NEAR(file["spectra"][1]["shares"][0]["squares"].get<double>(), 1, 1e-12);
  // Uniform in 0..1: the mean alone is 1/4 of 1/3, three quarters of the squares.
  const json random =
      run_attention({"spectrum", "--random", "uniform", "--order", "128", "--json", "-"}).json();
  EXPECT_NEAR(random["spectra"][0]["shares"][0]["squares"].get<double>(), 0.75, 0.02);
  EXPECT_EQ(random["spectra"][0]["singular_values"].size(), 128U);
  expect_refusal(run_attention({"spectrum"}), 2, "give a matrix file or --random");
  expect_refusal(run_attention({"spectrum", "--random", "unifrom"}), 2, "is not uniform");
  expect_refusal(run_attention({"spectrum", "--random", "normal", "--order", "9000"}), 2, "8192");
  expect_refusal(run_attention({"spectrum", matrix, "--ranks", "3"}), 2, "outside 1..2");
}

TEST(CliAttention, SpectrumTakesNoOptionInVain) {
  const std::string matrix = temporary_dir() + "/zero.csv";
  write_file(matrix, "0,0\n0,0\n");
  for (const char* flag : {"--order", "--head-width"})
    expect_refusal(run_attention({"spectrum", matrix, flag, "8"}), 2, "is for --random");
  expect_refusal(run_attention({"spectrum", "--random", "normal", "--head-width", "8"}),
                 2,
                 "is for --random attention");
  expect_refusal(
      run_attention({"spectrum", "--random", "normal", "--as", "laplacian"}), 2, "are for a file");
  const ProgramResult seeded = run_attention({"spectrum", matrix, "--seed", "3"});
  EXPECT_EQ(seeded.exit_code, 0);
  EXPECT_THAT(seeded.err, HasSubstr("--seed has no effect"));
  // A zero matrix has no shares.
  EXPECT_THAT(seeded.out, testing::Not(HasSubstr("1.0000")));
  const json zero = run_attention({"spectrum", matrix, "--json", "-"}).json();
  for (const json& share : zero["spectra"][0]["shares"]) {
    EXPECT_TRUE(share["values"].is_null());
    EXPECT_TRUE(share["squares"].is_null());
  }
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

TEST(CliAttention, MapTakesNoOptionInVain) {
  const auto refused = [](const Arguments& more, const char* why) {
    Arguments words{"map", "m.h5"};
    words.insert(words.end(), more.begin(), more.end());
    expect_refusal(run_attention(words), 2, why);
  };
  for (const char* flag : {"--sample", "--layer", "--head", "--rows"})
    refused({"--correlate", "n.h5", flag, "1"}, "is for -o, not --correlate");
  refused({"-o", "-", "--samples", "5"}, "--samples is for --correlate");
  refused({"-o", "-", "--summary", "--head", "0"}, "--head has no effect on --summary");
}

TEST(CliAttention, BenchTimesEveryMechanism) {
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

/// Lengths of [WKZL23, Table 1] at the setting of its experiments, beside what the layers count.
TEST(CliAttention, BenchShowsTheTableOfThePaperBesideWhatIsCounted) {
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
  ASSERT_EQ(tables.size(), 1U);  // this is that setting
  const json& linformer = tables[0]["rows"][1];
  const json& singularformer = tables[0]["rows"][2];
  EXPECT_EQ(linformer["table_below_softmax_from"],
            (json{{"multiplications", 513}, {"numbers", 420}}));
  EXPECT_EQ(singularformer["table_below_softmax_from"],
            (json{{"multiplications", 72}, {"numbers", 87}}));
  for (const json& row : tables[0]["rows"])
    EXPECT_EQ(row["counted"]["multiplications"], row["table"]["multiplications"]);
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
