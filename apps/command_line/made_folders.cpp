#include "command_line/made_folders.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace matapprox::app {
namespace {

/// More than any command makes.
constexpr std::size_t kMaxFolders = 8;

// A signal handler reads them. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::array<std::atomic<const char*>, kMaxFolders> made_folders{};

}  // namespace

void note_made_folder(const std::string& path) {
  for (std::atomic<const char*>& place : made_folders) {
    if (place != nullptr) continue;
    place = strdup(path.c_str());  // lives as long as the process
    return;
  }
}

void remove_empty_folders() noexcept {
  for (const std::atomic<const char*>& place : made_folders) {
    if (place != nullptr) rmdir(place);
  }
}

}  // namespace matapprox::app
