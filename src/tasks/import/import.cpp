#include "matapprox/tasks/import.hpp"

#include "matapprox/core/require.hpp"
#include "tasks/import/importers.hpp"

namespace matapprox::tasks {
namespace {

bool is_of_text(ImportFormat format) {
  switch (format) {
    case ImportFormat::kImdb:
    case ImportFormat::kAan:
    case ImportFormat::kAgNews:
    case ImportFormat::kNewsgroups:
    case ImportFormat::kCsv:
      return true;
    default:
      return false;
  }
}

bool is_of_images(ImportFormat format) {
  switch (format) {
    case ImportFormat::kCifar10:
    case ImportFormat::kCifar100:
    case ImportFormat::kPathfinder:
    case ImportFormat::kImages:
      return true;
    default:
      return false;
  }
}

}  // namespace

void ImportOptions::visit(OptionVisitor& v) {
  v.visit("max_length",
          max_length,
          "tokens kept of a sequence, of each document for aan; 0: all of them");
  v.visit_enum("keep", keep, "which tokens are kept of a longer sequence");
  v.visit("min_length", min_length, "sequences with fewer tokens are left out");
  v.visit_enum("tokens", tokens, "texts: what a token is");
  v.visit("vocabulary",
          vocabulary,
          "tokens words: how many token ids; the words most frequent in training have one");
  v.visit("vocabulary_file",
          vocabulary_file,
          "tokens words or subwords: a file with a token a line, or a token file, whose vocabulary "
          "is taken");
  v.visit("coarse", coarse, "cifar100: the 20 groups in the place of the 100 classes");
  v.visit(
      "patch",
      patch,
      "images: a token is a square of so many pixels a side, a vector of its values; 0: a token is "
      "the gray level of a pixel");
  v.visit(
      "skip_empty",
      skip_empty,
      "imdb, newsgroups, pathfinder, images, csv: files or rows without content are left out, not "
      "refused");
  v.visit("text_columns", text_columns, "csv: the columns with the text, by commas");
  v.visit("label_columns",
          label_columns,
          "csv: the column with the class; several, by commas: labels that are 0 or 1");
  v.visit("label_separator",
          label_separator,
          "csv: what stands between the labels of a row; empty: it has one class");
  v.visit("class_field",
          class_field,
          "proteins: the field of the header that has the class, from 1; 0: the last");
  v.visit("class_levels",
          class_levels,
          "proteins: how many of the parts of a class between dots count; 0: all");
}

TokenSet import_tokens(ImportFormat format, const std::string& path, const ImportOptions& options) {
  const auto require_count = [](const char* name, Index value, Index most) {
    require(value >= 0 && value <= most, "import: {} {} is outside 0..{}", name, value, most);
  };
  constexpr Index kMaxFields = 1000;
  require_count("max_length", options.max_length, kLongestSequence);
  require_count("min_length", options.min_length, kLongestSequence);
  require_count("class_field", options.class_field, kMaxFields);
  require_count("class_levels", options.class_levels, kMaxFields);
  constexpr Index kMaxPatch = 512;
  require_count("patch", options.patch, kMaxPatch);
  require(options.patch == 0 || is_of_images(format),
          "import: patch is for images; {} has none",
          enum_name(format));
  const bool has_text_options = options.tokens != TextTokens::kBytes || options.vocabulary != 0 ||
                                !options.vocabulary_file.empty();
  require(is_of_text(format) || !has_text_options,
          "import: tokens, vocabulary and vocabulary_file are for texts; {} has none",
          enum_name(format));
  switch (format) {
    case ImportFormat::kListops:
      return import_listops(path, options);
    case ImportFormat::kImdb:
      return import_imdb(path, options);
    case ImportFormat::kCifar10:
      return import_cifar10(path, options);
    case ImportFormat::kCifar100:
      return import_cifar100(path, options);
    case ImportFormat::kPathfinder:
      return import_pathfinder(path, options);
    case ImportFormat::kAan:
      return import_aan(path, options);
    case ImportFormat::kAgNews:
      return import_ag_news(path, options);
    case ImportFormat::kNewsgroups:
      return import_newsgroups(path, options);
    case ImportFormat::kCsv:
      return import_csv(path, options);
    case ImportFormat::kImages:
      return import_images(path, options);
    case ImportFormat::kGenome:
      return import_genome(path, options);
    case ImportFormat::kProteins:
      return import_proteins(path, options);
  }
  throw InvalidArgument("import: no such format");
}

}  // namespace matapprox::tasks
