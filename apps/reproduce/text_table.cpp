#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "matapprox/core/visible_text.hpp"
#include "reproduce/paper_tables.hpp"

namespace matapprox::reproduction {
namespace {

/// The table with all of its texts made visible in one line each.
TextTable visible(TextTable table) {
  table.caption = visible_text(table.caption);
  for (auto& row : table.rows) {
    for (std::string& cell : row) cell = visible_text(cell);
  }
  return table;
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  return left ? fmt::format("{:<{}}", text, width) : fmt::format("{:>{}}", text, width);
}

std::vector<std::size_t> column_widths(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = table.columns[c].title.size();
    for (const auto& row : table.rows) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  return widths;
}

std::vector<std::string> titles_of(const TextTable& table) {
  std::vector<std::string> titles;
  for (const auto& column : table.columns) titles.push_back(column.title);
  return titles;
}

/// "TSVD error, paper": for formats with one line of titles.
std::vector<std::string> whole_titles_of(const TextTable& table) {
  std::vector<std::string> titles;
  for (const auto& column : table.columns)
    titles.push_back(column.group.empty() ? column.title : column.group + ", " + column.title);
  return titles;
}

/// Line of the groups, each above its first column.
std::string group_line(const TextTable& table, const std::vector<std::size_t>& widths) {
  std::string line;
  std::size_t begin = 0;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& group = table.columns[c].group;
    if (!group.empty() && (c == 0 || table.columns[c - 1].group != group)) {
      line.resize(std::max(begin, line.empty() ? 0 : line.size() + 1), ' ');
      line += group;
    }
    begin += widths[c] + 2;
  }
  return line.empty() ? line : line + "\n";
}

/// `text` with every character of `from` preceded by a backslash.
std::string escaped(const std::string& text, std::string_view from) {
  std::string result;
  for (const char c : text) {
    if (from.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// Text escaped for LaTeX.
std::string latex_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '^') {
      result += "\\textasciicircum{}";
    } else if (c == '~') {
      result += "\\textasciitilde{}";
    } else if (c == '\\') {
      result += "\\textbackslash{}";
    } else {
      result += escaped(std::string(1, c), "&%$#_{}");
    }
  }
  return result;
}

}  // namespace

std::string as_text(const TextTable& given) {
  const TextTable table = visible(given);
  const std::vector<std::size_t> widths = column_widths(table);
  const auto line_of = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      line += (c == 0 ? "" : "  ") + padded(cells[c], widths[c], table.columns[c].left);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  };
  std::string text = table.caption + "\n" + group_line(table, widths) + line_of(titles_of(table));
  for (const auto& row : table.rows) text += line_of(row);
  return text;
}

std::string as_markdown(const TextTable& given) {
  const TextTable table = visible(given);
  const auto line_of = [](const std::vector<std::string>& cells) {
    std::string line = "|";
    for (const std::string& cell : cells) line += " " + escaped(cell, "\\`|*_<>[]") + " |";
    return line + "\n";
  };
  std::string text = table.caption + "\n\n" + line_of(whole_titles_of(table)) + "|";
  for (const auto& column : table.columns) text += column.left ? "---|" : "---:|";
  text += "\n";
  for (const auto& row : table.rows) text += line_of(row);
  return text;
}

std::string as_latex(const TextTable& given) {
  const TextTable table = visible(given);
  const auto line_of = [](const std::vector<std::string>& cells) {
    std::string line;
    for (const std::string& cell : cells) {
      line += (line.empty() ? "" : " & ") + latex_text(cell);
    }
    return line + " \\\\\n";
  };
  std::string text = fmt::format("% {}\n\\begin{{tabular}}{{", table.caption);
  for (const auto& column : table.columns) text += column.left ? 'l' : 'r';
  text += "}\n\\toprule\n" + line_of(whole_titles_of(table)) + "\\midrule\n";
  for (const auto& row : table.rows) text += line_of(row);
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace matapprox::reproduction
