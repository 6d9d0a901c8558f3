#include "report/comparison_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/findings.hpp"
#include "report/page.hpp"

namespace matapprox::report {
namespace {

std::string spectrum_message(const ComparisonContents& contents) {
  const Vector& values = contents.spectrum.values;
  if (values.size() == 0) return "No singular values: " + contents.spectrum.how;
  std::vector<std::string> counts;
  for (const double level : {0.1, 0.01, 1e-4, 1e-8}) {
    const auto count = (values.array() > level * values(0)).count();
    if (count == values.size()) break;
    counts.push_back(fmt::format("{} above {} of it", grouped(count), tick_label(level)));
  }
  std::string text = fmt::format("The largest singular value is {}", three_digits(values(0)));
  if (!counts.empty()) text += fmt::format("; {}", fmt::join(counts, ", "));
  return text + ".";
}

std::string spectrum_caption(const ComparisonContents& contents) {
  const Spectrum& spectrum = contents.spectrum;
  if (spectrum.values.size() == 0) return spectrum_message(contents) + ".";
  std::string text = fmt::format("{} Shown: {}.", spectrum_message(contents), spectrum.how);
  bool beyond = false;
  bool rankless = false;
  for (const ComparisonRow& row : contents.comparison.rows) {
    if (!row.ok() || row.method == "as_is") continue;
    beyond = beyond || (row.rank && *row.rank > spectrum.values.size());
    rankless = rankless || !row.rank;
  }
  text += " A mark shows the rank that each method uses.";
  if (beyond) text += " Ranks beyond the known values are not marked.";
  if (rankless) {
    text +=
        " Chord has no rank: a product of sparse factors can have full rank with few stored "
        "numbers.";
  }
  return text;
}

std::string front_message(const StorageSweep& sweep) {
  std::vector<std::string> parts;
  for (const SweepPoint& point : pareto_front(sweep.points)) {
    parts.push_back(fmt::format("{} bytes: {} {}",
                                grouped(point.bytes),
                                shown_name(point.method),
                                three_digits(point.relative_error)));
  }
  return fmt::format("Smallest relative error by stored bytes. {}.", fmt::join(parts, "; "));
}

std::string sweep_text(const StorageSweep& sweep) {
  if (sweep.shares.size() < 2) return "The chart shows only the storage sizes of the table.";
  std::vector<std::string> names;
  for (const double share : sweep.shares) names.push_back(share_name(share));
  return fmt::format("Storage: {} times {} numbers, where that is less than the full matrix.",
                     fmt::join(names, ", "),
                     grouped(std::llround(sweep.base_numbers)));
}

std::string storage_caption(const ComparisonContents& contents) {
  const StorageSweep& sweep = contents.sweep;
  std::string text = "Lower left is better. " + sweep_text(sweep);
  text +=
      " The wide band, the Pareto front, is the smallest error of any method with at most that "
      "many bytes.";
  for (const ComparisonRow& row : contents.comparison.rows) {
    if (row.method != "as_is" || !row.storage) continue;
    const MatrixFacts& facts = contents.comparison.facts;
    const double full = 8 * static_cast<double>(facts.rows) * static_cast<double>(facts.cols);
    if (static_cast<double>(row.storage->bytes) > 0.7 * full) continue;
    text +=
        fmt::format(" Beyond {} bytes, the matrix in its given form is smaller and has no error.",
                    grouped(row.storage->bytes));
  }
  return text;
}

/// Note on methods whose error rises with storage somewhere; empty if there are none.
std::string risen_note(const StorageSweep& sweep) {
  std::map<std::string, const SweepPoint*> best;
  std::map<std::string, std::string> risen;
  std::vector<SweepPoint> points = sweep.points;
  std::stable_sort(points.begin(), points.end(), [](const SweepPoint& a, const SweepPoint& b) {
    return a.bytes < b.bytes;
  });
  for (const SweepPoint& point : points) {
    if (point.cut_short) continue;  // its error is due to a lack of time
    const SweepPoint*& least = best[point.method];
    if (least != nullptr && point.relative_error > 1.05 * least->relative_error &&
        point.relative_error > kErrorFloor) {
      risen[point.method] = fmt::format("{} has {} in {} bytes and {} in {}",
                                        shown_name(point.method),
                                        three_digits(least->relative_error),
                                        grouped(least->bytes),
                                        three_digits(point.relative_error),
                                        grouped(point.bytes));
    }
    if (least == nullptr || point.relative_error < least->relative_error) least = &point;
  }
  std::vector<std::string> parts;
  parts.reserve(risen.size());
  for (const auto& entry : risen) parts.push_back(entry.second);
  return parts.empty() ? std::string()
                       : fmt::format("More bytes do not always help: {}", fmt::join(parts, "; "));
}

std::vector<std::string> sweep_notes(const ComparisonContents& contents) {
  const StorageSweep& sweep = contents.sweep;
  std::vector<std::string> notes = sweep.absences;
  if (sweep.has_fewer_factors) {
    notes.emplace_back(
        "Chord below the size of its pattern uses fewer factors, which may not reach every entry");
  }
  std::size_t cut = 0;
  std::size_t estimated = 0;
  bool tiny = false;
  for (const SweepPoint& point : sweep.points) {
    cut += point.cut_short ? 1 : 0;
    estimated += point.is_exact ? 0 : 1;
    tiny = tiny || point.relative_error < kErrorFloor;
  }
  if (cut > 0) {
    notes.push_back(fmt::format(
        "{} of the points are fits that were stopped early; more time might reduce their errors",
        cut));
  }
  if (estimated > 0) {
    notes.push_back(fmt::format(
        "{} of the {} errors are estimates from random vectors", estimated, sweep.points.size()));
  }
  if (std::string risen = risen_note(sweep); !risen.empty()) notes.push_back(std::move(risen));
  if (tiny) notes.emplace_back("errors below 10⁻¹⁶, 0 included, are drawn at 10⁻¹⁶");
  return notes;
}

Html sweep_table(const StorageSweep& sweep) {
  Table content{"All points of the chart",
                {{"method"}, {"stored bytes", true}, {"relative error", true}},
                {}};
  std::vector<SweepPoint> points = sweep.points;
  std::stable_sort(points.begin(), points.end(), [](const SweepPoint& a, const SweepPoint& b) {
    return a.bytes < b.bytes;
  });
  for (const SweepPoint& point : points) {
    TableCell method(shown_name(point.method));
    method.style = style_of(point.method);
    content.rows.push_back({method,
                            grouped(point.bytes),
                            (point.is_exact ? "" : "~") + three_digits(point.relative_error) +
                                (point.cut_short ? " (stopped early)" : "")});
  }
  return table(content);
}

Section storage_section(const ComparisonContents& contents) {
  Section section{"storage", "Error against storage", {}};
  section.blocks.push_back(
      chart_figure(draw_for_page(storage_chart(contents.comparison, contents.sweep)),
                   storage_caption(contents),
                   front_message(contents.sweep)));
  const std::vector<std::string> notes = sweep_notes(contents);
  if (!notes.empty()) section.blocks.push_back(bullet_list(notes));
  section.blocks.push_back(details("Values of the points", {sweep_table(contents.sweep)}));
  return section;
}

Section spectrum_section(const ComparisonContents& contents) {
  if (contents.spectrum.values.size() == 0)
    return {"spectrum", "Singular values", {paragraph(spectrum_message(contents) + ".")}};
  return {"spectrum",
          "Singular values",
          {chart_figure(draw_for_page(spectrum_chart(contents.comparison, contents.spectrum)),
                        spectrum_caption(contents),
                        spectrum_message(contents))}};
}

std::string time_message(const Comparison& comparison) {
  std::vector<std::string> parts;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.ok() || row.method == "as_is") continue;
    parts.push_back(fmt::format("{}: {} s, error {}",
                                shown_name(row.method),
                                three_digits(*row.fit_seconds),
                                spoken_error(*row.measurement)));
  }
  return fmt::format("Time of the fit and error. {}.", fmt::join(parts, "; "));
}

