#pragma once

#include "report/fit_records.hpp"
#include "report/page.hpp"
#include "report/report_page.hpp"
#include "report/spectrum.hpp"
#include "report/sweep.hpp"

namespace matapprox::report {

/// Colour scales that all pictures of a report share.
struct PictureScales {
  ColourScale matrix;
  ColourScale residual;
};

/// Everything that the page of a comparison is made from.
struct ComparisonContents {
  const Comparison& comparison;
  const FitRecords& records;
  const Matrix& picture;  ///< of A
  const PictureScales& scales;
  const Spectrum& spectrum;
  const StorageSweep& sweep;
  const ReportOptions& options;
};

/// Residuals that are larger than A itself do not set the scale of the others.
PictureScales picture_scales(const Comparison& comparison,
                             const FitRecords& records,
                             const Matrix& picture);

Page comparison_page(const ComparisonContents& contents);

/// The table of results: what comparison_table prints; and its notes.
Html results_table(const Comparison& comparison);
Html results_notes(const Comparison& comparison);

}  // namespace matapprox::report
