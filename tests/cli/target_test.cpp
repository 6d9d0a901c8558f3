#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/paths.hpp"
#include "support/program_run.hpp"

// Every command returns exit code 4 if a target error is not reached.

namespace matapprox::test {
namespace {

using testing::HasSubstr;

std::string scene_file() { return source_dir() + "/matrices/scene.png"; }

ProgramResult approximated(const Arguments& more) {
  Arguments arguments{"approximate", scene_file()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const std::string saved = temporary_dir() + "/target.h5";
  arguments.insert(arguments.end(), {"-o", saved, "--force", "--json", "-"});
  const ProgramResult result = run_program(arguments);
  EXPECT_TRUE(std::filesystem::exists(saved)) << result.err;
  return result;
}

double error_in(const ProgramResult& result) {
  return result.json()["results"][0]["relative_error"].get<double>();
}

TEST(CliTarget, HoldsForWhatIsStored) {
  for (const char* target : {"--target-error", "--frobenius-tolerance"}) {
    for (const auto& [precision, value] : {std::pair("float16", "0.02"), {"bfloat16", "0.02"}}) {
      const ProgramResult result =
          approximated({"truncated_svd", target, value, "--precision", precision});
      EXPECT_EQ(result.exit_code, 0) << target << precision << result.err;
      EXPECT_LE(error_in(result), std::stod(value)) << target << precision;
    }
  }
}

TEST(CliTarget, ThatIsMissedHasACodeOfItsOwn) {
  for (const Arguments& asked :
       {Arguments{"truncated_svd", "--target-error", "1e-8", "--precision", "float16"},
        {"truncated_svd", "--frobenius-tolerance", "1e-8", "--precision", "bfloat16"},
        {"truncated_svd", "--frobenius-tolerance", "1e-3", "--budget", "5%"},
        {"truncated_svd", "--spectral-tolerance", "1e-5", "--budget", "5%"},
        {"hierarchical", "--frobenius-tolerance", "1e-6", "--budget", "1%"},
        {"cur", "--target-error", "1e-7", "--precision", "float16"}}) {
    const ProgramResult result = approximated(asked);
    EXPECT_EQ(result.exit_code, 4) << testing::PrintToString(asked);
    EXPECT_THAT(result.err, HasSubstr("was not reached; this is the closest result found"))
        << testing::PrintToString(asked);
  }
}

TEST(CliTarget, ThatNoMethodOfAComparisonReachesHasTheSameCode) {
  const Arguments compare{"compare", scene_file(), "--precision", "float16", "--methods"};
  const auto code_of = [&](const char* methods, const char* target) {
    Arguments arguments = compare;
    arguments.insert(arguments.end(), {methods, "--target-error", target});
    return run_program(arguments).exit_code;
  };
  EXPECT_EQ(code_of("truncated_svd", "1e-8"), 4);
  EXPECT_EQ(code_of("truncated_svd", "0.05"), 0);
  EXPECT_EQ(code_of("hierarchical,truncated_svd", "1e-6"), 0);
}

}  // namespace
}  // namespace matapprox::test
