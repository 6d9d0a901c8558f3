#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/comparison.hpp"

namespace matapprox::report {

// Formats of the figures of a row, shared by the table of the terminal and that of a page.

/// Three significant digits in at most seven characters, without an exponent where that is
/// readable.
std::string short_number(double value);
/// Time in milliseconds; "-" if it was not measured.
std::string milliseconds_text(const std::optional<double>& seconds);
/// The relative error, "~" in front of an estimate; "-" if there is none.
std::string error_text(const Measurement& measured);
/// Sample of an estimate: "64 vectors", "256 columns".
std::string sample_text(const Measurement& measured);
/// "2.2 %"
std::string share_text(double share);
/// "confidence 99 %", or "exact" if the bound is the norm itself.
std::string confidence_text(const CertifiedBound& bound);
/// "certified |A - B|_F <= 0.1234 (confidence 99 %), |A - B|_2 <= ...".
std::string certificate_text(const Certificate& certificate);
/// Addition to "symmetric" for a matrix that is symmetric only up to rounding.
std::string rounding_note(const MatrixFacts& facts);
/// "mesh.mtx: 64 x 64, 288 nonzeros, symmetric, |A|_F = 35.1".
std::string matrix_text(const MatrixFacts& facts, const std::string& path);
/// Lines of the terminal with everything that was measured, one figure per line.
std::string measurement_lines(const Measurement& measured);
/// Notes on a row: why it has no result, anything unusual, its own message.
std::vector<std::string> row_notes(const ComparisonRow& row);

}  // namespace matapprox::report
