#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "io/npy_header.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A matrix of 9 000 rows, three panels of the program, with decreasing singular values.
const Matrix& streamed_matrix() {
  static const Matrix A = with_singular_values(9000, 12, harmonic_spectrum(12));
  return A;
}

std::string array_text(const Matrix& A) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const RowMajor rows = A;
  const std::string shape = "(" + std::to_string(A.rows()) + ", " + std::to_string(A.cols()) + ")";
  return make_npy_header("<f8", false, shape) +
         std::string(reinterpret_cast<const char*>(rows.data()),
                     static_cast<std::size_t>(rows.size()) * sizeof(double));
}

Matrix saved_matrix(const std::string& path) {
  return dense_of(load_approximation(path).approximation);
}

Arguments sketch_command(const std::string& source,
                         const std::string& output,
                         const Arguments& more = {}) {
  Arguments command{"sketch", source, "-o", output, "--rank", "2"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

TEST(CliSketch, DirectoryFileAndPipeGiveTheSameBits) {
  const Matrix& A = streamed_matrix();
  const std::string folder = temporary_dir();
  write_npy(folder + "/whole.npy", A);
  std::filesystem::create_directory(folder + "/blocks");
  write_npy(folder + "/blocks/part-1.npy", A.topRows(100));
  write_csv(folder + "/blocks/part-2.csv", A.middleRows(100, 5000));
  write_file(folder + "/blocks/part-10.npy", array_text(A.bottomRows(3900)));

  const ProgramResult whole = run_program(sketch_command(
      folder + "/whole.npy", folder + "/whole.h5", {"--json", "-", "--threads", "1"}));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const Matrix B = saved_matrix(folder + "/whole.h5");
  const json report = whole.json();
  EXPECT_EQ(report["rows"], 9000);
  EXPECT_EQ(report["range_size"], 9);
  EXPECT_EQ(report["core_size"], 19);
  EXPECT_EQ(report["stored_numbers"], 2 * 9013);
  EXPECT_EQ(report["sketch_numbers"], 9 * 9012 + 19 * 19 + 10 * 12);
  EXPECT_NEAR(report["frobenius_norm"].get<double>(), A.norm(), 1e-12 * A.norm());
  const double error = (A - B).norm();
  EXPECT_LE(report["error_interval"][0].get<double>(), error);
  EXPECT_GE(report["error_interval"][1].get<double>(), error);
  EXPECT_LE(error, 6 * tail_norm(harmonic_spectrum(12), 2));

  const ProgramResult blocks =
      run_program(sketch_command(folder + "/blocks", folder + "/blocks.h5", {"--threads", "2"}));
  ASSERT_EQ(blocks.exit_code, 0) << blocks.err;
  EXPECT_SAME_BITS(saved_matrix(folder + "/blocks.h5"), B);
  EXPECT_THAT(blocks.out, HasSubstr("9000 x 12, read once"));
  EXPECT_THAT(blocks.out, HasSubstr("estimated from 10 random vectors"));
  EXPECT_THAT(blocks.out, HasSubstr("rows/s"));

  const std::string arrays = array_text(A.topRows(1)) + array_text(A.bottomRows(8999));
  const ProgramResult pipe =
      run_program(sketch_command("-", folder + "/pipe.h5", {"--rows", "9000"}), arrays);
  ASSERT_EQ(pipe.exit_code, 0) << pipe.err;
  EXPECT_SAME_BITS(saved_matrix(folder + "/pipe.h5"), B);

  // The saved result is an approximation like any other.
  const ProgramResult info = run_program({"info", folder + "/pipe.h5"});
  EXPECT_THAT(info.out, HasSubstr("sketch, rows, rank 2"));
  EXPECT_THAT(info.out, HasSubstr("(estimated)"));
  const json measured =
      run_program({"measure", folder + "/pipe.h5", folder + "/whole.npy", "--json", "-"}).json();
  EXPECT_NEAR(measured["results"][0]["error_frobenius"].get<double>(), error, 1e-9 * error);
  EXPECT_EQ(run_program({"apply", folder + "/pipe.h5", "-"}, "1\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n")
                .exit_code,
            0);
}

TEST(CliSketch, LinesOfATableAreAStream) {
  const Matrix A = random_matrix(50, 3);
  const std::string folder = temporary_dir();
  write_csv(folder + "/a.csv", A);
  const ProgramResult result =
      run_program(sketch_command("-", folder + "/a.h5", {"--error-samples", "0"}),
                  "x,y,z\n" + read_file(folder + "/a.csv"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("line 1 is treated as a header"));
  EXPECT_THAT(result.out, HasSubstr("not estimated"));
  ASSERT_EQ(
      run_program(sketch_command(folder + "/a.csv", folder + "/b.h5", {"--error-samples", "0"}))
          .exit_code,
      0);
  EXPECT_SAME_BITS(saved_matrix(folder + "/a.h5"), saved_matrix(folder + "/b.h5"));
}

// A stream that breaks off leaves a checkpoint. With the whole stream the result equals that of an
// uninterrupted run bit for bit.
TEST(CliSketch, ResumesAfterAStreamBrokeOff) {
  const Matrix& A = streamed_matrix();
  const std::string folder = temporary_dir();
  const std::string bytes = array_text(A);
  ASSERT_EQ(run_program(sketch_command("-", folder + "/straight.h5"), bytes).exit_code, 0);
  const Arguments command =
      sketch_command("-", folder + "/out.h5", {"--checkpoint", folder + "/s.h5"});
  const ProgramResult broken = run_program(command, bytes.substr(0, bytes.size() - 1000));
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.err, HasSubstr("block 1: the stream ends after"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/out.h5"));
  EXPECT_EQ(load_sketch(folder + "/s.h5").sketch.rows_seen(), 8192);
  EXPECT_EQ(run_program(command, bytes).exit_code, 3) << "a checkpoint in the way";

  Arguments resume = command;
  resume.emplace_back("--resume");
  Arguments other = resume;
  other.insert(other.end(), {"--seed", "5"});
  const ProgramResult refused = run_program(other, bytes);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("was made with seed = '1', not '5'"));
  EXPECT_EQ(run_program(resume, bytes.substr(0, 10000)).exit_code, 3);
  const ProgramResult resumed = run_program(resume, bytes);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("continues after 8192 rows"));
  EXPECT_SAME_BITS(saved_matrix(folder + "/out.h5"), saved_matrix(folder + "/straight.h5"));

  // The stream had ended: finished again without computation.
  Arguments again = resume;
  again.emplace_back("--force");
  ASSERT_EQ(run_program(again, bytes).exit_code, 0);
  EXPECT_SAME_BITS(saved_matrix(folder + "/out.h5"), saved_matrix(folder + "/straight.h5"));

  const std::string saved = read_file(folder + "/s.h5");
  write_file(folder + "/s.h5", saved.substr(0, saved.size() / 2));
  std::filesystem::remove(folder + "/out.h5");
  EXPECT_EQ(run_program(resume, bytes).exit_code, 3);
}

TEST(CliSketch, InterruptKeepsTheSketchWhileThePipeIsSilent) {
  const std::string folder = temporary_dir();
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Arguments command =
      sketch_command(pipe, folder + "/out.h5", {"--checkpoint", folder + "/s.h5", "--json", "-"});
  RunningProgram running(command);
  const int descriptor = open(pipe.c_str(), O_WRONLY);
  const std::string bytes = array_text(streamed_matrix());
  const std::string part = bytes.substr(0, bytes.size() / 2);
  ASSERT_EQ(write(descriptor, part.data(), part.size()), static_cast<ssize_t>(part.size()));
  usleep(500000);
  running.send(SIGINT);
  const ProgramResult result = running.wait();
  ::close(descriptor);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("interrupted after 4096 rows; the same command with --resume"));
  EXPECT_EQ(load_sketch(folder + "/s.h5").sketch.rows_seen(), 4096);
  EXPECT_EQ(result.json()["interrupted"], true);
  EXPECT_EQ(result.json()["rows_seen"], 4096);
  EXPECT_EQ(result.json()["checkpoint"], folder + "/s.h5");
  EXPECT_FALSE(std::filesystem::exists(folder + "/out.h5"));
}

TEST(CliSketch, RefusesWhatDoesNotFit) {
  const std::string folder = temporary_dir();
  const std::string output = folder + "/out.h5";
  const auto complains =
      [&](const Arguments& arguments, const std::string& input, int code, const std::string& text) {
        const ProgramResult result = run_program(arguments, input);
        EXPECT_EQ(result.exit_code, code) << text;
        EXPECT_THAT(result.err, HasSubstr(text));
        EXPECT_FALSE(std::filesystem::exists(output)) << text;
      };
  const std::string table = "1,2\n3,4\n5,6\n";
  complains(sketch_command("-", output, {"--rows", "4"}), table, 3, "ends after 3 of 4 rows");
  complains(
      sketch_command("-", output, {"--rows", "2"}), table, 3, "has more than 2 rows (--rows)");
  complains(sketch_command("-", output), "1,2\n", 2, "rank 2 is outside 1..1");
  complains({"sketch", "-", "-o", output}, table, 2, "the rank must be given");
  complains(sketch_command("-", output), "", 3, "it is empty");
  complains(sketch_command("-", output, {"--resume"}), table, 2, "--resume needs --checkpoint");
  complains(
      sketch_command("-", output, {"--checkpoint-seconds", "5"}), table, 2, "no effect without");
  complains(
      sketch_command("-", output, {"--checkpoint", folder + "/c.csv"}), table, 2, "--checkpoint");
  complains(sketch_command("-", output, {"--checkpoint", output}), table, 2, "same file");
  complains(sketch_command("-", output, {"--checkpoint", folder + "/no.h5", "--resume"}),
            table,
            3,
            "no.h5");
  complains(sketch_command("-", output, {"--core-size", "two"}), table, 2, "core_size");
  complains(sketch_command(folder, output), "", 3, "an empty directory");
  complains(sketch_command(folder + "/none", output), "", 3, "no such file or directory");
  complains(sketch_command("-", folder + "/out.npy"), table, 2, "out.npy");
  write_file(folder + "/notes.doc", "text");
  complains(sketch_command(folder, output), "", 3, "notes.doc: unknown format '.doc'");
}

}  // namespace
}  // namespace matapprox::test
