#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "mpi/operations.hpp"

namespace matapprox::mpi {

/// By which the leader asks something of all processes. Any thread of it may ask; they wait for
/// each other.
class Leader {
 public:
  /// With what all processes have made together before, under the number 0.
  Leader(const Process& process, Store store)
      : process_(process), processes_(process.size()), store_(std::move(store)) {}

  int processes() const { return processes_; }
  /// A number that nothing else in a Store has.
  Index next_number() { return next_number_++; }

  /// Returns when the leader has done its part. Throws what the processes agreed on, as the type
  /// that it was; Interrupted, before it has begun, if the caller's StopScope asks to stop;
  /// NotAvailable after close().
  void run(const Operation& operation);
  /// The same without Interrupted, for what gives something back; nothing after close().
  void run_to_end(const Operation& operation);
  /// Sends the others home; what they have stays until open().
  void close();
  void open();
  /// Gives up what this process has.
  void forget();

 private:
  /// False after close().
  bool send(const Operation& operation);

  const Process& process_;
  int processes_;  ///< also after the process is gone
  Store store_;
  std::mutex mutex_;
  std::atomic<Index> next_number_{1};
  bool is_open_ = false;
};

/// Processes that work together more than once, with the same Store.
class Session {
 public:
  /// All processes together; `process` must outlive it.
  Session(const Process& process, Store store);
  ~Session();
  Session(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(const Session&) = delete;
  Session& operator=(Session&&) = delete;

  /// As lead_or_serve().
  void run(const std::function<void(const std::shared_ptr<Leader>& leader)>& body);

 private:
  const Process& process_;
  Store store_;                     ///< of the others
  std::shared_ptr<Leader> leader_;  ///< on the first
};

/// Called by all processes together: the first runs `body`, the others do what it asks of them
/// until it ends. An exception of `body` is the first's; the others return.
void lead_or_serve(const Process& process,
                   Store store,
                   const std::function<void(const std::shared_ptr<Leader>& leader)>& body);

}  // namespace matapprox::mpi