Section time_section(const ComparisonContents& contents) {
  const bool has_line = std::any_of(
      contents.records.all().begin(), contents.records.all().end(), [](const FitRecord& record) {
        return record.history.size() > 1;
      });
  return {"time",
          "Error against time",
          {chart_figure(draw_for_page(time_chart(contents.comparison, contents.records)),
                        fmt::format("Seconds of the fit on {} thread{}, without the measurement.{} "
                                    "A mark is a finished approximation.",
                                    contents.comparison.threads,
                                    contents.comparison.threads == 1 ? "" : "s",
                                    has_line ? " The line is the best error so far of a method "
                                               "that improves step by step."
                                             : ""),
                        time_message(contents.comparison))}};
}

std::string error_line(const ComparisonRow& row) {
  return "relative error " + spoken_error(*row.measurement);
}

ImageGroup matrix_group(const ComparisonContents& contents) {
  const MatrixFacts& facts = contents.comparison.facts;
  return {"The matrix",
          -1,
          "",
          {heat_map_item(contents.image,
                         contents.scales.matrix,
                         fmt::format("A, {} × {}", facts.rows, facts.cols),
                         fmt::format("{} of the matrix", kind_of_image(contents.records.plan())))}};
}

ImageGroup fit_group(const ComparisonContents& contents, const FitRecord& record) {
  const auto row = std::find_if(
      contents.comparison.rows.begin(),
      contents.comparison.rows.end(),
      [&](const ComparisonRow& candidate) { return candidate.method == record.method; });
  const std::string name = shown_name(record.method);
  const std::string error =
      row != contents.comparison.rows.end() && row->ok() ? error_line(*row) : std::string();
  const double clipped = clipped_share(record.residual, contents.scales.residual);
  return {
      name,
      style_of(record.method),
      "",
      {heat_map_item(record.cells,
                     contents.scales.matrix,
                     "approximation",
                     fmt::format("{} of the approximation by {}: {}",
                                 kind_of_image(contents.records.plan()),
                                 name,
                                 error)),
       heat_map_item(record.residual,
                     contents.scales.residual,
                     clipped > 0.02 ? fmt::format("residual, {:.0f} % off the scale", 100 * clipped)
                                    : "residual",
                     fmt::format("Heat map of the residual of {}: {}", name, error))}};
}

