// Signals during the stages after the fits, and limits that prevent threads from starting.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "matapprox/io/saved_approximation.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A folder with a matrix, an empty folder for temporary files, and a gnuplot that draws nothing
/// and sleeps when its script first plots. The first lines of its script only choose terminals.
std::string folder_with_sleeping_gnuplot(const std::string& condition = "grep -q '^plot'") {
  const std::string folder = temporary_dir();
  write_file(folder + "/a.mtx", mesh_text(4));
  write_file(folder + "/b.csv", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n");
  fs::create_directory(folder + "/bin");
  fs::create_directory(folder + "/tmp");
  write_file(folder + "/bin/gnuplot",
             "#!/bin/sh\n" + condition + " || exit 0\necho $$ > " + folder + "/pid.new\nmv " +
                 folder + "/pid.new " + folder + "/pid\nsleep 600\n");
  fs::permissions(folder + "/bin/gnuplot", fs::perms::owner_all);
  return folder;
}

/// Runs a line of shell in which $P is the program and $D the folder.
std::vector<std::string> shell_line(const std::string& folder, const std::string& line) {
  return {"-c",
          "P=$1; D=$2; PATH=$D/bin:$PATH; TMPDIR=$D/tmp; export PATH TMPDIR; " + line,
          "sh",
          program(),
          folder};
}

/// Waits until the file exists, at most a minute; false if it never appears.
bool wait_for_file(const std::string& path) {
  for (int i = 0; i < 6000 && !fs::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return fs::exists(path);
}

ProgramResult stopped_while_drawing(const std::string& folder,
                                    const std::string& command,
                                    int signal) {
  RunningProgram running(shell_line(folder, "exec \"$P\" " + command), {}, "/bin/sh");
  EXPECT_TRUE(wait_for_file(folder + "/pid")) << command;
  running.send(signal);
  ProgramResult result = running.wait();
  const pid_t gnuplot = std::stoi(read_file(folder + "/pid"));
  EXPECT_NE(kill(gnuplot, 0), 0) << "gnuplot goes on";
  return result;
}

std::vector<std::string> names_of_files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(CliStop, ASignalWhileAPageIsDrawnEndsTheDrawingAndKeepsTheResult) {
  const std::vector<std::pair<std::string, int>> commands{
      {"compare $D/a.mtx --methods truncated_svd --rank 2 --sweep-seconds 0", SIGINT},
      {"compare $D/a.mtx --methods truncated_svd --rank 2 --sweep-seconds 0 --plots $D/plots",
       SIGTERM},
      {"best $D/a.mtx --target-error 0.5 --methods truncated_svd", SIGHUP},
      {"solve $D/a.mtx $D/b.csv --shift 1", SIGUSR1}};
  for (const auto& [command, signal] : commands) {
    const std::string folder = folder_with_sleeping_gnuplot();
    const ProgramResult result =
        stopped_while_drawing(folder, command + " --report $D/page.html --json - --quiet", signal);
    EXPECT_EQ(result.exit_code, 130) << command << result.err;
    EXPECT_EQ(result.json()["interrupted"], true) << command;
    EXPECT_FALSE(fs::exists(folder + "/page.html"));
    EXPECT_FALSE(fs::exists(folder + "/plots")) << "an empty folder";
    EXPECT_THAT(names_of_files_in(folder + "/tmp"), IsEmpty()) << command;
  }
}

TEST(CliStop, ASignalWhileGnuplotIsLookedForEndsTheCommand) {
  const std::string folder = folder_with_sleeping_gnuplot("true");
  const ProgramResult result =
      stopped_while_drawing(folder, "compare $D/a.mtx --report $D/page.html", SIGHUP);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(names_of_files_in(folder + "/tmp"), IsEmpty());
}

TEST(CliStop, TheDocumentOfAFinishedCommandSaysThatItWasNotInterrupted) {
  for (const char* command : {"info", "compare"}) {
    const ProgramResult result = run_program({command, mesh_file(3), "--json", "-", "--quiet"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.json()["interrupted"], false) << command;
  }
}

/// Waits until the pipe is empty, at most a minute; false if it does not become empty.
bool wait_until_read(int pipe_end) {
  int left = 1;
  for (int i = 0; i < 6000 && left > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (ioctl(pipe_end, FIONREAD, &left) != 0) return false;
  }
  return left == 0;
}

/// Runs a command on a pipe that stays open at this end, and sends the signal when the command has
/// read the input and waits for more.
ProgramResult stopped_while_reading(const std::string& command,
                                    const std::string& input,
                                    int signal,
                                    std::string* folder = nullptr) {
  const std::string own = temporary_dir();
  if (folder != nullptr) *folder = own;
  mkfifo((own + "/pipe").c_str(), 0600);
  const int pipe_end = open((own + "/pipe").c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(write(pipe_end, input.data(), input.size()), static_cast<ssize_t>(input.size()));
  RunningProgram running(shell_line(own, "exec \"$P\" " + command + " < $D/pipe"), {}, "/bin/sh");
  EXPECT_TRUE(wait_until_read(pipe_end)) << command;
  running.send(signal);
  ::close(pipe_end);
  return running.wait();
}

TEST(CliStop, ASignalWhileTheMatrixIsReadHasItsExitCode) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    for (const char* command : {"info -", "compare -", "approximate - cur -o $D/o.h5"}) {
      std::string folder;
      const ProgramResult result = stopped_while_reading(command, "1,2\n3,4\n", signal, &folder);
      EXPECT_EQ(result.exit_code, 130) << command << ' ' << signal << result.err;
      EXPECT_THAT(result.err, HasSubstr("interrupted"));
      EXPECT_EQ(result.out, "");
      EXPECT_THAT(names_of_files_in(folder), testing::ElementsAre("pipe")) << command;
    }
  }
}

TEST(CliStop, ASignalBehindTheLastRowOfASketchIsNotForgotten) {
  std::string rows;
  for (int i = 0; i < 20; ++i) rows += "1 2 3 4 5 6\n6 5 4 3 2 7\n";
  std::string folder;
  const ProgramResult result = stopped_while_reading(
      "sketch - --rank 1 -o $D/o.h5 --checkpoint $D/state.h5", rows, SIGINT, &folder);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted"));
}

TEST(CliStop, AnIgnoredHangupStaysIgnored) {
  const std::string folder = temporary_dir();
  write_file(folder + "/a.mtx", mesh_text(16));
  RunningProgram running(
      shell_line(folder,
                 "trap '' HUP; exec \"$P\" approximate $D/a.mtx chord --max-iterations 20000000 "
                 "-o $D/o.h5"),
      {},
      "/bin/sh");
  running.wait_until_it_worked(0.5);
  running.send(SIGHUP);
  // A program that stops ends long before it has worked so much more.
  running.wait_until_it_worked(2);
  running.send(SIGINT);
  EXPECT_EQ(running.wait().exit_code, 130);
}

TEST(CliStop, AFolderInWhichNothingCouldBeSavedIsRemoved) {
  const std::string folder = temporary_dir();
  write_file(folder + "/a.mtx", mesh_text(12));
  const ProgramResult result =
      RunningProgram(
          shell_line(folder,
                     "ulimit -f 8; exec \"$P\" compare $D/a.mtx --methods cur --save $D/kept"),
          {},
          "/bin/sh")
          .wait();
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("cannot write"));
  EXPECT_FALSE(fs::exists(folder + "/kept"));
}

TEST(CliStop, ALimitOnDataOrThreadsIsNoHang) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes all address space";
  const std::string folder = temporary_dir();
  write_file(folder + "/a.mtx", mesh_text(4));
  fs::permissions(folder, fs::perms::all);
  for (const int kilobytes : {20000, 100000, 200000, 400000}) {
    const std::string limit = "ulimit -d " + std::to_string(kilobytes) + "; ";
    const ProgramResult result =
        RunningProgram(
            shell_line(folder, limit + "exec timeout 60 \"$P\" info $D/a.mtx"), {}, "/bin/sh")
            .wait();
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 5) << kilobytes << result.err;
    if (result.exit_code == 5) {
      EXPECT_THAT(result.err, HasSubstr("matapprox: "));
    }
  }
}

TEST(CliStop, AUserWithoutThreadsGetsAnAnswer) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer starts a thread of its own";
  const std::string folder = temporary_dir();
  write_file(folder + "/a.mtx", mesh_text(4));
  const std::string as_user =
      geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : std::string();
  const ProgramResult result = RunningProgram(shell_line(folder,
                                                         "cp \"$P\" /dev/null; ulimit -u 1; exec " +
                                                             as_user + "\"$P\" info - < $D/a.mtx"),
                                              {},
                                              "/bin/sh")
                                   .wait();
  if (result.exit_code == 126) GTEST_SKIP() << "that user cannot reach the program";
  EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 5) << result.exit_code << result.err;
}

}  // namespace
}  // namespace matapprox::test
