// `reproduce` with the experiments of the other attention papers: crossovers, singularformer,
// genome, linformer_grid, depth, blocks, transfer, lra.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "matapprox/attention/training/model_file.hpp"
#include "support/attention.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using training::SavedModel;

/// `reproduce` with few steps and samples.
Arguments small_experiment(const std::string& name,
                           const std::string& folder,
                           const Arguments& more) {
  const Arguments arguments{
      "reproduce", name, "-o", folder, "--steps", "8", "--test-samples", "50"};
  return arguments + more;
}

json made(const Arguments& arguments) {
  return run_program(arguments + Arguments{"--json", "-", "--quiet"}).json();
}

/// Removes the times from the rows.
json experiment_numbers(json rows) {
  for (json& row : rows) row.erase("seconds");
  return rows;
}

json experiment_row(const json& document, const std::string& model) {
  for (const json& row : document["rows"]) {
    if (row["model"] == model) return row;
  }
  ADD_FAILURE() << "there is no row of " << model;
  return {};
}

/// Values of a parameter in the best checkpoint of a saved model.
std::vector<float> values_of(const SavedModel& saved, const std::string& name) {
  const training::Model<float> model(saved.model);
  for (const attention::Parameter& p : model.parameters().parameters()) {
    if (p.name != name) continue;
    const auto first = saved.state.best.begin() + p.offset;
    return {first, first + p.size()};
  }
  ADD_FAILURE() << "there is no parameter " << name;
  return {};
}

TEST(CliReproduceSingularformer, CorrelatesTheModelsOfEqualSeed) {
  const std::string folder = temporary_dir() + "/singularformer";
  const Arguments command =
      small_experiment("singularformer",
                       folder,
                       {"--length", "16", "--ranks", "2,4", "--seeds", "1,2", "--samples", "3"});
  const json document = made(command);
  ASSERT_EQ(document["rows"].size(), 10U);
  // The command that compares two models gives the same numbers.
  const std::string model = folder + "/adding-singularformer-r4-cls-16-seed";
  const std::string other = folder + "/adding-pre_norm-cls-16-seed";
  json expected = json::array();
  for (const std::string seed : {"1", "2"}) {
    const json of_seed = run_attention({"map",
                                        model + seed + ".h5",
                                        "--correlate",
                                        other + seed + ".h5",
                                        "--samples",
                                        "3",
                                        "--json",
                                        "-"})
                             .json()["correlations"];
    expected.insert(expected.end(), of_seed.begin(), of_seed.end());
  }
  bool found = false;
  ASSERT_EQ(document["correlations"].size(), 9U);  // two r with each of three models, and the three
                                                   // pairs of those
  for (const json& pair : document["correlations"]) {
    if (pair["models"] != json{"singularformer-r4", "pre_norm"}) continue;
    found = true;
    EXPECT_EQ(pair["values"], expected);
  }
  EXPECT_TRUE(found);
  const SavedModel realformer = training::load_model(folder + "/adding-realformer-cls-16-seed1.h5");
  EXPECT_THAT(realformer.model.attention_options,
              Contains(std::pair<std::string, std::string>("residual_scores", "true")));
  const ProgramResult again = run_program(command);
  EXPECT_THAT(again.err, HasSubstr("0 of 10 rows are to be trained"));
  EXPECT_THAT(again.out, AllOf(HasSubstr("singularformer-r2"), HasSubstr("first token")));
}

