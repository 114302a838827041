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
