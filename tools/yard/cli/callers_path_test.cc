#include "tools/yard/cli/callers_path.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

TEST(CallersPathTest, IsSeenFromTheCallersDirectory) {
  const struct {
    const char *typed, *seen;
  } kCases[] = {
      {"runs", "/home/me/runs"},
      {"./a/../runs/", "/home/me/runs"},
      {"..", "/home"},
      {"/data/runs", "/data/runs"},
      {"/data//runs/", "/data/runs"},
      {"/", "/"},
      {"a~", "/home/me/a~"},
      {"./~", "/home/me/~"},
      {"x/~/y", "/home/me/x/~/y"},
  };
  for (const auto& [typed, seen] : kCases) {
    EXPECT_EQ(CallersPath("--logdir", typed, "/home/me").value_or("refused"), seen) << typed;
  }
}

TEST(CallersPathTest, ATildeThatTheShellHasLeftIsRefused) {
  for (const std::string typed : {"~", "~/runs", "~me/runs"}) {
    const absl::Status status = CallersPath("--logdir", typed, "/home/me").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << typed;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--logdir=" + typed + ": ~ stands for"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("(--logdir " + typed + ")"));
  }
}

TEST(CallersPathTest, WhatIsNoPathOfThisMachineIsRefused) {
  for (const std::string typed : {"s3://bucket/runs", "a:x,b:y", "E:\\runs"}) {
    const absl::Status status = CallersPath("--logdir", typed, "/home/me").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << typed;
    EXPECT_TRUE(CallersPath("--logdir", "./" + typed, "/home/me").ok()) << typed;
  }
}

}  // namespace
}  // namespace yard
