#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "attention/tasks/import/folders.hpp"
#include "attention/tasks/import/image_tokens.hpp"
#include "attention/tasks/import/importers.hpp"
#include "io/line_reader.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"

// Files metadata/*.npy, which are text: lines "imgs/0 sample_0.png 0 1 ..." with folder, file,
// number and label of an image.
namespace matapprox::tasks {
namespace {

struct PathfinderImage {
  std::string path;
  Index label = 0;
};

bool stays_inside(std::string_view part) {
  const std::filesystem::path path(part);
  return path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

/// Parses one line of metadata; the image is not read yet.
PathfinderImage listed_image(const std::string& root,
                             const std::string& metadata,
                             Index line,
                             std::string_view text) {
  const auto fields = blank_separated(text);
  if (fields.size() < 4) {
    fail_at_line(metadata,
                 line,
                 fmt::format("{} columns; there must be 4 or more: folder, file, number, label",
                             fields.size()));
  }
  if (!stays_inside(fields[0]) || !stays_inside(fields[1])) {
    fail_at_line(
        metadata, line, fmt::format("{} is outside the data set", in_quotes(text.substr(0, 80))));
  }
  if (fields[3] != "0" && fields[3] != "1") {
    fail_at_line(metadata, line, fmt::format("label {} is not 0 or 1", in_quotes(fields[3])));
  }
  return {fmt::format("{}/{}/{}", root, fields[0], fields[1]), fields[3] == "1" ? 1 : 0};
}

void read_metadata(const std::string& root, const std::string& path, ImageReader& images) {
  const InputBytes bytes = read_text_file(path);
  if (bytes.view().starts_with("\x93NUMPY")) {
    fail_in(path, "a NumPy array; the text that numpy.savetxt writes is expected");
  }
  LineReader lines(bytes);
  for (Index line = 1; lines.advance(); ++line) {
    if (trimmed(lines.line()).empty()) continue;
    PathfinderImage image = listed_image(root, path, line, lines.line());
    images.add(std::move(image.path), image.label, std::nullopt);
  }
}

}  // namespace

TokenSet import_pathfinder(const std::string& path, const ImportOptions& options) {
  TokenBuilder builder(options, path, 256, 2);
  ImageReader images(path, 1, builder);
  const std::string folder = path + "/metadata";
  Index found = 0;
  for (const std::string& name : files_in(folder)) {
    if (!name.ends_with(".npy")) continue;
    ++found;
    read_metadata(path, path_in(folder, name), images);
  }
  if (found == 0) fail_in(folder, "there is no file *.npy in the folder");
  images.finish();
  return builder.finish();
}

}  // namespace matapprox::tasks
