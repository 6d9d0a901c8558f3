#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "matapprox/tasks/import.hpp"

namespace matapprox::tasks {

/// The longest line of a text file and the longest file of one text; what is beyond is no data set
/// of text.
inline constexpr std::size_t kLargestText = std::size_t{1} << 24;

/// Puts sequences one behind the other, cut as the options say.
class TokenBuilder {
 public:
  TokenBuilder(const ImportOptions& options, std::string source, Index vocabulary, Index classes);

  /// `place` is for messages: file, and line or record. Throws NotAvailable if memory is short,
  /// FileError if the sequence is empty or longer than kLongestSequence.
  void add(std::span<const std::int32_t> tokens,
           Index label,
           std::optional<Split> split,
           const std::string& place);
  /// The bytes of a text as tokens 0..255.
  void add_bytes(std::string_view text,
                 Index label,
                 std::optional<Split> split,
                 const std::string& place);

  const ImportOptions& options() const { return options_; }
  Index size() const { return set_.size(); }
  /// The set; throws FileError if there is nothing in it.
  TokenSet finish();
  /// To be set where they are known only at the end.
  TokenSet& set() { return set_; }

 private:
  ImportOptions options_;
  TokenSet set_;
  std::vector<std::int32_t> buffer_;
};

/// The part of a sequence or text that the options keep.
template <class View>
View kept_part(const View& whole, const ImportOptions& options) {
  const auto most = static_cast<std::size_t>(options.max_length);
  if (most == 0 || whole.size() <= most) return whole;
  if constexpr (std::is_same_v<View, std::string_view>) {
    return options.keep == KeptPart::kFirst ? whole.substr(0, most)
                                            : whole.substr(whole.size() - most);
  } else {
    return options.keep == KeptPart::kFirst ? whole.first(most) : whole.last(most);
  }
}

}  // namespace matapprox::tasks
