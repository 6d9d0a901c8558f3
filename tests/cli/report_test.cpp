#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "matapprox/io/matrix_files.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> compare_quickly(const std::string& matrix,
                                         const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"compare",
                                     matrix,
                                     "--set",
                                     "chord.adam_steps=30",
                                     "--set",
                                     "chord.max_iterations=20",
                                     "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Returns the page of a mesh with this file name.
std::string report_of_mesh(const std::string& name = "mesh.mtx",
                           const std::vector<std::string>& more = {}) {
  const std::string folder = temporary_dir();
  write_file(folder + "/" + name, mesh_text(6));
  std::vector<std::string> options{"--report", folder + "/page.html"};
  options.insert(options.end(), more.begin(), more.end());
  const ProgramResult result = run_program(compare_quickly(folder + "/" + name, options));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return folder + "/page.html";
}

bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

std::string from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6U | static_cast<unsigned>(digits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xFFU);
  }
  return bytes;
}

std::vector<std::string> images_in(const std::string& page) {
  const std::string start = "data:image/png;base64,";
  std::vector<std::string> found;
  for (std::size_t at = page.find(start); at != std::string::npos; at = page.find(start, at + 1)) {
    const std::size_t begin = at + start.size();
    found.push_back(from_base64(page.substr(begin, page.find('"', begin) - begin)));
  }
  return found;
}

TEST(CliReport, ShowsFindingsChartsImagesTableAndHowToRepeatIt) {
  const std::string page = read_file(report_of_mesh());
  for (const char* text : {"has the smallest error",
                           "Error against storage",
                           "Pareto front",
                           "as given",
                           "1/8, 1/4, 1/2, 1 times 1,296 numbers",
                           "Singular values",
                           "all 36, by LAPACK",
                           "truncated SVD, rank ",
                           "Error against time",
                           "fewer factors",
                           "<th scope=\"row\">",
                           "matapprox compare ",
                           "chord.adam_steps=30",
                           "prefers-color-scheme:dark",
                           "@media print"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  const std::vector<std::string> images = images_in(page);
  ASSERT_EQ(images.size(), 1U + 2U * 12U);
  int blank = 0;
  for (const std::string& png : images) {
    const GrayImage image = parse_image(png, "image");
    EXPECT_EQ(image.values.rows(), 36);
    if (image.values.maxCoeff() == image.values.minCoeff()) ++blank;
  }
  EXPECT_LE(blank, 2);  // the error maps of hierarchical and butterfly, which may lose nothing
}

TEST(CliReport, PageIsWellFormedAndSelfContainedForAHostileName) {
  if (!has_program("python3")) GTEST_SKIP() << "python3 is not installed";
  const std::string page = report_of_mesh("<script>alert(1)<|script>&'\"x.mtx");
  const std::string text = read_file(page);
  EXPECT_THAT(text, HasSubstr("&lt;script&gt;alert(1)&lt;|script&gt;&amp;&#39;&quot;x.mtx</h1>"));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  const std::string log = temporary_dir() + "/log";
  const std::string command =
      fmt::format("python3 {}/tests/cli/check_page.py {} >{}", source_dir(), page, log);
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(log);
}

/// Chromium's console messages about a page, and a screenshot of it.
struct BrowserView {
  std::vector<std::string> console;
  Matrix screen;
};

BrowserView open_in_chromium(const std::string& page) {
  const std::string folder = temporary_dir();
  const std::string command = fmt::format(
      "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
      "--user-data-dir={0}/profile --enable-logging=stderr --window-size=1280,4000 "
      "--screenshot={0}/screen.png file://{1} >{0}/log 2>&1 </dev/null",
      folder,
      page);
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(folder + "/log");
  BrowserView view;
  std::istringstream lines(read_file(folder + "/log"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("CONSOLE") != std::string::npos) view.console.push_back(line);
  }
  view.screen = read_image(folder + "/screen.png").values;
  return view;
}

TEST(CliReport, OpensInChromiumWithoutAComplaint) {
  if (kSanitized) GTEST_SKIP() << "the page is the one of a build without a sanitizer";
  if (!has_program("chromium")) GTEST_SKIP() << "chromium is not installed";
  const BrowserView view = open_in_chromium(report_of_mesh());
  EXPECT_THAT(view.console, testing::IsEmpty());
  // The page fills the screen with more than its background.
  for (Index first = 0; first < 2000; first += 400) {
    const auto part = view.screen.middleRows(first, 400);
    EXPECT_GT(part.maxCoeff() - part.minCoeff(), 100) << first;
  }
  const std::string broken = temporary_dir() + "/broken.html";
  write_file(broken, "<!DOCTYPE html><title>x</title><script>no_such_function()</script>");
  EXPECT_FALSE(open_in_chromium(broken).console.empty()) << "the check sees no complaint at all";
}

TEST(CliReport, PlotsAreWrittenAsSvgAndPng) {
  const std::string folder = temporary_dir();
  const std::string mesh = mesh_file(4);
  const std::vector<std::string> options{
      "--plots", folder + "/plots", "--methods", "chord,cur", "--sweep-seconds", "0"};
  const ProgramResult result = run_program(compare_quickly(mesh, options));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"singular_values",
                           "error_storage",
                           "error_time",
                           "matrix",
                           "chord",
                           "chord_residual",
                           "cur",
                           "cur_residual"}) {
    EXPECT_THAT(read_file(fmt::format("{}/plots/{}.svg", folder, name)), HasSubstr("</svg>"));
    EXPECT_GT(read_image(fmt::format("{}/plots/{}.png", folder, name)).values.rows(), 500);
  }
  const ProgramResult again = run_program(compare_quickly(mesh, options));
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("--force"));
}

