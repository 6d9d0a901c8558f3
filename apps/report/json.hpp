#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "matapprox/measure/compare.hpp"

namespace matapprox::report {

// JSON parts that several documents share; docs/cli.md has their schema. Keys keep the order in
// which they are documented; unknown values are null.
using Json = nlohmann::ordered_json;

/// Version of the schema of all documents; increases when a key changes its meaning or is removed.
constexpr int kSchemaVersion = 3;

/// schema_version, version, machine, seed, threads: the head of every document.
Json document_head(std::uint64_t seed, int threads);
Json to_json(const MatrixFacts& facts, const std::string& path);
Json to_json(const ComparisonRow& row);
Json to_json(const Comparison& comparison);

/// A number, or null for NaN and Inf, which JSON cannot represent.
Json number_or_null(double value);
/// Indented text with a line end. Bytes of texts that are not UTF-8 are written \\xff.
std::string to_text(const Json& json);

}  // namespace matapprox::report
