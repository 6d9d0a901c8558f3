#include "report/row_text.hpp"

#include <fmt/format.h>

namespace matapprox::report {

std::string short_number(double value) {
  if (value == 0) return "0";
  if (value >= 1e7 || value < 1e-3) return fmt::format("{:.1e}", value);
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  return fmt::format("{:#.3g}", value);
}

std::string milliseconds_text(const std::optional<double>& seconds) {
  return seconds ? short_number(1e3 * *seconds) : "-";
}

std::string error_text(const Measurement& measured) {
  if (!measured.relative_error) return "-";
  const double error = *measured.relative_error;
  const std::string digits = error == 0 ? "0" : fmt::format("{:.3e}", error);
  return measured.error_is_exact ? digits : "~" + digits;
}

std::string sample_text(const Measurement& measured) {
  return fmt::format("{} {}",
                     measured.error_samples,
                     measured.error_basis == ErrorBasis::kColumns ? "columns" : "vectors");
}

std::string share_text(double share) {
  const double percent = 100 * share;
  if (percent >= 100) return fmt::format("{:.0f} %", percent);
  return fmt::format("{:.{}g} %", percent, percent >= 99 ? 3 : 2);
}

std::string averaging_note(const MatrixFacts& facts) {
  if (facts.averaged_asymmetry == 0) return "";
  return fmt::format(" to rounding (mirror images that differed by up to {:.2g} were averaged)",
                     facts.averaged_asymmetry);
}

std::string confidence_text(const CertifiedBound& bound) {
  if (bound.confidence == 1) return "exact";
  return fmt::format("confidence {:.10g} %", 100 * bound.confidence);
}

std::string certificate_text(const Certificate& certificate) {
  std::string text;
  const auto add = [&](const char* norm, const std::optional<CertifiedBound>& bound) {
    if (!bound) return;
    text += fmt::format("{}{} <= {:.4g} ({})",
                        text.empty() ? "certified " : ", ",
                        norm,
                        bound->value,
                        confidence_text(*bound));
  };
  add("|A - B|_F", certificate.frobenius);
  add("|A - B|_2", certificate.spectral);
  return text;
}

std::vector<std::string> row_notes(const ComparisonRow& row) {
  std::vector<std::string> notes;
  if (!row.ok()) return {row.status};
  if (row.interrupted) notes.emplace_back("interrupted");
  if (row.no_compression()) notes.emplace_back("no compression");
  const bool already_said = row.message.find("worse than the zero matrix") != std::string::npos;
  if (row.measurement && row.measurement->worse_than_zero && !already_said)
    notes.emplace_back("worse than the zero matrix");
  if (row.termination == Termination::kMaxSeconds) notes.emplace_back("stopped by --max-seconds");
  if (row.termination == Termination::kMaxIterations)
    notes.emplace_back("stopped by max_iterations");
  if (row.measurement && row.measurement->error_interval) {
    const auto& interval = *row.measurement->error_interval;
    notes.push_back(fmt::format("|A - B|_F from {}, 95 % interval {:.4g} .. {:.4g}",
                                sample_text(*row.measurement),
                                interval.first,
                                interval.second));
  }
  const bool is_certified = row.measurement && row.measurement->certificate;
  if (is_certified && row.method != "as_is")
    notes.push_back(certificate_text(*row.measurement->certificate));
  if (!row.measurement) {
    notes.emplace_back("not measured");
  } else if (!row.measurement->relative_error) {
    notes.push_back(fmt::format("absolute error {:.3e}", row.measurement->error_frobenius));
  }
  if (!row.message.empty()) notes.push_back(row.message);
  return notes;
}

}  // namespace matapprox::report
