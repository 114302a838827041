#include "tools/yard/at/place.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;

TEST(PlaceTest, AHostIsWhatSshTakes) {
  for (const char* host : {"gpu1", "ann@gpu1", "10.0.0.7", "fe80::1%eth0", "ssh://ann@gpu1:2222"}) {
    const auto place = ParsePlace(host);
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_EQ(place->host, host);
    EXPECT_EQ(place->program, "");
  }
}

TEST(PlaceTest, APathOfYardMayFollow) {
  EXPECT_EQ(ParsePlace("ann@gpu1:/opt/yard/bin/yard")->host, "ann@gpu1");
  EXPECT_EQ(ParsePlace("ann@gpu1:/opt/yard/bin/yard")->program, "/opt/yard/bin/yard");
  EXPECT_EQ(ParsePlace("gpu1:~/bin/yard")->program, "~/bin/yard");
  EXPECT_EQ(ParsePlace("fe80::1:/opt/yard")->host, "fe80::1");
  EXPECT_EQ(ParsePlace("ssh://gpu1:2222:/opt/yard")->host, "ssh://gpu1:2222");
}

TEST(PlaceTest, NoHostIsAnOptionOfSsh) {
  for (const char* text : {"", "-oProxyCommand=x", ":/opt/yard", "a b", "a\nb", "a\x1b[2J"}) {
    EXPECT_EQ(ParsePlace(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParsePlace("gpu1:/opt/$(x)").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(ParsePlace("a\x1b[2J").status().message()),
              ::testing::HasSubstr("a\\x1B[2J"));
}

TEST(PlaceTest, TheWordGoesBeforeTheVariable) {
  std::vector<std::string> words = {"--at", "gpu1", "ps", "--at", "x"};
  EXPECT_EQ((*TakePlace(words, "gpu2"))->host, "gpu1");
  EXPECT_THAT(words, ElementsAre("ps", "--at", "x"));
  words = {"--at=gpu3", "ps"};
  EXPECT_EQ((*TakePlace(words, nullptr))->host, "gpu3");
  EXPECT_THAT(words, ElementsAre("ps"));
  words = {"ps"};
  EXPECT_EQ((*TakePlace(words, "gpu2"))->host, "gpu2");
  EXPECT_FALSE(TakePlace(words, nullptr)->has_value());
  EXPECT_FALSE(TakePlace(words, "")->has_value());
  words = {"--at", "", "ps"};
  EXPECT_FALSE(TakePlace(words, "gpu2")->has_value());
  EXPECT_THAT(words, ElementsAre("ps"));
  words = {"--at"};
  EXPECT_EQ(TakePlace(words, nullptr).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace yard
