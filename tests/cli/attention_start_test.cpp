// `attention train --start-from`: the parameters taken from another model, and files that are
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/io/safetensors.hpp"
#include "support/attention.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using attention::Parameter;
using testing::HasSubstr;
using testing::Not;
using training::Model;
using training::SavedModel;
const std::string kAllParameters = "embedding,block0,block1,head";

/// Trains two tiny layers with the given mechanism for a few steps, with one validation at the end.
ProgramResult train_tiny(const std::string& mechanism,
                         const std::string& output,
                         const Arguments& more = {}) {
  Arguments words{"attention", "train", "--task",         "temporal_order",
                  "--length",  "12",    "--attention",    mechanism,
                  "--width",   "8",     "--heads",        "2",
                  "--layers",  "2",     "--batch",        "4",
                  "--steps",   "10",    "--test-samples", "10",
                  "-o",        output,  "--force",        "--evaluation-samples",
                  "10"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

std::vector<float> parameter_values(const Parameter& p, const std::vector<float>& values) {
  const auto first = values.begin() + p.offset;
  return {first, first + p.size()};
}

/// Values of a parameter in the best checkpoint of a saved model; empty without one of that name
/// and size.
std::vector<float> numbers_in(const SavedModel& saved, const Parameter& wanted) {
  const Model<float> model(saved.model);
  for (const Parameter& p : model.parameters().parameters()) {
    if (p.name == wanted.name && p.rows == wanted.rows && p.cols == wanted.cols)
      return parameter_values(p, saved.state.best);
  }
  return {};
}

/// Initial values of a parameter in a model that starts from `source`.
std::vector<float> start_of(const SavedModel& saved, const SavedModel& source, const Parameter& p) {
  std::vector<float> taken = numbers_in(source, p);
  if (!taken.empty()) return taken;
  const Model<float> model(saved.model);
  return parameter_values(p, model.parameters().initial_values<float>(saved.seed));
}

bool is_projection(const std::string& name) {
  return name.find("attention.query") != std::string::npos ||
         name.find("attention.key") != std::string::npos ||
         name.find("attention.value") != std::string::npos;
}

/// Names that the note of --start-from lists.
std::vector<std::string> names_taken(const std::string& err, const std::string& source) {
  const std::string head = "from " + source + ": ";
  const std::size_t begin = err.find(head);
  if (begin == std::string::npos) return {};
  std::string list = err.substr(begin + head.size(), err.find('\n', begin) - begin - head.size());
  std::erase(list, ' ');
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

/// [SimpleTRON, Sec. 4.2]
TEST(CliAttentionStart, SimpletronsQueriesKeysAndValuesStayFrozenInSoftmax) {
  const std::string folder = temporary_dir();
  const std::string simple = folder + "/simpletron.h5";
  const std::string soft = folder + "/softmax.h5";
  ASSERT_EQ(train_tiny("simpletron", simple).exit_code, 0);
  const std::string freeze =
      "block0.attention.query,block0.attention.key,block0.attention.value,"
      "block1.attention.query,block1.attention.key,block1.attention.value";
  const ProgramResult made =
      train_tiny("softmax", soft, {"--start-from", simple, "--freeze", freeze, "--seed", "2"});
  ASSERT_EQ(made.exit_code, 0) << made.err;

  const SavedModel source = training::load_model(simple);
  const SavedModel result = training::load_model(soft);
  ASSERT_EQ(result.state.best_step, 10);
  int frozen = 0;
  const Model<float> model(result.model);
  for (const Parameter& p : model.parameters().parameters()) {
    const bool stays = parameter_values(p, result.state.best) == start_of(result, source, p);
    EXPECT_EQ(stays, is_projection(p.name)) << p.name;
    frozen += is_projection(p.name) && !numbers_in(source, p).empty() ? 1 : 0;
  }
  EXPECT_EQ(frozen, 2 * 3 * 2);
}

TEST(CliAttentionStart, WhatTheSourceDoesNotHaveIsNotListedAndStartsFresh) {
  const std::string folder = temporary_dir();
  const std::string simple = folder + "/simpletron.h5";
  const std::string soft = folder + "/softmax.h5";
  ASSERT_EQ(train_tiny("simpletron", simple).exit_code, 0);
  const ProgramResult made = train_tiny(
      "softmax", soft, {"--start-from", simple, "--freeze", kAllParameters, "--seed", "2"});
  ASSERT_EQ(made.exit_code, 0) << made.err;

  const SavedModel source = training::load_model(simple);
  const SavedModel result = training::load_model(soft);
  const std::vector<std::string> taken = names_taken(made.err, simple);
  std::vector<std::string> fresh;
  const Model<float> model(result.model);
  for (const Parameter& p : model.parameters().parameters()) {
    EXPECT_EQ(parameter_values(p, result.state.best), start_of(result, source, p)) << p.name;
    const bool listed = std::find(taken.begin(), taken.end(), p.name) != taken.end();
    EXPECT_EQ(listed, !numbers_in(source, p).empty()) << p.name;
    if (!listed) fresh.push_back(p.name);
  }
  EXPECT_THAT(fresh,
              testing::UnorderedElementsAre("block0.attention.output.weight",
                                            "block0.attention.output.bias",
                                            "block1.attention.output.weight",
                                            "block1.attention.output.bias"));
}

TEST(CliAttentionStart, DamagedSafetensorsAreAFileErrorAndNothingIsTrained) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/model.h5";
  const std::string weights = folder + "/model.safetensors";
  ASSERT_EQ(train_tiny("softmax", model).exit_code, 0);
  ASSERT_EQ(run_program({"attention", "weights", model, "-o", weights}).exit_code, 0);
  const std::string bytes = read_file(weights);
  const std::string damaged = folder + "/damaged.safetensors";
  const std::string output = folder + "/output.h5";
  const auto refused = [&](const std::string& text) {
    const ProgramResult result = train_tiny("softmax", output, {"--start-from", damaged});
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("damaged.safetensors: " + text));
    EXPECT_THAT(result.err, Not(HasSubstr("internal error")));
    EXPECT_FALSE(std::filesystem::exists(output));
  };
  refused("cannot read");
  write_file(damaged, "");
  refused("the file is empty");
  write_file(damaged, "This is no safetensors file.");
  refused("not a safetensors file, or damaged");
  write_file(damaged, bytes.substr(0, 100));
  refused("");
  write_file(damaged, bytes.substr(0, bytes.size() - 1));
  refused("tensor '");
  write_file(damaged, bytes + "x");
  refused("");
  std::string renamed = bytes;
  renamed.replace(renamed.find("\"F32\""), 5, "\"F99\"");
  write_file(damaged, renamed);
  refused("tensor '");
}

/// Deviation of each parameter from its initial values at each validation; the chart has a line for
/// each part.
TEST(CliAttentionStart, DeviationsFromTheStartAreInTheReportAndDrawn) {
  const std::string folder = temporary_dir();
  const std::string source = folder + "/source.h5";
  ASSERT_EQ(train_tiny("softmax", source).exit_code, 0);
  const Arguments more{"--start-from", source, "--evaluate-every", "5", "--freeze", "block0"};
  const std::string document = folder + "/report.json";
  const std::string chart = folder + "/deviation.svg";
  const ProgramResult made =
      train_tiny("softmax",
                 folder + "/whole.h5",
                 more + Arguments{"--json", document, "--deviation-chart", chart});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto deviations = nlohmann::json::parse(read_file(document)).at("deviations");
  EXPECT_EQ(deviations.at("block0.attention.query.weight"), (nlohmann::json{0.0, 0.0}));
  const auto& moved = deviations.at("block1.attention.query.weight");
  EXPECT_TRUE(moved[0] > 0 && moved[1] > 0 && moved[0] != moved[1]) << moved;
  const std::string svg = read_file(chart);
  for (const char* part : {"embedding", "block0", "block1", "head"})
    EXPECT_THAT(svg, HasSubstr(part));

  const ProgramResult refused =
      train_tiny("softmax", folder + "/none.h5", {"--deviation-chart", folder + "/none.svg"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("give both"));
}

/// A file that maps the names of another program, and maps that are refused.
TEST(CliAttentionStart, ANameMapSaysWhereTheWeightsAre) {
  const std::string folder = temporary_dir();
  const std::string weights = folder + "/other.safetensors";
  const std::vector<NamedTensor> tensors{{"layers.1.q", {8, 8}, std::vector<float>(64, 0.25F)},
                                         {"layers.1.wide", {32, 8}, std::vector<float>(256, 0.5F)}};
  write_safetensors(weights, tensors);
  const std::string map = folder + "/map.json";
  write_file(map,
             R"({"block*.attention.query.weight": "layers.*.q",
                 "block*.feed_forward.hidden.weight": {"from": "layers.*.wide", "transposed": true}})");
  const std::string output = folder + "/model.h5";
  const Arguments more{"--start-from", weights, "--freeze", kAllParameters, "--name-map"};
  const ProgramResult made = train_tiny("softmax", output, more + Arguments{map});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(names_taken(made.err, weights),
            (std::vector<std::string>{"block1.attention.query.weight",
                                      "block1.feed_forward.hidden.weight"}));
  EXPECT_THAT(
      made.err,
      HasSubstr(
          "not in that file, newly initialized: embedding.token, block0.attention.value.weight"));
  const ProgramResult bert = train_tiny("softmax", output, more + Arguments{"bert"});
  EXPECT_EQ(bert.exit_code, 2);
  EXPECT_THAT(bert.err, HasSubstr("has none of the tensors of the name map"));
  const ProgramResult missing = train_tiny("softmax", output, more + Arguments{"none.json"});
  EXPECT_EQ(missing.exit_code, 3) << missing.err;
  const ProgramResult alone = train_tiny("softmax", output, {"--name-map", "bert"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("give both"));
}

/// The written outputs have one row per sample; the largest entry of a row is the answer of the
/// model.
TEST(CliAttentionStart, EvaluateWritesWhatTheModelSays) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/model.h5";
  ASSERT_EQ(train_tiny("softmax", model).exit_code, 0);
  const std::string outputs = folder + "/outputs.csv";
  const ProgramResult said = run_program(
      {"attention", "evaluate", model, "--samples", "7", "--outputs", outputs, "--json", "-"});
  ASSERT_EQ(said.exit_code, 0) << said.err;
  const std::string text = read_file(outputs);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
  EXPECT_EQ(std::count(text.begin(), text.end(), ','), 7 * 3);  // four classes
}

/// Writes all weights of a model as other programs may store them: as 8-byte numbers if `wide` is
/// true for the name, a bias with one dimension.
template <class Wide>
void write_weights(const std::string& path, const SavedModel& saved, const Wide& wide) {
  std::vector<NamedTensor> tensors;
  const Model<float> model(saved.model);
  for (const Parameter& p : model.parameters().parameters()) {
    const std::vector<float> floats = parameter_values(p, saved.state.best);
    NamedTensor tensor{p.name, {p.rows, p.cols}, floats};
    if (p.rows == 1) tensor.shape = {p.cols};
    if (wide(p.name)) tensor.values = std::vector<double>(floats.begin(), floats.end());
    tensors.push_back(std::move(tensor));
  }
  write_safetensors(path, tensors);
}

TEST(CliAttentionStart, TensorsOfOtherTypesAndShapesAreTaken) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/model.h5";
  ASSERT_EQ(train_tiny("softmax", model).exit_code, 0);
  const SavedModel source = training::load_model(model);
  const std::string weights = folder + "/weights.safetensors";
  const auto expect_taken = [&](const auto& wide) {
    write_weights(weights, source, wide);
    const std::string copy = folder + "/copy.h5";
    const ProgramResult made = train_tiny(
        "softmax", copy, {"--start-from", weights, "--freeze", kAllParameters, "--seed", "2"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_TRUE(training::load_model(copy).state.best == source.state.best) << made.err;
  };
  expect_taken([](const std::string&) { return false; });
  expect_taken([](const std::string&) { return true; });
  expect_taken(is_projection);
}

}  // namespace
}  // namespace matapprox::test
