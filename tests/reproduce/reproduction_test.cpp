#include "reproduce/reproduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "matapprox/core/error.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "reproduce/row.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"
#include "support/thread_count.hpp"

namespace matapprox::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ReproductionOptions quick_options(const std::string& matrices) {
  ReproductionOptions options;
  options.matrices = matrices;
  options.folder = temporary_dir();
  options.rows = {"Sawmill", "Strike", "Votes"};
  options.settings = {{"adam_steps", "60"}, {"max_iterations", "10"}};
  return options;
}

/// Collects the notes of a reproduction.
struct Notes {
  std::vector<std::string> texts;
  ReproductionEvents events() {
    ReproductionEvents events;
    events.note = [this](const std::string& text) { texts.push_back(text); };
    return events;
  }
};

TEST(Reproduction, ErrorsAreThoseOfTheMethodsAtTheirStorage) {
  const Reproduction result = reproduce(quick_options(paper_folder()));
  ASSERT_EQ(result.rows.size(), 3U);
  EXPECT_FALSE(result.interrupted);
  for (const ReproducedRow& row : result.rows) {
    SCOPED_TRACE(row.paper.name);
    ASSERT_TRUE(row.ok()) << row.status;
    const LoadedMatrix loaded = load(row.path);
    const Matrix A = loaded.matrix->columns_at(index_range(0, row.n));
    const Index m = static_cast<Index>(std::ceil(std::log2(static_cast<double>(row.n))));
    EXPECT_EQ(row.tsvd.size, (m * m + 1) / 2);
    EXPECT_EQ(row.tsvd.numbers, row.tsvd.size * (2 * row.n + 1));
    EXPECT_LE(row.tsvd_fit.numbers, row.chord_numbers);
    EXPECT_GT(row.tsvd_fit.numbers + 2 * row.n + 1, row.chord_numbers);
    ASSERT_TRUE(row.tsvd_symmetric.has_value());
    EXPECT_EQ(row.tsvd_symmetric->numbers, row.tsvd_symmetric->size * (row.n + 1));
    EXPECT_LE(row.tsvd_symmetric->numbers, row.chord_numbers);
    const Vector sigma = A.jacobiSvd().singularValues();
    for (const auto& found : {row.tsvd, row.tsvd_fit, *row.tsvd_symmetric}) {
      EXPECT_NEAR(found.error, tail_norm(sigma, found.size), 1e-12 * A.norm());
    }
    const auto saved = load_approximation(row.saved_to);
    const Matrix B = saved.approximation.columns_at(index_range(0, row.n));
    EXPECT_NEAR(row.chord_error, (A - B).norm(), 1e-12 * A.norm());
    EXPECT_EQ(row.chord_numbers, saved.approximation.storage().numbers);
    EXPECT_EQ(row.nonzeros, (A.array() != 0).count());
  }
  EXPECT_TRUE(result.rows[1].no_compression());   // N = 9: 9 * 4 * 4 numbers
  EXPECT_FALSE(result.rows[0].no_compression());  // N = 49: 49 * 6 * 6 of 49 * 49
}

TEST(Reproduction, LargestEntriesAreKept) {
  Matrix A(2, 3);
  A << 1, -7, 0, 3, 2, -4;
  const ReproducedError two = reproduction::keep_largest_entries(A, 2);
  EXPECT_EQ(two.size, 2);
  EXPECT_EQ(two.numbers, 4);
  EXPECT_DOUBLE_EQ(two.error, std::sqrt(9.0 + 4.0 + 1.0));
  const ReproducedError all = reproduction::keep_largest_entries(A, 100);
  EXPECT_EQ(all.size, 5);
  EXPECT_EQ(all.error, 0);
  EXPECT_DOUBLE_EQ(reproduction::keep_largest_entries(1e-200 * A, 4).error, 1e-200);
}

TEST(Reproduction, IsTheSameForAnyNumberOfThreads) {
  const std::string matrices = paper_folder();
  const auto errors = [&](int threads) {
    const ThreadCount with(threads);
    std::vector<double> found;
    for (const ReproducedRow& row : reproduce(quick_options(matrices)).rows)
      found.push_back(row.chord_error);
    return found;
  };
  EXPECT_EQ(errors(1), errors(3));
}

