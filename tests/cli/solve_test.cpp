#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "matapprox/io/load.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A file with a right-hand side of `rows` numbers in each of `columns` columns.
std::string right_side_file(Index rows, Index columns) {
  const Matrix B = random_matrix(rows, columns, 4);
  std::string text;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j)
      text += fmt::format("{}{:.17g}", j == 0 ? "" : ",", B(i, j));
    text += '\n';
  }
  const std::string path = temporary_dir() + "/b.csv";
  write_file(path, text);
  return path;
}

Matrix block_in_file(const std::string& path) {
  const LoadedMatrix loaded = load(path);
  return loaded.matrix->columns_at(index_range(0, loaded.matrix->cols()));
}

/// |b - A x| / |b|, computed from the files.
double residual_in_files(const std::string& A, const std::string& b, const std::string& x) {
  const Matrix B = block_in_file(b);
  return (B - load(A).matrix->apply(block_in_file(x))).norm() / B.norm();
}

/// The mesh plus the identity, whose inverse can be approximated.
std::string shifted_mesh(int side) {
  SparseMatrix A = grid_laplacian(side);
  std::string text = fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n",
                                 A.rows(),
                                 A.cols(),
                                 A.nonZeros());
  for (Index i = 0; i < A.rows(); ++i) {
    for (SparseMatrix::InnerIterator at(A, i); at; ++at)
      text += fmt::format("{} {} {}\n", at.row() + 1, at.col() + 1, at.value());
  }
  const std::string path = temporary_dir() + "/mesh.mtx";
  write_file(path, text);
  return path;
}

TEST(CliSolve, ASavedInverseTakesIterationsAway) {
  const std::string mesh = shifted_mesh(12);
  const std::string b = right_side_file(144, 1);
  const std::string folder = temporary_dir();
  const std::string saved = folder + "/inverse.h5";
  ASSERT_EQ(run_program({"approximate",
                         mesh,
                         "truncated_svd",
                         "--as",
                         "inverse",
                         "--rank",
                         "20",
                         "--symmetric-storage",
                         "-o",
                         saved,
                         "--quiet"})
                .exit_code,
            0);
  const auto solved = [&](const Arguments& more) {
    Arguments command{"solve", mesh, b, "--json", "-", "--force", "-o", folder + "/x.npy"};
    command.insert(command.end(), more.begin(), more.end());
    const ProgramResult result = run_program(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_LE(residual_in_files(mesh, b, folder + "/x.npy"), 1e-8);
    return result.json();
  };
  const json plain = solved({});
  EXPECT_TRUE(plain["preconditioner"].is_null());
  EXPECT_EQ(plain["options"]["tolerance"], "1e-08");
  const json& one = plain["solutions"][0];
  EXPECT_EQ(one["solver"], "cg");
  EXPECT_EQ(one["end"], "converged");
  EXPECT_NEAR(
      one["relative_residual"].get<double>(), residual_in_files(mesh, b, folder + "/x.npy"), 1e-14);
  ASSERT_EQ(one["history"].size(), one["iterations"].get<std::size_t>() + 1);
  EXPECT_EQ(one["history"][0], json({0, 0.0, 1.0}));
  EXPECT_EQ(one["history"].back()[2], one["recurrence_residual"]);

  const json fewer = solved({"--preconditioner", saved});
  EXPECT_EQ(fewer["preconditioner"], saved);
  EXPECT_EQ(fewer["preconditioner_of"], "inverse");
  EXPECT_EQ(fewer["preconditioner_numbers"], 144 * 20 + 20 + 1);
  EXPECT_LT(fewer["solutions"][0]["iterations"].get<int>(), one["iterations"].get<int>() * 2 / 3);
  EXPECT_EQ(solved({"--preconditioner", "jacobi"})["solutions"][0]["iterations"],
            one["iterations"]);  // the diagonal is constant
  EXPECT_EQ(solved({"--solver", "minres"})["solutions"][0]["solver"], "minres");
  EXPECT_EQ(solved({"--solver", "gmres"})["solutions"][0]["solver"], "gmres");
}

TEST(CliSolve, ASavedMatrixServesWithTheShift) {
  const std::string folder = temporary_dir();
  const std::string points = source_dir() + "/matrices/clusters.csv";
  const std::string saved = folder + "/kernel.h5";
  const std::string b = right_side_file(400, 1);
  ASSERT_EQ(run_program({"approximate",
                         points,
                         "nystrom",
                         "--as",
                         "kernel",
                         "--rank",
                         "60",
                         "-o",
                         saved,
                         "--quiet"})
                .exit_code,
            0);
  const Arguments command{
      "solve", points, b, "--as", "kernel", "--shift", "0.01", "--json", "-", "--quiet"};
  const ProgramResult plain = run_program(command);
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  Arguments better = command;
  better.insert(better.end(), {"--preconditioner", saved});
  const ProgramResult wrong = run_program(better);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("itself, not its inverse; add --preconditioner-of matrix"));
  better.insert(better.end(), {"--preconditioner-of", "matrix"});
  const ProgramResult found = run_program(better);
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_LT(found.json()["solutions"][0]["iterations"].get<int>(),
            plain.json()["solutions"][0]["iterations"].get<int>() / 2);
}

