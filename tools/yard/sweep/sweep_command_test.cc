#include "tools/yard/sweep/sweep_command.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SweepCommand Read(const std::vector<std::string>& words, const std::string& program = "train.py") {
  return ReadSweepCommand(words, program, "python3", {"HOME=/home/me", "EMPTY="});
}

TEST(SweepCommandTest, OurMacrosAreReplacedAndThoseOfTheConfigurationStay) {
  const SweepCommand read = Read(DefaultSweepCommand());
  EXPECT_THAT(read.words, ElementsAre("/usr/bin/env", "python3", "train.py", "${args}"));
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_THAT(read.notices, IsEmpty());
}

TEST(SweepCommandTest, VariablesMayBeAPartOfAWord) {
  EXPECT_THAT(Read({"${envvar:HOME}/a:${envvar:EMPTY}b", "${envvar:HOME}"}).words,
              ElementsAre("/home/me/a:b", "/home/me"));
  EXPECT_THAT(
      Read({"x${envvar:NOT_SET}"}).problems,
      ElementsAre("the environment has no NOT_SET, which \"x${envvar:NOT_SET}\" stands for"));
  EXPECT_THAT(Read({"${envvar:HOME", "${HOME}", "$x"}).words,
              ElementsAre("${envvar:HOME", "${HOME}", "$x"));
}

TEST(SweepCommandTest, WhatIsNoMacroIsNamed) {
  EXPECT_THAT(Read({"${arg}", "${program}"}, "").problems,
              ElementsAre("there is no macro ${arg}; did you mean ${args}?",
                          "${program} stands for nothing: there is no program"));
  const SweepCommand in_word = Read({"bash", "-c", "train ${args}"});
  EXPECT_THAT(in_word.problems, IsEmpty());
  EXPECT_THAT(in_word.notices,
              ElementsAre("${args} stays as it is in \"train ${args}\": a macro is a whole word"));
}

TEST(SweepCommandTest, TheInterpreterIsOneThatIsThere) {
  EXPECT_EQ(Interpreter({"PATH=/nowhere"}), "python3");
  EXPECT_THAT(Interpreter({}), HasSubstr("python"));
}

}  // namespace
}  // namespace yard
