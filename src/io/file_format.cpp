#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {

namespace {

struct Extension {
  std::string_view name;
  FileFormat format;
  bool may_be_compressed;
};

constexpr std::array<Extension, 18> kExtensions{{
    {".mtx", FileFormat::kMatrixMarket, true},
    {".mm", FileFormat::kMatrixMarket, true},
    {".mat", FileFormat::kMat, false},
    {".npy", FileFormat::kNpy, false},
    {".npz", FileFormat::kNpz, false},
    {".csv", FileFormat::kDelimited, true},
    {".tsv", FileFormat::kDelimited, true},
    {".txt", FileFormat::kDelimited, true},
    {".h5", FileFormat::kHdf5, false},
    {".hdf5", FileFormat::kHdf5, false},
    {".png", FileFormat::kImage, false},
    {".jpg", FileFormat::kImage, false},
    {".jpeg", FileFormat::kImage, false},
    {".pgm", FileFormat::kImage, false},
    {".net", FileFormat::kPajek, true},
    {".paj", FileFormat::kPajek, true},
    {".edges", FileFormat::kEdgeList, true},
    {".edgelist", FileFormat::kEdgeList, true},
}};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

[[noreturn]] void throw_unknown(const std::string& path, const std::string& extension) {
  std::vector<std::string> known;
  known.reserve(kExtensions.size());
  for (const Extension& entry : kExtensions) known.emplace_back(entry.name);
  const std::string nearest = nearest_name(extension, known);
  throw FileError(
      fmt::format("{}: unknown format '{}'{}; known formats: {}; text formats also with .gz",
                  path,
                  extension,
                  nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                  fmt::join(known, " ")));
}

}  // namespace

FileName split_file_name(const std::string& name) {
  std::error_code code;
  if (std::filesystem::exists(name, code)) return {name, {}};
  for (const std::string_view mark : {".h5:", ".hdf5:"}) {
    const std::size_t at = lower_case(name).find(mark);
    if (at == std::string::npos) continue;
    const std::size_t colon = at + mark.size() - 1;
    return {name.substr(0, colon), name.substr(colon + 1)};
  }
  return {name, {}};
}

FileFormat format_of_name(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  const bool compressed = lower_case(name.extension().string()) == ".gz";
  if (compressed) name = name.stem();
  const std::string extension = lower_case(name.extension().string());
  const auto* const found =
      std::find_if(kExtensions.begin(), kExtensions.end(), [&](const Extension& entry) {
        return entry.name == extension;
      });
  if (found == kExtensions.end()) throw_unknown(path, extension);
  if (compressed && !found->may_be_compressed) {
    throw FileError(fmt::format("{}: .gz is read for text formats only; unpack it first", path));
  }
  return found->format;
}

FileFormat format_of_bytes(std::string_view bytes) {
  const auto starts_with = [&](std::string_view mark) {
    return bytes.substr(0, mark.size()) == mark;
  };
  if (starts_with("\x89HDF") || starts_with("MATLAB")) {
    throw FileError("standard input: HDF5 and MATLAB files are read by name only");
  }
  if (looks_like_image(bytes)) return FileFormat::kImage;
  if (starts_with("\x93NUMPY")) return FileFormat::kNpy;
  if (starts_with("PK")) return FileFormat::kNpz;
  const std::string start = lower_case(std::string(bytes.substr(0, 14)));
  if (start == "%%matrixmarket") return FileFormat::kMatrixMarket;
  if (start.substr(0, 9) == "*vertices" || start.substr(0, 8) == "*network") {
    return FileFormat::kPajek;
  }
  return FileFormat::kDelimited;
}

}  // namespace matapprox
