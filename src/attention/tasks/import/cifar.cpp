#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include "attention/tasks/import/folders.hpp"
#include "attention/tasks/import/image_tokens.hpp"
#include "attention/tasks/import/importers.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"

// Records of one or two label bytes and 32 x 32 pixels: all red, all green, all blue values, by
// rows.
namespace matapprox::tasks {
namespace {

constexpr std::size_t kCifarSide = 32;
constexpr std::size_t kCifarPixels = kCifarSide * kCifarSide;
constexpr Index kGrayLevels = 256;

struct CifarLabels {
  std::size_t bytes = 1;      ///< label bytes before the pixels
  std::size_t used = 0;       ///< index of the byte that is the class
  std::vector<Index> counts;  ///< number of legal values of each
};

/// Converts three planes to three values per pixel.
Pixels8 cifar_pixels(std::string_view planes) {
  Pixels8 pixels{kCifarSide, kCifarSide, 3, std::vector<unsigned char>(3 * kCifarPixels)};
  for (std::size_t plane = 0; plane < 3; ++plane) {
    for (std::size_t k = 0; k < kCifarPixels; ++k)
      pixels.bytes[3 * k + plane] = static_cast<unsigned char>(planes[plane * kCifarPixels + k]);
  }
  return pixels;
}

void read_cifar(const SplitFile& file, const CifarLabels& labels, TokenBuilder& builder) {
  const InputBytes bytes = read_all(file.path);
  const std::size_t record = labels.bytes + 3 * kCifarPixels;
  if (bytes.size() == 0) fail_in(file.path, "the file is empty");
  if (bytes.size() % record != 0) {
    fail_in(file.path,
            fmt::format("{} bytes; records have {} bytes each; record {} is truncated",
                        bytes.size(),
                        record,
                        bytes.size() / record));
  }
  for (std::size_t i = 0; i < bytes.size() / record; ++i) {
    const std::string_view one = bytes.view().substr(i * record, record);
    for (std::size_t k = 0; k < labels.bytes; ++k) {
      const Index label = static_cast<unsigned char>(one[k]);
      if (label >= labels.counts[k]) {
        fail_in(
            file.path,
            fmt::format("record {}: label {} is outside 0..{}", i, label, labels.counts[k] - 1));
      }
    }
    add_image(cifar_pixels(one.substr(labels.bytes)),
              static_cast<unsigned char>(one[labels.used]),
              file.split,
              file.path,
              builder);
  }
}

TokenSet import_cifar(const std::string& path,
                      const ImportOptions& options,
                      const CifarLabels& labels,
                      const std::vector<SplitFile>& files) {
  TokenBuilder builder(options, path, kGrayLevels, labels.counts[labels.used]);
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    for (const SplitFile& file : files) {
      read_cifar({path_in(path, file.path), file.split}, labels, builder);
    }
  } else {
    read_cifar({path, std::nullopt}, labels, builder);
  }
  return builder.finish();
}

}  // namespace

TokenSet import_cifar10(const std::string& path, const ImportOptions& options) {
  std::vector<SplitFile> files;
  for (const char part : {'1', '2', '3', '4', '5'}) {
    files.push_back({fmt::format("data_batch_{}.bin", part), Split::kTrain});
  }
  files.push_back({"test_batch.bin", Split::kTest});
  return import_cifar(path, options, {1, 0, {10}}, files);
}

TokenSet import_cifar100(const std::string& path, const ImportOptions& options) {
  const CifarLabels labels{2, options.coarse ? std::size_t{0} : std::size_t{1}, {20, 100}};
  return import_cifar(
      path, options, labels, {{"train.bin", Split::kTrain}, {"test.bin", Split::kTest}});
}

}  // namespace matapprox::tasks
