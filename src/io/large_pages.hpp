#pragma once

#include <cstddef>

namespace matapprox {

/// Asks the system to back memory that is about to be filled by large pages, where it knows them: a
/// page fault for every 4 kB costs a reader as much as the parsing. Only advice; nothing depends on
/// it.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace matapprox
