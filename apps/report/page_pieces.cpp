#include "report/page_pieces.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>

#include "report/build_info.hpp"
#include "report/ticks.hpp"

namespace matapprox::report {
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