TEST(CliReport, WhatCannotBeWrittenIsRefusedBeforeTheMatrixIsRead) {
  const std::string folder = temporary_dir();
  const std::string page = folder + "/page.html";
  write_file(page, "mine");
  const auto fails =
      [&](const std::vector<std::string>& options, int code, const std::string& text) {
        std::vector<std::string> arguments{"compare", "/no/such/matrix.mtx"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const ProgramResult result = run_program(arguments);
        EXPECT_EQ(result.exit_code, code) << result.err;
        EXPECT_THAT(result.err, HasSubstr(text));
        EXPECT_THAT(result.err, Not(HasSubstr("/no/such/matrix.mtx")));
      };
  fails({"--report", page}, 3, "the file exists; --force overwrites it");
  fails(
      {"--report", "/no/such/folder/page.html"}, 3, "the folder '/no/such/folder' does not exist");
  fails({"--report", folder}, 3, "it is a folder");
  fails({"--report", "-"}, 2, "not to standard output");
  fails({"--plots", page}, 3, "page.html");
  fails({"--plots", "/no/such/folder/plots"}, 3, "does not exist");
  fails({"--report", folder + "/new.html", "--sweep-seconds", "-1"}, 2, "--sweep-seconds -1");
  EXPECT_EQ(read_file(page), "mine");
  EXPECT_FALSE(fs::exists(folder + "/new.html"));
}

TEST(CliReport, MissingGnuplotIsSaidBeforeTheMatrixIsRead) {
  const char* path = std::getenv("PATH");
  const std::string kept = path != nullptr ? path : "";
  setenv("PATH", "/nonexistent", 1);
  const ProgramResult result =
      run_program({"compare", "/no/such/matrix.mtx", "--report", temporary_dir() + "/page.html"});
  setenv("PATH", kept.c_str(), 1);
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr("gnuplot-nox"));
}

TEST(CliReport, AMethodWithoutResultIsNamedWithItsReason) {
  const std::string page = read_file(
      report_of_mesh("mesh.mtx", {"--budget", "300", "--methods", "chord,truncated_svd"}));
  EXPECT_THAT(page, HasSubstr("Chord produced no result: 6 factors of order 36 store"));
  EXPECT_THAT(page, HasSubstr("no result</td>"));
}

}  // namespace
}  // namespace matapprox::test
