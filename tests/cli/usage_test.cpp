#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "matapprox/methods/registry.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kSubcommands{"compare",
                                            "approximate",
                                            "measure",
                                            "apply",
                                            "export",
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
  const auto complains = [&](const std::vector<std::string>& arguments, const std::string& text) {
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
  complains({"--precision", "half"}, "not double or float");
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
  EXPECT_EQ(doctor["schema_version"], 1);
  EXPECT_GT(doctor["blas"]["gflops_1_thread"].get<double>(), 0.1);
  EXPECT_GT(doctor["own_gflops_1_thread"].get<double>(), 0.1);
  EXPECT_GT(doctor["bandwidth_gb_per_second"].get<double>(), 0.1);
  EXPECT_TRUE(doctor["suitesparse"].is_boolean());
  EXPECT_TRUE(doctor["advice"].is_array());
  EXPECT_TRUE(doctor["libraries"].contains("HDF5"));
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
}

}  // namespace
}  // namespace matapprox::test
