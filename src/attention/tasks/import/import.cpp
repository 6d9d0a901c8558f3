#include "matapprox/attention/tasks/import.hpp"

#include "attention/tasks/import/importers.hpp"
#include "matapprox/core/require.hpp"

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
          "maximum number of tokens kept of a sequence (aan: of each document); 0: all");
  v.visit_enum("keep", keep, "part that is kept of a longer sequence");
  v.visit("min_length", min_length, "omit sequences with fewer tokens");
  v.visit_enum("tokens", tokens, "texts: unit that forms a token");
  v.visit("vocabulary",
          vocabulary,
          "tokens words: maximum number of token ids, for the words most frequent in training");
  v.visit(
      "vocabulary_file",
      vocabulary_file,
      "tokens words or subwords: file with the vocabulary, one token per line, or a token file");
  v.visit("coarse", coarse, "cifar100: use the 20 groups instead of the 100 classes");
  v.visit("patch",
          patch,
          "images: side in pixels of the squares whose values form a token; 0: a token is the gray "
          "level of a pixel");
  v.visit("skip_empty",
          skip_empty,
          "imdb, newsgroups, pathfinder, images, csv: omit files or rows without content instead "
          "of rejecting them");
  v.visit("text_columns", text_columns, "csv: names of the text columns, separated by commas");
  v.visit("label_columns",
          label_columns,
          "csv: name of the class column, or of several columns with labels 0 or 1, separated by "
          "commas");
  v.visit("label_separator",
          label_separator,
          "csv: separator of the labels of a row; empty: one class per row");
  v.visit("class_field",
          class_field,
          "proteins: header field with the class, counted from 1; 0: the last");
  v.visit("class_levels",
          class_levels,
          "proteins: number of dot-separated parts of the class to use; 0: all");
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
