#include "report/page.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "matapprox/io/matrix_files.hpp"
#include "report/build_info.hpp"
#include "reproduce/paper_tables.hpp"

namespace matapprox {
namespace reproduction {
namespace {

std::string page_title(const Reproduction& reproduction) {
  return reproduction.options.table == PaperTable::kTable1
             ? "Table 1 of the sparse-factorization paper, reproduced"
             : "Fig. 4 of the sparse-factorization paper, reproduced";
}

std::string date_today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

std::vector<std::pair<std::string, std::string>> page_facts(const Reproduction& reproduction) {
  const ReproductionOptions& options = reproduction.options;
  return {{"fit",
           fmt::format(
               "effort {}, pattern {}, seed {}", options.effort, options.pattern, options.seed)},
          {"time", time_spent(reproduction)},
          {"paper", "Khalitov, Yu, Cheng, Yang: Neural Networks 152 (2022) 160-168"}};
}

/// A printed table as HTML; the first cell begins with the row's number in the charts.
report::Html html_table(const TextTable& text) {
  report::Table content;
  content.caption = text.caption;
  for (const TextTable::Column& column : text.columns) {
    const bool grouped = !column.group.empty();
    content.columns.push_back(
        {grouped ? column.group + ", " + column.title : column.title, !column.left});
  }
  for (std::size_t r = 0; r < text.rows.size(); ++r) {
    auto& row = content.rows.emplace_back();
    for (const std::string& cell : text.rows[r]) row.emplace_back(cell);
    row.front().text = fmt::format("{}. {}", r + 1, row.front().text);
  }
  return report::table(content);
}

report::ImageItem gray_image(const Matrix& pixels,
                             const std::string& label,
                             const std::string& alt) {
  report::ImageItem item;
  item.png = report::heat_map_png(pixels, {report::ColorMap::kGray, 0, 255});
  item.label = label;
  item.alt = alt;
  item.width = pixels.cols();
  item.height = pixels.rows();
  return item;
}

report::ImageGroup image_group(const ReproducedRow& row) {
  report::ImageGroup group;
  group.title = row.paper.name;
  group.note = fmt::format("Residuals |A - B|: white 0, black {:.0f} gray levels and more.",
                           row.residual_scale);
  const std::array<std::string, kContactSheetPanels> labels = {
      "original",
      fmt::format("TSVD, rank {}: error {:.0f}", row.tsvd.size, row.tsvd.error),
      fmt::format("SF: error {:.0f}", row.chord_error),
      "residual of TSVD",
      "residual of SF"};
  const Matrix contact_sheet = read_image(row.image).values;
  for (std::size_t p = 0; p < labels.size(); ++p) {
    group.images.push_back(gray_image(contact_sheet_panel(contact_sheet, static_cast<Index>(p)),
                                      labels[p],
                                      row.paper.name + ", " + labels[p]));
  }
  return group;
}

void add_images(report::Page& page, const Reproduction& reproduction) {
  std::vector<report::ImageGroup> groups;
  for (const ReproducedRow* row : reproduction.finished()) {
    if (!row->image.empty()) groups.push_back(image_group(*row));
  }
  if (!groups.empty())
    page.sections.push_back({"images", "Images", {report::image_gallery(groups)}});
}

report::Section ratio_section(const Reproduction& reproduction) {
  const std::string caption =
      "Error of SF divided by that of TSVD at the paper's rank, for each row as numbered in the "
      "tables. Below 1, SF is more accurate; points below 1e-6 are drawn at 1e-6. " +
      category_rows(reproduction) + ".";
  return {
      "ratio",
      "SF against TSVD, then and now",
      {report::chart_figure(
          report::draw_for_page(ratio_chart(reproduction)), caption, ratio_message(reproduction))}};
}

report::Section history_section(const Reproduction& reproduction) {
  const std::string caption =
      "Each line is one fit: the error of the best point so far, divided by that of TSVD at the "
      "paper's rank, against the time of the fit, on one thread beside the other rows. Points "
      "below 1e-6 are drawn at 1e-6.";
  return {"history",
          "Error against time",
          {report::chart_figure(report::draw_for_page(history_chart(reproduction)),
                                caption,
                                "Lines that fall from left to right; their ends are the errors of "
                                "the tables.")}};
}

report::Section repeat_section(const Reproduction& reproduction, const std::string& command) {
  report::Section section{"repeat", "How to repeat it", {}};
  section.blocks.push_back(report::code_block("scripts/fetch-matrices\n" + command));
  std::string options;
  for (const auto& [name, value] : reproduction.options.chord())
    options += fmt::format("{}{} = {}", options.empty() ? "" : ", ", name, value);
  section.blocks.push_back(report::fact_list({{"version", version()},
                                              {"compiler", compiler_description()},
                                              {"machine", machine_description()},
                                              {"Chord options", options},
                                              {"matrices", reproduction.options.matrices}}));
  return section;
}

}  // namespace
}  // namespace reproduction

std::string reproduction_page(const Reproduction& reproduction, const std::string& command) {
  using namespace reproduction;
  report::Page page;
  page.title = page_title(reproduction);
  page.subtitle = "matapprox reproduce, " + date_today();
  page.findings = outcome(reproduction);
  page.facts = page_facts(reproduction);
  const bool any = !reproduction.finished().empty();
  if (any) page.sections.push_back(ratio_section(reproduction));
  add_images(page, reproduction);
  report::Section tables{
      "tables",
      "Tables",
      {html_table(paper_table(reproduction)), html_table(storage_table(reproduction))}};
  const TextTable patterns = pattern_table(reproduction);
  if (!patterns.rows.empty()) tables.blocks.push_back(html_table(patterns));
  tables.blocks.push_back(report::bullet_list(legend(reproduction)));
  page.sections.push_back(std::move(tables));
  if (any) page.sections.push_back(history_section(reproduction));
  page.sections.push_back(repeat_section(reproduction, command));
  page.footer = fmt::format("matapprox {}, {}", version(), machine_description());
  return report::page_html(page);
}

std::vector<ReportFile> reproduction_plots(const Reproduction& reproduction) {
  std::vector<ReportFile> files;
  for (const report::Chart& chart :
       {reproduction::ratio_chart(reproduction), reproduction::history_chart(reproduction)}) {
    report::ChartFiles drawn = report::draw_files(chart);
    files.push_back({chart.name + ".svg", std::move(drawn.svg)});
    files.push_back({chart.name + ".png", std::move(drawn.png)});
  }
  return files;
}

std::vector<std::string> reproduction_plot_names() {
  return {"ratio.svg", "ratio.png", "history.svg", "history.png"};
}

}  // namespace matapprox
