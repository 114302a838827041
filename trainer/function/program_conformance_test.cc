// Tests that a program on the report channel keeps the contract of trainables
// (trainable_conformance.h).

#include <stdlib.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/function/function_runner.h"
#include "trainer/function/trainable.h"
#include "trainer/function/trainable_conformance.h"
#include "trainer/function/training_progress.h"
#include "trainer/testing/program_function.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;

// Counts to $1 in POSIX shell.
constexpr char kCounts[] = R"sh(
ask() { printf '%s\n' "$1" >&3; IFS= read -r reply <&3 || exit 1; }
text() { printf '%s\n' "$reply" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
ask '{"t":"hello","v":1}'
from=$(text checkpoint)
count=0
if [ -n "$from" ]; then count=$(cat "$from/count"); fi
while [ "$count" -lt "$1" ]; do
  count=$((count + 1))
  ask '{"t":"ckpt_begin","step":'$count'}'
  path=$(text path)
  echo $count > "$path/count"
  ask '{"t":"ckpt_end","path":"'$path'"}'
  ask '{"t":"report","m":{"count":'$count'}}'
  case $reply in *'"stop"'*) exit 0 ;; esac
done
)sh";

std::unique_ptr<Trainable> Make(const std::string& directory, const std::string& script,
                                const std::string& argument) {
  FunctionRunner::Options options;
  options.trial = {"t-abcde", "first", directory};
  options.stop_timeout = absl::Seconds(30);
  return std::make_unique<FunctionRunner>(
      MakeProgramFunction("count", {"/bin/sh", "-eu", "-c", script, "count", argument}),
      std::move(options));
}

TEST(ProgramConformanceTest, AProgramIsATrainable) {
  ExpectConformingTrainable([](const std::string& directory, int last) {
    return Make(directory, kCounts, absl::StrCat(last));
  });
}

TEST(ProgramConformanceTest, ItsFailureIsThatOfTheStep) {
  std::string name = absl::StrCat(::testing::TempDir(), "/program-XXXXXX");
  const std::string directory = mkdtemp(name.data());
  const auto exits = Make(directory, "exit $1", "3");
  EXPECT_THAT(std::string(exits->Step().status().message()), HasSubstr("exit code 3"));
  const auto says = Make(directory, R"(echo '{"t":"fail","error":"no data"}' >&3; exit $1)", "1");
  EXPECT_THAT(std::string(says->Step().status().message()), HasSubstr("no data"));
}

}  // namespace
}  // namespace trainer
