#include "mpi/reserved_numbers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>

#include "matapprox/core/error.hpp"

namespace matapprox::mpi {

ReservedNumbers::ReservedNumbers(Index count, Use use)
    : bytes_(sizeof(double) * static_cast<std::size_t>(std::max<Index>(count, 1))) {
  const int access = use == Use::kAsNames ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* address = mmap(nullptr, bytes_, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address != MAP_FAILED) {
    data_ = static_cast<double*>(address);
    return;
  }
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  throw NotAvailable(fmt::format(
      "mpi: no address space for a block of {:.3g} GB over all processes{}",
      static_cast<double>(bytes_) / 1e9,
      limit.rlim_cur == RLIM_INFINITY ? "" : "; `ulimit -v` forbids it: set it to unlimited"));
}

ReservedNumbers::~ReservedNumbers() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace matapprox::mpi
