// Import of texts of a CSV file with classes or sets of labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "matapprox/attention/tasks/import.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::tasks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string csv_path(const std::string& text) {
  std::string path = test::temporary_dir() + "/x.csv";
  test::write_file(path, text);
  return path;
}

ImportOptions csv_options(const std::string& labels, const std::string& separator = "") {
  ImportOptions options;
  options.label_columns = labels;
  options.label_separator = separator;
  return options;
}

TokenSet import_text(const std::string& text, const ImportOptions& options = {}) {
  return import_tokens(ImportFormat::kCsv, csv_path(text), options);
}

std::string bytes_of(const TokenSet& set, Index i) {
  std::string text;
  for (const std::int32_t id : set.sequence(i)) text += static_cast<char>(id);
  return text;
}

TEST(ImportCsv, AClassARowByName) {
  const TokenSet set =
      import_text("id,label,text\r\n7,tech,\"a, b\"\n8, sport ,c\n9,tech,\"d\"\"e\"\n");
  EXPECT_THAT(set.class_names, ElementsAre("sport", "tech"));
  EXPECT_EQ(set.classes, 2);
  EXPECT_THAT(set.labels, ElementsAre(1, 0, 1));
  EXPECT_FALSE(set.has_label_sets());
  EXPECT_EQ(bytes_of(set, 0), "a, b");
  EXPECT_EQ(bytes_of(set, 2), "d\"e");
  EXPECT_NO_THROW(check_tokens(set, "x"));
}

TEST(ImportCsv, SetsOfLabelsInOneField) {
  ImportOptions options = csv_options("codes", ";");
  options.text_columns = "head, body";
  const TokenSet set =
      import_text("head,codes,body\na,z; b,x\nb,,y\nc,b,\n,\"z;a;z\",w\n", options);
  EXPECT_THAT(set.class_names, ElementsAre("a", "b", "z"));
  EXPECT_TRUE(set.labels.empty());
  EXPECT_THAT(set.targets, ElementsAre(0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 1));
  EXPECT_EQ(bytes_of(set, 0), "a x");
  EXPECT_EQ(bytes_of(set, 2), "c ");
  EXPECT_EQ(bytes_of(set, 3), "w");
  EXPECT_NO_THROW(check_tokens(set, "x"));
}

TEST(ImportCsv, LabelsAsColumns) {
  const TokenSet set =
      import_text("text,mild,bad\na,0,1\nb,1.0,0.0\nc,0,0\n", csv_options("bad,mild"));
  EXPECT_THAT(set.class_names, ElementsAre("bad", "mild"));
  EXPECT_THAT(set.targets, ElementsAre(1, 0, 0, 1, 0, 0));
}

TEST(ImportCsv, FoldersHaveSplitsAndShortRowsLeaveNoLabels) {
  const std::string folder = test::temporary_dir();
  test::write_file(folder + "/train.csv", "text,label\nlong one,p;q\nx,r\n");
  test::write_file(folder + "/test.csv", "label,text\nq,another\n");
  ImportOptions options = csv_options("label", ";");
  options.min_length = 2;
  const TokenSet set = import_tokens(ImportFormat::kCsv, folder, options);
  EXPECT_THAT(set.splits, ElementsAre(Split::kTrain, Split::kTest));
  EXPECT_THAT(set.class_names, ElementsAre("p", "q", "r"));
  EXPECT_THAT(set.targets, ElementsAre(1, 1, 0, 0, 1, 0));
}

TEST(ImportCsv, Refusals) {
  const auto complaint = [](const std::string& text, const ImportOptions& options = {}) {
    return test::complaint_of([&] { import_text(text, options); });
  };
  EXPECT_THAT(complaint(""), HasSubstr("x.csv: the file is empty"));
  EXPECT_THAT(complaint("text,label\n"), HasSubstr("x.csv: no sequences"));
  EXPECT_THAT(complaint("text,class\na,b\n"), HasSubstr("x.csv:1: there is no column 'label'"));
  EXPECT_THAT(complaint("text,label,text\n"), HasSubstr("x.csv:1: two columns 'text'"));
  EXPECT_THAT(complaint("text,label\na,b\na\n"), HasSubstr("x.csv:3: 1 columns; the first line"));
  EXPECT_THAT(complaint("text,label\na,b,c\n"), HasSubstr("x.csv:2: more than 2 columns"));
  EXPECT_THAT(complaint("text,label\na, \n"), HasSubstr("x.csv:2: the label is empty"));
  EXPECT_THAT(complaint("text,label\na,\"b\nc\"\n"), HasSubstr("x.csv:2: the label 'b\\x0ac'"));
  EXPECT_THAT(complaint("text,label\n,b\n"), HasSubstr("x.csv:2: the text is empty; skip_empty"));
  EXPECT_THAT(complaint("text,a,b\nx,1,2\n", csv_options("a,b")),
              HasSubstr("x.csv:2: '2' in column 'b' is not 0 or 1"));
  EXPECT_THAT(complaint("text,a\nx,\n", csv_options("a", "|")), HasSubstr("no row has a label"));
  ImportOptions skipping;
  skipping.skip_empty = true;
  EXPECT_EQ(import_text("text,label\n,b\nc,d\n", skipping).size(), 1);
  EXPECT_REFUSED(InvalidArgument,
                 import_text("text,a,b\n", csv_options("a,b", ";")),
                 "label_separator is for a single label column");
  EXPECT_REFUSED(InvalidArgument, import_text("text,a,b\n", csv_options("")), "must name columns");
}

}  // namespace
}  // namespace matapprox::tasks
