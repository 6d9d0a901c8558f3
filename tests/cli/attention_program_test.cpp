#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
ProgramResult run_at(const std::string& path, const Arguments& arguments) {
  return RunningProgram(arguments, {}, path).wait();
}

/// Copies the program alone into a new folder, as after `cmake --build --target matapprox_cli`.
std::string lone_program() {
  std::string path = temporary_dir() + "/matapprox";
  fs::copy_file(program(), path);
  return path;
}

std::string attention_program() {
  return (fs::path(program()).parent_path() / "matapprox-attention").string();
}

/// A saved model that is only described.
std::string small_model() {
  std::string path = temporary_dir() + "/model.h5";
  const ProgramResult trained = run_program({"attention",
                                             "train",
                                             "--task",
                                             "adding",
                                             "--length",
                                             "16",
                                             "--steps",
                                             "2",
                                             "--evaluation-samples",
                                             "20",
                                             "--test-samples",
                                             "20",
                                             "-o",
                                             path});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  return path;
}

void expect_missing(const ProgramResult& result, const std::string& start) {
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, testing::StartsWith("matapprox: " + start));
  EXPECT_THAT(result.err, HasSubstr("matapprox-attention: No such file or directory"));
  EXPECT_THAT(result.err,
              HasSubstr("cmake --build --preset default --target matapprox_attention_cli"));
}

TEST(CliAttentionProgram, AMissingOneIsNotAvailable) {
  const std::string path = lone_program();
  expect_missing(run_at(path, {"attention", "list"}), "attention needs");
  expect_missing(run_at(path, {"attention", "--help"}), "attention needs");
  expect_missing(run_at(path, {"--help", "attention"}), "attention needs");
  const std::string model = small_model();
  expect_missing(run_at(path, {"info", model}), model + ": a saved model needs");
}

TEST(CliAttentionProgram, EverythingElseRunsWithoutIt) {
  const std::string path = lone_program();
  EXPECT_THAT(run_at(path, {"--help"}).out, HasSubstr("\n  attention "));
  EXPECT_EQ(run_at(path, {"info", mesh_file(3)}).exit_code, 0);
  const ProgramResult misspelled = run_at(path, {"atention", "list"});
  EXPECT_EQ(misspelled.exit_code, 2);
  EXPECT_THAT(misspelled.err, HasSubstr("did you mean attention?"));
  // The attention program is searched for only if the first word names no command.
  EXPECT_EQ(run_at(path, {"info", "attention"}).exit_code, 3);
  EXPECT_EQ(run_at(path, {"--", "attention"}).exit_code, 2);
}

TEST(CliAttentionProgram, IsFoundWhereverTheProgramIs) {
  const std::string path = lone_program();
  fs::create_symlink(attention_program(), fs::path(path).parent_path() / "matapprox-attention");
  const ProgramResult result = run_at(path, {"attention", "list"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, run_program({"attention", "list"}).out);
}

TEST(CliAttentionProgram, GetsOptionsBeforeTheCommandToo) {
  const ProgramResult help = run_program({"--help", "attention", "train"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.out, run_program({"attention", "train", "--help"}).out);
  const ProgramResult version = run_program({"--version", "attention", "list"});
  EXPECT_EQ(version.out, run_program({"--version"}).out);
}

TEST(CliAttentionProgram, DescribesSavedModelsForInfo) {
  const std::string model = small_model();
  const ProgramResult text = run_program({"info", model});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, testing::StartsWith(model + ": saved model\n"));
  EXPECT_EQ(text.out, run_at(attention_program(), {"info", model}).out);

  const std::string file = temporary_dir() + "/info.json";
  const ProgramResult quiet = run_program({"info", model, "--json", file, "--threads", "1"});
  EXPECT_EQ(quiet.exit_code, 0) << quiet.err;
  EXPECT_EQ(quiet.out, text.out);
  EXPECT_EQ(nlohmann::json::parse(read_file(file))["threads"], 1);
  const ProgramResult again = run_program({"info", model, "--json", file});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("--force"));
}

}  // namespace
}  // namespace matapprox::test
