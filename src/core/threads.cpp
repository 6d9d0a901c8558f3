#include "matapprox/core/threads.hpp"

#include <omp.h>

#include <atomic>
#include <exception>
#include <mutex>

#include "core/require.hpp"

namespace matapprox {
namespace {

std::atomic<int>& thread_count() {
  static std::atomic<int> count{omp_get_num_procs()};
  return count;
}

}  // namespace

void set_threads(int count) {
  require(count >= 1, "threads: {} is below 1", count);
  thread_count() = count;
}

int threads() { return thread_count(); }

void parallel_for(Index count, const std::function<void(Index)>& body) {
  const int workers = static_cast<int>(std::min<Index>(threads(), count));
  if (workers <= 1 || omp_in_parallel() != 0) {
    for (Index i = 0; i < count; ++i) body(i);
    return;
  }
  // Work is handed out through our own counter, not an OpenMP schedule: the first exception stops
  // the hand-out at once, and sanitizers understand std::atomic.
  std::atomic<Index> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
#pragma omp parallel num_threads(workers)
  {
    for (Index i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace matapprox
