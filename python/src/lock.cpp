#include "lock.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace matapprox::python {
namespace {

namespace nb = nanobind;

/// State of the threads inside the library. Guarded by the interpreter's lock.
struct Inside {
  int threads = 0;                          ///< threads in a fit or a product
  std::vector<std::atomic<bool>*> stops;    ///< stop flags of the running fits
  std::optional<std::thread::id> ended_by;  ///< thread that ends the interpreter
  unsigned generation = 0;                  ///< incremented by a fork; older counts are void

  bool ended_by_another() const { return ended_by && *ended_by != std::this_thread::get_id(); }
};

Inside& inside() {
  static Inside only;
  return only;
}

/// True if this thread is already counted, or belongs to a fit that is.
thread_local bool counted = false;

using Question = int();

/// Returns the first of the named functions that this process exports.
Question* find_question(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    void* address = dlsym(RTLD_DEFAULT, name);
    if (address == nullptr) continue;
    Question* function = nullptr;
    static_assert(sizeof(function) == sizeof(address));
    std::memcpy(&function, &address, sizeof(function));
    return function;
  }
  throw std::runtime_error(std::string("this Python does not export ") + *names.begin());
}

/// Functions that every CPython exports, though they are not part of the stable ABI.
struct Interpreter {
  Question* is_finalizing = find_question({"Py_IsFinalizing", "_Py_IsFinalizing"});
  Question* holds_lock = find_question({"PyGILState_Check"});
};

const Interpreter& interpreter() {
  static const Interpreter functions;
  return functions;
}

bool is_finalizing() { return interpreter().is_finalizing() != 0; }
/// Returns true if this thread holds the interpreter's lock.
bool holds_lock() { return interpreter().holds_lock() != 0; }

/// If another thread ends the interpreter, releases the lock and never returns.
void sleep_if_ended() {
  if (!inside().ended_by_another()) return;
  PyEval_SaveThread();
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Never returns once the interpreter is being finalized.
void sleep_if_too_late() {
  while (is_finalizing() && !holds_lock()) {
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

void leave(unsigned generation) {
  counted = false;
  if (generation == inside().generation) --inside().threads;
}

/// Asks all fits to stop, and waits until no other thread is in the library.
void end() {
  inside().ended_by = std::this_thread::get_id();
  while (inside().threads > 0) {
    for (std::atomic<bool>* stop : inside().stops) *stop = true;
    PyThreadState* state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    PyEval_RestoreThread(state);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

/// Called in the child of a fork, which has one thread.
void forget_other_threads() {
  Inside& here = inside();
  ++here.generation;
  here.threads = 0;
  here.stops.clear();
  here.ended_by.reset();
}

}  // namespace

Unlocked::Unlocked() : generation_(inside().generation) {
  if (!counted) {
    sleep_if_ended();
    outermost_ = counted = true;
    ++inside().threads;
  }
  state_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  sleep_if_too_late();
  PyEval_RestoreThread(state_);
  if (outermost_) leave(generation_);
}

Locked::InTime::InTime() { sleep_if_too_late(); }

bool can_lock() { return nb::is_alive() && (!is_finalizing() || holds_lock()); }

Running::Running(std::atomic<bool>& stop)
    : stop_(&stop), outermost_(!counted), generation_(inside().generation) {
  if (outermost_) sleep_if_ended();
  inside().stops.push_back(stop_);
  if (!outermost_) return;
  counted = true;
  ++inside().threads;
}

Running::~Running() {
  if (!finished_) finish();
}

void Running::finish() {
  finished_ = true;
  auto& stops = inside().stops;
  stops.erase(std::remove(stops.begin(), stops.end(), stop_), stops.end());
  if (!outermost_) return;
  leave(generation_);
  sleep_if_ended();
}

PartOfRun::PartOfRun() { counted = true; }
PartOfRun::~PartOfRun() { counted = false; }

void bind_lock(nb::module_& m) {
  interpreter();  // fails when the module is loaded if a function is missing
  m.def("end", &end);
  m.def("forget_other_threads", &forget_other_threads);
}

}  // namespace matapprox::python
