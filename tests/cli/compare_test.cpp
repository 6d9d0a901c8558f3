#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>

#include "matapprox/methods/registry.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json row_of(const json& document, const std::string& method) {
  for (const json& row : document["results"]) {
    if (row["method"] == method) return row;
  }
  ADD_FAILURE() << "no row " << method;
  return document["results"][0];
}

const std::vector<std::string> kQuickChord{
    "--set", "chord.adam_steps=30", "--set", "chord.max_iterations=20"};

std::vector<std::string> with(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(CliCompare, PrintsOneTableOnStdoutAndNothingElse) {
  const ProgramResult result = run_program(with({"compare", mesh_file(8)}, kQuickChord));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* text : {"as_is",
                           "truncated_svd",
                           "symmetric",
                           "nystrom",
                           "jl_projection",
                           "cur",
                           "chord",
                           "hierarchical"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(CliCompare, JsonHoldsTheSchemaAndEqualStorage) {
  const ProgramResult result =
      run_program(with({"compare", mesh_file(8), "--json", "-"}, kQuickChord));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.json();
  EXPECT_EQ(document["schema_version"], 3);
  EXPECT_EQ(document["seed"], 1);
  EXPECT_EQ(document["matrix"]["rows"], 64);
  EXPECT_EQ(document["matrix"]["nonzeros"], 64 + 4 * 7 * 8);
  EXPECT_EQ(document["matrix"]["symmetric"], true);
  const int budget = 64 * 6 * 7;
  // Beside the methods: the unmodified input, and the SVD in its symmetric form.
  ASSERT_EQ(document["results"].size(), methods().size() + 1);
  for (const json& row : document["results"]) {
    EXPECT_EQ(row["status"], "ok") << row;
    if (row["method"] == "hierarchical") {  // values of few bits: the limit is in bytes
      EXPECT_LE(row["stored_bytes"], 8 * budget);
    } else if (row["method"] != "as_is") {
      EXPECT_LE(row["stored_numbers"], budget) << row["method"];
    }
    EXPECT_TRUE(row["error_is_exact"]);
    EXPECT_GT(row["apply_seconds_64"], 0);
    // Null if the difference is rounding.
    if (row["spectral_error_lower"].is_number()) {
      EXPECT_LE(row["spectral_error_lower"].get<double>(), row["error_frobenius"].get<double>());
    }
    EXPECT_NEAR(
        row["error_frobenius"].get<double>() / document["matrix"]["frobenius_norm"].get<double>(),
        row["relative_error"].get<double>(),
        1e-12);
  }
  EXPECT_EQ(row_of(document, "as_is")["error_frobenius"], 0);
  EXPECT_EQ(row_of(document, "as_is")["stored_numbers"], 176);
  EXPECT_EQ(row_of(document, "chord")["stored_numbers"], budget);
  EXPECT_EQ(row_of(document, "chord")["rank"], nullptr);
  EXPECT_EQ(row_of(document, "truncated_svd")["rank"], budget / 129);
  EXPECT_EQ(row_of(document, "truncated_svd_symmetric")["rank"], budget / 65);
  EXPECT_EQ(row_of(document, "jl_projection")["rank"], budget / 64);
}

TEST(CliCompare, FilesAreWrittenBesideTheTable) {
  const std::string folder = temporary_dir();
  const std::vector<std::string> command = {"compare",
                                            mesh_file(5),
                                            "--methods",
                                            "truncated_svd,cur",
                                            "--json",
                                            folder + "/a.json",
                                            "--csv",
                                            folder + "/a.csv",
                                            "--save",
                                            folder + "/factors",
                                            "--quiet"};
  const ProgramResult result = run_program(command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("truncated_svd"));
  const json document = json::parse(read_file(folder + "/a.json"));
  EXPECT_EQ(document["results"].size(), 3U);
  EXPECT_THAT(read_file(folder + "/a.csv"), HasSubstr("\ncur,ok,"));
  for (const char* method : {"truncated_svd", "cur"}) {
    const std::string saved = folder + "/factors/" + method + ".h5";
    EXPECT_EQ(row_of(document, method)["saved_to"], saved);
    EXPECT_TRUE(std::filesystem::exists(saved));
  }

  const ProgramResult again = run_program(command);
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(run_program(with(command, {"--force"})).exit_code, 0);
}

TEST(CliCompare, TheSameSeedGivesTheSameBitsForAnyThreads) {
  const std::string mesh = mesh_file(7);
  const auto errors = [&](const std::string& threads, const std::string& seed) {
    const json document =
        run_program(with({"compare", mesh, "--json", "-", "--threads", threads, "--seed", seed},
                         kQuickChord))
            .json();
    EXPECT_EQ(document["threads"], std::stoi(threads));
    std::vector<double> result;
    for (const json& row : document["results"]) result.push_back(row["error_frobenius"]);
    return result;
  };
  const std::vector<double> one = errors("1", "5");
  EXPECT_EQ(one, errors("2", "5"));
  EXPECT_EQ(one, errors("3", "5"));
  EXPECT_NE(one, errors("1", "6"));
}

TEST(CliCompare, RankBudgetAndTargetError) {
  const std::string mesh = mesh_file(8);
  const std::vector<std::string> low_rank{
      "--methods", "truncated_svd,nystrom,jl_projection,cur", "--json", "-"};
  const json by_rank = run_program(with({"compare", mesh, "--rank", "5"}, low_rank)).json();
  for (std::size_t i = 1; i < by_rank["results"].size(); ++i)
    EXPECT_EQ(by_rank["results"][i]["rank"], 5);

  const json by_share = run_program(with({"compare", mesh, "--budget", "25%"}, low_rank)).json();
  for (std::size_t i = 1; i < by_share["results"].size(); ++i)
    EXPECT_LE(by_share["results"][i]["stored_numbers"], 0.25 * 64 * 64);

  const json doubles = run_program(with({"compare", mesh, "--budget", "8kB"}, low_rank)).json();
  const json floats =
      run_program(with({"compare", mesh, "--budget", "8kB", "--precision", "float"}, low_rank))
          .json();
  for (std::size_t i = 1; i < doubles["results"].size(); ++i) {
    EXPECT_LE(doubles["results"][i]["stored_bytes"], 8000);
    EXPECT_LE(floats["results"][i]["stored_bytes"], 8000);
    EXPECT_GT(floats["results"][i]["rank"], doubles["results"][i]["rank"]);
    EXPECT_EQ(floats["results"][i]["storage_precision"], "float");
  }

  const json target =
      run_program(with({"compare", mesh, "--target-error", "0.3"}, low_rank)).json();
  for (const char* method : {"truncated_svd", "nystrom", "cur"}) {
    EXPECT_LE(row_of(target, method)["relative_error"], 0.3);
  }
  const int rank = row_of(target, "truncated_svd")["rank"];
  const json below = run_program({"compare",
                                  mesh,
                                  "--methods",
                                  "truncated_svd",
                                  "--json",
                                  "-",
                                  "--rank",
                                  std::to_string(rank - 1)})
                         .json();
  EXPECT_GT(row_of(below, "truncated_svd")["relative_error"], 0.3);
}

TEST(CliCompare, AMethodThatCannotRunIsARow) {
  const std::string path = temporary_dir() + "/wide.csv";
  write_file(path, "1,2,3\n4,5,7\n");
  const ProgramResult result = run_program({"compare", path, "--json", "-", "--rank", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json document = result.json();
  EXPECT_THAT(row_of(document, "chord")["status"].get<std::string>(), HasSubstr("square"));
  EXPECT_EQ(row_of(document, "truncated_svd")["status"], "ok");

  const ProgramResult none = run_program({"compare", path, "--methods", "chord"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("square"));
  EXPECT_THAT(none.out, HasSubstr("as_is"));
  EXPECT_EQ(run_program({"compare", path, "--budget", "3B"}).exit_code, 2);
}

TEST(CliCompare, TinyAndZeroMatricesGetAnAnswer) {
  for (const char* text : {"3\n", "0\n", "1,2\n3,4\n", "0,0\n0,0\n", "0,0,0\n0,0,0\n0,0,0\n"}) {
    const std::string path = temporary_dir() + "/tiny.csv";
    write_file(path, text);
    const ProgramResult by_budget =
        run_program(with({"compare", path, "--json", "-"}, kQuickChord));
    EXPECT_EQ(by_budget.exit_code, 0) << text << by_budget.err << by_budget.out;
    const ProgramResult by_rank =
        run_program(with({"compare", path, "--rank", "1", "--json", "-"}, kQuickChord));
    ASSERT_EQ(by_rank.exit_code, 0) << text << by_rank.err;
    const json svd = row_of(by_rank.json(), "truncated_svd");
    EXPECT_EQ(svd["status"], "ok") << text;
    EXPECT_LE(svd["relative_error"], 1) << text;
  }
}

TEST(CliCompare, ReadsStandardInput) {
  const ProgramResult result =
      run_program({"compare", "-", "--methods", "truncated_svd", "--json", "-"}, mesh_text(4));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["matrix"]["rows"], 16);
}

TEST(CliCompare, FileErrorsHaveTheirCode) {
  const std::string mesh = mesh_file(3);
  const std::string broken = temporary_dir() + "/broken.mtx";
  write_file(broken, "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 5\n2 9 1\n");
  const auto fails = [&](const Arguments& arguments, const std::string& text) {
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  fails({"compare", "/no/such/file.mtx"}, "/no/such/file.mtx");
  fails({"compare", broken}, "broken.mtx:4");
  fails({"compare", mesh, "--json", "/no/such/folder/x.json"},
        "the folder '/no/such/folder' does not exist");
  fails({"compare", mesh, "--save", "/no/such/folder/x"}, "does not exist");
  fails({"compare", mesh, "--csv", broken}, "--force");
  fails({"compare", mesh, "--json", temporary_dir()}, "is a folder");
  if (std::filesystem::exists("/dev/full")) {
    const ProgramResult full =
        run_program({"compare", mesh, "--methods", "cur", "--json", "/dev/full", "--quiet"});
    EXPECT_EQ(full.exit_code, 3);
  }
}

TEST(CliCompare, MaxSecondsStopsAFitAtItsBestPoint) {
  const ProgramResult result = run_program({"compare",
                                            mesh_file(20),
                                            "--methods",
                                            "chord",
                                            "--max-seconds",
                                            "1",
                                            "--set",
                                            "chord.max_iterations=100000",
                                            "--set",
                                            "chord.tolerance=0",
                                            "--json",
                                            "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json chord = row_of(result.json(), "chord");
  EXPECT_EQ(chord["termination"], "max_seconds");
  EXPECT_EQ(chord["interrupted"], false);
  EXPECT_LT(chord["relative_error"], 1);
}

TEST(CliCompare, FirstInterruptMeasuresAndWritesTheBestPoint) {
  RunningProgram running({"compare",
                          mesh_file(20),
                          "--methods",
                          "chord,cur",
                          "--set",
                          "chord.max_iterations=100000",
                          "--set",
                          "chord.tolerance=0",
                          "--json",
                          "-"});
  std::this_thread::sleep_for(std::chrono::seconds(3));
  running.send(SIGINT);
  const ProgramResult result = running.wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  const json document = result.json();
  const json chord = row_of(document, "chord");
  EXPECT_EQ(chord["status"], "ok");
  EXPECT_EQ(chord["interrupted"], true);
  EXPECT_EQ(chord["termination"], "interrupted");
  EXPECT_LT(chord["relative_error"], 1);
  EXPECT_THAT(row_of(document, "cur")["status"].get<std::string>(), HasSubstr("interrupted"));
}

TEST(CliMeasure, EffortsAreNoneQuickAndFull) {
  const std::string saved = temporary_dir() + "/svd.h5";
  const auto approximate = [&](const std::vector<std::string>& more) {
    return run_program(with({"approximate",
                             mesh_file(8),
                             "truncated_svd",
                             "--rank",
                             "4",
                             "-o",
                             saved,
                             "--force",
                             "--json",
                             "-"},
                            more));
  };
  const json quick = json::parse(approximate({}).out)["results"][0];
  const json full = json::parse(approximate({"--measure", "full"}).out)["results"][0];
  EXPECT_EQ(quick["error_frobenius"], full["error_frobenius"]);
  EXPECT_EQ(quick["error_basis"], "exact");
  const json none = json::parse(approximate({"--measure", "none"}).out)["results"][0];
  EXPECT_TRUE(none["error_frobenius"].is_null());
  EXPECT_TRUE(none["apply_seconds_1"].is_null());
  // Quantities that were not measured are not stated in the file either.
  EXPECT_TRUE(
      json::parse(run_program({"info", saved, "--json", "-"}).out)["error_frobenius"].is_null());
  EXPECT_EQ(run_program({"measure", saved, mesh_file(8)}).exit_code, 0);

  EXPECT_EQ(approximate({"--measure", "some"}).exit_code, 2);
  EXPECT_EQ(approximate({"--measure", "none", "--exact-error"}).exit_code, 2);
  EXPECT_EQ(run_program({"compare", mesh_file(8), "--measure", "none"}).exit_code, 2);
  EXPECT_EQ(run_program({"measure", saved, mesh_file(8), "--measure", "none"}).exit_code, 2);
}

}  // namespace
}  // namespace matapprox::test