TEST(CliReproduceLinformerGrid, HasWhatTheReportPrintsBeside) {
  const std::string folder = temporary_dir() + "/grid";
  const json document = made({"reproduce",
                              "linformer_grid",
                              "-o",
                              folder,
                              "--lengths",
                              "256",
                              "--seeds",
                              "1",
                              "--steps",
                              "1",
                              "--test-samples",
                              "20"});
  ASSERT_EQ(document["rows"].size(), 3U);
  EXPECT_NEAR(experiment_row(document, "softmax")["published"].get<double>(), 1 - 0.8620, 1e-12);
  EXPECT_NEAR(
      experiment_row(document, "linformer-k64")["published"].get<double>(), 1 - 0.8633, 1e-12);
  EXPECT_NEAR(
      experiment_row(document, "linformer-k128")["published"].get<double>(), 1 - 0.8567, 1e-12);
  // One vector for each of k mixtures and 256 tokens, twice.
  const auto parameters = [&](const char* model) {
    return experiment_row(document, model)["parameters"].get<Index>();
  };
  EXPECT_EQ(parameters("linformer-k128") - parameters("linformer-k64"), 2 * 64 * 256);
  EXPECT_EQ(parameters("linformer-k64") - parameters("softmax"), 2 * 64 * 256);
  expect_refusal(run_program(small_experiment(
                     "linformer_grid", folder + "-none", {"--lengths", "32", "--ranks", "64"})),
                 2,
                 "k = 64 is above the length 32");
  EXPECT_FALSE(std::filesystem::exists(folder + "-none"));
}

TEST(CliReproduceLinformerGrid, MakesRowsAgainForOtherData) {
  const std::string folder = temporary_dir() + "/data";
  const std::string tokens = tiny_token_file();
  const Arguments command =
      small_experiment("linformer_grid",
                       folder,
                       {"--data", tokens, "--lengths", "16", "--ranks", "4", "--seeds", "1"});
  EXPECT_EQ(run_program(command).exit_code, 0);
  EXPECT_THAT(run_program(command).err, HasSubstr("0 of 2 rows are to be trained"));
  // The same file name with different bytes.
  const json before = made(command)["rows"];
  std::filesystem::rename(tokens, tokens + ".old.h5");
  const std::string texts = std::filesystem::path(tokens).parent_path().string();
  write_file(texts + "/train.csv",
             "\"1\",\"One\",\"a\"\n\"2\",\"Two\",\"b\"\n\"1\",\"Three\",\"c\"\n"
             "\"2\",\"Four\",\"d\"\n\"1\",\"Five\",\"e\"\n\"2\",\"Six\",\"f\"\n");
  ASSERT_EQ(run_attention({"data", "import", "ag_news", texts, "-o", tokens}).exit_code, 0);
  EXPECT_THAT(run_program(command).err, HasSubstr("2 of 2 rows are to be trained"));
  EXPECT_NE(experiment_numbers(made(command)["rows"]), experiment_numbers(before));
}

TEST(CliReproduceGenome, HasTheAreasOfTheSavedModelsBesideThePapers) {
  const std::string folder = temporary_dir() + "/genome";
  const Arguments command = small_experiment("genome", folder, {"--length", "32", "--seeds", "1"});
  const json document = made(command);
  ASSERT_EQ(document["rows"].size(), 5U);
  EXPECT_DOUBLE_EQ(document["published_areas"]["psf"], 0.9004);
  for (const json& row : document["rows"]) {
    const std::string model = row["model"];
    const std::string path = folder + "/planted_motifs-" + model + "-mean-32-seed1.h5";
    const json result =
        run_attention({"evaluate", path, "--samples", "50", "--json", "-"}).json()["result"];
    EXPECT_EQ(row["roc_auc"], result["roc_auc"]) << model;
    EXPECT_EQ(row["roc_auc_interval"], result["roc_auc_interval"]) << model;
    EXPECT_EQ(row["positives"].get<Index>() + row["negatives"].get<Index>(), 50) << model;
    const SavedModel saved = training::load_model(path);
    EXPECT_EQ(saved.model.options.embedding.positions == attention::Positions::kNone,
              model == "psf");
  }
  // Finished rows keep their areas.
  EXPECT_EQ(made(command)["rows"], document["rows"]);
  EXPECT_THAT(run_program(command).out, AllOf(HasSubstr("90.04"), HasSubstr("86.30")));
}

