#pragma once

#include "report/findings.hpp"
#include "report/page.hpp"
#include "report/plot.hpp"
#include "report/report_page.hpp"
#include "report/sweep.hpp"

namespace matapprox::report {

// The three charts of a comparison. Errors below kErrorFloor are drawn at it: a log scale has no 0.

constexpr double kErrorFloor = 1e-16;

/// Singular values divided by the largest one, with each method's rank marked on the curve.
Chart spectrum_chart(const Comparison& comparison, const Spectrum& spectrum);
/// Error against stored bytes, with the Pareto front behind the methods.
Chart storage_chart(const Comparison& comparison, const StorageSweep& sweep);
/// Error against the time of the fit: a line for methods with a history, a mark for the others.
Chart time_chart(const Comparison& comparison, const FitRecords& records);

/// Color scales that all images of a report share.
struct ImageScales {
  ColorScale matrix;
  ColorScale residual;
};

/// Everything from which the page of a comparison is made.
struct ComparisonContents {
  const Comparison& comparison;
  const FitRecords& records;
  const Matrix& image;  ///< image of A
  const ImageScales& scales;
  const Spectrum& spectrum;
  const StorageSweep& sweep;
  const ReportOptions& options;
};

/// Color scales of the images. Residuals larger than A itself do not set the scale of the others.
ImageScales image_scales(const Comparison& comparison,
                         const FitRecords& records,
                         const Matrix& image);

Page comparison_page(const ComparisonContents& contents);

/// The table of results, as comparison_table prints it, and its notes.
Html results_table(const Comparison& comparison);
Html results_notes(const Comparison& comparison);

}  // namespace matapprox::report

namespace matapprox {

/// The other formats of a comparison beside to_json; docs/cli.md has the schema of both. The table
/// is at most 100 columns wide.
std::string comparison_csv(const Comparison& comparison);
std::string comparison_table(const Comparison& comparison);

}  // namespace matapprox
