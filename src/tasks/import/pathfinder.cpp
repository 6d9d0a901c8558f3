#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/image_formats.hpp"
#include "io/line_reader.hpp"
#include "io/text_input.hpp"
#include "io/text_place.hpp"
#include "io/trial_read.hpp"
#include "tasks/import/folders.hpp"
#include "tasks/import/importers.hpp"

// metadata/*.npy, which is text: lines "imgs/0 sample_0.png 0 1 ..." with folder, file, number and
// label of an image.
namespace matapprox::tasks {
namespace {

constexpr std::size_t kLargestImageFile = std::size_t{1} << 22;
constexpr std::size_t kImagesAtOnce = 1000;

struct PathfinderImage {
  std::string path;
  Index label = 0;
  InputBytes bytes;
};

bool stays_inside(std::string_view part) {
  const std::filesystem::path path(part);
  return path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end();
}

/// Takes one line of metadata apart; the image is not read yet.
PathfinderImage listed_image(const std::string& root,
                             const std::string& metadata,
                             Index line,
                             std::string_view text) {
  const auto fields = blank_separated(text);
  if (fields.size() < 4) {
    fail_at_line(metadata,
                 line,
                 fmt::format("{} columns, there must be 4 or more: folder, file, number, label",
                             fields.size()));
  }
  if (!stays_inside(fields[0]) || !stays_inside(fields[1])) {
    fail_at_line(
        metadata, line, fmt::format("{} leads out of the data set", in_quotes(text.substr(0, 80))));
  }
  if (fields[3] != "0" && fields[3] != "1") {
    fail_at_line(metadata, line, fmt::format("label {} is not 0 or 1", in_quotes(fields[3])));
  }
  return {fmt::format("{}/{}/{}", root, fields[0], fields[1]), fields[3] == "1" ? 1 : 0, {}};
}

std::vector<std::int32_t> gray_tokens(const PathfinderImage& image) {
  const GrayImage gray = images::decode_png(image.bytes, image.path);
  if (gray.maximum != 255) fail_in(image.path, "samples of 16 bits, they must have 8 or fewer");
  std::vector<std::int32_t> tokens;
  tokens.reserve(static_cast<std::size_t>(gray.values.size()));
  for (Index i = 0; i < gray.values.rows(); ++i) {
    for (Index j = 0; j < gray.values.cols(); ++j) {
      tokens.push_back(static_cast<std::int32_t>(std::lround(gray.values(i, j))));
    }
  }
  return tokens;
}

class PathfinderReader {
 public:
  PathfinderReader(const std::string& root, const ImportOptions& options)
      : root_(root), builder_(options, root, 256, 2) {}

  void read_metadata(const std::string& path) {
    const InputBytes bytes = read_text_file(path);
    if (bytes.view().starts_with("\x93NUMPY")) {
      fail_in(path, "a NumPy array; the text that numpy.savetxt writes is expected");
    }
    LineReader lines(bytes);
    for (Index line = 1; lines.advance(); ++line) {
      if (trimmed(lines.line()).empty()) continue;
      queue_.push_back(listed_image(root_, path, line, lines.line()));
      if (queue_.size() == kImagesAtOnce) add_queue();
    }
    add_queue();
  }

  TokenSet finish() { return builder_.finish(); }

 private:
  void load(PathfinderImage& image) const {
    image.bytes = read_all(image.path);
    if (image.bytes.size() == 0 && !builder_.options().skip_empty) {
      fail_in(image.path, "the file is empty; skip_empty leaves such images out");
    }
    if (image.bytes.size() > kLargestImageFile) {
      fail_in(
          image.path,
          fmt::format("{} bytes, an image has at most {}", image.bytes.size(), kLargestImageFile));
    }
  }

  /// Decodes what is queued: in one trial first, as one for each image would be slow.
  void add_queue() {
    if (queue_.empty()) return;
    for (PathfinderImage& image : queue_) load(image);
    std::erase_if(queue_, [](const PathfinderImage& image) { return image.bytes.size() == 0; });
    constexpr double kSecondsAnImage = 0.1;
    try_read({.path = root_,
              .library = "PNG",
              .read = [&] { std::for_each(queue_.begin(), queue_.end(), gray_tokens); },
              .seconds = 30 + kSecondsAnImage * static_cast<double>(queue_.size())});
    for (const PathfinderImage& image : queue_) {
      const std::vector<std::int32_t> tokens = gray_tokens(image);
      if (pixels_ == 0) pixels_ = std::ssize(tokens);
      if (std::ssize(tokens) != pixels_) {
        fail_in(image.path,
                fmt::format("{} pixels, the images before have {}", tokens.size(), pixels_));
      }
      builder_.add(tokens, image.label, std::nullopt, image.path);
    }
    queue_.clear();
  }

  const std::string& root_;
  TokenBuilder builder_;
  std::vector<PathfinderImage> queue_;
  Index pixels_ = 0;
};

}  // namespace

TokenSet import_pathfinder(const std::string& path, const ImportOptions& options) {
  PathfinderReader reader(path, options);
  const std::string folder = path + "/metadata";
  Index found = 0;
  for (const std::string& name : files_in(folder)) {
    if (!name.ends_with(".npy")) continue;
    ++found;
    reader.read_metadata(path_in(folder, name));
  }
  if (found == 0) fail_in(folder, "there is no file *.npy in the folder");
  return reader.finish();
}

}  // namespace matapprox::tasks