TEST(CliReproduceGenome, TakesATokenFile) {
  const std::string tokens = tiny_token_file();
  const json document =
      made(small_experiment("genome",
                            temporary_dir() + "/sequences",
                            {"--data", tokens, "--models", "psf,softmax", "--seeds", "1"}));
  ASSERT_EQ(document["rows"].size(), 2U);
  EXPECT_EQ(document["rows"][0]["head"], "flatten");
  expect_refusal(run_program({"reproduce", "genome", "--models", "psv"}), 2, "did you mean 'psf'");
}

TEST(CliReproduceDepth, TrainsEveryNumberOfBlocks) {
  const std::string folder = temporary_dir() + "/depth";
  const Arguments command =
      small_experiment("depth", folder, {"--length", "16", "--layers", "1,2,13", "--seeds", "1"});
  const json document = made(command);
  ASSERT_EQ(document["rows"].size(), 6U);
  for (const char* model : {"softmax", "simpletron"}) {
    const auto row = [&](const char* layers) {
      return experiment_row(document, std::string(model) + "-" + layers);
    };
    const auto parameters = [&](const char* layers) {
      return row(layers)["parameters"].get<Index>();
    };
    const Index block = parameters("2") - parameters("1");
    EXPECT_GT(block, 0);
    EXPECT_EQ(parameters("13") - parameters("2"), 11 * block);
    EXPECT_TRUE(row("13")["published"].is_null());
  }
  EXPECT_NEAR(experiment_row(document, "softmax-2")["published"].get<double>(), 1 - 0.9038, 1e-12);
  EXPECT_NEAR(
      experiment_row(document, "simpletron-1")["published"].get<double>(), 1 - 0.9090, 1e-12);
  const auto skips = [&](const std::string& model) {
    return training::load_model(folder + "/negation-" + model + "-max_mean-16-seed1.h5")
        .model.options.block.outer_skip;
  };
  EXPECT_TRUE(skips("simpletron-2"));
  EXPECT_FALSE(skips("softmax-2"));
  EXPECT_THAT(run_program(command).out, HasSubstr("[9.10]"));
  expect_refusal(run_program(small_experiment("depth", folder, {"--models", "simpletrn"})),
                 2,
                 "did you mean 'simpletron'");
}

TEST(CliReproduceBlocks, KeepsWhatAttentionGivesBlockByBlock) {
  const std::string folder = temporary_dir() + "/blocks";
  const Arguments command =
      small_experiment("blocks", folder, {"--length", "16", "--layers", "3", "--seeds", "1,2"});
  const json document = made(command);
  ASSERT_EQ(document["rows"].size(), 8U);
  ASSERT_EQ(document["trainings"].size(), 8U);
  for (const json& training : document["trainings"]) {
    ASSERT_EQ(training["attention_std"].size(), training["validation_errors"].size());
    ASSERT_EQ(training["attention_std"][0].size(), 3U);
    for (const json& spread : training["attention_std"][0]) EXPECT_GT(spread.get<double>(), 0);
  }
  const auto parameters = [&](const char* model) {
    return experiment_row(document, model)["parameters"].get<Index>();
  };
  EXPECT_EQ(parameters("simpletron") - parameters("simpletron_bare"), 3 * (32 * 32 + 32));
  EXPECT_EQ(parameters("simpletron"), parameters("simpletron_skip"));
  EXPECT_NE(experiment_row(document, "simpletron")["loss"],
            experiment_row(document, "simpletron_skip")["loss"]);
  EXPECT_THAT(run_program(command).out, HasSubstr("SimpleTRON with a second skip"));
}

TEST(CliReproduceBlocks, DrawsErrorsAndSpreads) {
  if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "there is no gnuplot";
  const std::string folder = temporary_dir() + "/blocks";
  const std::string charts = folder + "-charts";
  ASSERT_EQ(
      run_program(small_experiment(
                      "blocks", folder, {"--length", "16", "--layers", "3", "--charts", charts}))
          .exit_code,
      0);
  EXPECT_THAT(read_file(charts + "/attention_std_softmax.svg"), HasSubstr("block 3"));
  EXPECT_THAT(read_file(charts + "/errors.svg"), HasSubstr("SimpleTRON without output layer"));
}

