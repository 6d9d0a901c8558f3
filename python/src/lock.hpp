#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

// The interpreter's lock, and the end of the interpreter. If a thread requests the lock while the
// interpreter is being finalized, CPython ends the thread by unwinding its stack, which in a
// destructor ends the process. Therefore a hook of `atexit` asks fits to stop and waits for all
// threads that are in the library. A thread that arrives later sleeps until the process ends, as
// threads do from CPython 3.14 on.

namespace matapprox::python {

/// Releases the lock, and reacquires it at the end of the scope.
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

/// Acquires the lock in a thread that does not hold it.
class Locked {
 public:
  Locked() = default;

 private:
  struct InTime {
    InTime();
  } in_time_;
  nanobind::gil_scoped_acquire acquire_;
};

/// Returns false once Python objects can no longer be accessed, not even to release them.
bool can_lock();

/// The scope of a running fit: it can be asked to stop, and the interpreter's end waits for it.
class Running {
 public:
  explicit Running(std::atomic<bool>& stop);
  ~Running();
  /// Must be called before the result is returned to Python.
  void finish();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::atomic<bool>* stop_;
  bool outermost_;
  bool finished_ = false;
  unsigned generation_;
};

/// The scope of a thread that a fit has started, which counts as part of the fit.
class PartOfRun {
 public:
  PartOfRun();
  ~PartOfRun();
  PartOfRun(const PartOfRun&) = delete;
  PartOfRun& operator=(const PartOfRun&) = delete;
};

void bind_lock(nanobind::module_& m);

}  // namespace matapprox::python
