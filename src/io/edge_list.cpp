#include "matapprox/io/edge_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "factors/sparse_values.hpp"
#include "io/graph_entries.hpp"
#include "io/line_reader.hpp"
#include "io/number_text.hpp"
#include "io/proportion.hpp"
#include "io/text_input.hpp"
#include "io/text_place.hpp"

namespace matapprox {
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

}  // namespace matapprox
