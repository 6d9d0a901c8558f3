#include "report/best_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/findings.hpp"
#include "report/page.hpp"
#include "report/plot.hpp"

namespace matapprox {
namespace report {
namespace {

/// Contents of the page besides the search itself.
struct BestDrawings {
  ImagePlan plan;
  Matrix image;  ///< image of A
  Matrix approximation;
  Matrix residual;
  ColorScale scale;
  ColorScale residual_scale;
  Spectrum spectrum;
  std::vector<StoredComponent> components;
  std::optional<Partition> partition{};
  std::optional<Matrix> ordered{};  ///< A in the order of the blocks, if that differs
};

BestDrawings drawings_of(const LinearOperator& A,
                         const BestContents& contents,
                         const ReportOptions& options,
                         const RunControl& control) {
  const Approximation& B = contents.result.approximation;
  BestDrawings made;
  made.plan = image_plan(A.rows(), A.cols(), options.is_image);
  made.image = image_cells(A, made.plan);
  made.approximation = image_cells(B, made.plan);
  made.residual = difference_cells(A, B, made.plan);
  const bool means = made.plan.cells == Cells::kMeans || made.plan.cells == Cells::kAbsoluteMeans;
  made.scale = made.plan.is_image ? gray_scale(made.image)
                                  : symmetric_scale({&made.image},
                                                    made.plan.cells == Cells::kAbsoluteMeans
                                                        ? ColorMap::kRising
                                                        : ColorMap::kDiverging);
  made.residual_scale =
      symmetric_scale({&made.residual}, means ? ColorMap::kRisingResidual : ColorMap::kResidual);
  made.spectrum = spectrum_of(A, contents.result.singular_values, 0, control);
  made.components = stored_components(B);
  if (const BlockMatrix* blocks = blocks_of(B)) made.partition = partition_of(*blocks);
  if (const Permutation* P = order_of(B)) made.ordered = ordered_cells(A, *P, made.plan);
  return made;
}

std::string bytes_text(const BestContents& contents) {
  const Storage storage = contents.result.approximation.storage();
  return fmt::format("{} bytes, {} of the matrix in doubles",
                     grouped(storage.bytes),
                     share_text(share_of_doubles(storage, contents.result.facts)));
}

/// The next best candidate by the same criterion: the error with a budget, the bytes with a target.
std::string runner_up(const BestContents& contents) {
  const BestResult& result = contents.result;
  const BestCandidate* next = nullptr;
  const bool by_target = contents.options.target_error > 0;
  for (const BestCandidate& candidate : result.candidates) {
    if (candidate.chosen || !candidate.relative_error || !candidate.storage) continue;
    const bool nearer =
        next == nullptr || (by_target ? candidate.storage->bytes < next->storage->bytes
                                      : *candidate.relative_error < *next->relative_error);
    const double missed = contents.options.target_error * 1.02;
    if (by_target && *candidate.relative_error > missed) continue;
    if (nearer) next = &candidate;
  }
  if (next == nullptr) return {};
  return fmt::format("The next, {}, has a relative error of {} in {} bytes.",
                     next->name,
                     three_digits(*next->relative_error),
                     grouped(next->storage->bytes));
}

std::vector<std::string> best_findings(const BestContents& contents) {
  const BestResult& result = contents.result;
  const Measurement& measured = result.measurement;
  std::vector<std::string> findings{fmt::format("{}: a relative error of {} in {}.",
                                                chosen_text(result),
                                                spoken_error(measured),
                                                bytes_text(contents))};
  if (contents.options.target_error > 0) {
    findings.push_back(fmt::format("The target error of {:g} is {}.",
                                   contents.options.target_error,
                                   result.target_is_met ? "met" : "missed"));
  }
  if (measured.certificate && measured.certificate->products > 0) {
    std::string certified = certificate_text(*measured.certificate);
    certified[0] = 'C';
    findings.push_back(certified + ".");
  }
  if (result.lower_bound) {
    findings.push_back(
        fmt::format("No choice of blocks, ranks and bits is expected to have an error below {} "
                    "with the same number of bytes.",
                    three_digits(*result.lower_bound)));
  }
  if (std::string next = runner_up(contents); !next.empty()) findings.push_back(std::move(next));
  if (result.interrupted) findings.emplace_back("Stopped before all candidates were tried.");
  return findings;
}

std::string error_or_dash(const std::optional<double>& error) {
  return error ? three_digits(*error) : "–";
}

Html candidate_table(const BestContents& contents) {
  Table content{"Candidates, in the order of their trial",
                {{"candidate"},
                 {"error at least", true},
                 {"measured error", true},
                 {"certified error", true},
                 {"bytes", true},
                 {"seconds", true},
                 {"outcome"}},
                {}};
  const std::vector<BestCandidate>& candidates = contents.result.candidates;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const BestCandidate& candidate = candidates[c];
    TableCell name(candidate.name);
    if (candidate.storage) name.style = candidate_style(c);
    name.emphasized = candidate.chosen;
    TableCell verdict(candidate.verdict);
    verdict.is_long = true;
    content.rows.push_back(
        {name,
         error_or_dash(candidate.predicted_error),
         (candidate.error_is_exact ? "" : "~") + error_or_dash(candidate.relative_error),
         error_or_dash(candidate.certified_error),
         candidate.storage ? grouped(candidate.storage->bytes) : "–",
         short_number(candidate.seconds),
         verdict});
  }
  return table(content);
}

/// Note on errors of 0, which the logarithmic charts cannot show.
std::string zero_text(const BestContents& contents) {
  const auto& candidates = contents.result.candidates;
  const bool has_zero = std::any_of(candidates.begin(), candidates.end(), [](const auto& each) {
    return each.relative_error && *each.relative_error == 0;
  });
  return has_zero ? " An error of 0 is drawn at 1e-16." : "";
}

Section tried_section(const BestContents& contents, const BestDrawings& drawings) {
  const std::string asked = request_text(contents.options, contents.result.facts);
  std::string caption =
      "Lower left is better. The wide line is the smallest error expected of a low-rank "
      "approximation with the best number of bits for each component, computed from the singular "
      "values of A.";
  if (!drawings.spectrum.is_complete)
    caption += " Unknown singular values are taken to be as large as possible.";
  if (contents.result.lower_bound) {
    caption +=
        " No choice of blocks, ranks and bits is expected below the dashed line at the lower "
        "bound.";
  }
  caption += zero_text(contents);
  std::vector<std::string> spoken;
  for (const BestCandidate& candidate : contents.result.candidates) {
    if (!candidate.relative_error || !candidate.storage) continue;
    spoken.push_back(fmt::format("{}: {} in {} bytes",
                                 candidate.name,
                                 three_digits(*candidate.relative_error),
                                 grouped(candidate.storage->bytes)));
  }
  return {"tried",
          "Error against bytes",
          {paragraph(fmt::format("Request: {}.", asked)),
           chart_figure(draw_for_page(error_bytes_chart(contents, drawings.spectrum)),
                        caption,
                        fmt::format("Error against bytes. {}.", fmt::join(spoken, "; "))),
           candidate_table(contents)}};
}

Section expectation_section(const BestContents& contents) {
  return {"expectation",
          "Estimate, bound, exact",
          {chart_figure(
              draw_for_page(expectation_chart(contents)),
              "For each candidate: the error predicted from the singular values before it is "
              "built, the measured error, and, where one was needed, the certified bound. The "
              "bound holds with the requested confidence; it is below the error only with the "
              "remaining probability." +
                  zero_text(contents),
              "Predicted, measured and certified errors; the table above lists the values.")}};
}

std::string leaves_text(const Partition& partition) {
  std::vector<std::string> parts;
  const char* names[] = {"at low rank", "dense", "sparse"};
  for (std::size_t kind = 0; kind < partition.leaves.size(); ++kind) {
    if (partition.leaves[kind] == 0) continue;
    parts.push_back(fmt::format("{} {} in {} bytes",
                                grouped(partition.leaves[kind]),
                                names[kind],
                                grouped(partition.bytes[kind])));
  }
  return parts.empty() ? "No block stores any values"
                       : fmt::format("Blocks: {}", fmt::join(parts, "; "));
}

std::vector<Html> partition_blocks(const BestDrawings& drawings) {
  const Partition& partition = *drawings.partition;
  const ColorScale scale = bits_scale(partition);
  const Matrix& bits = partition.bits;
  const Matrix& matrix = drawings.ordered ? *drawings.ordered : drawings.image;
  const std::string matrix_label =
      drawings.ordered ? "A, rows and columns in the order of the blocks" : "A";
  const std::vector<ImageGroup> groups{
      {"The blocks",
       -1,
       "",
       {{heat_map_png(bits, scale, partition.borders),
         "stored bits per entry, white: nothing",
         "Blocks of the approximation, colored by stored bits per entry",
         bits.cols(),
         bits.rows()}}},
      {"The matrix", -1, "", {heat_map_item(matrix, drawings.scale, matrix_label, matrix_label)}}};
  return {paragraph(leaves_text(partition) +
                    ". Bits are placed where the matrix needs them: a few low-rank components "
                    "represent large blocks far from the diagonal or where the matrix is smooth."),
          color_bar(scale, "stored bits per entry"),
          image_gallery(groups)};
}

Section bits_section(const BestContents& contents, const BestDrawings& drawings) {
  Section section{"bits", "Where the bits are", {}};
  if (drawings.partition) section.blocks = partition_blocks(drawings);
  std::string caption =
      fmt::format("Singular values of A: {}.",
                  drawings.spectrum.values.size() > 0 ? drawings.spectrum.how : "not known");
  std::string message = "Singular values of the matrix.";
  if (drawings.components.empty()) {
    caption += " The approximation has no packed low-rank components.";
  } else {
    const double level = drawings.components.back().size / contents.result.facts.frobenius_norm;
    message =
        fmt::format("{} components are stored; the smallest has {} of the norm of the matrix.",
                    grouped(static_cast<long long>(drawings.components.size())),
                    three_digits(level));
    caption +=
        " The marks show the stored components, largest first, with the number of bits per value. "
        "A component below the dashed line gets no bits.";
    caption += drawings.partition
                   ? " Components belong to blocks: a component of a large block takes more bytes, "
                     "so it must be larger to be stored or to get the same number of bits."
                   : " Larger components get more bits.";
  }
  section.blocks.push_back(
      chart_figure(draw_for_page(component_chart(contents, drawings.spectrum, drawings.components)),
                   caption,
                   message));
  return section;
}

Section image_section(const BestContents& contents, const BestDrawings& drawings) {
  const MatrixFacts& facts = contents.result.facts;
  const std::string kind = kind_of_image(drawings.plan);
  const auto group = [](std::string title, int style, ImageItem item) {
    return ImageGroup{std::move(title), style, "", {std::move(item)}};
  };
  const std::vector<ImageGroup> groups{
      group("The matrix",
            -1,
            heat_map_item(drawings.image,
                          drawings.scale,
                          fmt::format("A, {} × {}", facts.rows, facts.cols),
                          kind + " of the matrix")),
      group("The approximation",
            candidate_style(contents.result.chosen),
            heat_map_item(drawings.approximation,
                          drawings.scale,
                          "B, " + chosen_text(contents.result),
                          kind + " of the approximation")),
      group("The residual",
            -1,
            heat_map_item(
                drawings.residual, drawings.residual_scale, "A − B", "Heat map of the residual"))};
  return {"images",
          "Approximation and residual",
          {paragraph(scale_caption(
               drawings.plan, drawings.image, drawings.scale, drawings.residual_scale)),
           color_bar(drawings.scale, "matrix and approximation"),
           color_bar(drawings.residual_scale, "residual"),
           image_gallery(groups)}};
}

Page best_page(const BestContents& contents,
               const BestDrawings& drawings,
               const ReportOptions& options) {
  Page page;
  page.title = file_name(contents.path);
  page.subtitle = "The best approximation found";
  page.findings = best_findings(contents);
  page.facts = matrix_facts(contents.result.facts, contents.description);
  page.facts.emplace_back("search time", fmt::format("{:.3g} s", contents.result.seconds));
  page.sections = {
      tried_section(contents, drawings),
      expectation_section(contents),
      bits_section(contents, drawings),
      image_section(contents, drawings),
      repeat_section(
          {options.command, contents.path, options.kind, contents.options.seed, contents.threads})};
  page.footer = footer_of_page();
  return page;
}

std::vector<ReportFile> best_plots(const BestContents& contents, const BestDrawings& drawings) {
  std::vector<ReportFile> files;
  const auto add = [&](const std::string& name, std::string svg, std::string png) {
    files.push_back({name + ".svg", std::move(svg)});
    files.push_back({name + ".png", std::move(png)});
  };
  for (const Chart& chart : {error_bytes_chart(contents, drawings.spectrum),
                             expectation_chart(contents),
                             component_chart(contents, drawings.spectrum, drawings.components)}) {
    ChartFiles drawn = draw_files(chart);
    add(chart.name, std::move(drawn.svg), std::move(drawn.png));
  }
  const auto add_image = [&](const std::string& name,
                             const Matrix& cells,
                             const ColorScale& scale,
                             const char* title) {
    HeatMapFiles drawn = heat_map_files(cells, scale, title);
    add(name, std::move(drawn.svg), std::move(drawn.png));
  };
  add_image("matrix", drawings.image, drawings.scale, "A");
  add_image("approximation", drawings.approximation, drawings.scale, "approximation");
  add_image("residual", drawings.residual, drawings.residual_scale, "residual");
  if (drawings.partition) {
    // NaN cells, the borders, are left blank.
    const Partition& partition = *drawings.partition;
    const Matrix bordered = partition.borders.select(NAN, partition.bits.array()).matrix();
    add_image("partition", bordered, bits_scale(partition), "stored bits per entry");
  }
  return files;
}

}  // namespace
}  // namespace report

std::vector<std::string> best_plot_names() {
  std::vector<std::string> names;
  for (const char* stem : {"error_bytes",
                           "expectation",
                           "components",
                           "matrix",
                           "approximation",
                           "residual",
                           "partition"}) {
    names.push_back(std::string(stem) + ".svg");
    names.push_back(std::string(stem) + ".png");
  }
  return names;
}

Report best_report(const LinearOperator& A,
                   const report::BestContents& contents,
                   const ReportOptions& options,
                   const RunControl& control) {
  const report::BestDrawings drawings = report::drawings_of(A, contents, options, control);
  Report made;
  if (options.page) made.html = report::page_html(report::best_page(contents, drawings, options));
  if (options.plots) made.plots = report::best_plots(contents, drawings);
  return made;
}

}  // namespace matapprox