TEST(CliSolve, SolvesEveryColumnAndShowsThem) {
  const std::string mesh = mesh_file(8);
  const std::string b = right_side_file(64, 3);
  const std::string x = temporary_dir() + "/x.csv";
  const ProgramResult result = run_program({"solve", mesh, b, "--shift", "0.5", "-o", x});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("64 x 64"));
  EXPECT_THAT(result.out, HasSubstr("preconditioner: none"));
  EXPECT_THAT(result.out, HasSubstr("computed from x"));
  EXPECT_THAT(result.out, HasSubstr("     3  cg      converged"));
  const Matrix X = block_in_file(x);
  ASSERT_EQ(X.cols(), 3);
  const Matrix B = block_in_file(b);
  const Matrix R = B - load(mesh).matrix->apply(X) - 0.5 * X;
  for (Index j = 0; j < 3; ++j) EXPECT_LE(R.col(j).norm(), 1.01e-8 * B.col(j).norm());
  const ProgramResult values =
      run_program({"solve", mesh, b, "--shift", "0.5", "-o", "-", "--json", "-"});
  EXPECT_NEAR(values.json()["values"][5][2].get<double>(), X(5, 2), 1e-12);
  EXPECT_EQ(run_program({"solve", mesh, b, "--shift", "0.5", "-o", "-"}).out, read_file(x));
}

TEST(CliSolve, SaysWhenTheToleranceIsNotReached) {
  const std::string mesh = shifted_mesh(10);
  const std::string b = right_side_file(100, 2);
  const std::string x = temporary_dir() + "/x.npy";
  const ProgramResult result = run_program({"solve", mesh, b, "--max-iterations", "3", "-o", x});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out, HasSubstr("max_iterations"));
  EXPECT_THAT(result.err, HasSubstr("the tolerance was not reached"));
  EXPECT_LT(residual_in_files(mesh, b, x), 1.0);
}

TEST(CliSolve, AnInterruptWritesTheLastIterate) {
  const std::string mesh = shifted_mesh(150);
  const std::string b = right_side_file(22500, 2);
  const std::string x = temporary_dir() + "/x.npy";
  RunningProgram running({"solve",
                          mesh,
                          b,
                          "--solver",
                          "gmres",
                          "--restart",
                          "2",
                          "--tolerance",
                          "1e-15",
                          "--max-iterations",
                          "1000000000",
                          "-o",
                          x,
                          "--json",
                          "-"});
  running.wait_until_it_worked(1.0);
  running.send(SIGINT);
  const ProgramResult stopped = running.wait();
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("columns 2..2 were not started"));
  const json solutions = stopped.json()["solutions"];
  ASSERT_EQ(solutions.size(), 1U);
  EXPECT_EQ(solutions[0]["end"], "interrupted");
  const Matrix X = block_in_file(x);
  const Matrix B = block_in_file(b);
  const double residual = (B.col(0) - load(mesh).matrix->apply(X.col(0))).norm() / B.col(0).norm();
  EXPECT_LT(residual, 1.0);
  EXPECT_NEAR(solutions[0]["relative_residual"].get<double>(), residual, 1e-12);
  EXPECT_EQ(X.col(1).norm(), 0.0);
}

