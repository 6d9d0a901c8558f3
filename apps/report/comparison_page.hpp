#pragma once

#include "report/fit_records.hpp"
#include "report/page.hpp"
#include "report/report_page.hpp"
#include "report/spectrum.hpp"
#include "report/sweep.hpp"

namespace matapprox::report {

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
