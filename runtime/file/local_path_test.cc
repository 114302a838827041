#include "runtime/file/local_path.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Said(const char* path) {
  return std::string(CheckLocalPath("--logdir", path).message());
}

TEST(LocalPathTest, WhatIsNoDirectoryOfThisMachineIsRefused) {
  EXPECT_THAT(Said("s3://bucket/runs"), HasSubstr("mount that store"));
  EXPECT_THAT(Said("gs://x"), HasSubstr("mount that store"));
  EXPECT_THAT(Said("file:///x"), HasSubstr("mount that store"));
  EXPECT_THAT(Said("a:x,b:y"), HasSubstr("one directory"));
  EXPECT_THAT(Said("base:/data/x"), HasSubstr("one directory"));
  EXPECT_THAT(Said("E:\\runs"), HasSubstr("another system"));
  EXPECT_THAT(Said("c:/runs"), HasSubstr("another system"));
  EXPECT_THAT(Said("s3://b\x1b"), StartsWith("--logdir s3://b\\x1B: "));
  EXPECT_EQ(CheckLocalPath("--logdir", "s3://b").code(), absl::StatusCode::kInvalidArgument);
}

TEST(LocalPathTest, DirectoriesMayHaveSuchNames) {
  for (const char* path :
       {"runs", "/data/runs", "./s3://bucket", "./a:x,b:y", "2024-11-22T10:00:00", "lr=0.1,bs=32",
        "a:b", "/x/a:/y", "a,b", "", ":x", "../E:\\runs", "a b://c"}) {
    EXPECT_EQ(Said(path), "") << path;
  }
}

}  // namespace
}  // namespace runtime
