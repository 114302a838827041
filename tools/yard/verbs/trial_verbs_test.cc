// Tests the verbs about trials, as far as possible without a yard: errors are reported before any
// service is called.

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/command_line.h"

namespace yard {
namespace {

using ::testing::HasSubstr;

struct Result {
  int code = -1;
  std::string err;
  bool asked_the_bus = false;
};

Result RunWords(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  CommandLine line;
  Result result;
  result.code = ParseCommandLine(words, out, err, &line);
  if (line.verb != nullptr) {
    Context context;
    context.out = &out;
    context.err = &err;
    context.rest = line.rest;
    context.working_directory = "/";
    context.client = [&]() -> absl::StatusOr<bus::Client*> {
      result.asked_the_bus = true;
      return absl::UnavailableError("no yard here");
    };
    result.code = line.verb->Run(context);
  }
  result.err = err.str();
  return result;
}

class RunTest : public testing::Test {
 protected:
  RunTest() {
    char name[] = "/tmp/rv-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~RunTest() override { std::filesystem::remove_all(directory_); }

  std::string File(const std::string& text) {
    const std::string path = directory_ + "/c.jsonl";
    EXPECT_TRUE(runtime::WriteFileAtomically(path, text, 0644).ok());
    return path;
  }
  // Expects that these flags are a usage error and start nothing.
  static void ExpectUsage(std::vector<std::string> flags, const std::string& words) {
    flags.insert(flags.begin(), "run");
    flags.insert(flags.end(), {"--", "prog", "{lr}"});
    const Result result = RunWords(flags);
    EXPECT_EQ(result.code, kUsage) << words;
    EXPECT_THAT(result.err, HasSubstr(words));
    EXPECT_FALSE(result.asked_the_bus) << words;
  }

  std::string directory_;
};

TEST_F(RunTest, WhatIsWrongIsSaidBeforeAnythingStarts) {
  ExpectUsage({"--configs", File("{\"lr\":1}\n{\"lr\":\n")}, "c.jsonl line 2: ");
  ExpectUsage({"--configs", File("\n")}, "c.jsonl holds no configuration");
  ExpectUsage({"--configs", File("{\"rate\":1}\n")},
              "nothing is called {lr}; there is index, rate");
  ExpectUsage({"--grid", "lr=1,"}, "--grid lr=1,: a value is empty");
  ExpectUsage({"--grid", "lr=1,2", "--name", "x"}, "two trials would be called x");
  ExpectUsage({"--grid", "lr=1", "--config", "{"}, "--config: ");
  ExpectUsage({"--priority", "high"}, "--priority: expected a whole number");
  ExpectUsage({"--time_budget", "long"}, "--time_budget: expected a time");
  ExpectUsage({"--grace", "long"}, "--grace: expected a time");
  ExpectUsage({"--logdir=~/runs"}, "--logdir=~/runs: ~ stands for no directory there");
  ExpectUsage({"--restore=~/best"}, "--restore=~/best: ~ stands for no directory there");
}

TEST_F(RunTest, AMissingFileIsNotFound) {
  const Result result = RunWords({"run", "--configs", directory_ + "/none", "--", "prog"});
  EXPECT_EQ(result.code, kNotFound);
  EXPECT_THAT(result.err, HasSubstr(directory_ + "/none"));
  EXPECT_FALSE(result.asked_the_bus);
}

TEST_F(RunTest, BracesOfASingleTrialAreItsOwn) {
  const Result result = RunWords({"run", "--", "sh", "-c", "echo ${HOME} {x}"});
  EXPECT_EQ(result.code, kUnreachable) << result.err;
  EXPECT_TRUE(result.asked_the_bus);
}

TEST_F(RunTest, ATrialToStartFromNeedsNoProgram) {
  EXPECT_EQ(RunWords({"run", "--from", "t-abcde"}).code, kUnreachable);
  EXPECT_EQ(RunWords({"run"}).code, kUsage);
}

TEST_F(RunTest, AFunctionStandsForTheProgram) {
  EXPECT_EQ(RunWords({"run", "--function", "train"}).code, kUnreachable);
  EXPECT_EQ(RunWords({"run", "--function", "train", "--grid", "lr=1,2"}).code, kUnreachable);
  ExpectUsage({"--function", "train"}, "--function train and a program (prog)");
}

TEST(UpTest, ATrainerOfOnesOwnMustBeAProgram) {
  const Result missing = RunWords({"up", "--trainer", "none/trainer"});
  EXPECT_EQ(missing.code, kNotFound);
  EXPECT_THAT(missing.err, HasSubstr("--trainer: there is no program /none/trainer"));
  const Result text = RunWords({"up", "--trainer", "etc/passwd"});
  EXPECT_EQ(text.code, kUsage);
  EXPECT_THAT(text.err, HasSubstr("/etc/passwd cannot be executed"));
}

TEST(UpTest, ATildeThatTheShellHasLeftIsRefused) {
  for (const std::string option : {"--logdir", "--trainer"}) {
    const Result result = RunWords({"up", option + "=~/x"});
    EXPECT_EQ(result.code, kUsage);
    EXPECT_THAT(result.err, HasSubstr(option + "=~/x: ~ stands for no directory there"));
  }
}

TEST(TrialVerbsTest, WithoutAYardTheyAreUnreachable) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"pause", "x"}, {"resume", "x"}, {"tell", "x", "1"}, {"rm", "x"}}) {
    const Result result = RunWords(words);
    EXPECT_EQ(result.code, kUnreachable) << words[0];
    EXPECT_THAT(result.err, HasSubstr(absl::StrCat("yard ", words[0], ": no yard here")));
  }
}

TEST(TrialVerbsTest, TheyNeedATrial) {
  for (const char* verb : {"pause", "resume", "tell", "rm"}) {
    EXPECT_EQ(RunWords({verb}).code, kUsage) << verb;
  }
  EXPECT_EQ(RunWords({"tell", "x"}).code, kUsage) << "an event is needed";
}

}  // namespace
}  // namespace yard
