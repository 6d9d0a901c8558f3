#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "mpi/operations.hpp"

namespace matapprox::mpi {

/// Sends the leader's operations to all processes. Any of its threads may call; calls are
/// serialized.
class Leader {
 public:
  /// `store`: objects that all processes created together before, under the number 0.
  Leader(const Process& process, Store store)
      : process_(process), processes_(process.size()), store_(std::move(store)) {}

  int processes() const { return processes_; }
  /// Returns a number that no other object in a Store has.
  Index next_number() { return next_number_++; }

  /// Performs the operation on all processes; returns when the leader has done its part. Throws the
  /// error that the processes agreed on, with its original type; Interrupted, before the operation
  /// has begun, if the caller's StopScope asks to stop; NotAvailable after close().
  void run(const Operation& operation);
  /// The same without Interrupted, for operations that release. Does nothing after close().
  void run_to_end(const Operation& operation);
  /// Tells the other ranks to leave the serve loop; they keep their objects until open().
  void close();
  void open();
  /// Releases this rank's objects.
  void forget();

 private:
  /// Returns false after close().
  bool send(const Operation& operation);

  const Process& process_;
  int processes_;  ///< also valid after `process_` is destroyed
  Store store_;
  std::mutex mutex_;
  std::atomic<Index> next_number_{1};
  bool is_open_ = false;
};

/// The number of an object that all processes have. The destructor removes the object from them.
class SharedObject {
 public:
  explicit SharedObject(std::shared_ptr<Leader> leader)
      : leader_(std::move(leader)), number_(leader_->next_number()) {}
  /// An object that the processes have under this number already.
  SharedObject(std::shared_ptr<Leader> leader, Index number)
      : leader_(std::move(leader)), number_(number) {}
  ~SharedObject() { leader_->run_to_end(Remove{number_}); }
  SharedObject(const SharedObject&) = delete;
  SharedObject(SharedObject&&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  SharedObject& operator=(SharedObject&&) = delete;

  const std::shared_ptr<Leader>& leader() const { return leader_; }
  Index number() const { return number_; }

 private:
  std::shared_ptr<Leader> leader_;
  Index number_;
};

/// Lets the processes work together more than once, with the same Store.
class Session {
 public:
  /// Called by all processes together; `process` must outlive this object.
  Session(const Process& process, Store store);
  ~Session();
  Session(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(const Session&) = delete;
  Session& operator=(Session&&) = delete;

  /// Like lead_or_serve(), with the Store given to the constructor.
  void run(const std::function<void(const std::shared_ptr<Leader>& leader)>& body);

 private:
  const Process& process_;
  Store store_;                     ///< on the other processes
  std::shared_ptr<Leader> leader_;  ///< on the leader
};

/// Called by all processes together: the leader runs `body`, the others perform its operations
/// until it ends. An exception of `body` is thrown on the leader; the others return.
void lead_or_serve(const Process& process,
                   Store store,
                   const std::function<void(const std::shared_ptr<Leader>& leader)>& body);

}  // namespace matapprox::mpi
