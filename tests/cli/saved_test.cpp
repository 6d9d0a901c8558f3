#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "support/paths.hpp"
#include "support/program_run.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<std::string> kMethods{
    "truncated_svd", "nystrom", "jl_projection", "cur", "chord", "hierarchical"};

std::vector<std::string> fit(const std::string& matrix,
                             const std::string& method,
                             const std::string& output) {
  std::vector<std::string> command{"approximate", matrix, method, "-o", output, "--quiet"};
  if (method == "chord")
    command.insert(command.end(), {"--adam-steps", "100", "--max-iterations", "30"});
  return command;
}

TEST(CliSaved, MeasureAgreesWithApproximateForEveryMethod) {
  const std::string mesh = mesh_file(7);
  for (const std::string& method : kMethods) {
    const std::string saved = temporary_dir() + "/" + method + ".h5";
    std::vector<std::string> command = fit(mesh, method, saved);
    command.insert(command.end(), {"--json", "-"});
    const ProgramResult made = run_program(command);
    ASSERT_EQ(made.exit_code, 0) << method << made.err;
    const json row = made.json()["results"][0];
    EXPECT_EQ(row["method"], method);
    EXPECT_EQ(row["saved_to"], saved);

    const json measured = run_program({"measure", saved, mesh, "--json", "-"}).json();
    const double norm = measured["matrix"]["frobenius_norm"];
    EXPECT_NEAR(measured["results"][0]["error_frobenius"].get<double>(),
                row["error_frobenius"].get<double>(),
                1e-12 * norm);
    EXPECT_EQ(measured["stated_error_frobenius"], row["error_frobenius"]);
    EXPECT_EQ(measured["results"][0]["stored_numbers"], row["stored_numbers"]);

    const json described = run_program({"info", saved, "--json", "-"}).json();
    EXPECT_EQ(described["kind"], "approximation");
    EXPECT_EQ(described["method"], method);
    EXPECT_EQ(described["error_frobenius"], row["error_frobenius"]);
    EXPECT_EQ(described["options"], row["options"]);
    EXPECT_EQ(described["interrupted"], false);
    EXPECT_EQ(described["resumable"], false);
    EXPECT_EQ(described["source"]["path"], mesh);
    EXPECT_THAT(run_program({"info", saved}).out, HasSubstr(method));
  }
}

TEST(CliSaved, InfoDescribesAMatrix) {
  const std::string mesh = mesh_file(4);
  const json described = run_program({"info", mesh, "--json", "-"}).json();
  EXPECT_EQ(described["kind"], "matrix");
  EXPECT_EQ(described["matrix"]["rows"], 16);
  EXPECT_EQ(described["matrix"]["nonzeros"], 16 + 4 * 12);
  EXPECT_EQ(described["default_budget_numbers"], 16 * 4 * 5);
  EXPECT_EQ(described["structure"].size(), 1U);
  EXPECT_EQ(described["structure"][0]["relative_error"], 0);
  const std::string text = run_program({"info", mesh}).out;
  EXPECT_THAT(text, HasSubstr("16 x 16"));
  EXPECT_THAT(
      text,
      HasSubstr("structure    dictionary, upper triangle, 3 bits, 5 values, coded: 30 bytes"));
}

TEST(CliSaved, ApplyMultipliesVectorsAndBlocks) {
  // Rank 2 of 2: the approximation is the matrix itself.
  const std::string folder = temporary_dir();
  write_file(folder + "/a.csv", "1,2\n3,5\n");
  const std::string saved = folder + "/a.h5";
  ASSERT_EQ(
      run_program({"approximate", folder + "/a.csv", "truncated_svd", "--rank", "2", "-o", saved})
          .exit_code,
      0);
  write_file(folder + "/x.csv", "1\n10\n");
  const auto values = [&](const std::vector<std::string>& extra, const std::string& input = "") {
    std::vector<std::string> command{"apply", saved};
    command.insert(command.end(), extra.begin(), extra.end());
    command.insert(command.end(), {"--json", "-"});
    const ProgramResult result = run_program(command, input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json()["values"].get<std::vector<std::vector<double>>>();
  };
  const auto near = [](const std::vector<std::vector<double>>& a,
                       const std::vector<std::vector<double>>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), b[i].size());
      for (std::size_t j = 0; j < a[i].size(); ++j) EXPECT_NEAR(a[i][j], b[i][j], 1e-12);
    }
  };
  near(values({folder + "/x.csv"}), {{21}, {53}});
  near(values({folder + "/x.csv", "--transpose"}), {{31}, {52}});
  near(values({"-"}, "1,0\n10,1\n"), {{21, 2}, {53, 5}});

  for (const char* extension : {"npy", "mtx", "csv", "h5"}) {
    const std::string output = folder + "/y." + extension;
    const ProgramResult result = run_program({"apply", saved, folder + "/x.csv", "-o", output});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "");
    near(values({output}), {{21 + 2 * 53}, {3 * 21 + 5 * 53}});  // the written file can be read
                                                                 // again
    EXPECT_EQ(run_program({"apply", saved, folder + "/x.csv", "-o", output}).exit_code, 3);
  }
  EXPECT_EQ(run_program({"apply", saved, folder + "/x.csv", "-o", folder + "/y.txt"}).exit_code, 2);
  write_file(folder + "/long.csv", "1\n2\n3\n");
  const ProgramResult mismatch = run_program({"apply", saved, folder + "/long.csv"});
  EXPECT_EQ(mismatch.exit_code, 2);
  EXPECT_THAT(mismatch.err, HasSubstr("3 x 1"));
}

