#pragma once

#include <string>
#include <vector>

#include "report/report_page.hpp"
#include "reproduce/reproduction.hpp"

namespace matapprox {

/// One self-contained HTML page: findings, the ratio of the errors then and now, the contact sheets
/// of images, the tables, error against time, and `command`, which made it. Reads the stored
/// images. Throws NotAvailable without gnuplot (require_report_tools), FileError.
std::string reproduction_page(const Reproduction& reproduction, const std::string& command);

/// Its charts as files, and the names of these files. Throws NotAvailable without gnuplot.
std::vector<ReportFile> reproduction_plots(const Reproduction& reproduction);
std::vector<std::string> reproduction_plot_names();

}  // namespace matapprox
