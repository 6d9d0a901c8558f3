#include <gtest/gtest.h>

#include <cmath>

#include "core/quantiles.hpp"

namespace matapprox {
namespace {

struct Quantile {
  double degrees;
  double probability;
  double value;
};

// scipy.stats.chi2.ppf(probability, degrees), SciPy 1.17.1.
constexpr Quantile kFromSciPy[] = {
    {1, 1e-06, 1.5707963267957187e-12},  {1, 0.005, 3.9270422220515944e-05},
    {1, 0.025, 0.0009820691171752555},   {1, 0.35, 0.20590012522776568},
    {1, 0.5, 0.454936423119572},         {1, 0.975, 5.023886187314888},
    {2.5, 1e-06, 3.502823491430508e-05}, {2.5, 0.005, 0.03211343311105102},
    {2.5, 0.025, 0.11862294210006345},   {2.5, 0.35, 1.243080201056908},
    {2.5, 0.5, 1.8738477677808791},      {2.5, 0.975, 8.392295266912964},
    {8, 1e-06, 0.14198478271724216},     {8, 0.005, 1.3444130870148099},
    {8, 0.025, 2.1797307472526497},      {8, 0.35, 5.9752891232989445},
    {8, 0.5, 7.344121497701794},         {8, 0.975, 17.534546139484647},
    {9, 1e-06, 0.22838484007344917},     {9, 0.005, 1.7349329049966602},
    {9, 0.025, 2.7003894999803584},      {9, 0.35, 6.876267870787182},
    {9, 0.5, 8.342832692252955},         {9, 0.975, 19.02276779864163},
    {40, 1e-06, 10.727973172363303},     {40, 0.005, 20.706535316970083},
    {40, 0.025, 24.433039170807888},     {40, 0.35, 36.020657591488664},
    {40, 0.5, 39.33534484661134},        {40, 0.975, 59.34170714317118},
    {64, 1e-06, 23.747764297114184},     {64, 0.005, 38.60977848653722},
    {64, 0.025, 43.77595262256913},      {64, 0.35, 59.10004365609869},
    {64, 0.5, 63.334582023531965},       {64, 0.975, 88.0040510064975},
    {77.3, 1e-06, 31.81428217196799},    {77.3, 0.005, 49.02621265686203},
    {77.3, 0.025, 54.875931094647775},   {77.3, 0.35, 71.96589189441795},
    {77.3, 0.5, 76.63436516179135},      {77.3, 0.975, 103.5055672999179},
    {512, 1e-06, 374.0129863998619},     {512, 0.005, 433.3317024786578},
    {512, 0.025, 451.19640398926146},    {512, 0.35, 499.1113722009129},
    {512, 0.5, 511.33348787447403},      {512, 0.975, 576.5911422266107},
    {10000, 1e-06, 9342.10190723289},    {10000, 0.005, 9639.479982193741},
    {10000, 0.025, 9724.718377389798},   {10000, 0.35, 9944.941853213817},
    {10000, 0.5, 9999.333341235144},     {10000, 0.975, 10279.07017988759},
    {100000, 1e-06, 97888.58221843735},  {100000, 0.005, 98851.81093911004},
    {100000, 0.025, 99125.37330064735},  {100000, 0.35, 99827.11242003067},
    {100000, 0.5, 99999.33333412347},    {100000, 0.975, 100878.41530566558},
};

TEST(ChiSquare, QuantilesAreThoseOfSciPy) {
  for (const Quantile& expected : kFromSciPy) {
    EXPECT_NEAR(chi_square_quantile(expected.degrees, expected.probability),
                expected.value,
                1e-11 * expected.value)
        << expected.degrees << " degrees, " << expected.probability;
  }
}

TEST(ChiSquare, TwoDegreesAreAnExponentialVariable) {
  for (const double p : {1e-15, 1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9}) {
    const double expected = -2 * std::log1p(-p);
    EXPECT_NEAR(chi_square_quantile(2, p), expected, 1e-13 * expected / (1 - p)) << p;
  }
}

// Properties that a certificate needs: see src/measure/certificate.cpp.
TEST(ChiSquare, LowerQuantilesGrowWithTheDegreesAndStayBelowTheMode) {
  for (const double p : {1e-6, 0.005, 0.025, 0.25, 0.35}) {
    double before = 0;
    for (double degrees = 8; degrees < 3e5; degrees = std::ceil(1.1 * degrees)) {
      const double value = chi_square_quantile(degrees, p);
      EXPECT_LE(value, degrees - 2) << degrees << " degrees, " << p;
      EXPECT_GT(value / degrees, before) << degrees << " degrees, " << p;
      before = value / degrees;
    }
  }
}

}  // namespace
}  // namespace matapprox
