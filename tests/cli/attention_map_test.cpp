#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "support/attention.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<double> csv_numbers(std::string csv) {
  std::replace(csv.begin(), csv.end(), ',', ' ');
  std::istringstream stream(csv);
  return {std::istream_iterator<double>(stream), std::istream_iterator<double>()};
}

TEST(CliAttentionMap, MapWritesImagesNumbersAndRows) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/adding.h5";
  const Arguments other_seed{"--steps", "2", "--quiet", "--seed", "2"};
  ASSERT_EQ(run_attention(kSmallRun + Arguments{"--steps", "2", "-o", model}).exit_code, 0);
  ASSERT_EQ(run_attention(kSmallRun + other_seed + Arguments{"-o", folder + "/b.h5"}).exit_code, 0);
  for (const char* extension : {"png", "svg", "csv", "mtx", "h5"}) {
    const std::string output = folder + "/map." + extension;
    const ProgramResult result = run_attention({"map", model, "-o", output});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(std::filesystem::file_size(output), 0U);
    expect_refusal(run_attention({"map", model, "-o", output}), 3, "--force");
  }
  EXPECT_EQ(read_file(folder + "/map.png").substr(1, 3), "PNG");
  EXPECT_THAT(read_file(folder + "/map.svg"), HasSubstr("psf, layer 0, head 0, test sample 0"));

  // Rows 0 and 2 of the whole map, computed by different products.
  const std::string rows = run_attention({"map", model, "--rows", "0,2", "-o", "-"}).out;
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 2);
  const std::vector<double> all = csv_numbers(read_file(folder + "/map.csv"));
  const std::vector<double> two = csv_numbers(rows);
  ASSERT_EQ(all.size(), 256U);
  ASSERT_EQ(two.size(), 32U);
  for (std::size_t j = 0; j < 16; ++j) {
    EXPECT_NEAR(two[j], all[j], 1e-12);
    EXPECT_NEAR(two[16 + j], all[32 + j], 1e-12);
  }

  const json same = run_attention({"map", model, "--correlate", model, "--json", "-"}).json();
  EXPECT_EQ(same["correlations"].size(), 20U);
  EXPECT_NEAR(same["mean"].get<double>(), 1, 1e-12);
  const json other =
      run_attention({"map", model, "--correlate", folder + "/b.h5", "--json", "-"}).json();
  EXPECT_LT(other["mean"].get<double>(), 0.99);

  expect_refusal(run_attention({"map", model}), 2, "give -o");
  expect_refusal(run_attention({"map", model, "-o", folder + "/x.txt"}), 2, ".npy, .mtx, .csv");
  expect_refusal(run_attention({"map", model, "-o", "-", "--head", "1"}), 2, "outside 0..0");
  expect_refusal(run_attention({"map", model, "-o", "-", "--layer", "1"}), 2, "outside 0..0");
  expect_refusal(run_attention({"map", model, "-o", "-", "--sample", "-1"}), 2, "below 0");
  expect_refusal(run_attention({"map", model, "-o", "-", "--rows", "16"}), 2, "outside 0..15");
  expect_refusal(run_attention({"map", model, "-o", "-", "--json", "-"}), 2, "exclude each other");
}

TEST(CliAttentionMap, MapTakesNoOptionInVain) {
  const auto refused = [](const Arguments& more, const char* why) {
    Arguments words{"map", "m.h5"};
    words.insert(words.end(), more.begin(), more.end());
    expect_refusal(run_attention(words), 2, why);
  };
  for (const char* flag : {"--sample", "--layer", "--head", "--rows"})
    refused({"--correlate", "n.h5", flag, "1"}, "is for -o, not --correlate");
  refused({"-o", "-", "--samples", "5"}, "--samples is for --correlate");
  refused({"-o", "-", "--summary", "--head", "0"}, "--head has no effect on --summary");
}

}  // namespace
}  // namespace matapprox::test
