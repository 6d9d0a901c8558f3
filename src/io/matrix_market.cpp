#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "io/compressed_rows.hpp"
#include "io/line_reader.hpp"
#include "io/matrix_market_header.hpp"
#include "io/number_text.hpp"
#include "io/proportion.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {
namespace {

using matrix_market::Field;
using matrix_market::Header;
using matrix_market::Symmetry;

bool is_integer(double value) { return value == std::trunc(value); }

/// Returns an error message for a line that is known not to be an entry.
std::string explain_entry(const Header& h, std::string_view line, Misfit& misfit) {
  const auto fields = blank_separated(line);
  const std::size_t expected = h.field == Field::kPattern ? 2 : 3;
  Index index[2] = {0, 0};
  for (std::size_t k = 0; k < std::min<std::size_t>(fields.size(), 2); ++k) {
    const Index size = k == 0 ? h.rows : h.cols;
    const char* const end = fields[k].data() + fields[k].size();
    if (read_whole(fields[k].data(), end, index[k]) != end || index[k] < 1 || index[k] > size) {
      return fmt::format("{}: {}", k == 0 ? "row" : "column", explain_whole(fields[k], 1, size));
    }
  }
  if (fields.size() != expected) {
    return fmt::format("{} has {} fields; an entry must have {}: {}",
                       in_quotes(line),
                       fields.size(),
                       expected,
                       expected == 2 ? "row column" : "row column value");
  }
  if (expected == 3) {
    double value = 0;
    const char* const end = fields[2].data() + fields[2].size();
    if (read_real(fields[2].data(), end, value) != end) {
      if (is_nan_or_infinity(fields[2])) misfit = Misfit::kNotFinite;
      return "value: " + explain_real(fields[2]);
    }
    if (h.field == Field::kInteger && !is_integer(value)) {
      return fmt::format("value: {} is not an integer, as the header says", in_quotes(fields[2]));
    }
  }
  return fmt::format("entry ({}, {}) is on the diagonal, which a skew-symmetric file must not list",
                     index[0],
                     index[1]);
}

/// Entries of one piece of the body, up to the first line that is no entry.
struct EntryPiece {
  Index lines = 0;            ///< entries in the text
  const char* bad = nullptr;  ///< the line that is no entry, or null
};

/// Reads one entry between p and the line's end; returns nullptr if it is none.
inline const char* read_entry(const Header& h, const char* p, const char* end, EntryList& entries) {
  Index row = 0;
  Index col = 0;
  double value = 1;
  p = read_whole(p, end, row);
  if (p == nullptr || p == end || !is_blank(*p) || row < 1 || row > h.rows) return nullptr;
  p = read_whole(skip_blanks(p, end), end, col);
  if (p == nullptr || col < 1 || col > h.cols) return nullptr;
  if (h.field != Field::kPattern) {
    if (p == end || !is_blank(*p)) return nullptr;
    p = read_real(skip_blanks(p, end), end, value);
    if (p == nullptr || (h.field == Field::kInteger && !is_integer(value))) return nullptr;
  }
  p = skip_blanks(p, end);
  if (p != end && *p != '\n') return nullptr;
  entries.append(row - 1, col - 1, value);
  if (h.symmetry == Symmetry::kSkewSymmetric) {
    if (row == col) return nullptr;
    entries.append(col - 1, row - 1, -value);
  } else if (h.symmetry == Symmetry::kSymmetric && row != col) {
    entries.append(col - 1, row - 1, value);
  }
  return p;
}

const char* line_end(const char* p, const char* end) { return std::find(p, end, '\n'); }

/// Largest number of entries in a text; both triangles of a symmetric file are stored.
Index entry_capacity(const Header& h, std::string_view text) {
  const Index lines = 1 + count_line_ends(text);
  return h.symmetry == Symmetry::kGeneral ? lines : 2 * lines;
}

EntryPiece read_entries(const Header& h, std::string_view text, EntryList& entries) {
  EntryPiece piece;
  const char* const end = text.data() + text.size();
  for (const char* line = text.data(); line != end;) {
    const char* p = skip_blanks(line, end);
    if (p != end && *p == '%') {
      p = line_end(p, end);
    } else if (p != end && *p != '\n') {
      p = read_entry(h, p, end, entries);
      ++piece.lines;
      if (p == nullptr) {
        piece.bad = line;
        return piece;
      }
    }
    line = p == end ? end : p + 1;
  }
  return piece;
}

/// Returns the line of entry number `skip` of a piece.
const char* entry_line(std::string_view text, Index skip) {
  LineReader reader(text);
  while (reader.advance()) {
    const auto line = trimmed(reader.line());
    if (line.empty() || line[0] == '%') continue;
    if (skip-- == 0) break;
  }
  return text.data() + reader.start();
}

/// Throws for the first unexpected line of the body, or if lines are missing.
void check_body(const Header& h,
                std::string_view text,
                const std::string& name,
                const std::vector<std::string_view>& texts,
                const std::vector<EntryPiece>& pieces) {
  Index seen = 0;
  const auto at = [&](const char* p) { return static_cast<std::size_t>(p - text.data()); };
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (seen + pieces[k].lines > h.entries) {
      const char* const line = entry_line(texts[k], h.entries - seen);
      fail_at(
          name,
          text,
          at(line),
          fmt::format("more than the {} entries that line {} declares", h.entries, h.size_line));
    }
    seen += pieces[k].lines;
    if (pieces[k].bad != nullptr) {
      LineReader reader(text, at(pieces[k].bad));
      reader.advance();
      Misfit misfit = Misfit::kForm;
      const std::string what = explain_entry(h, reader.line(), misfit);
      fail_at(name, text, reader.start(), what, misfit);
    }
  }
  if (seen < h.entries) {
    fail_at(name,
            text,
            text.empty() ? 0 : text.size() - 1,
            fmt::format("the file ends after {} of the {} entries that line {} declares",
                        seen,
                        h.entries,
                        h.size_line));
  }
}

