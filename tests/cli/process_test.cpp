// Limits of the program's environment: address space, disk, closed or full output streams.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "matapprox/io/saved_approximation.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// Runs a line of shell in which $P is the program and $D a folder with the matrix a.mtx. SIGALRM
/// ends it after a minute, with exit code -1.
ProgramResult run_line(const std::string& folder, const std::string& line) {
  write_file(folder + "/a.mtx", mesh_text(4));
  return RunningProgram({"60", "/bin/sh", "-c", "P=$1; D=$2; " + line, "sh", program(), folder},
                        {},
                        "/usr/bin/timeout")
      .wait();
}

TEST(CliProcess, ALimitOnAddressSpaceThatTheBlasCannotWorkInIsExitCode5) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes all address space";
  const std::string folder = temporary_dir();
  for (const std::string command :
       {"info $D/a.mtx --threads 1", "info $D/a.mtx", "approximate $D/a.mtx cur -o $D/o.h5"}) {
    const ProgramResult result = run_line(folder, "ulimit -v 200000; exec \"$P\" " + command);
    EXPECT_EQ(result.exit_code, 5) << command;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("address space"));
    EXPECT_THAT(result.err, HasSubstr("200000 kB"));
  }
  EXPECT_EQ(run_line(folder, "ulimit -v 200000; exec \"$P\" --version").exit_code, 0);
}

TEST(CliProcess, ALimitOnAddressSpaceThatSufficesForOneBlasThreadDoes) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes all address space";
  const std::string folder = temporary_dir();
  const ProgramResult result = run_line(
      folder,
      "ulimit -v 300000; exec \"$P\" approximate $D/a.mtx truncated_svd --rank 2 --threads 1 -o "
      "$D/o.h5");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(load_approximation(folder + "/o.h5").approximation.rows(), 16);
}

TEST(CliProcess, ALimitOnOpenFilesIsNoDamagedFile) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer opens pipes of its own";
  const std::string folder = temporary_dir();
  ASSERT_EQ(run_line(folder, "exec \"$P\" approximate $D/a.mtx truncated_svd --rank 2 -o $D/o.h5")
                .exit_code,
            0);
  int refused = 0;
  for (int limit = 4; limit <= 20; ++limit) {
    const ProgramResult result =
        run_line(folder, fmt::format("ulimit -n {}; exec \"$P\" info $D/o.h5", limit));
    constexpr int kNotLoaded = 127;  // no file is left for the shared libraries
    if (result.exit_code == 0 || result.exit_code == kNotLoaded) continue;
    ++refused;
    EXPECT_THAT(result.err, HasSubstr("Too many open files")) << limit;
    EXPECT_THAT(result.err, Not(HasSubstr("not an HDF5 file"))) << limit;
  }
  EXPECT_GE(refused, 1);
}

// The program is copied to a folder without matapprox-mpi.
TEST(CliProcess, OfSeveralProcessesWithoutTheProgramForThemOnlyTheFirstSaysSo) {
  const std::string folder = temporary_dir();
  const std::string alone = "cp \"$P\" $D/alone; export ";
  for (const std::string launcher : {"OMPI_COMM_WORLD", "PMI"}) {
    const std::string of_two = alone + launcher + "_SIZE=2 " + launcher + "_RANK=";
    const std::string info = "; exec $D/alone info $D/a.mtx";
    const ProgramResult first = run_line(folder, of_two + "0" + info);
    EXPECT_EQ(first.exit_code, 5) << launcher;
    EXPECT_THAT(first.err, HasSubstr("matapprox-mpi"));
    EXPECT_EQ(first.out, "");
    const ProgramResult second = run_line(folder, of_two + "1" + info);
    EXPECT_EQ(second.exit_code, 5) << launcher;
    EXPECT_EQ(second.err + second.out, "");
    const ProgramResult one = run_line(folder, alone + launcher + "_SIZE=1" + info);
    EXPECT_EQ(one.exit_code, 0) << one.err;
  }
}