TEST(CliSaved, ExportNamesTheFilesItWrote) {
  const std::string mesh = mesh_file(4);
  const std::string folder = temporary_dir();
  const std::string saved = folder + "/svd.h5";
  ASSERT_EQ(run_program({"approximate", mesh, "truncated_svd", "-o", saved}).exit_code, 0);
  for (const char* extension : {"mat", "npz", "mtx"}) {
    const std::string output = folder + "/out." + extension;
    const ProgramResult result = run_program({"export", saved, output, "--json", "-"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json written = result.json();
    for (const std::string file : written["files"]) {
      EXPECT_GT(std::filesystem::file_size(file), 0U);
    }
    EXPECT_EQ(run_program({"export", saved, output}).exit_code, 3)
        << "must refuse to overwrite " << output;
    EXPECT_EQ(run_program({"export", saved, output, "--force"}).exit_code, 0);
  }
  EXPECT_EQ(run_program({"export", saved, folder + "/out.doc"}).exit_code, 2);
  EXPECT_EQ(run_program({"export", mesh, folder + "/no.mat"}).exit_code, 3);
}

TEST(CliSaved, RefusesOutputsBeforeTheFitStarts) {
  const std::string mesh = mesh_file(4);
  const std::string saved = temporary_dir() + "/svd.h5";
  ASSERT_EQ(run_program(fit(mesh, "truncated_svd", saved)).exit_code, 0);
  const std::string before = read_file(saved);
  const ProgramResult again = run_program(fit(mesh, "truncated_svd", saved));
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_EQ(read_file(saved), before);
  EXPECT_EQ(run_program(fit(mesh, "truncated_svd", "/no/such/folder/x.h5")).exit_code, 3);
  const ProgramResult device = run_program(fit(mesh, "truncated_svd", "/dev/null"));
  EXPECT_EQ(device.exit_code, 3);
  EXPECT_THAT(device.err, HasSubstr("not a regular file"));
  std::vector<std::string> hurried = fit(mesh, "truncated_svd", saved + "3");
  hurried.insert(hurried.end(), {"--max-seconds", "1e-9"});
  EXPECT_EQ(run_program(hurried).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(saved + "3"));
  const ProgramResult missing_option =
      run_program({"approximate", mesh, "chord", "--sampling", "uniform", "-o", saved + "2"});
  EXPECT_EQ(missing_option.exit_code, 2);
  EXPECT_THAT(missing_option.err, HasSubstr("chord has no option --sampling"));
}

TEST(CliSaved, InterruptedFitIsWrittenAndResumedToTheSameBits) {
  const std::string mesh = mesh_file(kSanitized ? 10 : 16);
  const std::string folder = temporary_dir();
  const auto chord = [&](const std::string& output) {
    return std::vector<std::string>{"approximate",
                                    mesh,
                                    "chord",
                                    "-o",
                                    output,
                                    "--adam-steps",
                                    "600",
                                    "--max-iterations",
                                    "200",
                                    "--tolerance",
                                    "0",
                                    "--checkpoint-seconds",
                                    "0.05",
                                    "--quiet"};
  };
  const std::string whole = folder + "/whole.h5";
  ASSERT_EQ(run_program(chord(whole)).exit_code, 0);

  const std::string cut = folder + "/cut.h5";
  RunningProgram running(chord(cut));
  while (!std::filesystem::exists(cut)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  running.send(SIGINT);
  const ProgramResult stopped = running.wait();
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("interrupted"));
  const json described = run_program({"info", cut, "--json", "-"}).json();
  EXPECT_EQ(described["interrupted"], true);
  EXPECT_EQ(described["resumable"], true);
  const json measured = run_program({"measure", cut, mesh, "--json", "-"}).json();
  EXPECT_NEAR(measured["results"][0]["error_frobenius"].get<double>(),
              described["error_frobenius"].get<double>(),
              1e-12 * measured["matrix"]["frobenius_norm"].get<double>());

  std::vector<std::string> other = chord(cut);
  other.insert(other.end(), {"--resume", "--memory", "7"});
  const ProgramResult other_options = run_program(other);
  EXPECT_EQ(other_options.exit_code, 2);
  EXPECT_THAT(other_options.err, HasSubstr("memory"));
  other = chord(cut);
  other[1] = mesh_file(15);
  other.emplace_back("--resume");
  EXPECT_EQ(run_program(other).exit_code, 2);
  EXPECT_THAT(run_program(other).err, HasSubstr("another matrix"));
  other = {"approximate", mesh, "cur", "-o", cut, "--resume"};
  EXPECT_THAT(run_program(other).err, HasSubstr("is a fit by chord, not cur"));

  std::vector<std::string> resume = chord(cut);
  resume.emplace_back("--resume");
  const ProgramResult resumed = run_program(resume);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  for (const std::string& saved : {whole, cut}) {
    ASSERT_EQ(run_program({"export", saved, saved + ".npz", "--quiet"}).exit_code, 0);
  }
  EXPECT_EQ(read_file(whole + ".npz"), read_file(cut + ".npz"));

  const std::string kept = read_file(cut);
  std::erase(resume, "--quiet");
  const ProgramResult finished = run_program(resume);
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.err, HasSubstr("already finished"));
  EXPECT_EQ(read_file(cut), kept);  // not rewritten, not even the same bytes
}

TEST(CliSaved, AnSvdThatRanOutOfTimeIsResumedToTheSameBits) {
  const std::string mesh = mesh_file(kSanitized ? 30 : 80);
  const auto svd = [&](const std::string& output) {
    return std::vector<std::string>{"approximate",
                                    mesh,
                                    "truncated_svd",
                                    "-o",
                                    output,
                                    "--algorithm",
                                    "krylov",
                                    "--rank",
                                    "40",
                                    "--checkpoint-seconds",
                                    "0.05"};
  };
  const std::string folder = temporary_dir();
  const std::string whole = folder + "/whole.h5";
  ASSERT_EQ(run_program(svd(whole)).exit_code, 0);

  const std::string cut = folder + "/cut.h5";
  std::vector<std::string> command = svd(cut);
  command.insert(command.end(), {"--max-seconds", "0.15"});
  const ProgramResult stopped = run_program(command);
  EXPECT_THAT(stopped.err, HasSubstr("with --resume continues the fit"));
  EXPECT_THAT(stopped.err, testing::Not(HasSubstr("has no effect")));
  EXPECT_EQ(run_program({"info", cut, "--json", "-"}).json()["resumable"], true);
  command = svd(cut);
  command.emplace_back("--resume");
  const ProgramResult resumed = run_program(command);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  for (const std::string& saved : {whole, cut})
    ASSERT_EQ(run_program({"export", saved, saved + ".npz", "--quiet"}).exit_code, 0);
  EXPECT_EQ(read_file(whole + ".npz"), read_file(cut + ".npz"));
}

TEST(CliSaved, WarmStartBeginsWhereTheOtherFitEnded) {
  const std::string mesh = mesh_file(6);
  const std::string folder = temporary_dir();
  const std::string first = folder + "/first.h5";
  auto full = fit(mesh, "chord", first);
  full.insert(full.end(), {"--effort", "fast"});
  ASSERT_EQ(run_program(full).exit_code, 0);
  const auto error = [&](const std::vector<std::string>& command) {
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json()["results"][0]["error_frobenius"].get<double>();
  };
  const double cold = error({"approximate",
                             mesh,
                             "chord",
                             "-o",
                             folder + "/cold.h5",
                             "--effort",
                             "fast",
                             "--adam-steps",
                             "5",
                             "--max-iterations",
                             "5",
                             "--json",
                             "-"});
  const double warm = error({"approximate",
                             mesh,
                             "chord",
                             "-o",
                             folder + "/warm.h5",
                             "--effort",
                             "fast",
                             "--adam-steps",
                             "5",
                             "--max-iterations",
                             "5",
                             "--warm-start",
                             first,
                             "--json",
                             "-"});
  EXPECT_LT(warm, cold);
  EXPECT_EQ(run_program({"approximate", mesh, "cur", "-o", folder + "/x.h5", "--warm-start", first})
                .exit_code,
            2);
}

TEST(CliSaved, RefusesFilesOfOtherPrograms) {
  const std::string mesh = mesh_file(3);
  const std::string text = temporary_dir() + "/text.h5";
  write_file(text, "this is no HDF5 file");
  EXPECT_EQ(run_program({"measure", text, mesh}).exit_code, 3);
  EXPECT_EQ(run_program({"apply", text, mesh}).exit_code, 3);
  EXPECT_EQ(run_program({"export", text, temporary_dir() + "/x.mat"}).exit_code, 3);
  EXPECT_EQ(run_program({"measure", "/no/such.h5", mesh}).exit_code, 3);

  const std::string saved = temporary_dir() + "/svd.h5";
  ASSERT_EQ(run_program(fit(mesh, "truncated_svd", saved)).exit_code, 0);
  const ProgramResult shapes = run_program({"measure", saved, mesh_file(4)});
  EXPECT_EQ(shapes.exit_code, 2);
  EXPECT_THAT(shapes.err, HasSubstr("9 x 9"));
}

}  // namespace
}  // namespace matapprox::test
