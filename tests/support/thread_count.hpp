#pragma once

#include "matapprox/core/memory.hpp"

namespace matapprox::test {

/// Sets the number of threads of the library to `count` during its lifetime.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(threads()) { set_threads(count); }
  ~ThreadCount() { set_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

}  // namespace matapprox::test
