#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "attention/tasks/import/token_builder.hpp"

// One importer per data set; import_tokens selects it. The parsers of single files are separate
// functions, for tests and fuzzing: they add to `builder`, and their messages begin with `name`.
namespace matapprox::tasks {

TokenSet import_listops(const std::string& path, const ImportOptions& options);
TokenSet import_imdb(const std::string& path, const ImportOptions& options);
TokenSet import_cifar10(const std::string& path, const ImportOptions& options);
TokenSet import_cifar100(const std::string& path, const ImportOptions& options);
TokenSet import_pathfinder(const std::string& path, const ImportOptions& options);
TokenSet import_aan(const std::string& path, const ImportOptions& options);
TokenSet import_ag_news(const std::string& path, const ImportOptions& options);
TokenSet import_csv(const std::string& path, const ImportOptions& options);
TokenSet import_newsgroups(const std::string& path, const ImportOptions& options);
TokenSet import_images(const std::string& path, const ImportOptions& options);
TokenSet import_genome(const std::string& path, const ImportOptions& options);
TokenSet import_proteins(const std::string& path, const ImportOptions& options);

void parse_ag_news(std::string_view text,
                   const std::string& name,
                   std::optional<Split> split,
                   TokenBuilder& builder);

/// Numbers classes in the order in which they occur.
using ClassNumbers = std::map<std::string, Index, std::less<>>;

/// Adds the records of a FASTA text as tokens 0..4 for a, c, g, t, n, all of one class.
void parse_genome(std::string_view text,
                  const std::string& name,
                  Index label,
                  TokenBuilder& builder);

/// Returns the number of each class in the order of the names, which become those of the set.
std::vector<std::int32_t> sorted_classes(const ClassNumbers& numbers, TokenSet& set);

/// The classes of rows: one per row, or a set of labels.
struct LabelLists {
  ClassNumbers numbers;
  std::vector<std::vector<std::int32_t>> rows;
};

/// Adds the records after the first, which names the columns that builder.options() selects.
void parse_csv(std::string_view text,
               const std::string& name,
               std::optional<Split> split,
               LabelLists& labels,
               TokenBuilder& builder);
/// True if the options describe sets of labels, not one class per row.
bool has_label_sets(const ImportOptions& options);
/// Gives the rows of a set their classes, or sets of labels. Throws NotAvailable if memory is
/// short.
void set_labels(const LabelLists& labels, bool sets, TokenSet& set);

/// Adds the records of a FASTA text as tokens 0..25 for a..z; the class is in the header.
void parse_proteins(std::string_view text,
                    const std::string& name,
                    std::optional<Split> split,
                    ClassNumbers& numbers,
                    TokenBuilder& builder);

}  // namespace matapprox::tasks
