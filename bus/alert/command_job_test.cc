#include "bus/alert/command_job.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/process/subprocess.h"

namespace bus {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandJobTest : public ::testing::Test {
 protected:
  // Runs the spec like the launcher; returns what the command wrote to $OUT.
  std::string Run(ShellCommand line, int* code) {
    const std::string path = ::testing::TempDir() + "/out";
    remove(path.c_str());
    line.environment = {"PATH=/usr/bin:/bin", "OUT=" + path, "YARD_TRIAL=old"};
    const msg::JobSpecT spec = JobOf(line);
    runtime::Subprocess::Options options;
    options.program = spec.argv[0];
    options.argv = spec.argv;
    options.environment = spec.environment;
    auto process = runtime::Subprocess::Start(options);
    EXPECT_TRUE(process.ok()) << process.status();
    const auto ended = process->Wait(absl::Seconds(60));
    EXPECT_TRUE(ended.ok()) << ended.status();
    *code = ended->code;
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
};

TEST_F(CommandJobTest, TheCommandReadsTheInput) {
  int code = 0;
  const std::string input = R"({"name": "a'b\"c $HOME `id` \\n %s", "n": 1})";
  EXPECT_EQ(Run({.command = "cat > \"$OUT\"; exit 3", .input = input}, &code), input + "\n");
  EXPECT_EQ(code, 3) << "its own exit code counts";
}

TEST_F(CommandJobTest, TheInputIsNotInTheCommandsEnvironment) {
  int code = 0;
  const std::string said = Run(
      {.command = "env > \"$OUT\"", .input = "secret", .variables = {{"YARD_TRIAL", "t-abcde"}}},
      &code);
  EXPECT_THAT(said, HasSubstr("YARD_TRIAL=t-abcde\n"));
  EXPECT_THAT(said, Not(HasSubstr("secret")));
  EXPECT_THAT(said, Not(HasSubstr("YARD_TRIAL=old")));
}

TEST_F(CommandJobTest, ACommandMayLeaveALargeInputUnread) {
  int code = 0;
  Run({.command = "exit 0", .input = std::string(kMostInput, 'x')}, &code);
  EXPECT_EQ(code, 0);
}

TEST_F(CommandJobTest, ATryEndsAtItsLimit) {
  int code = 0;
  Run({.command = "sleep 1000", .limit = absl::Milliseconds(200)}, &code);
  EXPECT_EQ(code, 124);
}

TEST(CommandJobSpecTest, FurtherTriesAreRestarts) {
  const msg::JobSpecT spec = JobOf({.command = "x", .tries = 3});
  EXPECT_EQ(spec.restart, msg::RestartPolicy::OnFailure);
  EXPECT_EQ(spec.max_restarts, 2u);
  EXPECT_EQ(JobOf({.command = "x"}).restart, msg::RestartPolicy::Never);
}

}  // namespace
}  // namespace bus
