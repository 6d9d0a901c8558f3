#include "matapprox/methods/registry.hpp"

#include <gtest/gtest.h>

#include <set>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

TEST(Registry, NamesAllMethodsInTheOrderOfTheTable) {
  std::vector<std::string_view> names;
  for (const Method& method : methods().first(5)) {
    names.push_back(method.name);
    EXPECT_TRUE(method.has_option("seed")) << method.name;
  }
  EXPECT_EQ(
      names,
      (std::vector<std::string_view>{"truncated_svd", "nystrom", "jl_projection", "cur", "chord"}));
}

class RegisteredMethod : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(All,
                         RegisteredMethod,
                         ::testing::ValuesIn(methods().begin(), methods().end()),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

TEST_P(RegisteredMethod, OptionsHaveNamesHelpAndReadBack) {
  std::set<std::string> seen;
  NamedOptions all;
  for (const OptionText& option : GetParam().options()) {
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_TRUE(seen.insert(option.name).second) << option.name;
    EXPECT_TRUE(GetParam().has_option(option.name));
    all.emplace_back(option.name, option.value);
  }
  EXPECT_TRUE(seen.contains("budget"));
  EXPECT_FALSE(GetParam().has_option("nonsense"));
  // Every default, given as text, has the effect of the default.
  const DenseOperator A(test::with_eigenvalues(test::harmonic_spectrum(16)));
  EXPECT_NO_THROW(GetParam().run(A, all, {}));
}

TEST_P(RegisteredMethod, SummaryIsFilled) {
  const DenseOperator A(test::with_eigenvalues(test::harmonic_spectrum(16)));
  const bool random = GetParam().has_option("seed");
  const Approximation found =
      GetParam().run(A, random ? NamedOptions{{"seed", "5"}} : NamedOptions{});
  EXPECT_EQ(found.summary.method, GetParam().name);
  if (random) {
    EXPECT_EQ(found.summary.seed, 5U);
  }
  EXPECT_EQ(found.summary.options.size(), GetParam().options().size());
  EXPECT_GE(found.summary.iterations, 1);
}

TEST_P(RegisteredMethod, RefusesUnknownOptionsAndTexts) {
  const DenseOperator A(Matrix(Matrix::Identity(4, 4)));
  EXPECT_REFUSED(InvalidArgument, GetParam().run(A, {{"rnk", "1"}}), "no option 'rnk'");
  EXPECT_REFUSED(InvalidArgument, GetParam().run(A, {{"budgt", "1"}}), "did you mean 'budget'?");
  EXPECT_REFUSED(InvalidArgument, GetParam().run(A, {{"budget", "x"}}), "'x'");
}

TEST(Registry, SuggestsTheNearestMethod) {
  EXPECT_EQ(find_method("cur").name, "cur");
  EXPECT_REFUSED(InvalidArgument, find_method("nystorm"), "did you mean 'nystrom'?");
}

}  // namespace
}  // namespace matapprox