TEST(CliSolve, DrawsTheResiduals) {
  if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "there is no gnuplot";
  const std::string mesh = shifted_mesh(6);
  const std::string b = right_side_file(36, 2);
  const std::string folder = temporary_dir();
  for (const std::string name : {"r.svg", "r.png"}) {
    const ProgramResult result = run_program({"solve",
                                              mesh,
                                              b,
                                              "--chart",
                                              folder + "/" + name,
                                              "--report",
                                              folder + "/" + name + ".html"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_GT(std::filesystem::file_size(folder + "/" + name), 1000U);
  }
  EXPECT_THAT(read_file(folder + "/r.svg"), HasSubstr("tolerance"));
  const std::string page = read_file(folder + "/r.svg.html");
  EXPECT_THAT(page, HasSubstr("2 of 2 right-hand sides converged"));
  EXPECT_THAT(page, HasSubstr("<svg"));
}

TEST(CliSolve, RefusesWhatIsWrong) {
  const std::string mesh = shifted_mesh(6);
  const std::string b = right_side_file(36, 1);
  const std::string folder = temporary_dir();
  const auto complaint = [&](const Arguments& arguments, int exit_code = 2) {
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_THAT(complaint({"solve", mesh, right_side_file(35, 1)}), HasSubstr("b.csv is 35 x 1"));
  write_file(folder + "/nan.csv", "1\nnan\n3\n");
  write_file(folder + "/a.csv", "1,2\n3,4\n5,6\n");
  write_file(folder + "/u.csv", "1,2\n0,4\n");
  write_file(folder + "/two.csv", "1\n2\n");
  EXPECT_THAT(complaint({"solve", folder + "/a.csv", folder + "/nan.csv"}, 4),
              HasSubstr("nan.csv"));
  EXPECT_THAT(complaint({"solve", folder + "/a.csv", folder + "/two.csv"}), HasSubstr("3 x 2"));
  EXPECT_THAT(complaint({"solve", folder + "/u.csv", folder + "/two.csv", "--solver", "cg"}),
              HasSubstr("cg needs a symmetric matrix"));
  // The message names the two entries and the remedy in every command that needs a symmetric
  // matrix.
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"solve", folder + "/u.csv", folder + "/two.csv", "--solver", "cg"},
        {"spectrum", folder + "/u.csv", "--nearest", "1", "--count", "1"},
        {"approximate",
         folder + "/u.csv",
         "truncated_svd",
         "--rank",
         "1",
         "--keep",
         "symmetric",
         "-o",
         folder + "/u.h5"}}) {
    EXPECT_THAT(complaint(command),
                AllOf(HasSubstr("entry (1, 0) is 0 and (0, 1) is 2"), HasSubstr("(A + A^T) / 2")));
  }
  EXPECT_THAT(complaint({"solve", mesh, b, "--shift", "-100", "--solver", "cg"}, 4),
              HasSubstr("not positive definite"));
  EXPECT_THAT(complaint({"solve", mesh, b, "--solver", "magic"}), HasSubstr("solver"));
  EXPECT_THAT(complaint({"solve", mesh, b, "--tolerance", "2"}), HasSubstr("tolerance 2"));
  EXPECT_THAT(complaint({"solve", mesh, b, "--restart", "5", "--solver", "cg"}),
              HasSubstr("--restart has no effect"));
  EXPECT_THAT(complaint({"solve", mesh, b, "--preconditioner-of", "matrix"}),
              HasSubstr("--preconditioner-of has no effect"));
  EXPECT_THAT(
      complaint({"solve", mesh, b, "--preconditioner", "x.h5", "--preconditioner-of", "it"}),
      HasSubstr("is not one of inverse, matrix"));
  EXPECT_THAT(complaint({"solve", mesh, b, "--max-seconds", "0"}), HasSubstr("not positive"));
  EXPECT_THAT(complaint({"solve", mesh, b, "--chart", "r.pdf"}),
              HasSubstr("must end with .svg or .png"));
  EXPECT_THAT(complaint({"solve", mesh, b, "--preconditioner", folder + "/none.h5"}, 3),
              HasSubstr("no such file"));
  const std::string saved = folder + "/other.h5";
  ASSERT_EQ(run_program({"approximate", mesh_file(5), "truncated_svd", "--rank", "2", "-o", saved})
                .exit_code,
            0);
  EXPECT_THAT(complaint({"solve", mesh, b, "--preconditioner", saved}), HasSubstr("is 25 x 25"));
}

