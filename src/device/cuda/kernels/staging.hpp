#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "grid.hpp"

namespace matapprox::cuda {

/// Like std::copy_n, with several threads if long: one thread is slower than the bus to a GPU.
inline void copy_bytes(const char* from, Index bytes, char* to) {
  constexpr Index kBytesOfAThread = Index{2} << 20;
  constexpr Index kMaxThreads = 8;
  const Index machine = std::max<Index>(std::thread::hardware_concurrency(), 1);
  const Index parts = std::clamp(bytes / kBytesOfAThread, Index{1}, std::min(kMaxThreads, machine));
  std::vector<std::jthread> others;
  for (Index p = 1; p < parts; ++p) {
    const Index first = bytes * p / parts;
    others.emplace_back(std::copy_n<const char*, Index, char*>,
                        from + first,
                        bytes * (p + 1) / parts - first,
                        to + first);
  }
  std::copy_n(from, bytes / parts, to);
}

/// Copies between ordinary memory of the host and a device through two buffers with direct access
/// by the device: while it works on one, the host copies to or from the other. A Bus performs these
/// transfers asynchronously and in order:
///
///   Index bytes() const                           size of a buffer, a multiple of 256
///   char* buffer(int which)                       0 or 1
///   void send(int which, Index at, Index n, char* to)      buffer[at..] to the device
///   void fetch(int which, const char* from, Index n)       from the device to buffer[0..]
///   void wait(int which)                          until all transfers of the buffer are complete
template <class Bus>
class Staging {
 public:
  template <class... Arguments>
  explicit Staging(Arguments&&... arguments) : bus_(std::forward<Arguments>(arguments)...) {}

  Bus& bus() { return bus_; }

  /// The host's bytes may change after this returns. Short uploads fill a buffer one after the
  /// other before any is waited for.
  void upload(const char* from, Index bytes, char* to) {
    for (Index done = 0; done < bytes;) {
      if (used_ >= bus_.bytes()) take_other();
      const Index n = std::min(bus_.bytes() - used_, bytes - done);
      copy_bytes(from + done, n, bus_.buffer(which_) + used_);
      bus_.send(which_, used_, n, to + done);
      used_ += ceil_div(n, kAlignment) * kAlignment;
      done += n;
    }
  }

  /// The bytes have arrived when this returns.
  void download(const char* from, Index bytes, char* to) {
    if (bytes == 0) return;
    const Index piece = bus_.bytes();
    const auto ask = [&](Index first) {
      if (first < bytes) bus_.fetch(buffer_of(first), from + first, std::min(piece, bytes - first));
    };
    ask(0);
    for (Index done = 0; done < bytes; done += piece) {
      ask(done + piece);
      bus_.wait(buffer_of(done));
      copy_bytes(bus_.buffer(buffer_of(done)), std::min(piece, bytes - done), to + done);
    }
    // All earlier uploads are complete too.
    used_ = 0;
    which_ = 0;
  }

 private:
  static constexpr Index kAlignment = 256;

  int buffer_of(Index first) const { return static_cast<int>(first / bus_.bytes() % 2); }
  void take_other() {
    which_ = 1 - which_;
    used_ = 0;
    bus_.wait(which_);
  }

  Bus bus_;
  int which_ = 0;   ///< buffer that uploads fill
  Index used_ = 0;  ///< bytes used in it
};

}  // namespace matapprox::cuda
