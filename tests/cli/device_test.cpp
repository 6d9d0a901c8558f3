#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/device/placement.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::test {
namespace {

using testing::HasSubstr;

/// Commands that can use a GPU. Their files need not exist, because the device is checked first.
std::vector<std::vector<std::string>> commands_of_the_gpu() {
  return {{"compare", "a.mtx"},
          {"approximate", "a.mtx", "cur", "-o", temporary_dir() + "/never.h5"},
          {"measure", "a.h5", "a.mtx"},
          {"apply", "a.h5", "x.csv"},
          {"info", "a.mtx"},
          {"attention", "train", "--task", "adding", "-o", temporary_dir() + "/never.h5"},
          {"attention", "cross-validate", "--task", "token_file", "-o", temporary_dir() + "/never"},
          {"reproduce", "figure5", "-o", temporary_dir() + "/never"},
          {"reproduce", "blocks", "-o", temporary_dir() + "/never"},
          {"reproduce", "transfer", "-o", temporary_dir() + "/never"}};
}

std::vector<std::vector<std::string>> commands_of_the_cpu() {
  const std::string never = temporary_dir() + "/never";
  return {{"best", "a.mtx"},
          {"sketch", "a.npy", "-o", never + ".h5"},
          {"solve", "a.mtx", "b.csv"},
          {"spectrum", "a.mtx", "--nearest", "0"},
          {"reproduce", "table1"},
          {"reproduce", "crossovers"},
          {"attention", "evaluate", "a.h5"},
          {"attention", "map", "a.h5", "-o", never + ".png"},
          {"attention", "spectrum", "--random", "normal"},
          {"attention", "projection"},
          {"attention", "bench"}};
}

ProgramResult run_with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

void expect_not_available(const Arguments& arguments, const std::string& part) {
  const ProgramResult result = run_with(arguments, {"--device", "cuda"});
  EXPECT_EQ(result.exit_code, 5) << arguments.front();
  EXPECT_EQ(result.out, "") << arguments.front();
  EXPECT_THAT(result.err, HasSubstr("matapprox: --device cuda: ")) << arguments.front();
  EXPECT_THAT(result.err, HasSubstr(part)) << arguments.front();
}

TEST(CliDevice, CudaWithoutAGpuSaysWhatIsMissing) {
  const std::string why = why_no_gpu();
  if (why.empty()) GTEST_SKIP() << "this machine has a GPU";
  for (const auto& command : commands_of_the_gpu()) expect_not_available(command, why);
  for (const auto& command : commands_of_the_cpu()) expect_not_available(command, why);
}

TEST(CliDevice, CommandsOfTheCpuSayThatTheyAre) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << "no GPU: " << why;
  for (const auto& command : commands_of_the_cpu())
    expect_not_available(command, "runs on the CPU only");
}

TEST(CliDevice, AnotherNameIsAUsageError) {
  auto commands = commands_of_the_gpu();
  for (const auto& command : commands_of_the_cpu()) commands.push_back(command);
  for (const auto& command : commands) {
    const ProgramResult result = run_with(command, {"--device", "gpu"});
    EXPECT_EQ(result.exit_code, 2) << command.front();
    EXPECT_THAT(result.err, HasSubstr("--device 'gpu' is not one of cpu, cuda, auto"));
  }
}

TEST(CliDevice, AutoSaysWhatItTookIfAsked) {
  const std::string mesh = mesh_file(4);
  const ProgramResult quiet = run_program({"info", mesh, "--device", "auto"});
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_EQ(quiet.err, "");
  const ProgramResult verbose = run_program({"info", mesh, "--device", "auto", "-v"});
  EXPECT_EQ(verbose.exit_code, 0);
  EXPECT_EQ(verbose.out, quiet.out);
  EXPECT_THAT(verbose.err, HasSubstr("device: cpu, "));
  const std::string why = why_no_gpu();
  EXPECT_THAT(verbose.err, HasSubstr(why.empty() ? "estimate: " : why));
  EXPECT_THAT(run_program({"info", mesh, "--verbose"}).err, HasSubstr("device: cpu, as requested"));
}

/// Given factors multiply the same with and without the option.
TEST(CliDevice, ApplyGivesTheSameNumbers) {
  const std::string mesh = mesh_file(4);
  const std::string saved = temporary_dir() + "/device_svd.h5";
  ASSERT_EQ(
      run_program({"approximate", mesh, "truncated_svd", "--rank", "3", "-o", saved}).exit_code, 0);
  std::string x;
  for (int i = 0; i < 16; ++i) x += std::to_string(i) + "\n";
  const ProgramResult without = run_program({"apply", saved, "-"}, x);
  const ProgramResult with = run_program({"apply", saved, "-", "--device", "auto"}, x);
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_EQ(with.out, without.out);
}

TEST(CliDevice, DoctorShowsTheGpuOrWhyThereIsNone) {
  if (kSanitized) GTEST_SKIP() << "DoctorMeasuresTheMachine measures it, which takes long enough";
  const nlohmann::json doctor = run_program({"doctor", "--json", "-"}).json();
  const std::string why = why_no_gpu();
  EXPECT_EQ(doctor["no_gpu"], why);
  EXPECT_EQ(doctor["gpu"].is_null(), !why.empty());
  EXPECT_THAT(run_program({"doctor"}).out, HasSubstr(why.empty() ? "copies at" : "none: " + why));
}

}  // namespace
}  // namespace matapprox::test
