#pragma once

#include <array>
#include <string>
#include <string_view>

#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::tasks {

/// Data sets in the form in which their publishers distribute them; docs/data-files.md lists the
/// folders and files and defines the tokens.
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

/// Part that is kept of a sequence longer than allowed.
enum class KeptPart { kFirst, kLast };

/// Unit of text that forms a token.
enum class TextTokens { kBytes, kWords, kSubwords };

struct ImportOptions {
  Index max_length = 0;  ///< maximum tokens kept of a sequence (of each document for aan); 0: all
  KeptPart keep = KeptPart::kFirst;
  Index min_length = 0;  ///< sequences with fewer tokens, before truncation, are omitted
  TextTokens tokens = TextTokens::kBytes;  ///< tokens of texts
  Index vocabulary = 0;         ///< words: maximum number of ids, for the most frequent in training
  std::string vocabulary_file;  ///< subwords, words: file with the vocabulary
  bool coarse = false;          ///< cifar100: the 20 groups in place of the 100 classes
  /// Images: tokens are squares with sides of this many pixels; 0: gray levels of pixels.
  Index patch = 0;
  /// For imdb, newsgroups, pathfinder, images, csv: files or rows without content are omitted.
  bool skip_empty = false;
  std::string text_columns = "text";    ///< csv: names of columns, separated by commas
  std::string label_columns = "label";  ///< csv: one column with the class, or several with 0 or 1
  std::string label_separator;  ///< csv: separator of a row's labels; empty: one class per row
  Index class_field = 0;        ///< proteins: header field with the class, from 1; 0: the last
  Index class_levels = 0;       ///< proteins: the class is that field up to this dot; 0: all of it
  void visit(OptionVisitor& v);
};

/// Reads a data set from a folder or file. Cost: one pass. Memory: the largest file, 4 bytes per
/// token and, if words are counted, each different word. The same files give the same set, with
/// sequences in the order of file names and lines. Throws FileError, with file and line (or
/// record), for content that the format does not allow, for a missing file or folder, and if no
/// sequence remains; NotAvailable if memory does not suffice; InvalidArgument for options outside
/// their range.
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
