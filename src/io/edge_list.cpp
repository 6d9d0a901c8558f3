#include "io/edge_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "factors/sparse_values.hpp"
#include "io/compressed_rows.hpp"
#include "io/line_reader.hpp"
#include "io/number_text.hpp"
#include "io/proportion.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {

SparseMatrix GraphEntries::assemble(Index order,
                                    Index first,
                                    bool mirrored,
                                    const std::string& name) const {
  const Index places = mirrored ? 2 * size() : size();
  require_memory(40 * static_cast<double>(places) + 24 * static_cast<double>(order), name);
  EntryStorage storage({places});
  EntryList& list = storage.lists()[0];
  for (const Entry& entry : entries_) {
    list.append(entry.from - first, entry.to - first, entry.weight);
    if (mirrored && entry.from != entry.to)
      list.append(entry.to - first, entry.from - first, entry.weight);
  }
  return compressed_rows(order, order, std::move(storage), false, name);
}

namespace {

constexpr Index kLargestNode = 999999999999999998;

bool is_edge_separator(char c) { return is_blank(c) || c == ','; }

const char* skip_separators(const char* p, const char* end) {
  while (p != end && is_edge_separator(*p)) ++p;
  return p;
}

struct Edges {
  GraphEntries entries;  ///< nodes as in the file
  Index largest = 0;
  bool from_zero = false;
};

/// Returns an error message for a line that is not an edge.
std::string explain_edge(std::string_view line, Misfit& misfit) {
  std::vector<std::string_view> fields;
  const char* const end = line.data() + line.size();
  for (const char* p = skip_separators(line.data(), end); p != end; p = skip_separators(p, end)) {
    const char* const stop = std::find_if(p, end, is_edge_separator);
    fields.emplace_back(p, static_cast<std::size_t>(stop - p));
    p = stop;
  }
  for (std::size_t k = 0; k < std::min<std::size_t>(fields.size(), 2); ++k) {
    Index node = 0;
    const char* const stop = fields[k].data() + fields[k].size();
    if (read_whole(fields[k].data(), stop, node) != stop || node > kLargestNode) {
      return fmt::format("node: {}; names must be replaced by numbers",
                         explain_whole(fields[k], 0, kLargestNode));
    }
  }
  if (fields.size() < 2 || fields.size() > 3) {
    return fmt::format("{} has {} fields; an edge must have 2 or 3: node node [weight]",
                       in_quotes(line),
                       fields.size());
  }
  if (is_edge_separator(line[0])) return fmt::format("{} starts with a separator", in_quotes(line));
  if (is_nan_or_infinity(fields.back())) misfit = Misfit::kNotFinite;
  return "weight: " + explain_real(fields.back());
}

/// Reads "u v [weight]"; returns false if the line is something else.
bool read_edge(std::string_view line, Edges& edges) {
  const char* const end = line.data() + line.size();
  Index from = 0;
  Index to = 0;
  double weight = 1;
  const char* p = read_whole(line.data(), end, from);
  if (p == nullptr || p == end || !is_edge_separator(*p)) return false;
  p = read_whole(skip_separators(p, end), end, to);
  if (p == nullptr || (p != end && !is_edge_separator(*p))) return false;
  p = skip_separators(p, end);
  if (p != end) {
    p = read_real(p, end, weight);
    if (p == nullptr || skip_separators(p, end) != end) return false;
  }
  if (std::max(from, to) > kLargestNode) return false;
  edges.largest = std::max({edges.largest, from, to});
  edges.from_zero = edges.from_zero || from == 0 || to == 0;
  edges.entries.add(from, to, weight);
  return true;
}

Edges read_edges(std::string_view text, const std::string& name) {
  Edges edges;
  LineReader reader(text);
  while (reader.advance()) {
    const auto line = trimmed(reader.line());
    if (line.empty() || line[0] == '#' || line[0] == '%') continue;
    if (read_edge(line, edges)) continue;
    Misfit misfit = Misfit::kForm;
    const std::string what = explain_edge(line, misfit);
    fail_at(name, text, reader.start(), what, misfit);
  }
  if (edges.entries.size() == 0) {
    fail_in(name,
            text.empty() ? "the file is empty; at least one edge 'node node' is needed"
                         : "no edge; at least one line 'node node' is needed");
  }
  return edges;
}

}  // namespace

