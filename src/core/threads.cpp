#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {
namespace {

/// Number of CPUs that this process may run on.
int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count{usable_cpus()};
  return count;
}

thread_local bool inside_parallel_for = false;

/// One parallel_for. Threads take indices from a common counter; the first exception stops that.
/// Each thread runs under the stop scope of the thread that created the job.
class Job {
 public:
  Job(Index count, const std::function<void(Index)>& body)
      : count_(count), body_(body), scope_(current_stop_scope()) {}

  /// Processes indices until none are left.
  void work() {
    inside_parallel_for = true;
    const JoinStopScope join(scope_);
    for (Index i = next_++; i < count_; i = next_++) {
      try {
        throw_if_stop_requested();
        body_(i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        next_ = count_;
      }
    }
    inside_parallel_for = false;
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  Index count_;
  const std::function<void(Index)>& body_;
  const StopScope* scope_;
  std::atomic<Index> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// Helper threads of parallel_for. The caller also works and never waits for a helper that has not
/// begun. Thus a loop takes no longer than on one thread even on a busy machine, where a helper may
/// not run for milliseconds. (OpenMP threads wait for each other at the end of each loop, and spin:
/// there a fit was up to ten times slower.)
class ThreadPool {
 public:
  /// Runs the job with up to `wanted` helpers. Returns false if they are busy with another thread's
  /// job.
  bool run(Job& job, int wanted) {
    const std::unique_lock owner(owner_, std::try_to_lock);
    if (!owner) return false;
    open(job, wanted);
    job.work();
    close();
    return true;
  }

 private:
  void open(Job& job, int wanted) {
    {
      const std::lock_guard lock(mutex_);
      while (threads_ < wanted && start_thread()) ++threads_;
      job_ = &job;
      places_ = wanted;
      ++generation_;
    }
    wake_.notify_all();
  }

  /// Returns false if the system grants no more threads; the loop then runs on fewer.
  bool start_thread() {
    try {
      std::thread([this, seen = generation_.load()] { help(seen); }).detach();
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  /// Lets no more helpers join, and waits for those that have joined.
  void close() {
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    lock.unlock();
    spin_while([this] { return at_work_ != 0; });
    lock.lock();
    done_.wait(lock, [this] { return at_work_ == 0; });
  }

  void help(std::uint64_t seen) {
    for (;;) {
      spin_while([&] { return generation_ == seen; });
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      if (job_ == nullptr || places_ == 0) continue;
      Job& job = *job_;
      --places_;
      ++at_work_;
      lock.unlock();
      job.work();
      lock.lock();
      if (--at_work_ == 0) done_.notify_one();
    }
  }

  /// Spins for up to 30 microseconds: waits are often that short, while sleeping and waking take
  /// longer.
  template <class Condition>
  static void spin_while(const Condition& waiting) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
    while (waiting() && std::chrono::steady_clock::now() < end) {
    }
  }

  std::mutex owner_;  ///< held by the thread whose job runs
  std::mutex mutex_;  ///< guards the members below
  std::condition_variable wake_;
  std::condition_variable done_;
  int threads_ = 0;
  std::atomic<std::uint64_t> generation_{0};
  Job* job_ = nullptr;
  int places_ = 0;
  std::atomic<int> at_work_{0};
};

/// Returns the pool of this process. A forked child has none of its parent's threads and creates
/// its own pool.
ThreadPool& thread_pool() {
  static ThreadPool* all = nullptr;
  static pid_t process = 0;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (process != getpid()) {
    all = new ThreadPool;  // NOLINT: lives as long as the process, whose end it must not delay
    process = getpid();
  }
  return *all;
}

}  // namespace

void set_threads(int count) {
  require(count >= 1, "threads: {} is below 1", count);
  thread_count() = count;
}

int threads() { return thread_count(); }

void parallel_for(Index count, const std::function<void(Index)>& body) {
  const int workers = static_cast<int>(std::min<Index>(threads(), count));
  if (workers <= 1 || inside_parallel_for) {
    for (Index i = 0; i < count; ++i) {
      throw_if_stop_requested();
      body(i);
    }
    return;
  }
  Job job(count, body);
  if (!thread_pool().run(job, workers - 1)) job.work();
  job.rethrow();
}

}  // namespace matapprox