TEST(CliReproduceTransfer, FrozenQueriesKeysAndValuesAreThoseOfSimpletron) {
  const std::string folder = temporary_dir() + "/transfer";
  const Arguments command =
      small_experiment("transfer", folder, {"--length", "16", "--layers", "2", "--seeds", "3"});
  const json document = made(command);
  ASSERT_EQ(document["rows"].size(), 5U);
  const auto load = [&](const std::string& model) {
    return training::load_model(folder + "/negation-" + model + "-max_mean-16-seed3.h5");
  };
  const SavedModel simpletron = load("simpletron");
  const SavedModel frozen = load("softmax_transferred_frozen");
  const SavedModel moved = load("softmax_transferred");
  const SavedModel random = load("softmax_random_frozen");
  const SavedModel scratch = load("softmax");
  const std::vector<float> start =
      training::Model<float>(random.model).parameters().initial_values<float>(3);
  SavedModel unmoved = random;
  unmoved.state.best = start;
  for (const std::string block : {"block0", "block1"}) {
    for (const std::string part : {"query", "key", "value"}) {
      const std::string name = block + ".attention." + part + ".weight";
      EXPECT_EQ(values_of(frozen, name), values_of(simpletron, name)) << name;
      EXPECT_NE(values_of(moved, name), values_of(simpletron, name)) << name;
      EXPECT_EQ(values_of(random, name), values_of(unmoved, name)) << name;
      EXPECT_NE(values_of(scratch, name), values_of(unmoved, name)) << name;
    }
  }
  EXPECT_NE(values_of(frozen, "head.weight"), values_of(simpletron, "head.weight"));
  EXPECT_EQ(experiment_row(document, "softmax_transferred")["begins_with"],
            "negation-simpletron-max_mean-16-seed3");
  EXPECT_FALSE(experiment_row(document, "softmax").contains("begins_with"));
  // The initial values of the transferred model are stored, so the deviation of each parameter is
  // known.
  EXPECT_FALSE(frozen.state.deviations.empty());
  EXPECT_TRUE(scratch.state.deviations.empty());
  for (const json& training : document["trainings"]) {
    const bool transferred = training["model"].get<std::string>().starts_with("softmax_transf");
    EXPECT_EQ(training["validation_errors"].size(), 1U);
    EXPECT_EQ(training["deviations"].size(), transferred ? 4U : 0U);  // embedding, blocks, head
    for (const json& part : training["deviations"]) EXPECT_GT(part.get<double>(), 0);
  }
}

/// `reproduce transfer` with one block and one seed.
Arguments small_transfer(const std::string& folder, const char* steps, const char* samples) {
  return {"reproduce",
          "transfer",
          "-o",
          folder,
          "--length",
          "16",
          "--layers",
          "1",
          "--seeds",
          "1",
          "--steps",
          steps,
          "--test-samples",
          samples};
}

