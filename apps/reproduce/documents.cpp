#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/json.hpp"
#include "report/terminal_table.hpp"
#include "reproduce/paper_tables.hpp"
#include "reproduce/reproduction.hpp"
#include "reproduce/row.hpp"

namespace matapprox {
namespace reproduction {
namespace {

constexpr std::size_t kLineWidth = 100;

std::string folded(std::string text) {
  std::string lines;
  while (text.size() > kLineWidth) {
    const std::size_t blank = text.rfind(' ', kLineWidth);
    if (blank == std::string::npos || blank < 3) break;
    lines += text.substr(0, blank) + "\n";
    text = "  " + text.substr(blank + 1);
  }
  return lines + text + "\n";
}

std::vector<std::string> all_notes(const Reproduction& reproduction) {
  std::vector<std::string> notes = legend(reproduction);
  for (std::string& sentence : outcome(reproduction)) notes.push_back(std::move(sentence));
  notes.push_back(time_spent(reproduction));
  return notes;
}

std::string cell_of(const Json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? report::csv_cell(value.get<std::string>()) : value.dump();
}

}  // namespace
}  // namespace reproduction

std::string reproduction_json(const Reproduction& reproduction) {
  using report::Json;
  Json json = report::document_head(reproduction.options.seed, reproduction.threads);
  json["table"] = enum_name(reproduction.options.table);
  json["effort"] = reproduction.options.effort;
  json["pattern"] = reproduction.options.pattern;
  json["other_patterns"] = reproduction.options.other_patterns;
  json["chord_options"] = Json::object();
  for (const auto& [name, value] : reproduction.options.chord())
    json["chord_options"][name] = value;
  json["matrices"] = reproduction.options.matrices;
  json["folder"] =
      reproduction.options.folder.empty() ? Json(nullptr) : Json(reproduction.options.folder);
  json["wall_seconds"] = reproduction.wall_seconds;
  json["cpu_seconds"] = reproduction.cpu_seconds;
  json["interrupted"] = reproduction.interrupted;
  json["missing"] = Json::array();
  for (const ReproducedRow* row : reproduction.unfinished()) {
    json["missing"].push_back({{"name", row->paper.name}, {"reason", row->status}});
  }
  json["rows"] = Json::array();
  for (const ReproducedRow* row : reproduction.finished())
    json["rows"].push_back(reproduction::to_json(*row));
  return report::to_text(json);
}

std::string reproduction_csv(const Reproduction& reproduction) {
  std::string text;
  for (const ReproducedRow* row : reproduction.finished()) {
    report::Json json = reproduction::to_json(*row);
    json.erase("history");
    json.erase("other_patterns");
    for (const OtherPattern& other : row->others) {
      json["chord_" + other.pattern + "_error"] = report::number_or_null(other.error);
      json["chord_" + other.pattern + "_form"] = other.form;
      json["stored_chord_" + other.pattern] = other.numbers;
      json["chord_" + other.pattern + "_seconds"] = other.seconds;
    }
    std::vector<std::string> titles;
    std::vector<std::string> cells;
    for (const auto& item : json.items()) {
      titles.push_back(item.key());
      cells.push_back(reproduction::cell_of(item.value()));
    }
    if (text.empty()) text = fmt::format("{}\n", fmt::join(titles, ","));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

std::string reproduction_table(const Reproduction& reproduction) {
  std::string text;
  for (const reproduction::TextTable& table : reproduction::all_tables(reproduction))
    text += reproduction::as_text(table) + "\n";
  for (const std::string& sentence : reproduction::all_notes(reproduction))
    text += reproduction::folded(sentence);
  return text;
}

std::string reproduction_markdown(const Reproduction& reproduction) {
  std::string text;
  for (const reproduction::TextTable& table : reproduction::all_tables(reproduction))
    text += reproduction::as_markdown(table) + "\n";
  for (const std::string& sentence : reproduction::all_notes(reproduction))
    text += "- " + sentence + "\n";
  return text;
}

std::string reproduction_latex(const Reproduction& reproduction) {
  std::string text = "% needs \\usepackage{booktabs}\n";
  for (const reproduction::TextTable& table : reproduction::all_tables(reproduction))
    text += reproduction::as_latex(table) + "\n";
  for (const std::string& sentence : reproduction::all_notes(reproduction))
    text += "% " + sentence + "\n";
  return text;
}

}  // namespace matapprox
