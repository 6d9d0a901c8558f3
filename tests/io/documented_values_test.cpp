#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "matapprox/core/random.hpp"
#include "support/paths.hpp"

// The check values in docs/random.md agree with the library: readers of saved files rely on them.
namespace matapprox {
namespace {

std::string page() {
  std::ifstream file(test::source_dir() + "/docs/random.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(DocumentedValues, Words) {
  const auto w = random_words(1, RandomStream::kJlProjection, 0, 0);
  EXPECT_NE(page().find(fmt::format("0x{:08X} 0x{:08X} 0x{:08X} 0x{:08X}", w[0], w[1], w[2], w[3])),
            std::string::npos);
}

TEST(DocumentedValues, Normals) {
  const double first = random_normal(1, RandomStream::kJlProjection, 0, 0);
  const double second = random_normal(1, RandomStream::kJlProjection, 2, 5);
  EXPECT_NE(page().find(fmt::format("normal(1, 1, 0, 0) = {}", first)), std::string::npos);
  EXPECT_NE(page().find(fmt::format("normal(1, 1, 2, 5) = {}", second)), std::string::npos);
}

}  // namespace
}  // namespace matapprox
