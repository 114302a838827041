#include "tools/yard/state/service_output.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"

namespace yard {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kLogged[] =
    "I20261126 18:00:00.000001  7 x.cc:1] something else\n"
    "E20261126 18:00:00.000002  7 exit_code.cc:38] trainer: cannot open /s/trainer.db: it is bad\n"
    "W20261126 18:00:00.000003  7 y.cc:1] trainer waits for nobody: really\n";

TEST(LastWordsTest, AreWhyTheServiceHasEnded) {
  const LastWords logged = LastWordsIn(kLogged, "trainer");
  EXPECT_EQ(logged.cause, "cannot open /s/trainer.db: it is bad");
  EXPECT_EQ(logged.times, 1U);
  EXPECT_EQ(logged.text(), logged.cause);
  EXPECT_EQ(LastWordsIn("trainer: there is no flag --x\n", "trainer").cause,
            "there is no flag --x");
  EXPECT_EQ(LastWordsIn(std::string(kLogged) + kLogged, "trainer").times, 2U);
}

TEST(LastWordsTest, OfAnotherServiceOrBeforeItWasReadyAreNone) {
  EXPECT_EQ(LastWordsIn(kLogged, "launcher").cause, "");
  const LastWords ready =
      LastWordsIn(std::string(kLogged) + "trainer ready in 5 ms (pid 9, ipc://x)\n", "trainer");
  EXPECT_EQ(ready.cause, "");
  EXPECT_EQ(ready.times, 0U);
  EXPECT_THAT(ready.text(), StartsWith("trainer ready in"));
}

TEST(LastWordsTest, AreHarmlessForATerminal) {
  EXPECT_EQ(LastWordsIn("one\nbad \x1b[31m thing\n\n", "trainer").text(), "bad \\x1B[31m thing");
  EXPECT_EQ(LastWordsIn("", "trainer").text(), "");
}

TEST(LastWordsTest, AreThoseSinceAPlaceInTheFile) {
  char name[] = "/tmp/yard-XXXXXX";
  const runtime::Locations locations{.runtime_directory = "/r", .state_directory = mkdtemp(name)};
  EXPECT_EQ(OutputEnd(locations, "trainer"), 0U);
  EXPECT_EQ(LastWordsOf(locations, "trainer").text(), "");
  ASSERT_TRUE(runtime::MakePrivateDirectory(locations.LogDirectory()).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(OutputPath(locations, "trainer"), kLogged, 0600).ok());
  const auto end = OutputEnd(locations, "trainer");
  EXPECT_NE(LastWordsOf(locations, "trainer").cause, "");
  EXPECT_EQ(LastWordsOf(locations, "trainer", end).text(), "");
  // If the file is shorter than that offset, it is a new file.
  EXPECT_NE(LastWordsOf(locations, "trainer", end + 1).cause, "");
  std::filesystem::remove_all(locations.state_directory);
}

TEST(NextStepTest, IsACommandForWhatIsKnown) {
  const runtime::Locations locations{.runtime_directory = "/r", .state_directory = "/a state"};
  const auto step = [&](const char* cause) { return NextStepFor(cause, locations, "trainer"); };
  EXPECT_EQ(step("there is no flag --loglevel; did you mean --log_level?"),
            "yard down --keep && yard up --defaults");
  EXPECT_EQ(step("cannot open /a state/trainer.db: file is not a database"),
            "mkdir -p '/a state/aside' && mv '/a state/trainer.db'* '/a state/aside' && yard up");
  EXPECT_EQ(step("writing x: No space left on device"), "df '/a state' /r");
  EXPECT_EQ(step("it has its own; next: yard up"), "");
  EXPECT_EQ(step("the sky has fallen"), "");
  EXPECT_THAT(WithNextStep("No space left on device", locations, "trainer"),
              EndsWith("; next: df '/a state' /r"));
  EXPECT_THAT(WithNextStep("why", locations, "trainer"), HasSubstr("why"));
}

}  // namespace
}  // namespace yard
