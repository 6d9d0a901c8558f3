#pragma once

#include "report/best_charts.hpp"
#include "report/page.hpp"
#include "report/report_page.hpp"

namespace matapprox {

/// Makes the report of a search: the chosen candidate, all candidates, error against bytes, the
/// distribution of the bits, singular values with the water level, heat maps, how to repeat it.
///
/// Costs: all columns of A and of the result (a sample of them above 64e6 entries), and the
/// singular values of A by LAPACK up to order 2048. Memory: four images. Throws NotAvailable
/// without gnuplot, Interrupted if control stops it.
Report best_report(const LinearOperator& A,
                   const report::BestContents& contents,
                   const ReportOptions& options,
                   const RunControl& control = {});

/// Names that Report::plots can have, to be checked before the search.
std::vector<std::string> best_plot_names();

}  // namespace matapprox
