#include <gtest/gtest.h>

#include "command_line/sandbox.hpp"

namespace matapprox::test {
namespace {

/// The tests read in a sandbox like the programs, because some of their files are made to crash
/// libraries.
class SandboxEnvironment final : public testing::Environment {
 public:
  void SetUp() override { app::read_in_sandbox(); }
};

[[maybe_unused]] const testing::Environment* const kEnvironment =
    testing::AddGlobalTestEnvironment(new SandboxEnvironment);

}  // namespace
}  // namespace matapprox::test