TEST(Reproduction, AnInterruptedRunResumesWhereItWas) {
  const ThreadCount one(1);
  ReproductionOptions options = quick_options(paper_folder());
  const Reproduction whole = reproduce(options);
  options.folder = temporary_dir();

  std::atomic<bool> stop{false};
  RunControl control;
  control.stop = &stop;
  ReproductionEvents events;
  events.finished = [&](const ReproducedRow&) { stop = true; };
  const Reproduction part = reproduce(options, control, events);
  EXPECT_TRUE(part.interrupted);
  EXPECT_EQ(part.finished().size(), 1U);
  EXPECT_EQ(part.finished().front()->paper.name, "Sawmill");  // the largest row is fitted first
  EXPECT_THAT(part.unfinished().front()->status, HasSubstr("interrupted"));

  const Reproduction rest = reproduce(options);
  EXPECT_FALSE(rest.interrupted);
  ASSERT_EQ(rest.rows.size(), whole.rows.size());
  for (std::size_t i = 0; i < rest.rows.size(); ++i) {
    EXPECT_EQ(rest.rows[i].reused, i == 0);
    EXPECT_EQ(rest.rows[i].chord_error, whole.rows[i].chord_error);
    EXPECT_EQ(rest.rows[i].tsvd_fit.error, whole.rows[i].tsvd_fit.error);
    EXPECT_EQ(rest.rows[i].history.size(), whole.rows[i].history.size());
  }
}

TEST(Reproduction, CachedRowsOfAnotherRunAreNotUsed) {
  const std::string matrices = paper_folder();
  ReproductionOptions options = quick_options(matrices);
  options.rows = {"Strike"};
  const auto again = [&](const std::string& reason) {
    Notes notes;
    const Reproduction result = reproduce(options, {}, notes.events());
    EXPECT_FALSE(result.rows.front().reused);
    EXPECT_THAT(notes.texts, testing::Contains(AllOf(HasSubstr("Strike"), HasSubstr(reason))));
  };
  reproduce(options);
  options.seed = 2;
  again("seed 1, now 2");
  options.pattern = "paper";
  again("pattern reference, now paper");
  write_file(matrices + "/network/strike.mtx", mesh_text(4));
  again("sha256");
  fs::remove(options.folder + "/Strike.h5");
  again("Strike.h5 is missing");
  write_file(options.folder + "/Strike.json", "{\"row\": ");
  again("damaged");
  EXPECT_TRUE(reproduce(options).rows.front().reused);
}

TEST(Reproduction, MissingRowsAndOtherFilesAreNamed) {
  ReproductionOptions options = quick_options(paper_folder());
  options.rows = {"network"};
  Notes notes;
  const Reproduction result = reproduce(options, {}, notes.events());
  EXPECT_EQ(result.finished().size(), 2U);
  EXPECT_EQ(result.unfinished().size(), 5U);
  EXPECT_THAT(reproduction_table(result),
              AllOf(HasSubstr("Not in the tables: Worldtrade: missing: no network/worldtrade.mat"),
                    HasSubstr("? the file is not the paper's by SHA-256")));
  EXPECT_THAT(notes.texts, testing::Each(HasSubstr("its SHA-256 is not that of the paper's file")));
  EXPECT_EQ(notes.texts.size(), 2U);

  options.rows = {"Phoneme"};
  EXPECT_THROW(reproduce(options), FileError);
  options.matrices += "/nowhere";
  EXPECT_THROW(reproduce(options), FileError);
  options.effort = "hihg";
  options.settings = {{"patern", "paper"}};
  EXPECT_THROW(reproduce(options), InvalidArgument);
}

TEST(Reproduction, AMatrixThatCannotBeUsedIsARowThatSaysWhy) {
  const std::string matrices = paper_folder();
  write_file(matrices + "/network/strike.mtx",
             "%%MatrixMarket matrix array real general\n2 3\n1\n");
  write_file(matrices + "/network/Sawmill.mtx",
             "%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n");
  const Reproduction result = reproduce(quick_options(matrices));
  EXPECT_THAT(result.rows[0].status, HasSubstr("2 x 3, not square"));
  EXPECT_THAT(result.rows[1].status, HasSubstr("strike.mtx:"));
  EXPECT_TRUE(result.rows[2].ok());
}

