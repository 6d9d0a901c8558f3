#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/io/load.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using testing::HasSubstr;

std::string of_the_project(const std::string& name) { return source_dir() + "/matrices/" + name; }

TEST(CliSpectrum, EigenpairsOfALaplacianAreWrittenAndMeetTheirResiduals) {
  const std::string vectors = temporary_dir() + "/vectors.npy";
  const std::string graph = of_the_project("small_world.mtx");
  const ProgramResult result = run_program(
      {"spectrum", graph, "--as", "laplacian", "--count", "5", "-o", vectors, "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto document = result.json();
  EXPECT_TRUE(document["converged"]);
  EXPECT_NE(document["used_shift"], 0.0);
  EXPECT_EQ(document["output"], vectors);
  const Matrix V = load(vectors).matrix->columns_at(index_range(0, 5));
  const LoadedMatrix L = load(graph, {.kind = InputKind::kLaplacian});
  const Matrix LV = L.matrix->apply(V);
  for (Index k = 0; k < 5; ++k) {
    const double value = document["eigenvalues"][static_cast<std::size_t>(k)];
    EXPECT_LE((LV.col(k) - value * V.col(k)).norm(), 1e-8) << k;
    EXPECT_NEAR(document["residuals"][static_cast<std::size_t>(k)].get<double>(),
                (LV.col(k) - value * V.col(k)).norm(),
                1e-14);
  }
  EXPECT_NEAR(document["eigenvalues"][0].get<double>(), 0, 1e-10);
  EXPECT_GT(document["eigenvalues"][1].get<double>(), 0.1);  // connected

  const ProgramResult text = run_program({"spectrum", graph, "--nearest", "1.5", "--count", "3"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("3 eigenvalues nearest to 1.5"));
}

TEST(CliSpectrum, WhatItCannotDoIsWrongUsage) {
  const std::string points = of_the_project("clusters.csv");
  const ProgramResult kernel = run_program({"spectrum", points, "--as", "kernel"});
  EXPECT_EQ(kernel.exit_code, 2);
  EXPECT_THAT(kernel.err, HasSubstr("need the entries of the matrix"));
  EXPECT_EQ(run_program({"spectrum", points}).exit_code, 2);  // not square
  const std::string graph = of_the_project("small_world.mtx");
  EXPECT_EQ(run_program({"spectrum", graph, "--count", "301"}).exit_code, 2);
  EXPECT_EQ(run_program({"spectrum", graph, "-o", "x.txt"}).exit_code, 2);
  EXPECT_EQ(run_program({"spectrum", graph, "-o", graph, "--force"}).exit_code, 2);
}

}  // namespace
}  // namespace matapprox::test