TEST(CliReproduceTransfer, ATransferredRowResumesToTheSameBits) {
  const std::string folder = temporary_dir() + "/rows";
  const Arguments command = small_transfer(folder, "400", "50");
  const json expected = experiment_numbers(made(command)["rows"]);
  const std::string name = folder + "/negation-softmax_transferred-max_mean-16-seed1";
  const std::string frozen = folder + "/negation-softmax_transferred_frozen-max_mean-16-seed1";
  for (const std::string& row : {name, frozen}) {
    ASSERT_TRUE(std::filesystem::remove(row + ".json"));
    ASSERT_TRUE(std::filesystem::remove(row + ".h5"));
  }
  RunningProgram running(command + Arguments{"--threads", "1"}, {});
  // The first checkpoint follows the validation after 250 steps.
  const auto begun = [&] {
    return std::filesystem::exists(name + ".unfinished.h5") ||
           std::filesystem::exists(frozen + ".unfinished.h5");
  };
  while (!begun()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  running.send(SIGINT);
  EXPECT_EQ(running.wait().exit_code, 130);
  EXPECT_TRUE(begun());
  const ProgramResult resumed = run_program(command + Arguments{"--json", "-"});
  EXPECT_THAT(resumed.err, Not(HasSubstr("starts again")));
  EXPECT_THAT(resumed.err, HasSubstr("2 of 5 rows are to be trained"));
  EXPECT_EQ(experiment_numbers(resumed.json()["rows"]), expected);
  EXPECT_FALSE(begun());
}

TEST(CliReproduceTransfer, RowsThatBeginWithAnotherAreMadeAgainWithIt) {
  const std::string folder = temporary_dir() + "/again";
  const auto command = [&](const char* samples) { return small_transfer(folder, "4", samples); };
  EXPECT_EQ(run_program(command("50")).exit_code, 0);
  std::filesystem::remove(folder + "/negation-softmax_transferred-max_mean-16-seed1.json");
  EXPECT_THAT(run_program(command("50")).err, HasSubstr("1 of 5 rows are to be trained"));
  EXPECT_THAT(run_program(command("60")).err, HasSubstr("5 of 5 rows are to be trained"));
  std::filesystem::remove(folder + "/negation-softmax_transferred-max_mean-16-seed1.h5");
  EXPECT_THAT(run_program(command("60")).err, HasSubstr("1 of 5 rows are to be trained"));
}

/// `reproduce lra` with two steps, after each of which it validates.
Arguments small_arena(const std::string& folder, const Arguments& more) {
  const Arguments arguments{
      "reproduce", "lra", "-o", folder, "--steps", "2", "--test-samples", "50"};
  return arguments + more;
}

TEST(CliReproduceLra, TrainsEveryModelOnEveryTaskBesideTheBaselines) {
  const std::string folder = temporary_dir() + "/arena";
  const std::string images = tiny_token_file();
  const Arguments command = small_arena(folder, {"--seeds", "1,2", "--image", images});
  const json document = made(command);
  ASSERT_EQ(document["rows"].size(), 5U * 4 * 2);
  ASSERT_EQ(document["trainings"].size(), document["rows"].size());
  const std::map<std::string, std::string> made_by{{"listops", "listops"},
                                                   {"text", "negation"},
                                                   {"matching", "matching"},
                                                   {"image", "token_file"},
                                                   {"pathfinder", "pathfinder"}};
  for (std::size_t i = 0; i < document["rows"].size(); ++i) {
    const json& row = document["rows"][i];
    const auto task = row["task"].get<std::string>();
    const auto model = row["model"].get<std::string>();
    SCOPED_TRACE(task + ", " + model);
    const std::string name = fmt::format("{}-{}-{}-{}-seed{}",
                                         task,
                                         model,
                                         row["head"].get<std::string>(),
                                         row["length"].get<Index>(),
                                         row["seed"].get<int>());
    const SavedModel saved = training::load_model(folder + "/" + name + ".h5");
    EXPECT_EQ(saved.task, made_by.at(task));
    EXPECT_EQ(saved.model.options.attention, model);
    const auto options = options_from<training::TrainingOptions>(saved.training_options);
    EXPECT_EQ(options.evaluation_samples, 50);  // limited by --test-samples
    // The learning curve belongs to the training of this row.
    const json& training = document["trainings"][i];
    EXPECT_EQ(training["task"], task);
    EXPECT_EQ(training["model"], model);
    EXPECT_EQ(training["seed"], row["seed"]);
    ASSERT_EQ(training["validation_errors"].size(), saved.state.history.size());
    EXPECT_EQ(training["validation_errors"].back()["step"], 2);
    EXPECT_EQ(training["validation_errors"].back()["error"],
              saved.state.history.back().validation_error);
  }
  EXPECT_NEAR(document["rows"][0]["published"].get<double>(), 1 - 0.3885, 1e-12);  // psf, listops
  // The summary of a task agrees with its rows.
  for (const json& task : document["tasks"]) {
    double lowest = 1;
    double tokenwise = 1;
    for (const json& row : document["rows"]) {
      if (row["task"] != task["task"]) continue;
      for (const json& baseline : row["baselines"])
        lowest = std::min(lowest, baseline["error"].get<double>());
      if (row["model"] == "tokenwise") tokenwise = std::min(tokenwise, row["error"].get<double>());
    }
    EXPECT_EQ(task["lowest_baseline"], lowest);
    ASSERT_EQ(task["models"].size(), 4U);
    for (const json& model : task["models"]) {
      EXPECT_EQ(model["seeds"], 2);
      int below_lowest = 0;
      int below_tokenwise = 0;
      double sum = 0;
      for (const json& row : document["rows"]) {
        if (row["task"] != task["task"] || row["model"] != model["model"]) continue;
        const auto high = row["error_interval"][1].get<double>();
        below_lowest += high < lowest ? 1 : 0;
        below_tokenwise += high < tokenwise ? 1 : 0;
        sum += row["error"].get<double>();
      }
      EXPECT_NEAR(model["median_error"].get<double>(), sum / 2, 1e-12);
      EXPECT_EQ(model["below_baselines"], below_lowest);
      if (model["model"] == "tokenwise") {
        EXPECT_FALSE(model.contains("below_tokenwise"));
      } else {
        EXPECT_EQ(model["below_tokenwise"], below_tokenwise);
      }
    }
  }
  const ProgramResult again = run_program(command);
  EXPECT_THAT(again.err, HasSubstr("0 of 40 rows are to be trained"));
  EXPECT_THAT(again.out,
              AllOf(HasSubstr("[61.15]"),
                    HasSubstr("root without its subtrees"),
                    HasSubstr("distance of the markers"),
                    Not(HasSubstr("left out"))));
}

TEST(CliReproduceLra, LeavesImagesOutWithoutAFile) {
  const std::string folder = temporary_dir() + "/no_images";
  const Arguments command = small_arena(folder, {"--models", "tokenwise", "--seeds", "1"});
  const ProgramResult result = run_program(command);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("image: omitted, because --image FILE is not given"));
  const json document = made(command);
  EXPECT_EQ(document["rows"].size(), 4U);
  EXPECT_EQ(document["tasks"].size(), 4U);
  // A file of images affects only the rows that read it, and so does a change of its bytes.
  const std::string images = tiny_token_file();
  const Arguments with_images = command + Arguments{"--image", images};
  EXPECT_THAT(run_program(with_images).err, HasSubstr("1 of 5 rows are to be trained"));
  EXPECT_THAT(run_program(with_images).err, HasSubstr("0 of 5 rows are to be trained"));
  const std::string texts = std::filesystem::path(images).parent_path().string();
  write_file(texts + "/test.csv", "\"2\",\"Title\",\"some text\"\n\"1\",\"Other\",\"text\"\n");
  ASSERT_EQ(run_attention({"data", "import", "ag_news", texts, "-o", images, "--force"}).exit_code,
            0);
  EXPECT_THAT(run_program(with_images).err, HasSubstr("1 of 5 rows are to be trained"));
  expect_refusal(run_program(small_arena(folder, {"--tasks", "image"})), 2, "as --image FILE");
  expect_refusal(
      run_program(small_arena(folder, {"--tasks", "pathfindr"})), 2, "did you mean 'pathfinder'");
  expect_refusal(run_program(small_arena(folder, {"--models", "sofmax"})), 2, "did you mean 'soft");
  expect_refusal(run_program(small_arena(folder, {"--image", folder + "/none.h5"})), 3, "none.h5");
}

