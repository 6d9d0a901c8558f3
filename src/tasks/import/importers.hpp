#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tasks/import/token_builder.hpp"

// One importer a data set; import_tokens chooses. The parsers of single files are apart, for tests
// and fuzzing: they add to `builder`, and their messages begin with `name`.
namespace matapprox::tasks {

TokenSet import_listops(const std::string& path, const ImportOptions& options);
TokenSet import_imdb(const std::string& path, const ImportOptions& options);
TokenSet import_cifar10(const std::string& path, const ImportOptions& options);
TokenSet import_cifar100(const std::string& path, const ImportOptions& options);
TokenSet import_pathfinder(const std::string& path, const ImportOptions& options);
TokenSet import_aan(const std::string& path, const ImportOptions& options);
TokenSet import_ag_news(const std::string& path, const ImportOptions& options);
TokenSet import_newsgroups(const std::string& path, const ImportOptions& options);
TokenSet import_genome(const std::string& path, const ImportOptions& options);
TokenSet import_proteins(const std::string& path, const ImportOptions& options);

void parse_ag_news(std::string_view text,
                   const std::string& name,
                   std::optional<Split> split,
                   TokenBuilder& builder);

/// The records of a FASTA text as tokens 0..4 for a, c, g, t, n, all of one class.
void parse_genome(std::string_view text,
                  const std::string& name,
                  Index label,
                  TokenBuilder& builder);

/// Numbers classes in the order in which they occur.
using ClassNumbers = std::map<std::string, Index, std::less<>>;

/// The records of a FASTA text as tokens 0..25 for a..z; the class is in the header.
void parse_proteins(std::string_view text,
                    const std::string& name,
                    std::optional<Split> split,
                    ClassNumbers& numbers,
                    TokenBuilder& builder);

}  // namespace matapprox::tasks
