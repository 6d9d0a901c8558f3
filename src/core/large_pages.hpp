#pragma once

#include <cstddef>

namespace matapprox {

/// Advises the system to use large pages, where it supports them, for memory that is about to be
/// filled. A page fault every 4 kB costs a reader as much as the parsing, and a kernel that
/// accesses a dozen locations of a large panel at once waits longer for address translation than
/// for data. Results do not depend on this advice.
void prefer_large_pages(void* memory, std::size_t bytes);

}  // namespace matapprox