TEST(CliReproduceLra, DrawsACurveForEachModel) {
  if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "there is no gnuplot";
  const std::string folder = temporary_dir() + "/drawn";
  const std::string charts = folder + "-charts";
  const Arguments command = small_arena(
      folder,
      {"--tasks", "text,listops", "--models", "psf,tokenwise", "--seeds", "1", "--charts", charts});
  const ProgramResult result = run_program(command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* task : {"text", "listops"}) {
    const std::string svg = read_file(charts + "/lra_" + task + ".svg");
    EXPECT_THAT(svg, AllOf(HasSubstr("psf"), HasSubstr("tokenwise"), HasSubstr("lowest baseline")));
    EXPECT_TRUE(std::filesystem::exists(charts + "/lra_" + task + ".png"));
  }
}

TEST(CliReproduceDepth, RefusesARowThatIsChosenTwiceAndWhatIsNoNumberOfBlocks) {
  const std::string folder = temporary_dir() + "/none";
  expect_refusal(run_program({"reproduce", "depth", "-o", folder, "--seeds", "2,2"}),
                 2,
                 "the row negation-softmax-1-max_mean-64-seed2 is selected twice");
  expect_refusal(run_program({"reproduce", "depth", "-o", folder, "--layers", "0"}), 2, "below 1");
  expect_refusal(
      run_program({"reproduce", "singularformer", "-o", folder, "--ranks", "0"}), 2, "below 1");
}

