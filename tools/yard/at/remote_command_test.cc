#include "tools/yard/at/remote_command.h"

#include <stdlib.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = GreetingAnswer::Kind;

const Greeting kThere = {.version = "yard 0.1",
                         .program = "/home/ann/.local/bin/yard",
                         .locations = {"YARD_STATE=/data/a b", "XDG_RUNTIME_DIR=/run/user/7"}};

TEST(RemoteCommandTest, AGreetingComesBack) {
  const GreetingAnswer answer = ReadGreeting(GreetingLine(kThere));
  ASSERT_EQ(answer.kind, Kind::kGreeting);
  EXPECT_EQ(answer.greeting.version, "yard 0.1");
  EXPECT_EQ(answer.greeting.program, kThere.program);
  EXPECT_EQ(answer.greeting.locations, kThere.locations);
  EXPECT_EQ(answer.noise, "");
}

TEST(RemoteCommandTest, WhatAShellPrintsBeforeItIsNoise) {
  const GreetingAnswer answer = ReadGreeting("Welcome to gpu1\nyard-at none\n");
  EXPECT_EQ(answer.kind, Kind::kNoProgram);
  EXPECT_EQ(answer.noise, "Welcome to gpu1");
  const GreetingAnswer other = ReadGreeting("This account is for git only.\n");
  EXPECT_EQ(other.kind, Kind::kNoAnswer);
  EXPECT_EQ(other.text, "");
  EXPECT_THAT(other.noise, HasSubstr("git only"));
}

TEST(RemoteCommandTest, AnOlderAndANewerYardAreTold) {
  const GreetingAnswer old = ReadGreeting("yard-at old /usr/bin/yard: yard 0.0\n");
  EXPECT_EQ(old.kind, Kind::kNoAnswer);
  EXPECT_EQ(old.text, "/usr/bin/yard: yard 0.0");
  const GreetingAnswer newer = ReadGreeting("yard-at 7 who,knows,\n");
  EXPECT_EQ(newer.kind, Kind::kOtherProtocol);
  EXPECT_EQ(newer.text, "7");
  for (const char* broken :
       {"yard-at 1\n", "yard-at 1 %,\n", "yard-at x\n", "", "yard-at 1 a,\n"}) {
    EXPECT_EQ(ReadGreeting(broken).kind, Kind::kNoAnswer) << broken;
  }
}

TEST(RemoteCommandTest, ARequestComesBack) {
  const RemoteRequest request = {.in_terminal = true,
                                 .locations = {"A=1"},
                                 .personal = {"TZ=Europe/Berlin", "B="},
                                 .words = {"set", "x", "--note", "", "\n'\xff", ""}};
  const auto read = ReadRequest(RequestWord(request));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->in_terminal);
  EXPECT_EQ(read->locations, request.locations);
  EXPECT_EQ(read->personal, request.personal);
  EXPECT_EQ(read->words, request.words);
  const auto bare = ReadRequest(RequestWord({.words = {"", "ps"}}));
  EXPECT_FALSE(bare->in_terminal);
  EXPECT_THAT(bare->words, ElementsAre("", "ps"));
  EXPECT_EQ(ReadRequest("").status().code(), absl::StatusCode::kInvalidArgument);
}

// Fish and csh interpret \ and ! even in single quotes.
TEST(RemoteCommandTest, EveryShellReadsACommandAlike) {
  const RemoteRequest request = {.words = {"logs", "it's \\ ! $(x)\n"}};
  for (const std::string& command :
       {GreetCommand(""), GreetCommand("~/bin/yard"), *RunCommand(kThere, request, true),
        *RunCommand(kThere, request, false), HoldCommand(kThere)}) {
    for (const char* special : {"\\", "!", "\n", "it's"}) {
      EXPECT_THAT(command, Not(HasSubstr(special)));
    }
  }
}

TEST(RemoteCommandTest, ALoginShellsOutputGoesNowhere) {
  Greeting echo = kThere;
  echo.program = "echo";
  setenv("SHELL", "/bin/sh", 1);
  const std::string word = RequestWord({.words = {"a b"}});
  const std::string command = *RunCommand(echo, {.words = {"a b"}}, true);
  const std::string shown = "out=$(" + command + "); test \"$out\" = '--over_ssh run " + word + "'";
  EXPECT_EQ(system(shown.c_str()), 0);
}

TEST(RemoteCommandTest, ACommandThatNoShellTakesIsRefused) {
  const RemoteRequest request = {.words = {"set", "x", "--note", std::string(200'000, 'x')}};
  const auto command = RunCommand(kThere, request, false);
  EXPECT_EQ(command.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(command.status().message()), HasSubstr("too long for ssh"));
}

}  // namespace
}  // namespace yard