SparseMatrix read_coordinate(const Header& h,
                             std::string_view text,
                             const std::string& name,
                             const MatrixMarketOptions& options) {
  const double stored = static_cast<double>(h.entries) * (h.symmetry == Symmetry::kGeneral ? 1 : 2);
  require_proportion(
      sparse_bytes(static_cast<double>(h.rows), 0, stored),
      static_cast<double>(text.size()),
      name,
      fmt::format("for {} x {} with {} entries; leave out empty rows", h.rows, h.cols, h.entries));
  const auto texts = text_pieces(text.substr(h.body));
  const auto count = static_cast<Index>(texts.size());
  std::vector<Index> capacities(count);
  parallel_for(count, [&](Index k) { capacities[k] = entry_capacity(h, texts[k]); });
  EntryStorage entries(capacities);
  std::vector<EntryPiece> pieces(count);
  parallel_for(count, [&](Index k) { pieces[k] = read_entries(h, texts[k], entries.lists()[k]); });
  check_body(h, text, name, texts, pieces);
  return compressed_rows(h.rows, h.cols, std::move(entries), options.keep_explicit_zeros, name);
}

/// The numbers of one piece of an array.
struct ValuePiece {
  std::vector<double> values;
  const char* bad = nullptr;
};

ValuePiece read_values(const Header& h, std::string_view text) {
  ValuePiece piece;
  piece.values.reserve(1 + count_line_ends(text));
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p != end;) {
    p = skip_blanks(p, end);
    if (p == end) break;
    if (*p == '\n') {
      ++p;
    } else if (*p == '%') {
      p = line_end(p, end);
    } else {
      double value = 0;
      const char* const stop = read_real(p, end, value);
      const bool ends = stop != nullptr && (stop == end || is_blank(*stop) || *stop == '\n');
      if (!ends || (h.field == Field::kInteger && !is_integer(value))) {
        piece.bad = p;
        return piece;
      }
      piece.values.push_back(value);
      p = stop;
    }
  }
  return piece;
}

