// MATAPPROX_INSTRUCTIONS, which the programs read, also selects the instruction set of the kernels
// in every test program.
#include <gtest/gtest.h>

#include <cstdlib>

#include "matapprox/kernels/gemm.hpp"

namespace matapprox::test {
namespace {

class InstructionSetOfTheEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* const name = std::getenv("MATAPPROX_INSTRUCTIONS");
    if (name != nullptr && *name != 0) kernels::use_instruction_set(name);
  }
};

const ::testing::Environment* const registered_environment =
    ::testing::AddGlobalTestEnvironment(new InstructionSetOfTheEnvironment);

}  // namespace
}  // namespace matapprox::test
