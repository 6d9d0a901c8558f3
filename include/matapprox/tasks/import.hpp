#pragma once

#include <array>
#include <string>
#include <string_view>

#include "matapprox/core/options.hpp"
#include "matapprox/tasks/token_set.hpp"

namespace matapprox::tasks {

/// Data sets that are read as their publishers pack them; docs/data-files.md says which folders and
/// files that are, and what becomes a token.
enum class ImportFormat {
  kListops,
  kImdb,
  kCifar10,
  kCifar100,
  kPathfinder,
  kAan,
  kAgNews,
  kNewsgroups,
  kCsv,
  kImages,
  kGenome,
  kProteins
};

/// What is kept of a sequence that is longer than allowed.
enum class KeptPart { kFirst, kLast };

/// What a token of a text is.
enum class TextTokens { kBytes, kWords, kSubwords };

struct ImportOptions {
  Index max_length = 0;  ///< tokens kept of a sequence (of each document for aan); 0: all
  KeptPart keep = KeptPart::kFirst;
  Index min_length = 0;  ///< sequences with fewer tokens, before any cut, are left out
  TextTokens tokens = TextTokens::kBytes;  ///< of texts
  Index vocabulary = 0;  ///< words: how many token ids at most, the words most frequent in training
  std::string vocabulary_file;  ///< subwords, words: take the vocabulary from there
  bool coarse = false;          ///< cifar100: the 20 groups in the place of the 100 classes
  Index patch =
      0;  ///< images: tokens are squares of so many pixels a side; 0: gray levels of pixels
  bool skip_empty = false;  ///< imdb, newsgroups, pathfinder, images, csv: files or rows without
                            ///< content are left out
  std::string text_columns = "text";    ///< csv: names of columns, by commas
  std::string label_columns = "label";  ///< csv: one with the class, or several with 0 or 1
  std::string label_separator;          ///< csv: between the labels of a row; empty: a class each
  Index class_field = 0;  ///< proteins: the field of the header with the class, from 1; 0: the last
  Index class_levels = 0;  ///< proteins: its parts up to this dot are the class; 0: all
  void visit(OptionVisitor& v);
};

/// Reads a data set from a folder or file. Cost: one pass; the largest file, 4 bytes a token and,
/// where words are counted, each different word in memory. The same files give the same set,
/// sequences in the order of file names and lines. Throws FileError, with file and line (or
/// record), for what the format does not allow, a file or folder that is missing, and where nothing
/// is left; NotAvailable if memory does not suffice; InvalidArgument for options outside their
/// range.
TokenSet import_tokens(ImportFormat format,
                       const std::string& path,
                       const ImportOptions& options = {});

}  // namespace matapprox::tasks

template <>
struct matapprox::EnumNames<matapprox::tasks::ImportFormat> {
  static constexpr std::array<std::string_view, 12> values{"listops",
                                                           "imdb",
                                                           "cifar10",
                                                           "cifar100",
                                                           "pathfinder",
                                                           "aan",
                                                           "ag_news",
                                                           "newsgroups",
                                                           "csv",
                                                           "images",
                                                           "genome",
                                                           "proteins"};
};
template <>
struct matapprox::EnumNames<matapprox::tasks::TextTokens> {
  static constexpr std::array<std::string_view, 3> values{"bytes", "words", "subwords"};
};
template <>
struct matapprox::EnumNames<matapprox::tasks::KeptPart> {
  static constexpr std::array<std::string_view, 2> values{"first", "last"};
};
