#include "datamanager/tensorboard/server_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "datamanager/series/overlap_policy.h"

namespace datamanager::tensorboard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

absl::StatusOr<ServerFlags> Parse(const std::vector<std::string>& words) {
  return ParseServerFlags(words);
}

std::string ErrorOf(const std::vector<std::string>& words) {
  const auto flags = Parse(words);
  EXPECT_EQ(flags.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(flags.status().message());
}

TEST(ServerFlagsTest, ReadsWhatTensorBoardSays) {
  const auto flags =
      Parse({"--logdir=/home/me/runs", "--reload=5", "--samples-per-plugin=images=all,scalars=500",
             "--port=0", "--port-file=/tmp/x/port", "--die-after-stdin",
             "--error-file=/tmp/x/startup_error", "--verbose", "--verbose"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->logdir, "/home/me/runs");
  EXPECT_EQ(flags->reload, absl::Seconds(5));
  EXPECT_THAT(flags->samples, ElementsAre(Pair("images", std::nullopt), Pair("scalars", 500u)));
  EXPECT_EQ(flags->port, 0);
  EXPECT_EQ(flags->port_file, "/tmp/x/port");
  EXPECT_EQ(flags->error_file, "/tmp/x/startup_error");
  EXPECT_TRUE(flags->die_after_stdin);
  EXPECT_EQ(flags->verbose, 2);
  EXPECT_EQ(flags->overlap, Overlap::kLastWrite);
}

TEST(ServerFlagsTest, ReadsWhatUsersAdd) {
  const auto flags = Parse({"--logdir", "a=b", "--no-checksum", "--checksum", "--host", "127.0.0.1",
                            "--overlap=raw", "--cache_mb=7", "-v"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_EQ(flags->logdir, "a=b");
  EXPECT_EQ(flags->host, "127.0.0.1");
  EXPECT_EQ(flags->overlap, Overlap::kRaw);
  EXPECT_EQ(flags->cache_mb, 7u);
  EXPECT_EQ(flags->verbose, 1);
}

TEST(ServerFlagsTest, TellsReloadsApart) {
  EXPECT_EQ(Parse({"--logdir=x", "--reload=once"})->reload, absl::ZeroDuration());
  EXPECT_EQ(Parse({"--logdir=x", "--reload=0"})->reload, absl::Seconds(1));
  EXPECT_EQ(Parse({"--logdir=x", "--samples-per-plugin="})->samples, SampleCounts());
}

TEST(ServerFlagsTest, NamesWhatIsWrong) {
  EXPECT_EQ(ErrorOf({}), "--logdir is missing: see --help");
  EXPECT_EQ(ErrorOf({"--logdir"}), "--logdir needs a value");
  EXPECT_EQ(ErrorOf({"runs"}), "\"runs\" is no flag: see --help");
  EXPECT_EQ(ErrorOf({"--lgdir=x"}), "there is no flag --lgdir: see --help");
  EXPECT_EQ(ErrorOf({"--reload=soon"}), "--reload is \"soon\": it must be once, or seconds");
  EXPECT_THAT(ErrorOf({"--port=65536"}), HasSubstr("a number up to 65535"));
  EXPECT_THAT(ErrorOf({"--port=-1"}), HasSubstr("a number up to 65535"));
  EXPECT_THAT(ErrorOf({"--samples-per-plugin=x"}), HasSubstr("pairs like"));
  EXPECT_THAT(ErrorOf({"--samples-per-plugin=x=y"}), HasSubstr("pairs like"));
  EXPECT_THAT(ErrorOf({"--overlap=x"}), HasSubstr("raw, last, tensorboard or rust"));
}

}  // namespace
}  // namespace datamanager::tensorboard