TEST(CliKeep, ASavedApproximationHasTheProperty) {
  const std::string points = source_dir() + "/matrices/clusters.csv";
  const std::string folder = temporary_dir();
  const auto error_of = [&](const std::string& keep, const std::string& name) {
    const ProgramResult made = run_program({"approximate",
                                            points,
                                            "nystrom",
                                            "--as",
                                            "kernel",
                                            "--rank",
                                            "10",
                                            "--keep",
                                            keep,
                                            "--json",
                                            "-",
                                            "-o",
                                            folder + "/" + name});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return made.json()["results"][0]["error_frobenius"].get<double>();
  };
  const double before = error_of("nothing", "plain.h5");
  const double after = error_of("row_sums", "sums.h5");
  EXPECT_LT(after, before);
  const LoadedMatrix A = load(points, {.kind = InputKind::kKernel});
  const Matrix ones = Matrix::Ones(400, 1);
  EXPECT_LE((load(folder + "/sums.h5").matrix->apply(ones) - A.matrix->apply(ones)).norm(),
            1e-12 * A.matrix->apply(ones).norm());
  EXPECT_DOUBLE_EQ(error_of("psd", "psd.h5"), before);
}

TEST(CliKeep, RefusesBeforeTheFitAndSavesAfterIt) {
  const std::string mesh = shifted_mesh(8);
  const std::string folder = temporary_dir();
  const auto fit = [&](const std::string& keep) {
    return run_program({"approximate",
                        mesh,
                        "chord",
                        "--as",
                        "inverse",
                        "--adam-steps",
                        "20",
                        "--max-iterations",
                        "5",
                        "--keep",
                        keep,
                        "-o",
                        folder + "/" + keep + ".h5"});
  };
  const ProgramResult sums = fit("row_sums");
  EXPECT_EQ(sums.exit_code, 2);
  EXPECT_THAT(sums.err, HasSubstr("cannot hold another term"));
  EXPECT_THAT(fit("all").err, HasSubstr("nothing, row_sums, symmetric, psd"));
  EXPECT_EQ(fit("symmetric").exit_code, 0);
  EXPECT_EQ(run_program({"info", folder + "/symmetric.h5", "--json", "-"}).json()["symmetrized"],
            true);
  const ProgramResult psd = fit("psd");
  EXPECT_EQ(psd.exit_code, 4);
  EXPECT_THAT(psd.err, HasSubstr("saved without the property of --keep"));
  EXPECT_EQ(run_program({"info", folder + "/psd.h5"}).exit_code, 0);
}

/// MatrixMarket text of A in array or coordinate format.
std::string matrix_text(const Matrix& A, bool dense) {
  std::string text = fmt::format("%%MatrixMarket matrix {} real general\n{} {}",
                                 dense ? "array" : "coordinate",
                                 A.rows(),
                                 A.cols());
  text += dense ? "\n" : fmt::format(" {}\n", (A.array() != 0).count());
  for (Index j = 0; j < A.cols(); ++j) {
    for (Index i = 0; i < A.rows(); ++i) {
      if (dense) text += fmt::format("{}\n", A(i, j));
      if (!dense && A(i, j) != 0) text += fmt::format("{} {} {}\n", i + 1, j + 1, A(i, j));
    }
  }
  return text;
}

