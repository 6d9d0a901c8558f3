#include <optional>

#include "fuzz_target.hpp"
#include "io/line_reader.hpp"
#include "io/table_reader.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace {

using matapprox::Matrix;

/// The table, read line by line or as a whole; empty if it is refused.
std::optional<Matrix> table_of(std::string_view bytes, bool whole) {
  try {
    if (whole) return matapprox::parse_delimited(bytes, "fuzz");
    matapprox::TableReader reader("fuzz", nullptr);
    std::string_view rest = matapprox::without_byte_order_mark(bytes);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
      reader.read(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    if (reader.has_rows()) return reader.take();
  } catch (const matapprox::Error&) {  // NOLINT(bugprone-empty-catch)
  }
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace matapprox;
  return fuzz::run(data, size, [](std::string_view bytes) {
    const std::optional<Matrix> whole = table_of(bytes, true);
    const std::optional<Matrix> pieces = table_of(bytes, false);
    fuzz::demand(whole.has_value() == pieces.has_value());
    if (whole) fuzz::demand(whole->rows() == pieces->rows() && *whole == *pieces);
  });
}