TEST(CliReproduceCrossovers, SaysWhereAMechanismIsBelowAtEveryLength) {
  const Arguments command{"reproduce", "crossovers", "--lengths", "256,1024", "--rounds", "1"};
  const json found = run_program(command + Arguments{"--json", "-"}).json()["crossovers"];
  EXPECT_EQ(found[3]["title"], "Singularformer, r = 64");
  EXPECT_EQ(found[3]["held"], 256);
  EXPECT_THAT(run_program(command).out, HasSubstr("<= 256"));
}

TEST(CliReproduceCrossovers, HasTableOneAndWhatTheLayersCount) {
  const Arguments command{"reproduce", "crossovers", "--lengths", "16,64,128", "--rounds", "1"};
  const json found = run_program(command + Arguments{"--json", "-"}).json()["crossovers"];
  ASSERT_EQ(found.size(), 4U);
  const auto row = [&](const char* title) {
    for (const json& each : found) {
      if (each["title"].get<std::string>().starts_with(title)) return each;
    }
    return json();
  };
  const json singularformer = row("Singularformer");
  EXPECT_EQ(singularformer["table_one_time"], 72);
  EXPECT_EQ(singularformer["table_one_memory"], 87);
  EXPECT_EQ(singularformer["paper_time"], 144);
  EXPECT_EQ(singularformer["counted"], 72);
  // Softmax attention stores about 2076 bytes per token here and no N x N scores.
  EXPECT_GT(singularformer["held"].get<double>(), 16);
  EXPECT_LT(singularformer["held"].get<double>(), 64);
  EXPECT_EQ(row("Linformer")["table_one_time"], 513);
  EXPECT_EQ(row("Linformer")["counted"], 385);  // beyond the timed lengths
  EXPECT_TRUE(row("Linformer")["measured"].is_null());
  EXPECT_TRUE(row("FLASH")["measured"].is_null());
  EXPECT_TRUE(row("BigBird")["table_one_time"].is_null());
  EXPECT_THAT(run_program(command).out, AllOf(HasSubstr("513"), HasSubstr("848")));
  expect_refusal(
      run_program({"reproduce", "crossovers", "--lengths", "64,16"}), 2, "in increasing order");
}

TEST(CliReproduceExperiments, AreNamedWhereOneIsMisspelled) {
  expect_refusal(run_program({"reproduce", "linformer_gird"}), 2, "did you mean linformer_grid?");
  expect_refusal(run_program({"reproduce", "--quiet", "depth"}), 2, "matapprox reproduce depth");
}

}  // namespace
}  // namespace matapprox::test
