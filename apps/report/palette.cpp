#include "report/palette.hpp"

namespace matapprox::report {
namespace {

struct NamedStyle {
  std::string_view method;
  std::string_view shown;
  int style;
};
constexpr NamedStyle kNamedStyles[] = {
    {"truncated_svd", "truncated SVD", 0},
    {"truncated_svd_symmetric", "truncated SVD, symmetric", 1},
    {"nystrom", "Nyström", 2},
    {"jl_projection", "JL projection", 3},
    {"cur", "CUR", 4},
    {"chord", "Chord", 5},
    {"hierarchical", "hierarchical", 6},
    {"as_is", "as it is", kOtherStyle},
};

const NamedStyle* named_style(std::string_view method) {
  for (const NamedStyle& entry : kNamedStyles) {
    if (entry.method == method) return &entry;
  }
  return nullptr;
}

}  // namespace

int style_of(std::string_view method) {
  const NamedStyle* found = named_style(method);
  return found != nullptr ? found->style : kOtherStyle;
}

std::string shown_name(std::string_view method) {
  const NamedStyle* found = named_style(method);
  return std::string(found != nullptr ? found->shown : method);
}

}  // namespace matapprox::report
