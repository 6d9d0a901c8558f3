#include "report/page.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "matapprox/core/visible_text.hpp"
#include "report/build_info.hpp"
#include "report/plot.hpp"

namespace matapprox::report {
namespace {

constexpr Index kCrispPixels = 128;

/// True for the control characters U+0080..U+009F.
bool is_c1_control(std::string_view text, std::size_t at) {
  return text[at] == '\xC2' && static_cast<unsigned char>(text[at + 1]) < 0xA0;
}

std::string escaped_character(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(c);
  const bool control = (code < 0x20 && c != '\n' && c != '\t') || code == 0x7F;
  return control ? "\uFFFD" : std::string(1, c);
}

std::string mark_of(int style) {
  if (style < 0) return {};
  const Style& look = kStyles[static_cast<std::size_t>(style)];
  return fmt::format("<span class=\"mark\" aria-hidden=\"true\" style=\"color:var({})\">{}</span> ",
                     look.ink.variable,
                     look.mark);
}

std::string joined(const std::vector<Html>& blocks) {
  std::string markup;
  for (const Html& block : blocks) markup += block.markup;
  return markup;
}

std::string cell_class(const TableColumn& column, const TableCell& cell) {
  std::string names;
  if (column.numeric) names += "number ";
  if (cell.emphasized) names += "best ";
  if (cell.is_long) names += "long ";
  if (names.empty()) return {};
  names.pop_back();
  return fmt::format(" class=\"{}\"", names);
}

std::string table_row(const Table& content, const std::vector<TableCell>& row) {
  std::string markup = "<tr>";
  for (std::size_t c = 0; c < row.size(); ++c) {
    const char* tag = c == 0 ? "th" : "td";
    markup += fmt::format("<{}{}{}>{}{}</{}>",
                          tag,
                          c == 0 ? " scope=\"row\"" : "",
                          cell_class(content.columns[c], row[c]),
                          mark_of(row[c].style),
                          escape_html(row[c].text),
                          tag);
  }
  return markup + "</tr>\n";
}

std::string image_markup(const ImageItem& item) {
  return fmt::format(
      "<figure class=\"image\"><img{} src=\"data:image/png;base64,{}\" width=\"{}\" "
      "height=\"{}\" "
      "alt=\"{}\"><figcaption>{}</figcaption></figure>\n",
      // An entry that is shown enlarged should stay a square; shown reduced, none should vanish.
      std::max(item.width, item.height) <= kCrispPixels ? " class=\"crisp\"" : "",
      base64(item.png),
      item.width,
      item.height,
      escape_html(item.alt),
      escape_html(item.label));
}

/// gnuplot's <svg ...> as one labeled image for screen readers.
std::string labeled_svg(const std::string& svg, const char* form, std::string_view message) {
  return fmt::format("<div class=\"{}\"><svg role=\"img\" aria-label=\"{}\"{}</div>\n",
                     form,
                     escape_html(message),
                     svg.substr(4));
}

std::string swatch(const LegendEntry& line) {
  return line.dashed ? fmt::format(
                           "<span style=\"height:0;background:none;border-top:{}px dashed\">"
                           "</span>",
                           line.line_width)
                     : fmt::format("<span style=\"height:{}px\"></span>", line.line_width);
}

std::string legend_markup(const DrawnChart& chart) {
  if (chart.legend.size() < 2) return {};
  std::string items;
  for (const LegendEntry& entry : chart.legend) {
    items += fmt::format(
        "<li><span class=\"{}\" aria-hidden=\"true\" style=\"color:var({})\">{}</span> {}</li>",
        entry.line_width > 0 ? "swatch" : "mark",
        entry.ink.variable,
        entry.line_width > 0 ? swatch(entry) : entry.mark,
        escape_html(entry.title));
  }
  return fmt::format("<ul class=\"legend\">{}</ul>\n", items);
}

std::string section_markup(const Section& section) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}"
      "</section>\n",
      section.id,
      escape_html(section.title),
      joined(section.blocks));
}

std::string navigation(const Page& page) {
  std::string items;
  for (const Section& section : page.sections) {
    items += fmt::format("<li><a href=\"#{}\">{}</a></li>", section.id, escape_html(section.title));
  }
  return fmt::format("<nav aria-label=\"Sections\"><ul>{}</ul></nav>\n", items);
}

