#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// A file with the truncated SVD of rank 5 of a mesh of 64 nodes.
class CliCertificate : public testing::Test {
 protected:
  void SetUp() override {
    const ProgramResult made = approximate({});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  ProgramResult approximate(Arguments more) const {
    more.insert(more.begin(),
                {"approximate",
                 matrix_,
                 "truncated_svd",
                 "--rank",
                 "5",
                 "-o",
                 saved_,
                 "--force",
                 "--quiet"});
    return run_program(more);
  }
  ProgramResult measure(Arguments more) const {
    more.insert(more.begin(), {"measure", saved_, matrix_, "--quiet"});
    return run_program(more);
  }
  const std::string matrix_ = mesh_file(8);
  const std::string saved_ = temporary_dir() + "/certified.h5";
};

TEST_F(CliCertificate, OfAnExactErrorIsTheError) {
  const json row = measure({"--certify", "--json", "-"}).json()["results"][0];
  EXPECT_EQ(row["certificate"]["frobenius"], row["error_frobenius"]);
  EXPECT_EQ(row["certificate"]["frobenius_confidence"], 1);
  EXPECT_EQ(row["certificate"]["relative"], row["relative_error"]);
  EXPECT_EQ(row["certificate"]["spectral"], nullptr);
  EXPECT_EQ(row["certificate"]["products"], 0);
  EXPECT_EQ(measure({"--json", "-"}).json()["results"][0]["certificate"], nullptr);
}

TEST_F(CliCertificate, BoundsTheSpectralNormWithTheConfidenceThatIsAskedFor) {
  const ProgramResult text = measure({"--certify", "--norm", "spectral", "--confidence", "0.999"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("confidence 99.9 %"));
  EXPECT_THAT(text.out, HasSubstr("40 products in 5 passes"));
  EXPECT_THAT(measure({}).out, Not(HasSubstr("certified")));
  const auto certificate = [&](const char* confidence) {
    return measure({"--certify", "--norm", "spectral", "--confidence", confidence, "--json", "-"})
        .json()["results"][0];
  };
  const json much = certificate("0.999");
  const json little = certificate("0.5");
  EXPECT_EQ(much["certificate"]["spectral_confidence"], 0.999);
  EXPECT_EQ(much["certificate"]["norm"], "spectral");
  EXPECT_GT(much["certificate"]["spectral"], little["certificate"]["spectral"]);
  EXPECT_GE(much["certificate"]["spectral"], much["spectral_error_lower"]);
}

TEST_F(CliCertificate, StandsInTheTablesOfCompareAndApproximate) {
  const ProgramResult made = approximate({"--certify"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("certified |A - B|_F <="));
  const ProgramResult compared = run_program(
      {"compare", matrix_, "--methods", "truncated_svd,nystrom", "--certify", "--json", "-"});
  const json document = compared.json();
  for (const json& row : document["results"])
    EXPECT_EQ(row["certificate"]["frobenius"], row["error_frobenius"]) << row["method"];
}

TEST_F(CliCertificate, RefusesWhatHasNoSense) {
  for (const char* confidence : {"0", "1", "-0.5", "95", "nan"}) {
    const ProgramResult refused = measure({"--certify", "--confidence", confidence});
    EXPECT_EQ(refused.exit_code, 2) << confidence;
    EXPECT_THAT(refused.err, HasSubstr("--confidence"));
    EXPECT_THAT(refused.err, HasSubstr("outside 0..1")) << confidence;
  }
  EXPECT_EQ(measure({"--certify", "--norm", "max"}).exit_code, 2);
  EXPECT_THAT(measure({"--confidence", "0.9"}).err, HasSubstr("without --certify"));
  EXPECT_THAT(measure({"--norm", "spectral"}).err, HasSubstr("without --certify"));
  EXPECT_EQ(approximate({"--certify", "--measure", "none"}).exit_code, 2);
  EXPECT_EQ(run_program({"info", matrix_, "--certify"}).exit_code, 2);
}

}  // namespace
}  // namespace matapprox::test
