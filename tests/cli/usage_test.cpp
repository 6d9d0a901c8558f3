#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "matapprox/methods/registry.hpp"
#include "methods/chord/optimizers.hpp"
#include "methods/spectra.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kSubcommands{"compare",
                                            "approximate",
                                            "measure",
                                            "apply",
                                            "solve",
                                            "export",
                                            "sketch",
                                            "info",
                                            "methods",
                                            "reproduce",
                                            "attention",
                                            "doctor"};

TEST(CliUsage, HelpOfEverySubcommandHasAnExample) {
  const ProgramResult overview = run_program({"--help"});
  EXPECT_EQ(overview.exit_code, 0);
  EXPECT_EQ(overview.err, "");
  for (const std::string& subcommand : kSubcommands) {
    EXPECT_THAT(overview.out, HasSubstr(subcommand));
    const ProgramResult help = run_program({subcommand, "--help"});
    EXPECT_EQ(help.exit_code, 0) << subcommand;
    EXPECT_THAT(help.out, HasSubstr("Example"));
    EXPECT_THAT(help.out, HasSubstr("\n  matapprox " + subcommand));
  }
}

TEST(CliUsage, VersionIsANumber) {
  const ProgramResult result = run_program({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(CliUsage, NothingAtAllIsAUsageError) {
  const ProgramResult result = run_program({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("compare"));
}

TEST(CliUsage, SuggestsTheNearestName) {
  const std::string mesh = mesh_file(3);
  const auto complains = [&](const Arguments& arguments, const std::string& text) {
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  complains({"compar", mesh}, "did you mean compare?");
  complains({"compare", mesh, "--mehtods", "cur"}, "did you mean --methods?");
  complains({"compare", mesh, "--treads=2"}, "did you mean --threads?");
  complains({"compare", mesh, "--methods", "nistrom"}, "did you mean 'nystrom'?");
  complains({"compare", mesh, "--set", "nystrom.smapling=uniform"}, "did you mean 'sampling'?");
  complains({"methods", "choord"}, "chord");
  complains({"approximate", mesh, "crd", "-o", temporary_dir() + "/x.h5"}, "crd");
  complains({"xyzzy"}, "unknown subcommand 'xyzzy'");
}

TEST(CliUsage, SaysWhichOptionIsGivenTwice) {
  const ProgramResult result = run_program({"compare", "A.npy", "--rank", "3", "--rank", "4"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("compare: --rank is given 2 times"));
}

TEST(CliUsage, NamesTheLegalRangeOfEveryNumber) {
  const std::string mesh = mesh_file(3);
  const auto complains = [&](const std::vector<std::string>& options, const std::string& text) {
    std::vector<std::string> arguments{"compare", mesh};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(text));
  };
  complains({"--rank", "0"}, "--rank 0 is below 1");
  complains({"--rank", "-3"}, "--rank -3 is below 1");
  complains({"--rank", "10"}, "rank 10 is outside 1..9");
  complains({"--rank", "two"}, "two");
  complains({"--budget", "0"}, "budget '0'");
  complains({"--budget", "10 apples"}, "budget '10 apples'");
  complains({"--target-error", "1.5"}, "outside 0..1");
  complains({"--precision", "half"}, "is not one of double, float");
  complains({"--threads", "0"}, "outside 1..4096");
  complains({"--max-seconds", "-1"}, "not positive");
  complains({"--rank", "2", "--budget", "10%"}, "give one of");
  complains({"--json", "-", "--csv", "-"}, "exclude each other");
  complains({"--set", "nystrom"}, "method.option=value");
  complains({"--as", "kernel", "--bandwidth", "0"}, "--bandwidth 0 is not positive");
}

TEST(CliUsage, MethodsListsEveryMethodAndItsOptions) {
  const nlohmann::json all = run_program({"methods", "--json", "-"}).json();
  std::vector<std::string> names;
  for (const auto& method : all["methods"]) names.push_back(method["name"]);
  std::vector<std::string> registered;
  for (const Method& method : methods()) registered.emplace_back(method.name);
  EXPECT_EQ(names, registered);
  const ProgramResult text = run_program({"methods"});
  for (const std::string& name : names) EXPECT_THAT(text.out, HasSubstr(name));

  const nlohmann::json one = run_program({"methods", "nystrom", "--json", "-"}).json();
  ASSERT_EQ(one["methods"].size(), 1U);
  bool found = false;
  for (const auto& option : one["methods"][0]["options"]) {
    EXPECT_FALSE(option["help"].get<std::string>().empty()) << option;
    found = found || (option["name"] == "form" && option["default"] == "auto" &&
                      option["choices"] == nlohmann::json({"auto", "psd", "generalized"}));
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(run_program({"methods", "nystrom"}).out, HasSubstr("one of auto, psd, generalized"));
}

TEST(CliUsage, DoctorMeasuresTheMachine) {
  const ProgramResult text = run_program({"doctor"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("GF/s"));
  const nlohmann::json doctor = run_program({"doctor", "--json", "-"}).json();
  EXPECT_EQ(doctor["schema_version"], 3);
  EXPECT_GT(doctor["blas"]["gflops_1_thread"].get<double>(), 0.1);
  EXPECT_GT(doctor["own_gflops_1_thread"].get<double>(), 0.1);
  EXPECT_GT(doctor["bandwidth_gb_per_second"].get<double>(), 0.1);
  EXPECT_TRUE(doctor["suitesparse"].is_boolean());
  EXPECT_TRUE(doctor["advice"].is_array());
  for (const char* name :
       {"Eigen", "Highway", "HDF5", "matio", "fmt", "json", "libpng", "libjpeg", "zlib"})
    EXPECT_TRUE(doctor["libraries"].contains(name)) << name;
  for (const char* name : {"CHOLMOD", "UMFPACK"})
    EXPECT_EQ(doctor["libraries"].contains(name), doctor["suitesparse"]) << name;
  EXPECT_EQ(doctor["libraries"].contains("Spectra"), spectra_is_available());
  EXPECT_EQ(doctor["libraries"].contains("Ceres"), chord_fit::ceres_is_available());
}

TEST(CliUsage, CompletionKnowsEverySubcommandAndOption) {
  const std::string completion =
      read_file(source_dir() + "/share/bash-completion/completions/matapprox");
  ASSERT_FALSE(completion.empty());
  for (const std::string& subcommand : kSubcommands) {
    EXPECT_THAT(completion, HasSubstr(subcommand));
    const std::string help = run_program({subcommand, "--help"}).out;
    for (std::size_t at = help.find("  --"); at != std::string::npos;
         at = help.find("  --", at + 1)) {
      const std::string flag = help.substr(at + 2, help.find_first_of(" ,\n", at + 2) - at - 2);
      EXPECT_THAT(completion, HasSubstr(flag)) << subcommand;
    }
  }
  // "what" of reproduce names them: "with attention, figure5, genome, ..., each with options".
  const std::string help = run_program({"reproduce", "--help"}).out;
  const std::size_t begin = help.find("with attention, ") + 16;
  std::string names = help.substr(begin, help.find(", each", begin) - begin);
  std::erase(names, ',');
  EXPECT_THAT(names, HasSubstr("figure5 genome"));
  EXPECT_THAT(completion, HasSubstr("experiments=\"" + names + "\""));
}

/// Expects exit code 2 and nothing on standard output; returns the message.
std::string usage_complaint(const Arguments& arguments) {
  const ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(arguments);
  EXPECT_EQ(result.out, "");
  return result.err;
}

TEST(CliNumbers, AreDecimalOnly) {
  const std::string mesh = mesh_file(4);
  const nlohmann::json ten =
      run_program({"compare", mesh, "--methods", "cur", "--rank", "010", "--json", "-"}).json();
  EXPECT_EQ(ten["results"][1]["rank"], 10);
  for (const char* text : {"0x8", "0b11", "0o7", "1e1", "+8", "8 ", "8.0", "1'0", "1_0"}) {
    EXPECT_THAT(usage_complaint({"compare", mesh, "--rank", text}),
                HasSubstr(std::string("--rank '") + text + "' is not a whole number"));
    EXPECT_THAT(usage_complaint({"compare", mesh, "--set", std::string("cur.rank=") + text}),
                HasSubstr("is not a whole number"));
    EXPECT_THAT(usage_complaint({"compare", mesh, "--seed", text}), HasSubstr("--seed '"));
  }
  EXPECT_THAT(usage_complaint({"compare", mesh, "--target-error", "0x1p-3"}),
              HasSubstr("--target-error '0x1p-3' is not a number"));
}

TEST(CliNumbers, BeyondTheRangeAreRefusedWithIt) {
  const std::string mesh = mesh_file(4);
  const std::string huge = "99999999999999999999";
  const std::string seeds = " is outside 0..18446744073709551615";
  for (const char* seed : {"-1", "18446744073709551616", "-99999999999999999999"}) {
    EXPECT_THAT(usage_complaint({"compare", mesh, "--seed", seed}), HasSubstr(seed + seeds));
    EXPECT_THAT(usage_complaint({"info", mesh, "--seed", seed}), HasSubstr(seed + seeds));
    EXPECT_THAT(usage_complaint({"attention", "spectrum", mesh, "--seed", seed}),
                HasSubstr(seed + seeds));
  }
  const nlohmann::json largest =
      run_program(
          {"compare", mesh, "--methods", "cur", "--seed", "18446744073709551615", "--json", "-"})
          .json();
  EXPECT_EQ(largest["seed"], 18446744073709551615U);

  EXPECT_THAT(usage_complaint({"compare", mesh, "--rank", huge}),
              HasSubstr("--rank " + huge + " is outside 1..9223372036854775807"));
  EXPECT_THAT(usage_complaint({"compare", mesh, "--rank", "-" + huge}), HasSubstr("is below 1"));
  EXPECT_THAT(usage_complaint({"compare", mesh, "--threads", huge}), HasSubstr("outside 1..4096"));
  EXPECT_THAT(usage_complaint({"compare", mesh, "--set", "cur.rank=" + huge}),
              HasSubstr("is outside"));
  EXPECT_THAT(usage_complaint({"compare", mesh, "--max-seconds", "1e999"}),
              HasSubstr("--max-seconds 1e999 is beyond the range of doubles"));
  const std::vector<std::vector<std::string>> attention{
      {"train", "--test-samples"},
      {"evaluate", "m.h5", "--samples"},
      {"evaluate", "m.h5", "--truncate-rank"},
      {"evaluate", "m.h5", "--data-seed"},
      {"map", "m.h5", "--sample"},
      {"map", "m.h5", "--samples"},
      {"map", "m.h5", "--layer"},
      {"map", "m.h5", "--head"},
      {"map", "m.h5", "--rows"},
      {"spectrum", "--random", "normal", "--order"},
      {"spectrum", "--random", "attention", "--head-width"},
      {"spectrum", mesh, "--ranks"},
      {"bench", "--lengths"},
      {"bench", "--width"},
      {"bench", "--heads"},
      {"bench", "--rounds"},
      {"data", "show", "adding", "--samples"},
      {"data", "show", "adding", "--length"},
      {"train", "--task", "adding", "-o", "m.h5", "--steps"},
  };
  for (const std::vector<std::string>& words : attention) {
    std::vector<std::string> arguments{"attention"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    arguments.push_back(huge);
    EXPECT_THAT(usage_complaint(arguments), testing::AllOf(HasSubstr(huge), HasSubstr("outside")));
    arguments.back() = "-1";
    if (words.back() == "--length" || words.back() == "--steps") continue;
    EXPECT_THAT(usage_complaint(arguments), HasSubstr("-1 is ")) << words.back();
  }
}

TEST(CliEffect, OptionsThatChangeNothingAreRefused) {
  const std::string mesh = mesh_file(4);
  const auto compare = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"compare", mesh};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return usage_complaint(arguments);
  };
  EXPECT_THAT(compare({"--methods", "cur", "--set", "nystrom.sampling=uniform"}),
              HasSubstr("nystrom is not among the methods that run"));
  EXPECT_THAT(compare({"--set", "cur.rank=2", "--set", "cur.rank=3"}),
              HasSubstr("cur.rank is set twice"));
  EXPECT_THAT(compare({"--methods", "cur,nystrom,cur"}), HasSubstr("cur is named twice"));
  EXPECT_THAT(compare({"--budget", ""}), HasSubstr("--budget is empty"));
  EXPECT_THAT(compare({"--methods", ""}), HasSubstr("--methods is empty"));
  EXPECT_THAT(compare({"--json", ""}), HasSubstr("--json is empty"));
  EXPECT_THAT(compare({"--sweep-seconds", "5"}), HasSubstr("without --report or --plots"));
  EXPECT_THAT(compare({"--as", "kernel", "--degree", "3"}),
              HasSubstr("degree applies to the polynomial kernel, not to the gaussian kernel"));
  EXPECT_THAT(compare({"--as", "kernel", "--kernel", "linear", "--bandwidth", "2"}),
              HasSubstr("bandwidth applies to kernels of the distance"));
  EXPECT_THAT(compare({"--kernel", "gaussian"}), HasSubstr("apply to kernel matrices"));
  const std::string output = temporary_dir() + "/x.h5";
  EXPECT_THAT(usage_complaint({"approximate",
                               mesh,
                               "nystrom",
                               "--landmarks",
                               "0,1",
                               "--target-error",
                               "0.5",
                               "-o",
                               output}),
              HasSubstr("--target-error and --landmarks exclude each other"));
  EXPECT_THAT(
      usage_complaint(
          {"approximate", mesh, "nystrom", "--landmarks", "0,1", "--rank", "5", "-o", output}),
      HasSubstr("rank 5 and 2 landmarks contradict each other"));
  EXPECT_FALSE(std::filesystem::exists(output));
  for (const char* flag : {"--rows", "--effort", "--pattern", "--set", "--seed"}) {
    EXPECT_THAT(usage_complaint({"reproduce", "timing", flag, "1"}),
                HasSubstr(std::string(flag) + " has no effect"));
  }
}

TEST(CliEffect, WhatAScriptMayGiveForAllFilesIsNoted) {
  const std::string table = temporary_dir() + "/a.csv";
  write_file(table, "x,y\n4,0\n0,3\n");
  const ProgramResult result = run_program({"info", table, "--keep-explicit-zeros"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("keep_explicit_zeros has no effect"));
  EXPECT_THAT(result.err, HasSubstr("line 1 is treated as a header: 'x,y'"));
  write_file(table, "1,2x\n3,4\n");
  const ProgramResult mistake = run_program({"info", table});
  EXPECT_EQ(mistake.exit_code, 3);
  EXPECT_THAT(mistake.err, HasSubstr("'2x' is not a number"));
}

/// diag(first, second) in a file of its own.
std::string diagonal_file(const std::string& first, const std::string& second) {
  const std::string path = temporary_dir() + "/d.csv";
  write_file(path, first + ",0\n0," + second + "\n");
  return path;
}

TEST(CliRange, ANormOrErrorBeyondDoublesIsExitCode4AndNothingIsSaved) {
  const std::string matrix = temporary_dir() + "/a.csv";
  write_file(matrix, "1e308,1e308\n1e308,1e308\n");
  for (const char* method :
       {"truncated_svd", "nystrom", "jl_projection", "cur", "chord", "hierarchical"}) {
    const std::string output = temporary_dir() + "/out.h5";
    for (const char* effort : {"none", "quick", "full"}) {
      const ProgramResult result =
          run_program({"approximate", matrix, method, "-o", output, "--measure", effort});
      EXPECT_EQ(result.exit_code, 4) << method << " " << effort << ": " << result.err;
      EXPECT_FALSE(std::filesystem::exists(output)) << method;
    }
  }
  EXPECT_EQ(run_program({"compare", matrix}).exit_code, 4);
  EXPECT_EQ(run_program({"info", matrix}).exit_code, 4);
}

TEST(CliRange, ALargeOrSmallMatrixIsApproximatedRightOrNotAtAll) {
  for (const char* size : {"1e308", "1.2e308", "1e-308", "1e-320"}) {
    const std::string matrix = diagonal_file(size, size);
    for (const char* method :
         {"truncated_svd", "nystrom", "jl_projection", "cur", "chord", "hierarchical"}) {
      const std::string output = temporary_dir() + "/out.h5";
      const ProgramResult result =
          run_program({"approximate", matrix, method, "-o", output, "--json", "-"});
      const std::string what = std::string(method) + " " + size + ": " + result.err;
      EXPECT_EQ(std::filesystem::exists(output), result.exit_code == 0) << what;
      if (result.exit_code != 0) {
        EXPECT_EQ(result.exit_code, 4) << what;
        continue;
      }
      EXPECT_TRUE(result.json()["results"][0]["relative_error"].is_number()) << what;
      const ProgramResult measured = run_program({"measure", output, matrix});
      EXPECT_EQ(measured.exit_code, 0) << what << measured.err;
      EXPECT_EQ(measured.err, "") << what;  // the same matrix
    }
  }
}

TEST(CliRange, FloatsThatVanishAreRefusedAsThoseThatOverflow) {
  for (const char* size : {"1e-60", "1e-200", "1e60"}) {
    const std::string matrix = diagonal_file(size, size);
    for (const char* method : {"truncated_svd", "nystrom", "jl_projection", "cur"}) {
      const std::string output = temporary_dir() + "/out.h5";
      const ProgramResult result = run_program({"approximate",
                                                matrix,
                                                method,
                                                "--rank",
                                                "2",
                                                "--precision",
                                                "float",
                                                "-o",
                                                output,
                                                "--json",
                                                "-"});
      // The form L L^T stores square roots of the entries, which are within the range of floats.
      if (std::string(method) == "nystrom" && result.exit_code == 0) {
        EXPECT_LE(result.json()["results"][0]["relative_error"].get<double>(), 1e-6) << size;
        continue;
      }
      EXPECT_EQ(result.exit_code, 4) << method << " " << size << result.err;
      EXPECT_THAT(result.err, HasSubstr("precision float")) << method;
      EXPECT_FALSE(std::filesystem::exists(output)) << method;
    }
  }
}

}  // namespace
}  // namespace matapprox::test