TEST(Reproduction, ImagesComeWithAContactSheet) {
  ReproductionOptions options = quick_options(paper_folder());
  options.table = PaperTable::kFigure4;
  options.rows = {"ship", "chess (gradient)"};
  const Reproduction result = reproduce(options);
  for (const ReproducedRow& row : result.rows) {
    ASSERT_TRUE(row.ok()) << row.status;
    const Matrix contact_sheet = read_image(row.image).values;
    EXPECT_EQ(contact_sheet.rows(), 24);
    EXPECT_EQ(contact_sheet.cols(), 5 * 24 + 4 * 8);
    EXPECT_EQ(contact_sheet.leftCols(24), read_image(row.path).values);
    EXPECT_GT(row.residual_scale, 0);
    const double darkest = std::min(contact_sheet.middleCols(96, 24).minCoeff(),
                                    contact_sheet.rightCols(24).minCoeff());
    EXPECT_EQ(darkest, 0);
  }
  EXPECT_THAT(reproduction_table(result), HasSubstr("lena, which is left out"));
  EXPECT_TRUE(reproduce(options).rows[1].reused);
  fs::remove(result.rows[1].image);
  EXPECT_FALSE(reproduce(options).rows[1].reused);
  EXPECT_TRUE(fs::exists(result.rows[1].image));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

TEST(Reproduction, DocumentsAreWellFormed) {
  const Reproduction result = reproduce(quick_options(paper_folder()));
  const nlohmann::json json = nlohmann::json::parse(reproduction_json(result));
  EXPECT_EQ(json["schema_version"], 3);
  EXPECT_EQ(json["table"], "table1");
  ASSERT_EQ(json["rows"].size(), 3U);
  for (const char* key : {"name",
                          "category",
                          "n",
                          "tsvd_error",
                          "paper_tsvd",
                          "chord_error",
                          "paper_sf",
                          "stored_chord",
                          "stored_tsvd",
                          "nonzeros",
                          "seconds"}) {
    EXPECT_TRUE(json["rows"][0].contains(key)) << key;
  }
  EXPECT_EQ(json["rows"][0]["paper_sf"], 1.03);
  EXPECT_EQ(json["rows"][0]["chord_error"].get<double>(), result.rows[0].chord_error);

  const auto csv = lines_of(reproduction_csv(result));
  ASSERT_EQ(csv.size(), 4U);
  for (const std::string& line : csv) EXPECT_EQ(count_of(line, ","), count_of(csv[0], ","));

  for (const std::string& line : lines_of(reproduction_markdown(result))) {
    if (line.rfind("| Sawmill", 0) != 0) continue;
    EXPECT_THAT(count_of(line, "|"), testing::AnyOf(13U, 14U));
  }
  const std::string latex = reproduction_latex(result);
  EXPECT_EQ(count_of(latex, "\\begin{tabular}"), 2U);
  EXPECT_EQ(count_of(latex, "\\end{tabular}"), 2U);
  for (const std::string& line : lines_of(latex)) {
    if (line.rfind("Sawmill", 0) != 0) continue;
    EXPECT_THAT(count_of(line, "&"), testing::AnyOf(11U, 12U));
    EXPECT_TRUE(line.ends_with(" \\\\")) << line;
  }
}

// The real files, if present: orders up to 24 take a second.
TEST(Reproduction, SmallRowsOfTable1) {
  const std::string matrices = shared_matrices();
  if (matrices.empty()) GTEST_SKIP() << "the paper's matrices are not on this machine";
  ReproductionOptions options;
  options.matrices = matrices;
  options.effort = "fast";
  options.rows = {"Strike", "PenDigits", "IJCNN", "Votes"};
  Notes notes;
  const Reproduction result = reproduce(options, {}, notes.events());
  EXPECT_THAT(notes.texts, ElementsAre());
  for (const ReproducedRow& row : result.rows) {
    ASSERT_TRUE(row.ok()) << row.status;
    EXPECT_EQ(row.n, row.paper.n);
    EXPECT_EQ(row.nonzeros, row.paper.nonzeros);
    EXPECT_TRUE(row.sha256_is_known);
    EXPECT_EQ(row.tsvd_as_printed(), true) << row.paper.name << " " << row.tsvd.error;
    EXPECT_EQ(row.within_paper(), true) << row.paper.name << " " << row.chord_error;
    EXPECT_TRUE(row.no_compression());
  }
}

}  // namespace
}  // namespace matapprox::test
