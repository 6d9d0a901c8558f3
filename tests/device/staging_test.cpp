#include "device/cuda/kernels/staging.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <random>

namespace matapprox::cuda {
namespace {

/// Postpones all transfers until they are waited for, so that a missing wait shows.
class LateBus {
 public:
  explicit LateBus(Index bytes)
      : buffers_{std::string(size(bytes), '?'), std::string(size(bytes), '?')} {}

  Index bytes() const { return std::ssize(buffers_[0]); }
  char* buffer(int which) { return buffers_[which].data(); }
  void send(int which, Index at, Index n, char* to) {
    EXPECT_LE(at + n, bytes());
    put_off(which, [=, this] { std::copy_n(buffer(which) + at, n, to); });
  }
  void fetch(int which, const char* from, Index n) {
    EXPECT_LE(n, bytes());
    put_off(which, [=, this] { std::copy_n(from, n, buffer(which)); });
  }
  /// Runs the transfers in order, up to the last one of this buffer.
  void wait(int which) {
    while (std::ranges::any_of(late_, [&](const Work& work) { return work.which == which; })) {
      late_.front().body();
      late_.pop_front();
    }
  }
  void finish() {
    wait(0);
    wait(1);
  }
  /// Largest number of transfers that were postponed at the same time.
  std::size_t max_late() const { return max_late_; }

 private:
  struct Work {
    int which;
    std::function<void()> body;
  };
  static std::size_t size(Index bytes) { return static_cast<std::size_t>(bytes); }
  void put_off(int which, std::function<void()> body) {
    late_.push_back({which, std::move(body)});
    max_late_ = std::max(max_late_, late_.size());
  }

  std::string buffers_[2];
  std::deque<Work> late_;
  std::size_t max_late_ = 0;
};

std::string random_text(std::mt19937& random, Index size) {
  std::string text(static_cast<std::size_t>(size), ' ');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return text;
}

TEST(Staging, BytesArriveThoughTheBusIsLateAndTheHostIsNot) {
  std::mt19937 random(1);
  Staging<LateBus> staging(Index{1024});
  std::deque<std::string> device;
  std::deque<std::string> wanted;
  for (int copy = 0; copy < 400; ++copy) {
    // Sizes: nothing, short ones, a whole buffer, several buffers.
    const Index sizes[] = {0, 1, 7, 256, 300, 1023, 1024, 1025, 2048, 5000};
    std::string text = random_text(random, sizes[random() % 10]);
    wanted.push_back(text);
    std::string& there = device.emplace_back(text.size(), '-');
    staging.upload(text.data(), std::ssize(text), there.data());
    std::fill(text.begin(), text.end(), '!');
    if (copy % 3 != 0) continue;
    const auto which = random() % device.size();
    std::string back(wanted[which].size(), '#');
    staging.download(device[which].data(), std::ssize(back), back.data());
    ASSERT_EQ(back, wanted[which]) << copy;
  }
  staging.bus().finish();
  for (std::size_t i = 0; i < device.size(); ++i) ASSERT_EQ(device[i], wanted[i]) << i;
}

TEST(Staging, TheDeviceWorksOnOneBufferWhileTheHostHasTheOther) {
  std::string host(10000, 'x');
  std::string device(10000, 'y');
  Staging<LateBus> up(Index{1024});
  up.upload(host.data(), 10000, device.data());
  EXPECT_EQ(up.bus().max_late(), 2);
  Staging<LateBus> down(Index{1024});
  down.download(device.data(), 10000, host.data());
  EXPECT_EQ(down.bus().max_late(), 2);
}

/// Four uploads of 256 bytes fill a buffer: the fifth uses the other buffer, the ninth must wait.
TEST(Staging, ShortUploadsDoNotWaitForEachOther) {
  Staging<LateBus> staging(Index{1024});
  std::string host(100, 'x');
  std::string device(100, 'y');
  for (int copy = 0; copy < 8; ++copy) staging.upload(host.data(), 100, device.data());
  EXPECT_EQ(staging.bus().max_late(), 8);
  staging.upload(host.data(), 100, device.data());
  EXPECT_EQ(staging.bus().max_late(), 8);
}

TEST(Staging, LongCopiesByThreadsAreWhole) {
  std::mt19937 random(2);
  for (const Index size : {Index{0}, Index{1}, (Index{9} << 20) + 5}) {
    const std::string from = random_text(random, size);
    std::string to(from.size(), '-');
    copy_bytes(from.data(), size, to.data());
    EXPECT_EQ(from == to, true) << size;
  }
}

}  // namespace
}  // namespace matapprox::cuda