std::string findings_markup(const std::vector<std::string>& findings) {
  std::string markup;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    markup += fmt::format(
        "<p class=\"{}\">{}</p>\n", i == 0 ? "headline" : "finding", escape_html(findings[i]));
  }
  return markup;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || (length == 2 && is_c1_control(text, at))) {
      escaped += "\uFFFD";
    } else if (length == 1) {
      escaped += escaped_character(text[at]);
    } else {
      escaped += text.substr(at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return escaped;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8U | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= count ? kDigits[(group >> (18 - 6 * i)) & 63U] : '=';
  }
  return text;
}

Html paragraph(std::string_view text) { return {fmt::format("<p>{}</p>\n", escape_html(text))}; }

Html note(std::string_view text) {
  return {fmt::format("<p class=\"note\">{}</p>\n", escape_html(text))};
}

Html bullet_list(const std::vector<std::string>& items) {
  std::string markup = "<ul class=\"notes\">\n";
  for (const std::string& item : items) markup += fmt::format("<li>{}</li>\n", escape_html(item));
  return {markup + "</ul>\n"};
}

Html fact_list(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string markup = "<dl class=\"facts\">\n";
  for (const auto& [name, value] : facts) {
    markup +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name), escape_html(value));
  }
  return {markup + "</dl>\n"};
}

Html code_block(std::string_view text) {
  return {fmt::format("<pre><code>{}</code></pre>\n", escape_html(text))};
}

Html details(std::string_view summary, const std::vector<Html>& blocks) {
  return {fmt::format(
      "<details><summary>{}</summary>\n{}</details>\n", escape_html(summary), joined(blocks))};
}

Html table(const Table& content) {
  std::string head;
  for (const TableColumn& column : content.columns) {
    head += fmt::format("<th scope=\"col\"{}>{}</th>",
                        column.numeric ? " class=\"number\"" : "",
                        escape_html(column.title));
  }
  std::string body;
  for (const auto& row : content.rows) body += table_row(content, row);
  return {fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table>\n"
      "<caption>{0}</caption>\n<thead><tr>{1}</tr></thead>\n<tbody>\n{2}</tbody>\n</table>\n"
      "</div>\n",
      escape_html(content.caption),
      head,
      body)};
}

Html chart_figure(const DrawnChart& chart, std::string_view caption, std::string_view message) {
  return {fmt::format("<figure class=\"chart\">\n{}{}{}<figcaption>{}</figcaption>\n</figure>\n",
                      legend_markup(chart),
                      labeled_svg(chart.wide, "wide", message),
                      labeled_svg(chart.narrow, "narrow", message),
                      escape_html(caption))};
}

Html image_gallery(const std::vector<ImageGroup>& groups) {
  std::string markup = "<div class=\"gallery\">\n";
  for (const ImageGroup& group : groups) {
    markup += fmt::format("<div class=\"group\">\n<h3>{}{}</h3>\n<div class=\"images\">\n",
                          mark_of(group.style),
                          escape_html(group.title));
    for (const ImageItem& item : group.images) markup += image_markup(item);
    markup += "</div>\n";
    if (!group.note.empty())
      markup += fmt::format("<p class=\"note\">{}</p>\n", escape_html(group.note));
    markup += "</div>\n";
  }
  return {markup + "</div>\n"};
}

Html color_bar(const ColorScale& scale, std::string_view label) {
  std::string marks;
  for (const auto& mark : scale_marks(scale))
    marks += fmt::format("<span>{}</span>", escape_html(mark.second));
  return {fmt::format(
      "<div class=\"colors\"><span class=\"label\">{}</span><div class=\"scale\"><div "
      "class=\"bar\" style=\"background:{}\"></div><div class=\"ends\">{}</div></div></div>\n",
      escape_html(label),
      css_gradient(scale.map),
      marks)};
}

