#pragma once

#include <string>

namespace matapprox::app {

/// Notes a folder that the program has made for its outputs.
void note_made_folder(const std::string& path);

/// Removes those of them that are empty: where a command fails before it has anything to put there,
/// it leaves nothing. Safe in a signal handler.
void remove_empty_folders() noexcept;

}  // namespace matapprox::app