TEST(CliProcess, WhatGoesToAnOpenStreamGoesBehindWhatIsThere) {
  const std::string folder = temporary_dir();
  write_file(folder + "/log", "before\n");
  const ProgramResult result =
      run_line(folder, "exec \"$P\" info $D/a.mtx --json /dev/fd/3 3>> $D/log");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(read_file(folder + "/log"), testing::StartsWith("before\n{"));
}

TEST(CliProcess, ExitCodesDoNotDependOnWhereMessagesGo) {
  const std::string folder = temporary_dir();
  const std::vector<std::pair<std::string, int>> commands{
      {"info $D/nothing.mtx", 3},
      {"bogus", 2},
      {"info --bogus", 2},
      {"compare $D/a.mtx --rank 0", 2},
      {"attention list bogus", 2},
      {"", 2},
      {"info $D/a.mtx --verbose --device auto", 0}};
  for (const auto& [command, code] : commands) {
    for (const char* nowhere : {" 2>&-", " 2>/dev/full"}) {
      const ProgramResult result = run_line(folder, "exec \"$P\" " + command + nowhere);
      EXPECT_EQ(result.exit_code, code) << command << nowhere;
    }
  }
}

TEST(CliProcess, MessagesNeverGoIntoAnOutput) {
  const std::string folder = temporary_dir();
  const ProgramResult result =
      run_line(folder,
               "exec \"$P\" approximate $D/a.mtx cur --rank 2 --verbose -o $D/o.h5 --json "
               "$D/o.json <&- >&- 2>&-");
  EXPECT_EQ(result.exit_code, 3);  // the table could not be printed
  EXPECT_EQ(load_approximation(folder + "/o.h5").approximation.rows(), 16);
  EXPECT_FALSE(nlohmann::json::parse(read_file(folder + "/o.json"), nullptr, false).is_discarded());
}

TEST(CliProcess, WhatCannotBePrintedIsAFileError) {
  const std::string folder = temporary_dir();
  for (const char* command : {"--help",
                              "--version",
                              "compare --help",
                              "attention --help",
                              "attention train --help",
                              "methods",
                              "methods --json -",
                              "info $D/a.mtx"}) {
    for (const char* nowhere : {" >&-", " >/dev/full"}) {
      const ProgramResult result =
          run_line(folder, std::string("exec \"$P\" ") + command + nowhere);
      EXPECT_EQ(result.exit_code, 3) << command << nowhere;
      EXPECT_THAT(result.err, HasSubstr("standard output: cannot write")) << command;
    }
  }
}

TEST(CliProcess, AFileThatMayNotGrowLeavesNothingAndIsNamed) {
  const std::string folder = temporary_dir();
  const std::string fit = "approximate $D/a.mtx truncated_svd --rank 15 -o $D/";
  ASSERT_EQ(run_line(folder, "exec \"$P\" " + fit + "s.h5").exit_code, 0);
  const std::vector<std::pair<std::string, std::string>> commands{
      {fit + "big.h5", "big.h5"},
      {"apply $D/s.h5 $D/a.mtx -o $D/big.csv", "big.csv"},
      {"apply $D/s.h5 $D/a.mtx -o $D/big.npy", "big.npy"},
      {"export $D/s.h5 $D/big.mat", "big.mat"},
      {"compare $D/a.mtx --json $D/big.json --quiet", "big.json"}};
  for (const auto& [command, name] : commands) {
    // One block of 512 bytes. Messages go through a pipe, which has no such limit.
    const ProgramResult result = run_line(
        folder, "{ (ulimit -f 1; exec \"$P\" " + command + " 2>&1); echo code $?; } | cat");
    EXPECT_THAT(result.out, HasSubstr(name + ": cannot write: File too large\n"));
    EXPECT_THAT(result.out, HasSubstr("code 3"));
  }
  for (const auto& entry : fs::directory_iterator(folder))
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("a.mtx", "s.h5"));
}

}  // namespace
}  // namespace matapprox::test
