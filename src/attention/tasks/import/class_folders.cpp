#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "attention/tasks/import/folders.hpp"
#include "attention/tasks/import/image_tokens.hpp"
#include "attention/tasks/import/importers.hpp"
#include "io/table_reader.hpp"

// Data sets with one folder per class and one text or image per file: IMDb, 20 newsgroups, images.
namespace matapprox::tasks {
namespace {

/// Adds the files of a folder as texts of one class.
void add_text_folder(const std::string& folder,
                     std::string_view extension,
                     Index label,
                     std::optional<Split> split,
                     TokenBuilder& builder) {
  Index found = 0;
  for (const std::string& name : files_in(folder)) {
    if (!name.ends_with(extension)) continue;
    ++found;
    const std::string path = path_in(folder, name);
    const InputBytes text = read_text_file(path);
    if (text.size() == 0) {
      if (builder.options().skip_empty) continue;
      fail_in(path, "the file is empty; skip_empty leaves such files out");
    }
    builder.add_text(text, label, split, path);
  }
  if (found == 0) fail_in(folder, fmt::format("there is no file *{} in the folder", extension));
}

/// Function that reads the folder of a class.
using FolderReader =
    std::function<void(const std::string& folder, Index label, std::optional<Split> split)>;

/// Reads the classes of a folder; each of its folders must be one of them.
void read_class_folders(const std::string& folder,
                        const std::vector<std::string>& classes,
                        std::optional<Split> split,
                        const FolderReader& read) {
  for (const std::string& name : folders_in(folder)) {
    const auto found = std::lower_bound(classes.begin(), classes.end(), name);
    if (found == classes.end() || *found != name) {
      fail_in(folder, fmt::format("the class '{}' does not occur in training", name));
    }
    read(path_in(folder, name), found - classes.begin(), split);
  }
}

/// The only one of these names that ends with `end`, or nothing.
std::string only_name_with(const std::vector<std::string>& names,
                           std::string_view end,
                           const std::string& path) {
  std::string found;
  for (const std::string& name : names) {
    if (!name.ends_with(end)) continue;
    if (!found.empty())
      fail_in(path, fmt::format("both '{}' and '{}' end in {}", found, name, end));
    found = name;
  }
  return found;
}

/// One folder per class, or folders *train and *test of such folders.
struct ClassFolders {
  std::string train;  ///< empty: not divided
  std::string test;
  std::vector<std::string> classes;
};

ClassFolders class_folders_of(const std::string& path) {
  const std::vector<std::string> folders = folders_in(path);
  ClassFolders found{
      only_name_with(folders, "train", path), only_name_with(folders, "test", path), folders};
  if (found.train.empty() != found.test.empty()) {
    fail_in(path, "one of the folders *train and *test is missing");
  }
  if (!found.train.empty()) found.classes = folders_in(path_in(path, found.train));
  if (found.classes.empty()) fail_in(path, "there are no folders; one per class is expected");
  return found;
}

void read_all_folders(const std::string& path,
                      const ClassFolders& folders,
                      const FolderReader& read) {
  if (folders.train.empty()) {
    read_class_folders(path, folders.classes, std::nullopt, read);
    return;
  }
  read_class_folders(path_in(path, folders.train), folders.classes, Split::kTrain, read);
  read_class_folders(path_in(path, folders.test), folders.classes, Split::kTest, read);
}

}  // namespace

TokenSet import_imdb(const std::string& path, const ImportOptions& options) {
  TokenBuilder builder(options, path, text_tokenizer(options), 2);
  builder.set().class_names = {"neg", "pos"};
  for (const auto& [folder, split] :
       {std::pair("/train/", Split::kTrain), std::pair("/test/", Split::kTest)}) {
    add_text_folder(path + folder + "neg", ".txt", 0, split, builder);
    add_text_folder(path + folder + "pos", ".txt", 1, split, builder);
  }
  return builder.finish();
}

TokenSet import_newsgroups(const std::string& path, const ImportOptions& options) {
  const ClassFolders folders = class_folders_of(path);
  TokenBuilder builder(options, path, text_tokenizer(options), std::ssize(folders.classes));
  builder.set().class_names = folders.classes;
  read_all_folders(
      path, folders, [&](const std::string& folder, Index label, std::optional<Split> split) {
        add_text_folder(folder, "", label, split, builder);
      });
  return builder.finish();
}

TokenSet import_images(const std::string& path, const ImportOptions& options) {
  constexpr Index kLevels = 256;
  constexpr Index kColors = 3;
  const ClassFolders folders = class_folders_of(path);
  TokenBuilder builder(options, path, kLevels, std::ssize(folders.classes));
  builder.set().class_names = folders.classes;
  ImageReader images(path, kColors, builder);
  read_all_folders(
      path, folders, [&](const std::string& folder, Index label, std::optional<Split> split) {
        Index found = 0;
        for (const std::string& name : files_in(folder)) {
          if (!name.ends_with(".png")) continue;
          ++found;
          images.add(path_in(folder, name), label, split);
        }
        if (found == 0) fail_in(folder, "there is no file *.png in the folder");
      });
  images.finish();
  return builder.finish();
}

}  // namespace matapprox::tasks
