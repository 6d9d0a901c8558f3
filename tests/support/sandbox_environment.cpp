#include <gtest/gtest.h>

#include "command_line/sandbox.hpp"

namespace matapprox::test {
namespace {

/// The tests read as the programs do: some of their files are made to crash libraries.
class SandboxEnvironment final : public testing::Environment {
 public:
  void SetUp() override {
    set_read_guard([](const TrialRead& trial) { app::sandboxed_read(trial); });
  }
};

[[maybe_unused]] const testing::Environment* const kEnvironment =
    testing::AddGlobalTestEnvironment(new SandboxEnvironment);

}  // namespace
}  // namespace matapprox::test
