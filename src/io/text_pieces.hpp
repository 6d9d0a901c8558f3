#pragma once

#include <string_view>
#include <vector>

namespace matapprox {

/// Cuts a text into pieces of whole lines, about 1 MB each, to be parsed in parallel. The cuts
/// depend only on the text.
inline std::vector<std::string_view> text_pieces(std::string_view text) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    auto stop = text.size();
    if (stop > kPiece) {
      const auto line_end = text.find('\n', kPiece);
      if (line_end != std::string_view::npos) stop = line_end + 1;
    }
    pieces.push_back(text.substr(0, stop));
    text.remove_prefix(stop);
  }
  return pieces;
}

}  // namespace matapprox
