#include "attention/tasks/import/folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attention/tasks/import/token_builder.hpp"
#include "io/table_reader.hpp"

namespace matapprox::tasks {
namespace {

using SplitWord = std::pair<std::string_view, Split>;
constexpr std::array<SplitWord, 7> kSplitWords{SplitWord{"train", Split::kTrain},
                                               SplitWord{"val", Split::kValidation},
                                               SplitWord{"valid", Split::kValidation},
                                               SplitWord{"validation", Split::kValidation},
                                               SplitWord{"dev", Split::kValidation},
                                               SplitWord{"eval", Split::kValidation},
                                               SplitWord{"test", Split::kTest}};

bool is_ascii_letter(char c) {
  const int lower = static_cast<unsigned char>(c) | 0x20;
  return lower >= 'a' && lower <= 'z';
}

/// The split that the last word of a stem names.
std::optional<Split> split_of_stem(std::string_view stem) {
  std::size_t start = stem.size();
  while (start > 0 && is_ascii_letter(stem[start - 1])) --start;
  for (const auto& [word, split] : kSplitWords) {
    if (stem.substr(start) == word) return split;
  }
  return std::nullopt;
}

template <class Wanted>
std::vector<std::string> names_in(const std::string& path, const Wanted& wanted) {
  require_folder(path);
  std::error_code code;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry(path, code);
  for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
    std::string name = entry->path().filename().string();
    std::error_code unreadable;
    if (name.front() != '.' && wanted(*entry, unreadable)) names.push_back(std::move(name));
  }
  if (code) fail_in(path, fmt::format("cannot be listed: {}", code.message()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

void require_folder(const std::string& path) {
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) fail_in(path, "no such folder");
  if (!std::filesystem::is_directory(status)) fail_in(path, "not a folder");
}

std::vector<std::string> folders_in(const std::string& path) {
  return names_in(
      path, [](const auto& entry, std::error_code& code) { return entry.is_directory(code); });
}

std::vector<std::string> files_in(const std::string& path) {
  return names_in(
      path, [](const auto& entry, std::error_code& code) { return entry.is_regular_file(code); });
}

std::string path_in(std::string_view folder, std::string_view name) {
  return fmt::format("{}/{}", folder, name);
}

std::vector<SplitFile> split_files(const std::string& path, std::string_view extension) {
  std::error_code code;
  if (!std::filesystem::is_directory(path, code)) return {{path, std::nullopt}};
  std::array<std::string, 3> found;
  for (const std::string& name : files_in(path)) {
    if (!name.ends_with(extension)) continue;
    const auto split =
        split_of_stem(std::string_view(name).substr(0, name.size() - extension.size()));
    if (!split) continue;
    std::string& place = found[static_cast<std::size_t>(*split)];
    if (!place.empty()) {
      fail_in(path, fmt::format("'{}' and '{}' are the same split; name one file", place, name));
    }
    place = name;
  }
  std::vector<SplitFile> files;
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (!found[k].empty()) files.push_back({path_in(path, found[k]), static_cast<Split>(k)});
  }
  if (files.empty()) {
    fail_in(path,
            fmt::format("no file here is named ...train{0}, ...val{0} or ...test{0}", extension));
  }
  return files;
}

InputBytes read_text_file(const std::string& path) {
  constexpr std::size_t kTextCharacters = 30;
  InputBytes bytes = read_all(path);
  if (bytes.size() > kLargestText) {
    fail_in(path, fmt::format("{} bytes; a text may have at most {}", bytes.size(), kLargestText));
  }
  const std::string_view text = bytes;
  const auto control = std::count_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && !(c >= '\t' && c <= '\r');
  });
  if (static_cast<std::size_t>(control) * kTextCharacters > text.size()) {
    fail_in(path,
            fmt::format("not a text: {} of {} bytes are control characters", control, text.size()));
  }
  return bytes;
}

}  // namespace matapprox::tasks
