#include "tools/yard/cli/verb.h"

#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

TEST(ExitCodeOfTest, EachKindOfErrorHasItsCode) {
  const std::pair<absl::Status, int> kCases[] = {
      {absl::OkStatus(), 0},
      {absl::InternalError(""), 1},
      {absl::DataLossError(""), 1},
      {absl::InvalidArgumentError(""), 2},
      {absl::UnimplementedError(""), 2},
      {absl::NotFoundError(""), 3},
      {absl::UnavailableError(""), 4},
      {absl::DeadlineExceededError(""), 5},
      {absl::AlreadyExistsError(""), 6},
      {absl::FailedPreconditionError(""), 6},
      {absl::PermissionDeniedError(""), 6},
      {absl::CancelledError(""), 130},
  };
  for (const auto& [status, code] : kCases) EXPECT_EQ(ExitCodeOf(status), code) << status;
}

TEST(FailTest, KeepsTheLinesOfAMessageAndNothingElseThatDrivesATerminal) {
  std::ostringstream err;
  Context context;
  context.err = &err;
  EXPECT_EQ(Fail(context, "up", absl::DeadlineExceededError("not ready:\n  a\x1b[2Jb")), kTimedOut);
  EXPECT_EQ(err.str(), "yard up: not ready:\n  a\\x1B[2Jb\n");
}

TEST(VerbTableTest, NamesAreUniqueAndSummariesShort) {
  std::set<std::string> names;
  for (const VerbEntry& entry : Verbs()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_LE(std::string(entry.summary).size(), 60U) << entry.name;
    EXPECT_NE(entry.make(), nullptr) << entry.name;
  }
}

}  // namespace
}  // namespace yard
