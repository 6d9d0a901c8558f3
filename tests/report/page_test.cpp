#include "report/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace matapprox::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "<script>alert(1)</script>&\"'.mtx";

TEST(Page, NothingHasAMeaningAfterEscaping) {
  EXPECT_EQ(escape_html(kHostile), "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;.mtx");
  EXPECT_EQ(escape_html("Nystr\u00f6m \u20ac \U0001F600"), "Nystr\u00f6m \u20ac \U0001F600");
  EXPECT_EQ(escape_html("a\xFF\x01z\xC0\x80"), "a\uFFFD\uFFFDz\uFFFD\uFFFD");
  EXPECT_EQ(escape_html("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // half of a surrogate pair
}

TEST(Page, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64(std::string("\xFF\x00\xFE", 3)), "/wD+");
}

TEST(Page, EveryPieceEscapesItsText) {
  Page page;
  page.title = page.subtitle = page.footer = kHostile;
  page.findings = {kHostile};
  page.facts = {{kHostile, kHostile}};
  const Table content{kHostile, {{kHostile, true}}, {{TableCell(kHostile)}}};
  const DrawnChart chart{"chart",
                         "<svg></svg>",
                         "<svg></svg>",
                         {{kHostile, kText, "x", 0}, {kHostile, kText, "x", 3}}};
  page.sections = {{"one",
                    kHostile,
                    {paragraph(kHostile),
                     note(kHostile),
                     bullet_list({kHostile}),
                     code_block(kHostile),
                     details(kHostile, {note(kHostile)}),
                     table(content),
                     chart_figure(chart, kHostile, kHostile),
                     color_bar({}, kHostile),
                     image_gallery({{kHostile, 1, kHostile, {{"", kHostile, kHostile}}}})}}};
  const std::string html = page_html(page);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("&\"'")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
}

TEST(Page, TablesHaveHeadsWithAScope) {
  const std::string markup =
      table({"Results", {{"method", false}, {"error", true}}, {{"chord", "0.1"}}}).markup;
  EXPECT_THAT(markup, HasSubstr("<th scope=\"col\">method</th>"));
  EXPECT_THAT(markup, HasSubstr("<th scope=\"row\">chord</th>"));
  EXPECT_THAT(markup, HasSubstr("<td class=\"number\">0.1</td>"));
  EXPECT_THAT(markup, HasSubstr("tabindex=\"0\""));
}

}  // namespace
}  // namespace matapprox::report
