#include "tools/yard/follow/request_room.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

TEST(RequestRoomTest, TheLargestPartIsNamed) {
  const std::string large(120'000, 'x');
  std::vector<std::string> environment = {"A=1"};
  EXPECT_TRUE(CheckRoom(environment, {"a"}, "{}").ok());
  for (int i = 0; i < 9; ++i) environment.push_back("BIG=" + large);
  environment.push_back("LARGEST=" + large + "x");
  const absl::Status status = CheckRoom(environment, {"a"}, "{}");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string text(status.message());
  EXPECT_THAT(text,
              HasSubstr("the environment has 1.2 MB, of which the variable LARGEST has 120.0 kB"));
  EXPECT_THAT(text, HasSubstr("env -u LARGEST yard"));
  EXPECT_THAT(std::string(CheckRoom({}, {std::string(2'000'000, 'a')}, "").message()),
              HasSubstr("the program and its arguments have 2.0 MB"));
  EXPECT_THAT(std::string(CheckRoom({}, {}, std::string(2'000'000, 'a')).message()),
              HasSubstr("the configuration has 2.0 MB"));
}

}  // namespace
}  // namespace yard
