#include "datamanager/tensorboard/grpc_framing.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace datamanager::tensorboard {
namespace {

TEST(GrpcFramingTest, AFrameIsReadBack) {
  const std::string message(300, 'x');
  std::string frames;
  AppendFrame(message, &frames);
  EXPECT_EQ(frames.substr(0, 5), std::string_view("\0\0\0\x01\x2c", 5));
  const auto read = OnlyMessage(frames);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, message);
}

TEST(GrpcFramingTest, AnEmptyMessageIsOne) {
  std::string frames;
  AppendFrame("", &frames);
  EXPECT_EQ(OnlyMessage(frames).value(), "");
}

TEST(GrpcFramingTest, RefusesWhatIsNoMessage) {
  EXPECT_EQ(OnlyMessage("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OnlyMessage(std::string_view("\0\0\0\0", 4)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OnlyMessage(std::string_view("\0\0\0\0\2x", 6)).status().message(),
            "a message of 2 bytes stands in 1 bytes");
  EXPECT_EQ(OnlyMessage(std::string_view("\0\xff\xff\xff\xffx", 6)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OnlyMessage(std::string_view("\1\0\0\0\1x", 6)).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(GrpcFramingTest, EncodesWhatIsNotPrintable) {
  EXPECT_EQ(PercentEncoded("no run \"a\""), "no run \"a\"");
  EXPECT_EQ(PercentEncoded("50%\n\xc3\xa4"), "50%25%0A%C3%A4");
}

}  // namespace
}  // namespace datamanager::tensorboard
