#include "cli/roff.h"

#include <gtest/gtest.h>

namespace yoke::cli {
namespace {

TEST(Roff, EscapesWhatRoffWouldTakeForItself) {
  EXPECT_EQ(roff_escaped("plain text."), "plain text.");
  EXPECT_EQ(roff_escaped(".SH 'x' \"y\" `z` ~^ --flag\\n"),
            "\\&.SH \\(aqx\\(aq \\(dqy\\(dq \\(gaz\\(ga \\(ti\\(ha \\-\\-flag\\(rsn");
}

TEST(Roff, SetsParagraphsAndKeepsIndentedLines) {
  RoffPage page;
  page.section("See also");
  page.prose({"one", "  two  ", "three", "", "four"});
  page.prose({"five"});
  EXPECT_EQ(page.text(), ".SH \"SEE ALSO\"\none\n.PP\n.RS 4\n.EX\ntwo  \n.EE\n.RE\n.PP\nthree\n.PP\nfour\n.PP\nfive\n");
}

TEST(Roff, ItemsHaveABody) {
  RoffPage page;
  page.paragraph();
  page.item("\\fBa\\fR", "");
  page.item("b", " text ");
  EXPECT_EQ(page.text(), ".PP\n.TP\n\\fBa\\fR\n\\&\n.TP\nb\ntext\n");
}

}  // namespace
}  // namespace yoke::cli