Section image_section(const ComparisonContents& contents) {
  std::vector<ImageGroup> groups{matrix_group(contents)};
  for (const FitRecord& record : contents.records.all())
    groups.push_back(fit_group(contents, record));
  return {"images",
          "Approximations and residuals",
          {paragraph(scale_caption(contents.records.plan(),
                                   contents.image,
                                   contents.scales.matrix,
                                   contents.scales.residual)),
           color_bar(contents.scales.matrix, "matrix and approximations"),
           color_bar(contents.scales.residual, "residuals"),
           image_gallery(groups)}};
}

Section table_section(const ComparisonContents& contents) {
  const bool estimated = std::any_of(
      contents.comparison.rows.begin(),
      contents.comparison.rows.end(),
      [](const ComparisonRow& row) { return row.measurement && !row.measurement->error_is_exact; });
  return {
      "table",
      "Table of results",
      {results_table(contents.comparison),
       results_notes(contents.comparison),
       note(fmt::format("Compared at {}. Relative error: |A − B| / |A| in the Frobenius norm{}. "
                        "Share: stored numbers relative to the full matrix (bytes for packed "
                        "values). Columns: median time of a product with that many columns.",
                        contents.comparison.basis,
                        estimated ? ", exact except where ~ marks an estimate from random vectors"
                                  : ", exact"))}};
}

}  // namespace

ImageScales image_scales(const Comparison& comparison,
                         const FitRecords& records,
                         const Matrix& image) {
  const ImagePlan& plan = records.plan();
  std::vector<const Matrix*> residuals;
  std::vector<const Matrix*> all;
  for (const FitRecord& record : records.all()) {
    all.push_back(&record.residual);
    for (const ComparisonRow& row : comparison.rows) {
      if (row.method == record.method && row.ok() && !row.measurement->worse_than_zero)
        residuals.push_back(&record.residual);
    }
  }
  return {plan.is_image
              ? gray_scale(image)
              : symmetric_scale(
                    {&image},
                    plan.cells == Cells::kAbsoluteMeans ? ColorMap::kRising : ColorMap::kDiverging),
          symmetric_scale(residuals.empty() ? all : residuals,
                          plan.cells == Cells::kMeans || plan.cells == Cells::kAbsoluteMeans
                              ? ColorMap::kRisingResidual
                              : ColorMap::kResidual)};
}

Page comparison_page(const ComparisonContents& contents) {
  Page page;
  page.title = file_name(contents.comparison.path);
  page.subtitle = "Matrix approximations compared";
  page.findings = findings_of(contents.comparison);
  page.facts = matrix_facts(contents.comparison.facts, contents.comparison.description);
  page.facts.emplace_back("compared at", contents.comparison.basis);
  page.sections = {storage_section(contents),
                   image_section(contents),
                   spectrum_section(contents),
                   time_section(contents),
                   table_section(contents),
                   repeat_section({contents.options.command,
                                   contents.comparison.path,
                                   contents.options.kind,
                                   contents.comparison.seed,
                                   contents.comparison.threads})};
  page.footer = footer_of_page();
  return page;
}

}  // namespace matapprox::report
