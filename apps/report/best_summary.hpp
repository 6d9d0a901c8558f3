#pragma once

#include <optional>
#include <string>

#include "matapprox/best/best.hpp"
#include "report/json.hpp"

namespace matapprox::report {

/// One search for the best approximation, as reported to users and programs.
struct BestContents {
  std::string path;         ///< path of the matrix
  std::string description;  ///< description of its operator
  BestOptions options;
  BestResult result;
  int threads = 1;
  std::optional<std::string> saved_to{};  ///< the file with the result
};

/// Bytes of the result over 8 m n, those of the matrix as doubles.
double share_of_doubles(const Storage& storage, const MatrixFacts& facts);
/// The request in words: "at most 2 % of 8 m n bytes: 25600 bytes".
std::string request_text(const BestOptions& options, const MatrixFacts& facts);
const BestCandidate& chosen_candidate(const BestResult& result);
/// Its name, preceded by the method unless the name contains it.
std::string chosen_text(const BestResult& result);

/// Lines of the terminal: the chosen candidate, its storage, its error. `explain` adds a table of
/// all candidates.
std::string best_text(const BestContents& contents, bool explain);
/// docs/cli.md has the schema.
Json to_json(const BestContents& contents);

}  // namespace matapprox::report
