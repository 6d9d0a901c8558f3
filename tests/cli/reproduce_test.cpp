#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "support/paths.hpp"
#include "support/program_run.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

Arguments joined(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A quick run of three small rows.
Arguments quick(const std::string& matrices, const std::string& folder) {
  return {"reproduce",
          "table1",
          "--matrices",
          matrices,
          "--rows",
          "Sawmill,Strike,Votes",
          "-o",
          folder,
          "--set",
          "adam_steps=60",
          "--set",
          "max_iterations=10"};
}

TEST(CliReproduce, PrintsTheTableAndWritesEveryForm) {
  const std::string out = temporary_dir();
  const ProgramResult result = run_program(joined(quick(paper_folder(), out + "/rows"),
                                                  {"--json",
                                                   out + "/t.json",
                                                   "--csv",
                                                   out + "/t.csv",
                                                   "--markdown",
                                                   out + "/t.md",
                                                   "--latex",
                                                   out + "/t.tex"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("Sawmill"),
                    HasSubstr("3.24e+00"),
                    HasSubstr("1.03e+00"),
                    HasSubstr("3 rows in "),
                    HasSubstr(" CPU s on ")));
  const json document = json::parse(read_file(out + "/t.json"));
  ASSERT_EQ(document["rows"].size(), 3U);
  EXPECT_EQ(document["rows"][1]["name"], "Strike");
  EXPECT_EQ(document["rows"][1]["saved_to"], out + "/rows/Strike.h5");
  EXPECT_EQ(document["chord_options"]["adam_steps"], "60");
  EXPECT_EQ(document["missing"].size(), 0U);
  EXPECT_THAT(read_file(out + "/t.csv"), HasSubstr("\nVotes,covariance,16,"));
  EXPECT_THAT(read_file(out + "/t.md"), HasSubstr("| Votes | 16 |"));
  EXPECT_THAT(read_file(out + "/t.tex"), HasSubstr("\\toprule"));
}

TEST(CliReproduce, ReportIsOnePageWithChartsTablesAndImages) {
  const std::string out = temporary_dir();
  const std::string page = out + "/figure4.html";
  const ProgramResult result = run_program({"reproduce",
                                            "figure4",
                                            "--matrices",
                                            paper_folder(),
                                            "--rows",
                                            "ship,chess (gradient)",
                                            "-o",
                                            out,
                                            "--set",
                                            "adam_steps=30",
                                            "--report",
                                            page,
                                            "--plots",
                                            out + "/plots",
                                            "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"ratio.svg", "ratio.png", "history.svg", "history.png"})
    EXPECT_TRUE(fs::exists(out + "/plots/" + name)) << name;
  const std::string html = read_file(page);
  EXPECT_THAT(html,
              AllOf(HasSubstr("<svg"),
                    HasSubstr("chess (gradient)"),
                    HasSubstr("1342"),
                    HasSubstr("residual of SF"),
                    HasSubstr("matapprox reproduce figure4")));
  EXPECT_THAT(html, testing::Not(HasSubstr("<script")));
  EXPECT_THAT(html, testing::Not(HasSubstr("src=\"http")));
}

TEST(CliReproduce, FindsTheMatricesThroughTheEnvironment) {
  const std::string matrices = paper_folder();
  const Arguments command = {"reproduce",
                             "figure4",
                             "--rows",
                             "ship",
                             "-o",
                             temporary_dir(),
                             "--set",
                             "adam_steps=30",
                             "--quiet",
                             "--json",
                             "-"};
  setenv("MATAPPROX_MATRICES", matrices.c_str(), 1);
  const ProgramResult found = run_program(command);
  setenv("MATAPPROX_MATRICES", (matrices + "/nowhere").c_str(), 1);
  const ProgramResult missing = run_program(command);
  unsetenv("MATAPPROX_MATRICES");
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_EQ(found.json()["matrices"], matrices);
  EXPECT_EQ(found.json()["rows"][0]["paper_sf"], 1342);
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("nowhere"), HasSubstr("scripts/fetch-matrices")));
}

TEST(CliReproduce, WrongInputIsRefusedBeforeAnyFit) {
  const std::string matrices = paper_folder();
  const std::string folder = temporary_dir();
  const auto complains = [&](const Arguments& arguments, int code, const std::string& text) {
    const ProgramResult result = run_program(joined({"reproduce"}, arguments));
    EXPECT_EQ(result.exit_code, code) << text;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  const Arguments table1{"table1", "--matrices", matrices, "-o", folder};
  complains({"tabel1"}, 2, "did you mean table1?");
  complains(joined(table1, {"--rows", "Sawmil"}), 2, "did you mean 'Sawmill'?");
  complains(joined(table1, {"--pattern", "papr"}), 2, "papr");
  complains(joined(table1, {"--effort", "hihg"}), 2, "hihg");
  complains(joined(table1, {"--set", "adam_step=3"}), 2, "adam_steps");
  complains(joined(table1, {"--set", "adam_steps"}), 2, "option=value");
  complains(joined(table1, {"--json", "-", "--csv", "-"}), 2, "only one of");
  complains(joined(table1, {"--latex", folder + "/no/t.tex"}), 3, "does not exist");
  complains(joined(table1, {"--report", folder + "/no/t.html"}), 3, "does not exist");
  complains({"table1", "--matrices", matrices, "-o", folder + "/no/rows"}, 3, "does not exist");
  complains({"table1", "--matrices", folder + "/no", "-o", folder},
            3,
            "this folder with the paper's matrices does not exist");
  complains({"table1", "--matrices", folder, "-o", folder}, 3, "holds none of the 27 rows");
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(CliReproduce, MissingRowsAndOtherFilesAreNamed) {
  const ProgramResult result = run_program(
      joined({"reproduce", "table1", "--matrices", paper_folder(), "-o", temporary_dir(), "--rows"},
             {"Strike,Worldtrade", "--set", "adam_steps=30", "--json", "-"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("strike.mtx: its SHA-256 is not"), HasSubstr("Worldtrade: missing")));
  EXPECT_EQ(result.json()["missing"][0]["name"], "Worldtrade");
  EXPECT_EQ(result.json()["rows"][0]["sha256_is_known"], false);
}

TEST(CliReproduce, ARowThatFailsDecidesTheExitCodeAndTheOthersAreWritten) {
  const std::string matrices = paper_folder();
  write_file(matrices + "/network/Sawmill.mtx",
             "%%MatrixMarket matrix coordinate real general\n3 ");
  const ProgramResult result = run_program({"reproduce",
                                            "table1",
                                            "--matrices",
                                            matrices,
                                            "-o",
                                            temporary_dir(),
                                            "--rows",
                                            "Strike,Sawmill",
                                            "--set",
                                            "adam_steps=30",
                                            "--json",
                                            "-"});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("some rows have no result; the first error:"));
  EXPECT_EQ(result.json()["rows"].size(), 1U);
}

/// Waits until `path` exists, at most half a minute.
void wait_for(const std::string& path) {
  for (int i = 0; i < 3000 && !fs::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(fs::exists(path)) << path;
}

TEST(CliReproduce, AnInterruptedRowResumesFromItsCheckpoint) {
  const std::string matrices = paper_folder();
  write_file(matrices + "/network/Sawmill.mtx", mesh_text(12));
  const auto command = [&](const std::string& folder) {
    return Arguments{"reproduce",
                     "table1",
                     "--matrices",
                     matrices,
                     "-o",
                     folder,
                     "--rows",
                     "Sawmill",
                     "--set",
                     kSanitized ? "adam_steps=2000" : "adam_steps=12000",
                     "--json",
                     "-"};
  };
  const std::string folder = temporary_dir();
  const std::string checkpoint = folder + "/Sawmill.unfinished.h5";
  {
    RunningProgram running(command(folder));
    running.wait_until_it_worked(0.6);
    running.send(SIGINT);
    EXPECT_EQ(running.wait().exit_code, 130);
  }
  ASSERT_TRUE(fs::exists(checkpoint));
  const ProgramResult resumed = run_program(command(folder));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_FALSE(fs::exists(checkpoint));
  const ProgramResult whole = run_program(command(temporary_dir()));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(resumed.json()["rows"][0]["chord_error"], whole.json()["rows"][0]["chord_error"]);
  EXPECT_EQ(resumed.json()["rows"][0]["iterations"], whole.json()["rows"][0]["iterations"]);
}

TEST(CliReproduce, ADamagedCheckpointIsSaidAndNotUsed) {
  const std::string folder = temporary_dir();
  write_file(folder + "/Strike.unfinished.h5", "not an HDF5 file");
  const ProgramResult result = run_program({"reproduce",
                                            "table1",
                                            "--matrices",
                                            paper_folder(),
                                            "-o",
                                            folder,
                                            "--rows",
                                            "Strike",
                                            "--set",
                                            "adam_steps=30"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("Strike.unfinished.h5"));
  EXPECT_THAT(result.err, HasSubstr("the fit starts again"));
}

/// In the two runs that are stopped the fit of Sawmill takes a minute or more. Before the last run
/// its file is replaced by a small matrix, so that the checkpoint belongs to a different one.
TEST(CliReproduce, AKilledRunResumesWhereItWas) {
  const std::string matrices = paper_folder();
  write_file(matrices + "/network/Sawmill.mtx", mesh_text(24));
  const std::string folder = temporary_dir();
  const Arguments command = {"reproduce",
                             "table1",
                             "--matrices",
                             matrices,
                             "-o",
                             folder,
                             "--rows",
                             "Sawmill,Strike",
                             "--threads",
                             "2",
                             "--set",
                             "adam_steps=20000",
                             "--json",
                             "-"};
  {
    RunningProgram running(command);
    wait_for(folder + "/Strike.json");
    running.send(SIGKILL);
    running.wait();
  }
  EXPECT_FALSE(fs::exists(folder + "/Sawmill.json"));
  {
    RunningProgram running(command);
    running.wait_until_it_worked(1);
    running.send(SIGINT);
    const ProgramResult result = running.wait();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_THAT(result.err, HasSubstr("1 of 2 rows are finished and saved in " + folder));
    EXPECT_TRUE(result.json()["interrupted"]);
    EXPECT_EQ(result.json()["rows"].size(), 1U);
  }
  write_file(matrices + "/network/Sawmill.mtx", mesh_text(3));
  const ProgramResult result = run_program(command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the fit starts again"));
  EXPECT_FALSE(result.json()["rows"][0]["reused"]);
  EXPECT_TRUE(result.json()["rows"][1]["reused"]);
}

TEST(CliReproduce, WithoutAFolderRowsAreKeptBelowBuild) {
  const std::string here = temporary_dir();
  const ProgramResult result = RunningProgram({"-C",
                                               here,
                                               program(),
                                               "reproduce",
                                               "table1",
                                               "--matrices",
                                               paper_folder(),
                                               "--rows",
                                               "Strike",
                                               "--set",
                                               "adam_steps=30",
                                               "--seed",
                                               "2",
                                               "--json",
                                               "-"},
                                              "",
                                              "/usr/bin/env")
                                   .wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["folder"], "build/reproduce/table1-seed2");
  EXPECT_TRUE(fs::exists(here + "/build/reproduce/table1-seed2/Strike.json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(here), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace matapprox::test
