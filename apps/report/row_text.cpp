#include "report/row_text.hpp"

#include <fmt/format.h>

namespace matapprox::report {
namespace {

std::string certified_line(const char* norm, const std::optional<CertifiedBound>& bound) {
  if (!bound) return "";
  return fmt::format("certified {} <= {:.6e}  ({})\n", norm, bound->value, confidence_text(*bound));
}

std::string certificate_lines(const Measurement& measured) {
  if (!measured.certificate) return "";
  const Certificate& certificate = *measured.certificate;
  std::string text;
  if (certificate.relative) {
    text += fmt::format("certified relative  {:.6e}  ({})\n",
                        *certificate.relative,
                        confidence_text(*certificate.frobenius));
  }
  text += certified_line("|A - B|_F", certificate.frobenius);
  text += certified_line("|A - B|_2", certificate.spectral);
  if (certificate.products > 0) {
    text +=
        fmt::format("certificate from    {} products in {:g} passes, {:.1e} allowed for rounding\n",
                    certificate.products,
                    certificate.passes,
                    certificate.rounding);
  }
  return text;
}

}  // namespace

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

std::string rounding_note(const MatrixFacts& facts) {
  if (facts.averaged_asymmetry == 0) return "";
  return fmt::format(" to rounding (mirror images that differ by up to {:.2g} count as equal)",
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

std::string measurement_lines(const Measurement& measured) {
  const std::string how =
      measured.error_is_exact ? "exact" : "estimated from " + sample_text(measured);
  std::string text;
  if (measured.relative_error) {
    text += fmt::format("relative error      {:.6e}  ({})\n", *measured.relative_error, how);
  } else {
    text += "relative error      undefined, the matrix is zero\n";
  }
  text += fmt::format("|A - B|_F           {:.6e}  ({})\n", measured.error_frobenius, how);
  if (const auto& interval = measured.error_interval) {
    text +=
        fmt::format("95 % interval       {:.6e} .. {:.6e}\n", interval->first, interval->second);
  }
  if (measured.spectral_error_lower)
    text += fmt::format("|A - B|_2 at least  {:.6e}\n", *measured.spectral_error_lower);
  text += certificate_lines(measured);
  if (measured.apply_seconds_1 && measured.apply_seconds_64) {
    text += fmt::format("product             {:.3g} ms with 1 column, {:.3g} ms with 64\n",
                        1e3 * *measured.apply_seconds_1,
                        1e3 * *measured.apply_seconds_64);
  }
  if (measured.worse_than_zero)
    text += "the zero matrix is closer to the matrix than this approximation\n";
  return text;
}

std::string matrix_text(const MatrixFacts& facts, const std::string& path) {
  std::string text = fmt::format("{}: {} x {}", path, facts.rows, facts.cols);
  if (facts.nonzeros) text += fmt::format(", {} nonzeros", *facts.nonzeros);
  text += facts.symmetric ? ", symmetric" + rounding_note(facts) : "";
  text += fmt::format(", |A|_F {} {:.6g}", facts.norm_is_exact ? "=" : "~", facts.frobenius_norm);
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
