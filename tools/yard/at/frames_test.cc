#include "tools/yard/at/frames.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using Kind = RemoteFrame::Kind;

TEST(FramesTest, AnyCutOfTheStreamGivesTheSame) {
  const std::string large(kMaxFrameBytes, '\xff');
  const std::string stream = FrameBytes(Kind::kData, std::string("a\0b", 3)) +
                             FrameBytes(Kind::kInterrupt) + FrameBytes(Kind::kData, large) +
                             FrameBytes(Kind::kEnd);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    RemoteFrameReader reader;
    std::vector<RemoteFrame> all;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      auto frames = reader.Add(std::string_view(stream).substr(at, step));
      ASSERT_TRUE(frames.ok()) << frames.status();
      all.insert(all.end(), frames->begin(), frames->end());
    }
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0].data, std::string("a\0b", 3));
    EXPECT_EQ(all[1].kind, Kind::kInterrupt);
    EXPECT_EQ(all[2].data, large);
    EXPECT_EQ(all[3].kind, Kind::kEnd);
  }
}

TEST(FramesTest, OtherBytesAreRefused) {
  for (const std::string& bytes :
       {std::string("hello"), std::string("d\0\0", 3), std::string("e\0\1", 3),
        std::string("d\xff\xff", 3), std::string("\0\0\0", 3)}) {
    EXPECT_EQ(RemoteFrameReader().Add(bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(RemoteFrameReader().Add("d").ok());
}

}  // namespace
}  // namespace yard
