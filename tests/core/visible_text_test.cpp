#include "matapprox/core/visible_text.hpp"

#include <gtest/gtest.h>

namespace matapprox {
namespace {

TEST(VisibleText, EscapesWhatATerminalObeys) {
  EXPECT_EQ(visible_text("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(visible_text("\x1b[31m\x07\x7f"), "\\u001b[31m\\u0007\\u007f");
  EXPECT_EQ(visible_text("\xc2\x80\xc2\x9f"), "\\u0080\\u009f");
  EXPECT_EQ(visible_text("\x9b"
                         "2J"),
            "\\x9b2J");
  EXPECT_EQ(visible_text("\u202e\u2066\u2028"), "\\u202e\\u2066\\u2028");
  EXPECT_EQ(visible_text(std::string_view("\0", 1)), "\\u0000");
}

TEST(VisibleText, LeavesTextAlone) {
  for (const char* text : {"", "plain 'text' \\n", "\u00e9\u00a0\u4e2d\U0001f600", "| * _ < &"})
    EXPECT_EQ(visible_text(text), text);
}

TEST(VisibleText, BytesThatAreNotUtf8) {
  // A lone continuation byte, overlong forms, a surrogate, values beyond the last code point,
  // truncated sequences.
  for (const char* text : {"\x80",
                           "\xc0\xaf",
                           "\xe0\x80\xaf",
                           "\xed\xa0\x80",
                           "\xf4\x90\x80\x80",
                           "\xf5",
                           "\xe4\xb8",
                           "\xff"}) {
    const std::string shown = visible_text(text);
    EXPECT_EQ(shown.size(), 4 * std::string_view(text).size());
    EXPECT_EQ(shown.substr(0, 2), "\\x");
  }
}

TEST(VisibleText, LinesKeepTheirEnds) {
  EXPECT_EQ(visible_lines("a\tb\n\x1b\r"), "a\tb\n\\u001b\\r");
  EXPECT_EQ(legal_utf8("a\n\x1b\xff"), "a\n\x1b\\xff");
}

TEST(VisibleText, ShownTwiceIsShownOnce) {
  for (const char* text : {"\x1b\n\x9b", "a\\n", "\u202e"})
    EXPECT_EQ(visible_text(visible_text(text)), visible_text(text));
}

}  // namespace
}  // namespace matapprox
