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

/// Guarded by the interpreter's lock.
struct Inside {
  int threads = 0;                          ///< in a fit or a product
  std::vector<std::atomic<bool>*> stops;    ///< of the fits
  std::optional<std::thread::id> ended_by;  ///< the thread that ends the interpreter
  unsigned generation = 0;                  ///< what a fork leaves behind no longer counts

  bool ended_by_another() const { return ended_by && *ended_by != std::this_thread::get_id(); }
};

Inside& inside() {
  static Inside only;
  return only;
}

/// Whether this thread is counted already, or belongs to a fit that is.
thread_local bool counted = false;

using Question = int();

/// The function of this process that has the first of the names, in their order, that there is.
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

/// What every CPython answers, though it is no part of the stable ABI.
struct Interpreter {
  Question* is_finalizing = find_question({"Py_IsFinalizing", "_Py_IsFinalizing"});
  Question* holds_lock = find_question({"PyGILState_Check"});
};

const Interpreter& interpreter() {
  static const Interpreter functions;
  return functions;
}

bool is_finalizing() { return interpreter().is_finalizing() != 0; }
/// Whether this thread has the interpreter's lock.
bool holds_lock() { return interpreter().holds_lock() != 0; }

/// Where the interpreter is ended by another thread, gives up the lock for good.
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

/// In the child of a fork, which has one thread.
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
  interpreter();  // what is missing is said when the module is loaded
  m.def("end", &end);
  m.def("forget_other_threads", &forget_other_threads);
}

}  // namespace matapprox::python
