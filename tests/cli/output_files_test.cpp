// No output is lost: two outputs never share a file, no output replaces an input, and a file that
// another program creates during the run stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "matapprox/io/saved_approximation.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A folder with a matrix, a.mtx, and saved factors of it, s.h5.
std::string folder_with_factors() {
  std::string folder = temporary_dir();
  write_file(folder + "/a.mtx", mesh_text(4));
  const ProgramResult fit = run_program({"approximate",
                                         folder + "/a.mtx",
                                         "truncated_svd",
                                         "--rank",
                                         "2",
                                         "-o",
                                         folder + "/s.h5",
                                         "--quiet"});
  EXPECT_EQ(fit.exit_code, 0) << fit.err;
  return folder;
}

/// A model of a task that trains in a moment.
std::string quick_model(const std::string& folder) {
  std::string path = folder + "/m.h5";
  const ProgramResult trained = run_program({"attention",
                                             "train",
                                             "--task",
                                             "adding",
                                             "--length",
                                             "8",
                                             "--steps",
                                             "2",
                                             "--test-samples",
                                             "5",
                                             "-o",
                                             path,
                                             "--quiet"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  return path;
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

/// Expects a usage error that leaves all files unchanged.
void expect_untouched(const std::string& folder,
                      const Arguments& arguments,
                      const std::string& message) {
  const std::set<std::string> before = names_in(folder);
  const std::string matrix = read_file(folder + "/a.mtx");
  const std::string factors = read_file(folder + "/s.h5");
  const ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(arguments) << result.err;
  EXPECT_THAT(result.err, HasSubstr(message));
  EXPECT_EQ(names_in(folder), before) << testing::PrintToString(arguments);
  EXPECT_EQ(read_file(folder + "/a.mtx"), matrix);
  EXPECT_EQ(read_file(folder + "/s.h5"), factors);
}

TEST(CliOutputFiles, TwoOutputsOfOneNameAreRefused) {
  const std::string folder = folder_with_factors();
  const std::string matrix = folder + "/a.mtx";
  const std::string saved = folder + "/s.h5";
  const std::string x = folder + "/x.h5";
  const std::string same = "are the same file";
  const auto refused = [&](const Arguments& arguments) {
    expect_untouched(folder, arguments, same);
  };
  refused({"approximate", matrix, "cur", "--rank", "2", "-o", x, "--json", x});
  refused({"approximate", matrix, "cur", "--rank", "2", "-o", x, "--json", x, "--force"});
  refused({"approximate", matrix, "cur", "--rank", "2", "-o", x, "--json", folder + "/./x.h5"});
  refused({"compare", matrix, "--json", x, "--csv", x});
  refused({"apply", saved, matrix, "-o", x, "--json", x});
  refused({"export", saved, folder + "/e.mtx", "--json", folder + "/e_3.mtx"});
  const fs::path alias = fs::path(temporary_dir()) / "alias";
  fs::create_directory_symlink(folder, alias);
  refused({"compare", matrix, "--json", x, "--csv", (alias / "x.h5").string()});
  const std::string kept = temporary_dir();
  expect_untouched(folder, {"compare", matrix, "--save", kept, "--csv", kept + "/cur.h5"}, same);
  expect_untouched(folder, {"compare", matrix, "--save", kept + "/d", "--csv", kept + "/d"}, same);
  EXPECT_THAT(names_in(kept), testing::IsEmpty());
}

TEST(CliOutputFiles, TwoOutputsOfOneNameAreRefusedOfModels) {
  const std::string folder = folder_with_factors();
  const std::string model = quick_model(folder);
  const std::string x = folder + "/x.csv";
  expect_untouched(
      folder, {"attention", "map", model, "-o", x, "--json", x}, "--json and -o are the same file");
  expect_untouched(folder,
                   {"attention", "train", "--task", "adding", "-o", x + ".h5", "--json", x + ".h5"},
                   "are the same file");
  const std::string before = read_file(model);
  expect_untouched(
      folder, {"attention", "map", model, "-o", model, "--force"}, "this file is an input");
  expect_untouched(folder,
                   {"attention", "evaluate", model, "--json", model, "--force"},
                   "this file is an input");
  expect_untouched(folder, {"info", model, "--json", model, "--force"}, "this file is an input");
  EXPECT_EQ(read_file(model), before);
}

TEST(CliOutputFiles, FoldersMayHoldSeveralOutputs) {
  const std::string folder = folder_with_factors();
  fs::create_directory(folder + "/d");
  const ProgramResult result = run_program({"compare",
                                            folder + "/a.mtx",
                                            "--methods",
                                            "cur",
                                            "--rank",
                                            "2",
                                            "--save",
                                            folder + "/d",
                                            "--csv",
                                            folder + "/d/table.csv",
                                            "--json",
                                            "/dev/null"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(names_in(folder + "/d"), testing::ElementsAre("cur.h5", "table.csv"));
}

TEST(CliOutputFiles, DevicesMayBeNamedTwice) {
  const std::string folder = folder_with_factors();
  const ProgramResult result = run_program({"compare",
                                            folder + "/a.mtx",
                                            "--methods",
                                            "cur",
                                            "--rank",
                                            "2",
                                            "--csv",
                                            "/dev/null",
                                            "--json",
                                            "/dev/null"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(CliOutputFiles, AnOutputIsNeverAnInput) {
  const std::string folder = folder_with_factors();
  const std::string matrix = folder + "/a.mtx";
  const std::string saved = folder + "/s.h5";
  const std::string other = folder + "/other-name.h5";
  fs::create_hard_link(saved, other);
  const auto refused = [&](const Arguments& arguments) {
    std::vector<std::string> forced = arguments;
    forced.emplace_back("--force");
    expect_untouched(folder, forced, "this file is an input");
  };
  refused({"approximate", saved, "cur", "--rank", "2", "-o", saved});
  refused({"approximate", saved, "cur", "--rank", "2", "-o", other});
  refused({"approximate", saved + ":/factors", "cur", "--rank", "2", "-o", saved});
  refused({"approximate", matrix, "cur", "--rank", "2", "-o", folder + "/n.h5", "--json", matrix});
  refused({"approximate", matrix, "chord", "--warm-start", saved, "-o", saved});
  refused({"info", matrix, "--json", matrix});
  refused({"measure", saved, matrix, "--json", saved});
  refused({"measure", saved, matrix, "--json", matrix});
  refused({"apply", saved, matrix, "-o", matrix});
  refused({"compare", matrix, "--csv", matrix});
  refused({"export", saved, folder + "/e.npz", "--json", saved});
  refused({"attention", "spectrum", matrix, "--json", matrix});
}

TEST(CliOutputFiles, WhatStandardOutputGoesToIsNoOtherOutput) {
  const std::string folder = folder_with_factors();
  RunningProgram run(
      {"-c", "\"$1\" info \"$2/a.mtx\" --json \"$2/o\" --force >\"$2/o\"", "sh", program(), folder},
      {},
      "/bin/sh");
  const ProgramResult result = run.wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("standard output and --json are the same file"));
}

TEST(CliOutputFiles, ExportLooksAtAllFilesBeforeTheFirst) {
  const std::string folder = folder_with_factors();
  write_file(folder + "/g_2.mtx", "mine");
  const ProgramResult refused = run_program({"export", folder + "/s.h5", folder + "/g.mtx"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("g_2.mtx: cannot write: the file exists"));
  EXPECT_EQ(read_file(folder + "/g_2.mtx"), "mine");
  EXPECT_THAT(names_in(folder), testing::ElementsAre("a.mtx", "g_2.mtx", "s.h5"));
  EXPECT_EQ(run_program({"export", folder + "/s.h5", folder + "/g.mtx", "--force"}).exit_code, 0);
  EXPECT_NE(read_file(folder + "/g_2.mtx"), "mine");
}

/// Runs a command whose matrix comes through a pipe. The pipe opens only after the command has
/// checked its outputs; `meanwhile` runs before the matrix is written.
template <class Meanwhile>
ProgramResult run_while(const Arguments& arguments,
                        const std::string& pipe,
                        const Meanwhile& meanwhile) {
  EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  RunningProgram run(arguments);
  std::ofstream end(pipe);  // waits for the program
  meanwhile();
  end << mesh_text(4);
  end.close();
  return run.wait();
}

TEST(CliOutputFiles, AFileThatAppearsDuringTheFitStays) {
  const std::string folder = temporary_dir();
  const std::string output = folder + "/out.h5";
  const ProgramResult result = run_while({"approximate",
                                          folder + "/p.mtx",
                                          "truncated_svd",
                                          "--rank",
                                          "2",
                                          "-o",
                                          output,
                                          "--json",
                                          folder + "/j.json"},
                                         folder + "/p.mtx",
                                         [&] {
                                           write_file(output, "mine");
                                           write_file(folder + "/out.1.h5", "mine too");
                                           write_file(folder + "/j.json", "mine as well");
                                         });
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("out.h5: another program created this file in the meantime"));
  EXPECT_THAT(result.err, HasSubstr(folder + "/out.2.h5"));
  EXPECT_THAT(result.out, HasSubstr("saved to " + folder + "/out.2.h5"));
  EXPECT_EQ(read_file(output), "mine");
  EXPECT_EQ(read_file(folder + "/out.1.h5"), "mine too");
  EXPECT_EQ(read_file(folder + "/j.json"), "mine as well");
  EXPECT_EQ(load_approximation(folder + "/out.2.h5").approximation.rows(), 16);
  const auto said = nlohmann::json::parse(read_file(folder + "/j.1.json"));
  EXPECT_EQ(said["results"][0]["saved_to"], folder + "/out.2.h5");
}

TEST(CliOutputFiles, WithForceTheLastOneWins) {
  const std::string folder = temporary_dir();
  const std::string output = folder + "/out.h5";
  const ProgramResult result =
      run_while({"approximate", folder + "/p.mtx", "cur", "--rank", "2", "-o", output, "--force"},
                folder + "/p.mtx",
                [&] { write_file(output, "another's"); });
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(load_approximation(output).approximation.rows(), 16);
  EXPECT_THAT(names_in(folder), testing::ElementsAre("out.h5", "p.mtx"));
}

TEST(CliOutputFiles, CheckpointsOfOneRunReplaceEachOther) {
  const std::string folder = temporary_dir();
  write_file(folder + "/a.mtx", mesh_text(6));
  const ProgramResult result = run_program({"approximate",
                                            folder + "/a.mtx",
                                            "chord",
                                            "--adam-steps",
                                            "20",
                                            "--max-iterations",
                                            "10",
                                            "--checkpoint-seconds",
                                            "0.001",
                                            "-o",
                                            folder + "/out.h5",
                                            "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(names_in(folder), testing::ElementsAre("a.mtx", "out.h5"));
}

TEST(CliOutputFiles, OfSixWritersOneGetsTheNameAndNoneLosesItsResult) {
  const std::string folder = temporary_dir();
  const std::string output = folder + "/out.h5";
  std::vector<std::unique_ptr<RunningProgram>> runs;
  std::vector<std::unique_ptr<std::ofstream>> ends;
  for (int k = 1; k <= 6; ++k) {
    const std::string pipe = folder + "/p" + std::to_string(k) + ".mtx";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    runs.push_back(std::make_unique<RunningProgram>(std::vector<std::string>{
        "approximate", pipe, "cur", "--rank", std::to_string(k), "-o", output, "--quiet"}));
    ends.push_back(std::make_unique<std::ofstream>(pipe));
  }
  for (auto& end : ends) *end << mesh_text(4);
  ends.clear();
  int successes = 0;
  for (auto& run : runs) {
    const int code = run->wait().exit_code;
    successes += code == 0;
    EXPECT_TRUE(code == 0 || code == 3) << code;
  }
  EXPECT_EQ(successes, 1);
  std::set<Index> ranks;
  for (const char* name : {"", ".1", ".2", ".3", ".4", ".5"}) {
    const std::string path = folder + "/out" + name + ".h5";
    ranks.insert(load_approximation(path).approximation.summary.rank);
  }
  EXPECT_THAT(ranks, testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(CliOutputFiles, ALinkIsReplacedAndWhatItLeadsToStays) {
  const std::string folder = folder_with_factors();
  write_file(folder + "/target.json", "mine");
  fs::create_symlink("target.json", folder + "/link.json");
  fs::create_symlink("nowhere.json", folder + "/dangling.json");
  for (const char* name : {"/link.json", "/dangling.json"}) {
    const std::string link = folder + name;
    const ProgramResult refused = run_program({"info", folder + "/a.mtx", "--json", link});
    EXPECT_EQ(refused.exit_code, 3) << name;
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(run_program({"info", folder + "/a.mtx", "--json", link, "--force"}).exit_code, 0);
    EXPECT_FALSE(fs::is_symlink(link));
  }
  EXPECT_EQ(read_file(folder + "/target.json"), "mine");
  EXPECT_FALSE(fs::exists(folder + "/nowhere.json"));
}

TEST(CliOutputFiles, AnEmptyNameIsRefused) {
  const std::string folder = folder_with_factors();
  const std::string matrix = folder + "/a.mtx";
  const std::vector<std::vector<std::string>> commands{
      {"approximate", matrix, "cur", "--rank", "2", "-o", ""},
      {"info", matrix, "--json", ""},
      {"compare", matrix, "--csv", ""},
      {"compare", matrix, "--save", ""},
      {"apply", folder + "/s.h5", matrix, "-o", ""},
      {"export", folder + "/s.h5", ""},
      {"attention", "train", "--task", "adding", "-o", ""}};
  for (const auto& command : commands) expect_untouched(folder, command, "is empty");
}

TEST(CliOutputFiles, TheEndingOfAnotherFormatIsRefusedForHdf5) {
  const std::string folder = folder_with_factors();
  for (const char* ending : {".npy", ".mtx", ".NPY", ".csv.gz", ".png", ".json"}) {
    expect_untouched(
        folder,
        {"approximate", folder + "/a.mtx", "cur", "--rank", "2", "-o", folder + "/x" + ending},
        "matapprox export out.h5 out.npz");
  }
  expect_untouched(folder,
                   {"attention", "train", "--task", "adding", "-o", folder + "/x.safetensors"},
                   "matapprox attention weights");
  EXPECT_EQ(
      run_program(
          {"approximate", folder + "/a.mtx", "cur", "--rank", "2", "-o", folder + "/tolerance-0.5"})
          .exit_code,
      0);
}

TEST(CliOutputFiles, NamesThatNoFileCanHaveAreFileErrors) {
  const std::string folder = folder_with_factors();
  const std::string matrix = folder + "/a.mtx";
  const std::string too_long = folder + "/" + std::string(260, 'x');
  fs::create_symlink("loop.npy", folder + "/loop.npy");
  fs::create_symlink("loop.h5", folder + "/loop.h5");
  const std::vector<std::vector<std::string>> commands{
      {"info", too_long + ".npy"},
      {"info", too_long + ".h5"},
      {"info", folder + "/loop.npy"},
      {"info", folder + "/loop.h5"},
      {"compare", folder + "/loop.npy"},
      {"measure", folder + "/loop.h5", matrix},
      {"apply", too_long + ".h5", matrix},
      {"info", matrix, "--json", too_long},
      {"info", matrix, "--json", folder + "/loop.npy/x.json"},
      {"approximate", matrix, "cur", "--rank", "2", "-o", too_long + ".h5"},
      {"approximate", matrix, "cur", "--rank", "2", "-o", folder + "/loop.h5", "--resume"},
      {"attention", "train", "--task", "adding", "-o", too_long + ".h5", "--resume"}};
  for (const auto& command : commands) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 3) << testing::PrintToString(command) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(CliOutputFiles, ALongNameIsWrittenToo) {
  const std::string folder = folder_with_factors();
  const std::string name = std::string(250, 'x') + ".json";  // 255 bytes, the longest possible name
  EXPECT_EQ(run_program({"info", folder + "/a.mtx", "--json", folder + "/" + name}).exit_code, 0);
  EXPECT_THAT(names_in(folder), testing::ElementsAre("a.mtx", "s.h5", name));
}

}  // namespace
}  // namespace matapprox::test
