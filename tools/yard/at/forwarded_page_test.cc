#include "tools/yard/at/forwarded_page.h"

#include "gtest/gtest.h"

namespace yard {
namespace {

TEST(ForwardedPageTest, AnAddressHasParts) {
  const HttpAddress page = ParseHttpAddress("http://127.0.0.1:7710/run/a%2Fb#k=x:y");
  EXPECT_EQ(page.host, "127.0.0.1");
  EXPECT_EQ(page.port, "7710");
  EXPECT_EQ(page.path, "/run/a%2Fb#k=x:y");
  EXPECT_EQ(ParseHttpAddress("http://[::1]:6006").host, "[::1]");
  EXPECT_EQ(ParseHttpAddress("http://[::1]:6006").path, "");
  for (const char* other : {"", "https://a:1/", "http://a/", "http://:1/", "http://a:0/",
                            "http://a:65536/", "http://a b:1/", "http://a;b:1/",
                            "http://a:1/\"><script>", "http://a:1/ b", "http://a:1/\x1b[2J"}) {
    EXPECT_EQ(ParseHttpAddress(other).port, "") << other;
  }
}

TEST(ForwardedPageTest, TwoVerbsShowAddresses) {
  EXPECT_TRUE(ShowsAddress({"ui", "first"}));
  EXPECT_TRUE(ShowsAddress({"tensorboard"}));
  EXPECT_FALSE(ShowsAddress({"ui", "--help"}));
  EXPECT_FALSE(ShowsAddress({"ps"}));
  EXPECT_FALSE(ShowsAddress({}));
}

}  // namespace
}  // namespace yard
