#include "trainer/run/run_provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/trainer_generated.h"
#include "runtime/file/file.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

std::string WithDiffOf(const std::string& name) {
  return absl::StrCat(R"({"git":{"diff_of":")", name, R"("}})");
}

TEST(RunProvenanceTest, ADifferenceIsThatOfARunBesideIt) {
  msg::TrialOptionsT options;
  options.provenance = WithDiffOf("study-0000");
  EXPECT_EQ(CheckLabelsAndProvenance(options), absl::OkStatus());
  for (const char* name : {".", "..", "../other", "a/b", ".hidden"}) {
    options.provenance = WithDiffOf(name);
    const absl::Status refused = CheckLabelsAndProvenance(options);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("is not the name of a run")) << name;
  }
}

TEST(RunProvenanceTest, ASharedDifferenceOutlivesTheRunThatHadIt) {
  char name[] = "/tmp/rp-XXXXXX";
  const std::string top = mkdtemp(name), first = top + "/first", second = top + "/second";
  ASSERT_TRUE(runtime::MakeDirectories(first).ok() && runtime::MakeDirectories(second).ok());
  msg::TrialOptionsT options;
  options.provenance_diff = "+";
  ASSERT_EQ(WriteProvenance(first, "t-1", options), absl::OkStatus());
  options.provenance_diff.clear();
  options.provenance = WithDiffOf("first");
  // (Each attempt writes it again.)
  for (int i = 0; i < 2; ++i) ASSERT_EQ(WriteProvenance(second, "t-2", options), absl::OkStatus());
  EXPECT_EQ(std::filesystem::hard_link_count(first + "/uncommitted.diff"), 2u);
  std::filesystem::remove_all(first);
  EXPECT_EQ(WriteProvenance(second, "t-2", options), absl::OkStatus());
  EXPECT_EQ(ReadUncommittedDiff(second), "+");
  std::filesystem::remove_all(top);
}

TEST(RunProvenanceTest, NoDifferenceIsReadFromAnotherPlace) {
  char name[] = "/tmp/rp-XXXXXX";
  const std::string top = mkdtemp(name), run = top + "/runs/one";
  for (const char* other : {"", "/runs", "/runs/two"}) {
    ASSERT_TRUE(runtime::MakeDirectories(top + other).ok());
    ASSERT_TRUE(
        runtime::WriteFileAtomically(absl::StrCat(top, other, "/uncommitted.diff"), "+", 0644)
            .ok());
  }
  ASSERT_TRUE(runtime::MakeDirectories(run).ok());
  const auto read = [&](const std::string& diff_of) {
    EXPECT_TRUE(
        runtime::WriteFileAtomically(run + "/provenance.json", WithDiffOf(diff_of), 0644).ok());
    return ReadUncommittedDiff(run);
  };
  EXPECT_EQ(read("two"), "+");
  for (const char* other : {"..", ".", "../two", ""}) EXPECT_EQ(read(other), "") << other;
  std::filesystem::remove_all(top);
}

}  // namespace
}  // namespace trainer
