#include "reproduce/paper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox {
namespace {

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

PaperMatrix paper_matrix(const std::map<std::string, std::string>& cells) {
  PaperMatrix matrix;
  matrix.name = cells.at("name");
  matrix.category = cells.at("category");
  matrix.file = cells.at("file");
  matrix.upstream = cells.at("upstream");
  matrix.n = std::stoll(cells.at("n"));
  matrix.nonzeros = std::stoll(cells.at("nonzeros"));
  matrix.tsvd_error = std::stod(cells.at("tsvd_error"));
  matrix.sha256 = cells.at("sha256");
  matrix.mtx_sha256 = cells.at("mtx_sha256");
  matrix.printed_tsvd = cells.at("paper_tsvd");
  matrix.printed_sf = cells.at("paper_sf");
  return matrix;
}

std::vector<PaperMatrix> read_paper_csv() {
  std::vector<std::string> lines = split_text(reproduction::paper_csv(), '\n');
  std::erase_if(lines, [](const std::string& line) { return line.empty(); });
  const std::vector<std::string> titles = split_text(lines.front(), ',');
  std::vector<PaperMatrix> matrices;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> values = split_text(lines[i], ',');
    std::map<std::string, std::string> cells;
    for (std::size_t c = 0; c < titles.size(); ++c) cells[titles[c]] = values.at(c);
    matrices.push_back(paper_matrix(cells));
  }
  std::stable_partition(matrices.begin(), matrices.end(), [](const PaperMatrix& matrix) {
    return matrix.category != "gradient_image";
  });
  return matrices;
}

std::optional<double> printed_number(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return std::stod(text);
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Names that select a row; the stem of an image names the image, not its gradient.
std::vector<std::string> names_of(const PaperMatrix& matrix) {
  std::vector<std::string> names{matrix.name, matrix.file_name(), matrix.category};
  if (matrix.category != "gradient_image")
    names.push_back(std::filesystem::path(matrix.file).stem().string());
  return names;
}

bool is_called(const PaperMatrix& matrix, const std::string& word) {
  for (const std::string& name : names_of(matrix)) {
    if (lower_case(name) == lower_case(word)) return true;
  }
  return false;
}

[[noreturn]] void refuse_row(PaperTable table,
                             const std::vector<PaperMatrix>& rows,
                             const std::string& word) {
  std::vector<std::string> names;
  for (const PaperMatrix& matrix : rows) {
    for (const std::string& name : names_of(matrix)) names.push_back(lower_case(name));
  }
  std::string nearest = nearest_name(lower_case(word), names);
  for (const PaperMatrix& matrix : rows) {
    if (!nearest.empty() && nearest != matrix.category && is_called(matrix, nearest))
      nearest = matrix.name;
  }
  std::string all;
  for (const PaperMatrix& matrix : rows) all += (all.empty() ? "" : ", ") + matrix.name;
  throw InvalidArgument(fmt::format("{}: no row is called '{}'{}; the rows are {}",
                                    enum_name(table),
                                    word,
                                    nearest.empty() ? "" : "; did you mean '" + nearest + "'?",
                                    all));
}

}  // namespace

PaperTable PaperMatrix::table() const {
  const bool image = category == "image" || category == "gradient_image";
  return image ? PaperTable::kFigure4 : PaperTable::kTable1;
}

std::optional<double> PaperMatrix::paper_tsvd() const { return printed_number(printed_tsvd); }
std::optional<double> PaperMatrix::paper_sf() const { return printed_number(printed_sf); }

std::string PaperMatrix::file_name() const {
  std::string text;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      text += c;
    } else if (!text.empty() && text.back() != '_') {
      text += '_';
    }
  }
  while (!text.empty() && text.back() == '_') text.pop_back();
  return text;
}

std::string PaperMatrix::category_title() const {
  std::string text = category;
  std::replace(text.begin(), text.end(), '_', ' ');
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::span<const PaperMatrix> paper_matrices() {
  static const std::vector<PaperMatrix> matrices = read_paper_csv();
  return matrices;
}

std::vector<PaperMatrix> select_matrices(PaperTable table, const std::vector<std::string>& words) {
  std::vector<PaperMatrix> rows;
  for (const PaperMatrix& matrix : paper_matrices()) {
    if (matrix.table() == table) rows.push_back(matrix);
  }
  if (words.empty()) return rows;
  std::vector<bool> chosen(rows.size(), false);
  for (const std::string& word : words) {
    bool found = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!is_called(rows[i], word)) continue;
      chosen[i] = true;
      found = true;
    }
    if (!found) refuse_row(table, rows, word);
  }
  std::vector<PaperMatrix> result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (chosen[i]) result.push_back(rows[i]);
  }
  return result;
}

Index paper_rank(Index n) {
  const Index factors = chord_reference_pattern(n).factors();
  return std::min((factors * factors + 1) / 2, n);
}

}  // namespace matapprox