/// Diffusion with convection between two boundary values imposed by a penalty.
Matrix penalty_matrix() {
  const Index n = 60;
  Matrix A = 2 * Matrix::Identity(n, n);
  A.diagonal(-1).setConstant(-1.4);
  A.diagonal(1).setConstant(-0.6);
  A(0, 0) = A(n - 1, n - 1) = 1e16;
  return A;
}

TEST(CliSolve, APenaltyHidesNoAsymmetry) {
  const std::string folder = temporary_dir();
  const std::string file = folder + "/A.mtx";
  const std::string b = folder + "/b.csv";
  const Matrix A = penalty_matrix();
  Vector right = Vector::Ones(60);
  right(0) = right(59) = 0;
  std::string text;
  for (const double value : right) text += fmt::format("{}\n", value);
  write_file(b, text);
  for (const bool dense : {false, true}) {
    write_file(file, matrix_text(A, dense));
    for (const char* preconditioner : {"none", "jacobi"}) {
      SCOPED_TRACE(fmt::format("dense {}, {}", dense, preconditioner));
      const ProgramResult result = run_program({"solve",
                                                file,
                                                b,
                                                "--preconditioner",
                                                preconditioner,
                                                "--json",
                                                "-",
                                                "--force",
                                                "-o",
                                                folder + "/x.npy"});
      const json solution = result.json()["solutions"][0];
      EXPECT_EQ(solution["solver"], "gmres");
      const Vector x = block_in_file(folder + "/x.npy");
      EXPECT_NEAR(solution["relative_residual"].get<double>(),
                  (right - A * x).norm() / right.norm(),
                  1e-13);
      if (preconditioner == std::string("jacobi")) {
        EXPECT_EQ(result.exit_code, 0) << result.err;
      }
    }
    EXPECT_EQ(run_program({"info", file, "--json", "-"}).json()["matrix"]["symmetric"], false);
    EXPECT_EQ(run_program({"spectrum", file}).exit_code, 2);
    const ProgramResult laplacian = run_program({"info", file, "--as", "laplacian"});
    EXPECT_EQ(laplacian.exit_code, 2);
    EXPECT_THAT(laplacian.err, HasSubstr("directed"));
    EXPECT_EQ(run_program({"info", file, "--as", "adjacency", "--json", "-"})
                  .json()["matrix"]["symmetric"],
              false);
  }
}

TEST(CliSolve, SaysThatAMatrixIsSymmetricToRounding) {
  const std::string folder = temporary_dir();
  const std::string file = folder + "/nearly.mtx";
  const std::string b = right_side_file(60, 1);
  Matrix A = 3 * Matrix::Identity(60, 60);
  A.diagonal(-1).setConstant(-1);
  A.diagonal(1).setConstant(-1);
  A(7, 8) = std::nextafter(-1.0, 0.0);
  const double difference = std::abs(A(7, 8) - A(8, 7));
  for (const bool dense : {false, true}) {
    write_file(file, matrix_text(A, dense));
    for (const Arguments& command : {Arguments{"solve", file, b}, Arguments{"spectrum", file}}) {
      Arguments with_json = command;
      with_json.insert(with_json.end(), {"--json", "-"});
      const ProgramResult result = run_program(with_json);
      EXPECT_EQ(result.exit_code, 0) << result.err;
      EXPECT_EQ(result.json()["averaged_asymmetry"], difference);
      EXPECT_THAT(result.err, HasSubstr("differ by up to 1.1e-16 are treated as equal"));
    }
    const ProgramResult info = run_program({"info", file, "--json", "-"});
    EXPECT_EQ(info.json()["matrix"]["averaged_asymmetry"], difference);
    EXPECT_EQ(info.json()["matrix"]["symmetric"], true);
    EXPECT_THAT(info.err, HasSubstr("treated as equal"));
    const std::string saved = folder + "/exact.h5";
    EXPECT_EQ(run_program({"approximate", file, "exact", "-o", saved, "--force"}).exit_code, 0);
    EXPECT_EQ(block_in_file(saved), A);
  }
}

}  // namespace
}  // namespace matapprox::test
