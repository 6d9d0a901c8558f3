#include "io/matrix_market_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "io/line_reader.hpp"
#include "io/number_text.hpp"
#include "io/table_reader.hpp"

namespace matapprox::matrix_market {
namespace {

constexpr Index kLargestSize = 999999999999999999;  // the largest number of read_whole

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return lower;
}

/// Reads "%%MatrixMarket matrix coordinate real general".
class Banner {
 public:
  Banner(std::string_view text, const std::string& name, std::size_t start, std::string_view line)
      : text_(text), name_(name), start_(start) {
    for (const auto word : blank_separated(line)) words_.push_back(lower_case(word));
    if (words_.empty() || words_[0] != "%%matrixmarket") {
      fail(fmt::format("{} is not a MatrixMarket header, which starts with '%%MatrixMarket'",
                       in_quotes(line)));
    }
    if (words_.size() != 5) {
      fail(
          fmt::format("the header has {} words; it must have 5: %%MatrixMarket matrix <format> "
                      "<field> <symmetry>",
                      words_.size()));
    }
    if (words_[1] != "matrix") refuse("object", words_[1], "matrix");
  }

  void read(Header& header) const {
    header.coordinate = words_[2] == "coordinate";
    if (!header.coordinate && words_[2] != "array")
      refuse("format", words_[2], "array, coordinate");
    header.field = field(words_[3]);
    header.symmetry = symmetry(words_[4]);
    if (!header.coordinate && header.field == Field::kPattern) {
      fail("a pattern must be in coordinate format; this header says array");
    }
    if (header.field == Field::kPattern && header.symmetry == Symmetry::kSkewSymmetric) {
      fail("a pattern cannot be skew-symmetric");
    }
  }

 private:
  Field field(const std::string& word) const {
    if (word == "real" || word == "double") return Field::kReal;
    if (word == "integer") return Field::kInteger;
    if (word == "pattern") return Field::kPattern;
    refuse("field", word, "real, double, integer, pattern");
  }

  Symmetry symmetry(const std::string& word) const {
    if (word == "general") return Symmetry::kGeneral;
    if (word == "symmetric") return Symmetry::kSymmetric;
    if (word == "skew-symmetric") return Symmetry::kSkewSymmetric;
    refuse("symmetry", word, "general, symmetric, skew-symmetric");
  }

  [[noreturn]] void refuse(const char* what, const std::string& word, const char* allowed) const {
    fail(fmt::format(
        "{} {} is not supported; it must be one of: {}", what, in_quotes(word), allowed));
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(name_, text_, start_, what); }

  std::string_view text_;
  const std::string& name_;
  std::size_t start_;
  std::vector<std::string> words_;
};

/// Reads "rows cols" or "rows cols entries".
void read_sizes(std::string_view line,
                std::string_view text,
                std::size_t start,
                const std::string& name,
                Header& h) {
  const auto fields = blank_separated(line);
  const std::size_t expected = h.coordinate ? 3 : 2;
  if (fields.size() != expected) {
    fail_at(name,
            text,
            start,
            fmt::format("the size line {} has {} fields; it must have {}: {}",
                        in_quotes(line),
                        fields.size(),
                        expected,
                        h.coordinate ? "rows columns entries" : "rows columns"));
  }
  const std::array<Index*, 3> sizes{&h.rows, &h.cols, &h.entries};
  for (std::size_t k = 0; k < expected; ++k) {
    const Index low = k == 2 ? 0 : 1;
    const char* const end = fields[k].data() + fields[k].size();
    if (read_whole(fields[k].data(), end, *sizes[k]) != end || *sizes[k] < low) {
      constexpr std::array<const char*, 3> kNames{
          "number of rows", "number of columns", "number of entries"};
      fail_at(name,
              text,
              start,
              fmt::format("{}: {}", kNames[k], explain_whole(fields[k], low, kLargestSize)));
    }
  }
}

/// Refuses sizes that contradict each other or the length of the file, before memory is reserved.
void check_sizes(std::string_view text, std::size_t start, const std::string& name, Header& h) {
  const auto fail = [&](const std::string& what) { fail_at(name, text, start, what); };
  if (h.symmetry != Symmetry::kGeneral && h.rows != h.cols) {
    fail(fmt::format(
        "a symmetric or skew-symmetric matrix must be square; this is {} x {}", h.rows, h.cols));
  }
  Index places = 0;
  if (__builtin_mul_overflow(h.rows, h.cols, &places)) {
    fail(fmt::format("{} x {} has more than the {} places that an index can count",
                     h.rows,
                     h.cols,
                     std::numeric_limits<Index>::max()));
  }
  if (!h.coordinate) {
    h.entries = places;
    if (h.symmetry == Symmetry::kSymmetric) h.entries = (places - h.rows) / 2 + h.rows;
    if (h.symmetry == Symmetry::kSkewSymmetric) h.entries = (places - h.rows) / 2;
  }
  // "1 1\n", "1 1 0\n" and "0\n" are the shortest entries; the last one may lack its line end.
  const Index shortest = !h.coordinate ? 2 : (h.field == Field::kPattern ? 4 : 6);
  const Index most = (static_cast<Index>(text.size() - h.body) + 1) / shortest;
  if (h.entries > most) {
    fail(fmt::format(
        "{} entries are declared; the rest of the file has room for at most {}", h.entries, most));
  }
}

}  // namespace

void check_start(std::string_view start, const std::string& name) {
  LineReader reader(start);
  reader.advance();
  const std::string_view line = without_byte_order_mark(reader.line());
  constexpr std::string_view kBanner = "%%matrixmarket";
  if (start.empty() || lower_case(line.substr(0, kBanner.size())) == kBanner) return;
  fail_at(name,
          start,
          0,
          fmt::format("{} is not a MatrixMarket header, which starts with '%%MatrixMarket'",
                      in_quotes(line)));
}

Header parse_header(std::string_view text, const std::string& name) {
  if (text.empty())
    fail_in(name, "the file is empty; a MatrixMarket file starts with '%%MatrixMarket'");
  Header header;
  LineReader reader(text);
  reader.advance();
  Banner(text, name, reader.start(), without_byte_order_mark(reader.line())).read(header);
  while (reader.advance()) {
    const std::string_view line = trimmed(reader.line());
    if (line.empty() || line[0] == '%') continue;
    header.size_line = line_number(text, reader.start());
    header.body = reader.next();
    read_sizes(line, text, reader.start(), name, header);
    check_sizes(text, reader.start(), name, header);
    return header;
  }
  fail_at(name, text, text.size(), "the file ends before the line with the sizes");
}

}  // namespace matapprox::matrix_market
