#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

// The interpreter's lock, and its end. CPython ends a thread that asks for the lock once the
// interpreter is being finalized by unwinding its stack, which in a destructor ends the process. So
// a hook of `atexit` asks fits to stop and waits for all threads that are in the library; a thread
// that comes after it sleeps until the process ends, as threads do from CPython 3.14 on.

namespace matapprox::python {

/// Gives up the lock, and takes it back at the end.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
  bool outermost_ = false;
  unsigned generation_ = 0;
};

/// Takes the lock in a thread that does not have it.
class Locked {
 public:
  Locked() = default;

 private:
  struct InTime {
    InTime();
  } in_time_;
  nanobind::gil_scoped_acquire acquire_;
};

/// False once objects of Python can no longer be touched, not even to drop them.
bool can_lock();

/// What a fit is from beginning to end: it can be asked to stop, and the end waits for it.
class Running {
 public:
  explicit Running(std::atomic<bool>& stop);
  ~Running();
  /// Before the result goes back to Python.
  void finish();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::atomic<bool>* stop_;
  bool outermost_;
  bool finished_ = false;
  unsigned generation_;
};

/// In a thread that a fit has started, which counts as part of it.
class PartOfRun {
 public:
  PartOfRun();
  ~PartOfRun();
  PartOfRun(const PartOfRun&) = delete;
  PartOfRun& operator=(const PartOfRun&) = delete;
};

void bind_lock(nanobind::module_& m);

}  // namespace matapprox::python
