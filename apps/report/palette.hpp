#pragma once

#include <array>
#include <string>
#include <string_view>

namespace matapprox::report {

// One color and one mark for each method, in every chart, table and caption. The colors follow
// Okabe and Ito's set for color-blind readers, darkened for 3:1 contrast on white; every series
// also has a mark of its own.

/// A color for light pages and for dark ones.
struct Ink {
  const char* variable;  ///< its CSS custom property
  const char* light;     ///< "#rrggbb"
  const char* dark;
};

constexpr Ink kText{"--ink", "#1c2024", "#e8eaed"};
constexpr Ink kAxis{"--axis", "#6b7280", "#9aa1ab"};
constexpr Ink kGrid{"--grid", "#e3e5e8", "#32363d"};
constexpr Ink kFront{"--front", "#c4c8ce", "#555b66"};
constexpr Ink kNeutral{"--neutral", "#4b5563", "#b6bcc6"};

/// Color, gnuplot point type and the nearest character of a series.
struct Style {
  Ink ink;
  int point_type;
  const char* mark;
};

constexpr std::array<Style, 8> kStyles{{
    {{"--series-0", "#1b5fb0", "#6cb2ff"}, 7, "●"},
    {{"--series-1", "#1d92c4", "#67d8f5"}, 6, "○"},
    {{"--series-2", "#008a66", "#3fd6a8"}, 9, "▲"},
    {{"--series-3", "#94700a", "#e6c04d"}, 11, "▼"},
    {{"--series-4", "#8d45b5", "#d3a2f7"}, 13, "◆"},
    {{"--series-5", "#cc4400", "#ff8f5e"}, 5, "■"},
    {{"--series-6", "#b0306a", "#ff8fbe"}, 4, "□"},
    {{"--series-7", "#4b5563", "#b6bcc6"}, 2, "×"},
}};
constexpr int kOtherStyle = 7;

/// Style of a method, or of a row such as truncated_svd_symmetric; kOtherStyle for a name that has
/// none.
int style_of(std::string_view method);
/// Display name of a method: "truncated SVD, symmetric".
std::string shown_name(std::string_view method);

}  // namespace matapprox::report
