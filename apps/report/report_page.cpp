#include "report/report_page.hpp"

#include <utility>

#include "matapprox/core/run_control.hpp"
#include "report/comparison_page.hpp"

namespace matapprox {
namespace {

using report::Chart;
using report::ComparisonContents;

constexpr const char* kChartNames[] = {"singular_values", "error_storage", "error_time"};

void add_both(const std::string& name,
              std::string svg,
              std::string png,
              std::vector<ReportFile>& files) {
  files.push_back({name + ".svg", std::move(svg)});
  files.push_back({name + ".png", std::move(png)});
}

void add_image(const std::string& name,
               const Matrix& cells,
               const report::ColorScale& scale,
               const std::string& title,
               std::vector<ReportFile>& files) {
  auto drawn = report::heat_map_files(cells, scale, title);
  add_both(name, std::move(drawn.svg), std::move(drawn.png), files);
}

std::vector<ReportFile> plot_files(const ComparisonContents& contents) {
  std::vector<ReportFile> files;
  for (const Chart& chart : {report::spectrum_chart(contents.comparison, contents.spectrum),
                             report::storage_chart(contents.comparison, contents.sweep),
                             report::time_chart(contents.comparison, contents.records)}) {
    auto drawn = report::draw_files(chart);
    add_both(chart.name, std::move(drawn.svg), std::move(drawn.png), files);
  }
  add_image("matrix", contents.image, contents.scales.matrix, "A", files);
  for (const report::FitRecord& record : contents.records.all()) {
    const std::string name = report::shown_name(record.method);
    add_image(record.method, record.cells, contents.scales.matrix, name, files);
    add_image(record.method + "_residual",
              record.residual,
              contents.scales.residual,
              name + ", residual",
              files);
  }
  return files;
}

}  // namespace

std::vector<std::string> report_plot_names(const std::vector<std::string>& methods) {
  std::vector<std::string> stems(std::begin(kChartNames), std::end(kChartNames));
  stems.emplace_back("matrix");
  for (const std::string& method : methods.empty() ? comparison_methods() : methods) {
    stems.push_back(method);
    stems.push_back(method + "_residual");
  }
  std::vector<std::string> names;
  for (const std::string& stem : stems) {
    names.push_back(stem + ".svg");
    names.push_back(stem + ".png");
  }
  return names;
}

struct ComparisonReport::Contents {
  const LinearOperator& A;
  ComparisonOptions options;
  ReportOptions report;
  report::FitRecords records;
};

ComparisonReport::ComparisonReport(const LinearOperator& A,
                                   ComparisonOptions options,
                                   ReportOptions report)
    : contents_(new Contents{A, std::move(options), report, {A, report.is_image}}) {}

ComparisonReport::~ComparisonReport() = default;

void ComparisonReport::add(const ComparisonRow& row, const RunResult& result) {
  contents_->records.add(row, result);
}

Report ComparisonReport::make(const Comparison& comparison,
                              const RunControl& control,
                              const ComparisonEvents& events) const {
  const Contents& own = *contents_;
  // The fits of the sweep are not passed to the caller's `finished`.
  const ComparisonEvents started_only{events.started, nullptr};
  const report::StorageSweep sweep = report::sweep_storage(
      own.A, comparison, own.options, own.report.sweep_seconds, control, started_only);
  const report::Spectrum spectrum =
      report::spectrum_of(own.A, own.records.singular_values(), own.report.sweep_seconds, control);
  // An earlier request to stop has ended the fits; the existing results are drawn.
  RunControl drawing;
  if (!control.interrupted()) drawing.stop = control.stop;
  const StopScope scope(drawing, "report");
  const Matrix image = report::image_cells(own.A, own.records.plan());
  const report::ImageScales scales = report::image_scales(comparison, own.records, image);
  const ComparisonContents contents{
      comparison, own.records, image, scales, spectrum, sweep, own.report};
  Report made;
  if (own.report.page) made.html = report::page_html(report::comparison_page(contents));
  if (own.report.plots) made.plots = plot_files(contents);
  return made;
}

}  // namespace matapprox
