// Names and strings from files reach a terminal, a table or a page only as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "matapprox/io/saved_approximation.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"
#include "support/saved_files.hpp"

namespace matapprox::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A line break, a color, a bell, a title, C1 controls in UTF-8 and as a byte.
const char* const kHostile =
    "x\nmatapprox: forged\x1b[31m\x07\x1b]0;t\x07\xc2\x9b"
    "31m\x9b"
    "2J";

void expect_harmless(const std::string& text, const std::string& what) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    ASSERT_TRUE((byte >= 0x20 && byte != 0x7F) || c == '\n' || c == '\t') << what << ": " << text;
    ASSERT_NE(byte, 0x9B) << what << ": " << text;
  }
  EXPECT_THAT("\n" + text, Not(HasSubstr("\nmatapprox: forged"))) << what;
}

void expect_harmless(const ProgramResult& result, const std::string& what) {
  expect_harmless(result.out, what);
  expect_harmless(result.err, what);
}

TEST(CliVisibleNames, OptionsAndNamesOfMissingFiles) {
  const std::string name = std::string("/nonexistent/") + kHostile;
  const std::string mesh = mesh_file(3);
  const std::vector<Arguments> commands{{"info", name},
                                        {"compare", name + ".mtx"},
                                        {"compare", mesh, "--methods", kHostile},
                                        {"compare", mesh, "--budget", kHostile},
                                        {"compare", mesh, "--json", name},
                                        {"approximate", mesh, kHostile, "-o", "o.h5"},
                                        {"approximate", mesh, "cur", "-o", name},
                                        {"info", mesh, std::string("--") + kHostile},
                                        {"info", mesh, "--threads", kHostile},
                                        {"info", mesh, "--as", kHostile},
                                        {kHostile},
                                        {"measure", name, mesh},
                                        {"apply", name, mesh},
                                        {"export", name, name},
                                        {"solve", mesh, name},
                                        {"sketch", name, "--rank", "1", "-o", "o.h5"},
                                        {"methods", kHostile},
                                        {"attention", "list", kHostile},
                                        {"attention", "train", "--config", name, "-o", "o.h5"},
                                        {"attention", "train", "--task", kHostile, "-o", "o.h5"},
                                        {"reproduce", kHostile}};
  for (const Arguments& command : commands) {
    const ProgramResult result = run_program(command);
    EXPECT_NE(result.exit_code, 0) << command.front();
    EXPECT_NE(result.exit_code, 1) << command.front() << result.err;
    EXPECT_NE(result.exit_code, -1) << command.front();
    expect_harmless(result, command.front());
    EXPECT_THAT(result.err, HasSubstr("\\u001b")) << command.front();
  }
}

TEST(CliVisibleNames, AFileWithSuchANameIsWorkedOn) {
  const std::string folder = temporary_dir();
  const std::string matrix = folder + "/" + kHostile + ".mtx";
  write_file(matrix, mesh_text(4));
  const std::string saved = folder + "/" + kHostile + ".h5";
  for (const Arguments& command :
       {Arguments{"info", matrix},
        {"compare", matrix, "--methods", "cur", "--save", folder + "/" + kHostile},
        {"approximate", matrix, "cur", "-o", saved},
        {"info", saved},
        {"measure", saved, matrix},
        {"best", matrix, "--explain", "--methods", "truncated_svd", "--target-error", "0.5"},
        {"export", saved, folder + "/" + kHostile + ".npz"},
        {"sketch", matrix, "--rank", "1", "-o", folder + "/" + kHostile + "s.h5"},
        {"compare", matrix, "--methods", "cur", "--json", "-"},
        {"compare", matrix, "--methods", "cur", "--csv", "-"}}) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 0) << command.front() << result.err;
    expect_harmless(result, command.front());
  }
  // Bytes that JSON cannot represent are escaped, not replaced.
  const ProgramResult info = run_program({"info", matrix, "--json", "-"});
  EXPECT_THAT(info.json()["matrix"]["path"].get<std::string>(), HasSubstr("31m\\x9b2J"));
  EXPECT_THAT(info.json()["matrix"]["path"].get<std::string>(), HasSubstr("\xc2\x9b"));
}

TEST(CliVisibleNames, DatasetsOfAnHdf5File) {
  const std::string path = temporary_dir() + "/a.h5";
  const std::string name = "a\nmatapprox: forged\x1b[2J";
  write_dataset(path, name, Matrix::Identity(3, 3), {});
  for (const Arguments& command : {Arguments{"info", path},
                                   {"info", path + ":/absent"},
                                   {"info", path + ":/" + name},
                                   {"compare", path, "--methods", "cur"}}) {
    expect_harmless(run_program(command), command.back());
  }
}

TEST(CliVisibleNames, StringsOfASavedApproximation) {
  const std::string path = temporary_dir() + "/saved.h5";
  const std::string hostile = "x\nmatapprox: forged\x1b[31m\xc2\x9b";
  Summary summary;
  summary.method = hostile;
  summary.form = hostile;
  summary.message = hostile;
  summary.options = {{hostile, hostile, "", {}}};
  SavedRecord record;
  record.provenance = {hostile, hostile, 16, 16, {}};
  save(path,
       Approximation({make_factor(hostile, Matrix(Matrix::Identity(16, 16)))}, summary),
       record);
  for (const Arguments& command : {Arguments{"info", path},
                                   {"info", path, "--json", "-"},
                                   {"measure", path, mesh_file(4)},
                                   {"export", path, temporary_dir() + "/out.npz"},
                                   {"approximate", mesh_file(4), "cur", "-o", path, "--resume"}}) {
    expect_harmless(run_program(command), command.front());
  }
}

TEST(CliVisibleNames, KeysOfAConfigurationFile) {
  const std::string path = temporary_dir() + "/run.toml";
  for (const char* content : {"\"x\x1b[31m\" = 1\n",
                              "attention = \"x\x1b[31m\xc2\x9b\"\n",
                              "task = \"\\nmatapprox: forged\"\n"}) {
    write_file(path, content);
    const ProgramResult result =
        run_program({"attention", "train", "--config", path, "-o", temporary_dir() + "/o.h5"});
    EXPECT_GT(result.exit_code, 1) << result.err;
    expect_harmless(result, content);
  }
}

}  // namespace
}  // namespace matapprox::test
