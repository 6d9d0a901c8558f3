#pragma once

#include "report/best_charts.hpp"
#include "report/page.hpp"
#include "report/report_page.hpp"

namespace matapprox {

/// Makes the report of a search: what was chosen, all candidates, error against bytes, where the
/// bits are, singular values with the water level, heat maps, how to repeat it.
///
/// Costs: all columns of A and of the result (a sample of them above 64e6 entries), and the
/// singular values of A by LAPACK up to order 2048. Memory: four images. Throws NotAvailable
/// without gnuplot, Interrupted if control stops it.
Report best_report(const LinearOperator& A,
                   const report::BestContents& contents,
                   const ReportOptions& options,
                   const RunControl& control = {});

/// The names that Report::plots can have: to be checked beforehand.
std::vector<std::string> best_plot_names();

}  // namespace matapprox