std::string page_html(const Page& page) {
  std::string sections;
  for (const Section& section : page.sections) sections += section_markup(section);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n"
      "<header>\n<p class=\"subtitle\">{2}</p>\n<h1>{0}</h1>\n{3}{4}</header>\n{5}"
      "<main>\n{6}</main>\n<footer>\n<p>{7}</p>\n</footer>\n</body>\n</html>\n",
      escape_html(page.title),
      page_style(),
      escape_html(page.subtitle),
      findings_markup(page.findings),
      page.facts.empty() ? std::string() : fact_list(page.facts).markup,
      navigation(page),
      sections,
      escape_html(page.footer));
}

namespace {

/// Note on scales that are not linear.
std::string soft_text(const ColorScale& matrix, const ColorScale& residual) {
  std::vector<std::string> parts;
  if (matrix.soft > 0) parts.push_back(three_digits(matrix.soft) + " for the matrices");
  if (residual.soft > 0) parts.push_back(three_digits(residual.soft) + " for the residuals");
  if (parts.empty()) return {};
  return fmt::format(
      " Colors follow asinh(value / s), so that small entries remain visible beside large ones; s "
      "= {}.",
      fmt::join(parts, " and s = "));
}

}  // namespace

std::string file_name(const std::string& path) {
  if (path == "-") return "standard input";
  const std::string name = std::filesystem::path(path).filename().string();
  return name.empty() ? path : name;
}

std::string time_of_page() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now));
}

std::string footer_of_page() {
  return fmt::format("Made by matapprox {} on {}.", version(), time_of_page());
}

Facts matrix_facts(const MatrixFacts& facts, const std::string& description) {
  Facts list{{"size", fmt::format("{} × {}", grouped(facts.rows), grouped(facts.cols))}};
  const double entries = static_cast<double>(facts.rows) * static_cast<double>(facts.cols);
  if (facts.nonzeros) {
    list.emplace_back("non-zeros",
                      fmt::format("{} ({:.3g} %)",
                                  grouped(*facts.nonzeros),
                                  100 * static_cast<double>(*facts.nonzeros) / entries));
  }
  list.emplace_back("symmetric", facts.symmetric ? "yes" : "no");
  list.emplace_back(facts.norm_is_exact ? "Frobenius norm" : "Frobenius norm, estimated",
                    fmt::format("{:.6g}", facts.frobenius_norm));
  list.emplace_back("given as", description);
  return list;
}

ImageItem heat_map_item(const Matrix& cells,
                        const ColorScale& scale,
                        const std::string& label,
                        const std::string& alt) {
  return {heat_map_png(cells, scale), label, alt, cells.cols(), cells.rows()};
}

std::string kind_of_image(const ImagePlan& plan) {
  return plan.is_image ? "Gray image" : "Heat map";
}

std::string scale_caption(const ImagePlan& plan,
                          const Matrix& image,
                          const ColorScale& matrix,
                          const ColorScale& residual) {
  std::string text =
      "A and the approximations share one color scale; the residuals A − B have their own.";
  const std::string cells = cells_text(plan, false);
  const std::string residual_cells = cells_text(plan, true);
  if (!cells.empty()) text += fmt::format(" Of the matrices, {}.", cells);
  if (!residual_cells.empty() && residual_cells != cells)
    text += fmt::format(" Of the residuals, {}.", residual_cells);
  text += soft_text(matrix, residual);
  const double clipped = clipped_share(image, matrix);
  if (clipped > 0) {
    text += fmt::format(
        " The scale ends at the 99.5 % quantile of the non-zero |cells| of A; {:.2g} % of the "
        "cells lie beyond it and have the color of its end.",
        100 * clipped);
  }
  return text;
}

Section repeat_section(const Repetition& run) {
  Facts facts{{"version", "matapprox " + version()},
              {"seed", fmt::format("{}", run.seed)},
              {"threads", fmt::format("{}", run.threads)},
              {"machine", machine_description()},
              {"compiler", compiler_description()},
              {"date", time_of_page()},
              {"matrix", run.path}};
  if (!run.kind.empty()) facts.emplace_back("read as", run.kind);
  Section section{"repeat", "How to repeat it", {}};
  if (!run.command.empty()) section.blocks.push_back(code_block(run.command));
  section.blocks.push_back(fact_list(facts));
  section.blocks.push_back(
      note("The errors do not depend on the number of threads, unless a time limit stops a fit; "
           "the times do."));
  return section;
}

}  // namespace matapprox::report