SparseMatrix parse_edge_list(std::string_view text, const std::string& name, bool directed) {
  const Edges edges = read_edges(without_byte_order_mark(text), name);
  const Index first = edges.from_zero ? 0 : 1;
  const Index order = edges.largest + 1 - first;
  require_proportion(
      sparse_bytes(static_cast<double>(order),
                   static_cast<double>(order),
                   static_cast<double>(edges.entries.size())),
      static_cast<double>(text.size()),
      name,
      fmt::format("for nodes {}..{}; number them without gaps", first, edges.largest));
  SparseMatrix A = edges.entries.assemble(order, first, false, name);
  if (directed || equals_transpose(A)) return A;
  A.resize(0, 0);
  return edges.entries.assemble(order, first, true, name);
}

SparseMatrix read_edge_list(const std::string& path, bool directed) {
  const InputBytes bytes = read_all(path, require_text);
  return parse_edge_list(bytes, display_name(path), directed);
}

namespace {

enum class Section { kNone, kVertices, kEdges, kArcs, kEdgeLists, kArcLists, kMatrix, kOther };

/// kOther: sections that Pajek writes beside a network and that do not change it. *vector and
/// *partition have a *vertices line of their own.
constexpr std::array<std::pair<std::string_view, Section>, 11> kSections{
    {{"*network", Section::kNone},
     {"*vertices", Section::kVertices},
     {"*edges", Section::kEdges},
     {"*arcs", Section::kArcs},
     {"*edgeslist", Section::kEdgeLists},
     {"*arcslist", Section::kArcLists},
     {"*matrix", Section::kMatrix},
     {"*partition", Section::kOther},
     {"*vector", Section::kOther},
     {"*permutation", Section::kOther},
     {"*cluster", Section::kOther}}};

/// Returns nothing for a name that is no section.
std::optional<Section> section_named(std::string_view word) {
  std::string lower(word.substr(0, word.find(':')));
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  for (const auto& [name, section] : kSections) {
    if (lower == name) return section;
  }
  return std::nullopt;
}

std::string section_names() {
  std::string text;
  for (const auto& [name, section] : kSections) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

/// Reads the fields of a line one by one.
class FieldReader {
 public:
  explicit FieldReader(std::string_view line) : p_(line.data()), end_(line.data() + line.size()) {}

  /// Returns the next field, up to a blank; empty at the end.
  std::string_view next() {
    p_ = skip_blanks(p_, end_);
    const char* const start = p_;
    while (p_ != end_ && !is_blank(*p_)) ++p_;
    return {start, static_cast<std::size_t>(p_ - start)};
  }

 private:
  const char* p_;
  const char* end_;
};

class PajekReader {
 public:
  PajekReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  SparseMatrix read() {
    LineReader reader(text_);
    while (reader.advance()) {
      const auto line = trimmed(reader.line());
      start_ = reader.start();
      if (line.empty() || line[0] == '%') continue;
      if (line[0] == '*') {
        begin_section(line);
      } else {
        read_line(line);
      }
    }
    finish_matrix();
    if (order_ == 0) {
      fail_in(name_,
              text_.empty() ? "the file is empty; a Pajek network starts with '*Vertices'"
                            : "no '*Vertices' line; a Pajek network needs one");
    }
    return entries_.assemble(order_, 0, false, name_);
  }

 private:
  void begin_section(std::string_view line) {
    finish_matrix();
    FieldReader fields(line);
    const std::optional<Section> named = section_named(fields.next());
    if (!named)
      fail(fmt::format("{} is not a supported section: {}", in_quotes(line), section_names()));
    const Section section = *named;
    // A partition or vector behind the network has a '*Vertices' line of its own.
    if (section == Section::kVertices && section_ == Section::kOther && order_ != 0) return;
    section_ = section;
    if (section_ == Section::kVertices) {
      read_order(fields.next());
    } else if (order_ == 0 && section_ != Section::kOther && section_ != Section::kNone) {
      fail(fmt::format("{} stands before '*Vertices'", in_quotes(line)));
    }
    matrix_row_ = 0;
  }

  void read_order(std::string_view field) {
    constexpr Index kLargestOrder = 999999999999999999;
    if (order_ != 0) fail("a second '*Vertices'; a file must hold one network");
    const char* const end = field.data() + field.size();
    if (read_whole(field.data(), end, order_) != end || order_ < 1) {
      fail("number of vertices: " + explain_whole(field, 1, kLargestOrder));
    }
    require_proportion(sparse_bytes(static_cast<double>(order_), static_cast<double>(order_), 0),
                       static_cast<double>(text_.size()),
                       name_,
                       fmt::format("for {} vertices", order_));
  }

  void read_line(std::string_view line) {
    FieldReader fields(line);
    switch (section_) {
      case Section::kNone:
        fail(fmt::format("{} stands before '*Vertices'", in_quotes(line)));
      case Section::kEdges:
      case Section::kArcs:
        return read_edge(fields);
      case Section::kEdgeLists:
      case Section::kArcLists:
        return read_neighbors(fields);
      case Section::kMatrix:
        return read_matrix_row(fields);
      case Section::kVertices:
      case Section::kOther:
        return;
    }
  }

  Index vertex(std::string_view field) const {
    Index value = 0;
    const char* const end = field.data() + field.size();
    if (read_whole(field.data(), end, value) != end || value < 1 || value > order_) {
      fail("vertex: " + explain_whole(field, 1, order_));
    }
    return value - 1;
  }

  double number(std::string_view field, const char* what) const {
    double value = 0;
    const char* const end = field.data() + field.size();
    if (read_real(field.data(), end, value) != end) {
      fail(fmt::format("{}: {}", what, explain_real(field)),
           is_nan_or_infinity(field) ? Misfit::kNotFinite : Misfit::kForm);
    }
    return value;
  }

  void add(Index from, Index to, double weight, bool both_ways) {
    entries_.add(from, to, weight);
    if (both_ways && from != to) entries_.add(to, from, weight);
  }

  /// Reads "u v" or "u v weight", which attributes of the drawing may follow.
  void read_edge(FieldReader& fields) {
    const Index from = vertex(fields.next());
    const Index to = vertex(fields.next());
    const std::string_view field = fields.next();
    add(from, to, has_weight(field) ? number(field, "weight") : 1, section_ == Section::kEdges);
  }

  /// True if a field after the vertices is a weight, not an attribute ("c Blue") or a time
  /// ("[1-3]").
  static bool has_weight(std::string_view field) {
    if (field.empty() || field[0] == '[' || field[0] == '"') return false;
    const bool letters = std::all_of(field.begin(), field.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
    const bool starts_as_word = !number_text::is_digit(field[0]);
    return !(letters && starts_as_word) || is_nan_or_infinity(field);
  }

  /// Reads "u v1 v2 ...": one edge to each; in Pajek a minus before a vertex marks a negative line.
  void read_neighbors(FieldReader& fields) {
    const Index from = vertex(fields.next());
    for (auto field = fields.next(); !field.empty(); field = fields.next()) {
      const bool negative = field[0] == '-';
      if (negative) field.remove_prefix(1);
      add(from, vertex(field), negative ? -1 : 1, section_ == Section::kEdgeLists);
    }
  }

  void read_matrix_row(FieldReader& fields) {
    if (matrix_row_ == order_)
      fail(fmt::format("more than the {} rows that '*Vertices' declares", order_));
    Index column = 0;
    for (auto field = fields.next(); !field.empty(); field = fields.next(), ++column) {
      if (column == order_) fail(fmt::format("more than {} numbers in a row of '*Matrix'", order_));
      const double value = number(field, "matrix entry");
      if (value != 0) entries_.add(matrix_row_, column, value);
    }
    if (column < order_)
      fail(fmt::format("{} numbers in a row of '*Matrix'; it must have {}", column, order_));
    ++matrix_row_;
  }

  /// Throws if a '*Matrix' is incomplete at the next section or the end of the file.
  void finish_matrix() const {
    if (section_ == Section::kMatrix && matrix_row_ < order_) {
      fail(fmt::format("'*Matrix' has {} rows; it must have {}", matrix_row_, order_));
    }
  }

  [[noreturn]] void fail(const std::string& what, Misfit misfit = Misfit::kForm) const {
    fail_at(name_, text_, start_, what, misfit);
  }

  std::string_view text_;
  const std::string& name_;
  Section section_ = Section::kNone;
  std::size_t start_ = 0;  ///< start of the current line
  Index order_ = 0;
  Index matrix_row_ = 0;
  GraphEntries entries_;
};

}  // namespace

SparseMatrix parse_pajek(std::string_view text, const std::string& name) {
  return PajekReader(without_byte_order_mark(text), name).read();
}

SparseMatrix read_pajek(const std::string& path) {
  const InputBytes bytes = read_all(path, require_text);
  return parse_pajek(bytes, display_name(path));
}

}  // namespace matapprox