std::string explain_value(const Header& h, std::string_view token) {
  double value = 0;
  const char* const end = token.data() + token.size();
  if (read_real(token.data(), end, value) != end) return "value: " + explain_real(token);
  return h.field == Field::kInteger
             ? fmt::format("value: {} is not an integer, as the header says", in_quotes(token))
             : fmt::format("value: {} is not a number", in_quotes(token));
}

/// Throws for the first token that is not a number, and for too many or too few numbers.
void check_values(const Header& h,
                  std::string_view text,
                  const std::string& name,
                  const std::vector<ValuePiece>& pieces) {
  Index seen = 0;
  for (const auto& piece : pieces) {
    seen += static_cast<Index>(piece.values.size());
    if (piece.bad != nullptr && seen <= h.entries) {
      const auto at = static_cast<std::size_t>(piece.bad - text.data());
      const std::string_view token = token_at(text, at);
      const Misfit misfit = is_nan_or_infinity(token) ? Misfit::kNotFinite : Misfit::kForm;
      fail_at(name, text, at, explain_value(h, token), misfit);
    }
  }
  if (seen != h.entries) {
    fail_at_line(
        name,
        h.size_line,
        fmt::format("{} values follow, but {} x {} needs {}", seen, h.rows, h.cols, h.entries));
  }
}

/// Puts the values, given in the order of the columns of the stored triangle, into the matrix.
class ArrayWriter {
 public:
  explicit ArrayWriter(const Header& h)
      : symmetry_(h.symmetry),
        A_(h.rows, h.cols),
        row_(h.symmetry == Symmetry::kSkewSymmetric ? 1 : 0) {
    if (symmetry_ == Symmetry::kSkewSymmetric) A_.diagonal().setZero();
  }

  void put(double value) {
    A_(row_, col_) = value;
    if (symmetry_ == Symmetry::kSymmetric) A_(col_, row_) = value;
    if (symmetry_ == Symmetry::kSkewSymmetric) A_(col_, row_) = -value;
    if (++row_ < A_.rows()) return;
    ++col_;
    row_ =
        symmetry_ == Symmetry::kGeneral ? 0 : (symmetry_ == Symmetry::kSymmetric ? col_ : col_ + 1);
  }

  Matrix take() { return std::move(A_); }

 private:
  Symmetry symmetry_;
  Matrix A_;
  Index row_;
  Index col_ = 0;
};

Matrix read_array(const Header& h, std::string_view text, const std::string& name) {
  require_proportion(8.0 * static_cast<double>(h.entries) +
                         8.0 * static_cast<double>(h.rows) * static_cast<double>(h.cols),
                     static_cast<double>(text.size()),
                     name);
  const auto texts = text_pieces(text.substr(h.body));
  std::vector<ValuePiece> pieces(texts.size());
  parallel_for(static_cast<Index>(texts.size()),
               [&](Index k) { pieces[k] = read_values(h, texts[k]); });
  check_values(h, text, name, pieces);
  ArrayWriter writer(h);
  for (const auto& piece : pieces) {
    for (const double value : piece.values) writer.put(value);
  }
  return writer.take();
}

}  // namespace

FileMatrix parse_matrix_market(std::string_view text,
                               const std::string& name,
                               const MatrixMarketOptions& options) {
  const Header header = matrix_market::parse_header(text, name);
  if (!header.coordinate) return read_array(header, text, name);
  FileMatrix matrix(std::in_place_type<SparseMatrix>);
  read_coordinate(header, text, name, options).swap(std::get<SparseMatrix>(matrix));
  return matrix;
}

FileMatrix read_matrix_market(const std::string& path, const MatrixMarketOptions& options) {
  const InputBytes bytes = read_all(path, matrix_market::check_start);
  return parse_matrix_market(bytes, display_name(path), options);
}

}  // namespace matapprox
