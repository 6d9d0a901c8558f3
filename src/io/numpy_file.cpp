#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/npy_header.hpp"
#include "io/proportion.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"
#include "io/text_output.hpp"
#include "io/zip.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {
namespace {

/// Number of bytes read for a header: NumPy itself reads headers of at most 10,000 characters.
constexpr Index kLongestHeader = Index{1} << 20;

void require_finite(const Matrix& A, const std::string& name) {
  Index row = 0;
  Index col = 0;
  if (find_nonfinite(A, row, col)) fail_not_finite(name, row, col, A(row, col));
}

void require_room(const FileNumbers& numbers, const std::string& name) {
  require_memory(8.0 * static_cast<double>(numbers.rows) * static_cast<double>(numbers.cols), name);
}

bool ends_with_npy(std::string_view name) {
  return name.size() > 4 && name.substr(name.size() - 4) == ".npy";
}

std::vector<std::string> variables_of(const std::vector<ZipMember>& members) {
  std::vector<std::string> names;
  for (const auto& member : members) {
    if (ends_with_npy(member.name)) names.push_back(member.name.substr(0, member.name.size() - 4));
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 20;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), kMax); ++k)
    text += (k == 0 ? "" : ", ") + in_quotes(names[k]);
  return names.size() > kMax ? text + ", ..." : text;
}

std::string chosen_variable(const std::vector<std::string>& names,
                            const std::string& wanted,
                            const std::string& name) {
  if (names.empty()) fail_in(name, "the archive holds no .npy array");
  if (wanted.empty()) {
    if (names.size() > 1)
      fail_in(name, fmt::format("{} arrays; choose one: {}", names.size(), joined(names)));
    return names[0];
  }
  if (std::find(names.begin(), names.end(), wanted) == names.end()) {
    fail_in(name,
            fmt::format("no array {}; the archive holds: {}", in_quotes(wanted), joined(names)));
  }
  return wanted;
}

std::string_view bytes_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

void require_little_endian() {
  require(std::endian::native == std::endian::little,
          "NumPy files are written on little-endian machines only");
}

/// Header and content of one array.
struct NpyPieces {
  std::string header;
  std::string_view content;
};

struct PieceMaker {
  NpyPieces operator()(const Matrix& A) const {
    return {make_npy_header("<f8", true, fmt::format("({}, {})", A.rows(), A.cols())),
            bytes_of(A.data(), A.size() * sizeof(double))};
  }
  NpyPieces operator()(const Vector& v) const {
    return {make_npy_header("<f8", false, fmt::format("({},)", v.size())),
            bytes_of(v.data(), v.size() * sizeof(double))};
  }
  NpyPieces operator()(const std::vector<Index>& v) const {
    return {make_npy_header("<i8", false, fmt::format("({},)", v.size())),
            bytes_of(v.data(), v.size() * sizeof(Index))};
  }
  NpyPieces operator()(const std::string& text) const {
    return {make_npy_header(fmt::format("|S{}", text.size()), false, "()"), text};
  }
};

}  // namespace

Matrix parse_npy(std::string_view bytes, const std::string& name) {
  const FileNumbers numbers = parse_npy_header(bytes, static_cast<Index>(bytes.size()), name);
  require_room(numbers, name);
  Matrix A = convert_numbers(bytes.data(), numbers);
  if (numbers.kind == 'f') require_finite(A, name);
  return A;
}

Matrix parse_npz(std::string_view bytes, const std::string& name, const std::string& variable) {
  if (bytes.empty()) fail_in(name, "the file is empty; an .npz file is a zip archive");
  const auto members = zip_directory(bytes, name);
  const std::string wanted = chosen_variable(variables_of(members), variable, name) + ".npy";
  const auto member = std::find_if(
      members.begin(), members.end(), [&](const auto& one) { return one.name == wanted; });
  const InputBytes content = unpack(*member, name);
  const std::string label = fmt::format("{}:{}", name, wanted);
  const FileNumbers numbers = parse_npy_header(content, static_cast<Index>(content.size()), label);
  require_proportion(static_cast<double>(content.size()) + 8.0 * static_cast<double>(numbers.rows) *
                                                               static_cast<double>(numbers.cols),
                     static_cast<double>(member->packed.size()),
                     label,
                     "if the size is correct, save it uncompressed");
  return parse_npy(content, label);
}

Matrix read_npy(const std::string& path) {
  // Pipes and gzip files are first read as a whole.
  if (!is_plain_file(path)) return parse_npy(read_all(path, check_npy_start), display_name(path));
  const PositionedFile file(path);
  std::string head(static_cast<std::size_t>(std::min(file.size(), kLongestHeader)), '\0');
  file.read_at(0, static_cast<Index>(head.size()), head.data());
  const FileNumbers numbers = parse_npy_header(head, file.size(), path);
  require_room(numbers, path);
  Matrix A = read_file_numbers(file, numbers);
  if (numbers.kind == 'f') require_finite(A, path);
  return A;
}

Matrix read_npz(const std::string& path, const std::string& variable) {
  const InputBytes bytes = read_all(path, check_zip_start);
  return parse_npz(bytes, display_name(path), variable);
}

std::vector<std::string> npz_variables(const std::string& path) {
  const InputBytes bytes = read_all(path, check_zip_start);
  return variables_of(zip_directory(bytes, display_name(path)));
}

void write_npy(const std::string& path, const Matrix& A) {
  require_little_endian();
  const NpyPieces pieces = PieceMaker{}(A);
  TextOutput out(path);
  out.write(pieces.header);
  out.write(pieces.content);
  out.finish();
}

void write_npz(const std::string& path, std::span<const NpzArray> arrays) {
  require_little_endian();
  std::set<std::string> names;
  for (const NpzArray& array : arrays) {
    require(!array.name.empty(), "{}: an array has no name", path);
    require(names.insert(array.name).second, "{}: two arrays are named '{}'", path, array.name);
  }
  ZipWriter out(path);
  for (const NpzArray& array : arrays) {
    const NpyPieces pieces = std::visit(PieceMaker{}, array.value);
    out.add(array.name + ".npy", {pieces.header, pieces.content});
  }
  out.finish();
}

}  // namespace matapprox
