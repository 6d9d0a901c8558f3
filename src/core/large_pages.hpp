#pragma once

#include <cstddef>

namespace matapprox {

/// Asks the system to back memory that is about to be filled by large pages, where it knows them: a
/// page fault for every 4 kB costs a reader as much as the parsing, and a kernel that goes through
/// a dozen places of a large panel at once waits for addresses more than for numbers. Only advice;
/// nothing depends on it.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace matapprox
