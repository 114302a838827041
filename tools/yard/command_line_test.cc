#include "tools/yard/command_line.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct Parsed {
  int code = -1;
  std::string out, err;
  CommandLine line;
};

Parsed Parse(std::vector<std::string> words) {
  Parsed parsed;
  std::ostringstream out, err;
  parsed.code = ParseCommandLine(std::move(words), out, err, &parsed.line);
  parsed.out = out.str();
  parsed.err = err.str();
  return parsed;
}

// Splits an example into words like a shell; supports single quotes only.
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : text + " ") {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      if (!word.empty()) words.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  return words;
}

class EveryVerbTest : public ::testing::TestWithParam<const VerbEntry*> {};

TEST_P(EveryVerbTest, HelpFitsOnAScreenAndStartsWithTwoExamples) {
  const VerbEntry& entry = *GetParam();
  const Parsed help = Parse({entry.name, "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.line.verb, nullptr);
  EXPECT_EQ(help.err, "");
  EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 24) << help.out;
  EXPECT_THAT(help.out, StartsWith(std::string("  ") + entry.examples[0] + "\n  " +
                                   entry.examples[1] + "\n"));
  EXPECT_THAT(help.out, HasSubstr("--json"));
}

TEST_P(EveryVerbTest, ItsExamplesParse) {
  for (const char* example : GetParam()->examples) {
    std::vector<std::string> words = Words(example);
    ASSERT_EQ(words.front(), "yard");
    words.erase(words.begin());
    ASSERT_EQ(words.front(), GetParam()->name);
    const Parsed parsed = Parse(words);
    EXPECT_EQ(parsed.line.entry, GetParam()) << example << ": " << parsed.err;
    EXPECT_NE(parsed.line.verb, nullptr) << example << ": " << parsed.err;
  }
}

TEST_P(EveryVerbTest, TakesJsonAndColorAfterItsWords) {
  std::vector<std::string> words = Words(GetParam()->examples[0]);
  words.erase(words.begin());
  words.insert(std::find(words.begin(), words.end(), "--"), {"--json", "--color", "never"});
  if (GetParam()->words == VerbEntry::Words::kAllWords) words.push_back("--");
  const Parsed parsed = Parse(words);
  ASSERT_NE(parsed.line.verb, nullptr) << parsed.err;
  EXPECT_TRUE(parsed.line.json);
  EXPECT_EQ(parsed.line.color, "never");
}

TEST_P(EveryVerbTest, AnUnknownFlagIsAnErrorOfUsage) {
  // Words of another program may only follow the dashes.
  const Parsed parsed = Parse({GetParam()->name, "--no-such-flag", "--"});
  EXPECT_EQ(parsed.code, kUsage);
  EXPECT_EQ(parsed.line.verb, nullptr);
  EXPECT_EQ(parsed.out, "");
  EXPECT_NE(parsed.err, "");
}

std::vector<const VerbEntry*> AllVerbs() {
  std::vector<const VerbEntry*> all;
  for (const VerbEntry& entry : Verbs()) all.push_back(&entry);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Each, EveryVerbTest, ::testing::ValuesIn(AllVerbs()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(CommandLineTest, EachVerbIsInOneGroup) {
  std::vector<std::string> grouped, all;
  for (const VerbGroup& group : VerbGroups()) {
    grouped.insert(grouped.end(), group.verbs.begin(), group.verbs.end());
  }
  for (const VerbEntry& entry : Verbs()) all.emplace_back(entry.name);
  EXPECT_THAT(grouped, ::testing::UnorderedElementsAreArray(all));
}

TEST(CommandLineTest, NoWordsAreStatus) { EXPECT_STREQ(Parse({}).line.entry->name, "status"); }

TEST(CommandLineTest, TensorBoardGetsExactlyItsWords) {
  const Parsed all = Parse({"tensorboard", "--logdir", "a b", "--json", "-h"});
  ASSERT_NE(all.line.verb, nullptr) << all.err;
  EXPECT_THAT(all.line.rest, ElementsAre("--logdir", "a b", "--json", "-h"));
  EXPECT_FALSE(all.line.json);
  const Parsed some = Parse({"tensorboard", "--json", "--", "--logdir", "x"});
  ASSERT_NE(some.line.verb, nullptr) << some.err;
  EXPECT_THAT(some.line.rest, ElementsAre("--logdir", "x"));
  EXPECT_TRUE(some.line.json);
  const Parsed help = Parse({"tensorboard", "--help"});
  EXPECT_EQ(help.line.verb, nullptr);
  EXPECT_THAT(help.out, HasSubstr("yard tensorboard"));
}

TEST(CommandLineTest, WordsBehindTwoDashesAreTheProgramsOwn) {
  const Parsed parsed = Parse({"run", "--name", "x", "--", "train", "--json", "--", "-n"});
  ASSERT_NE(parsed.line.verb, nullptr) << parsed.err;
  EXPECT_THAT(parsed.line.rest, ElementsAre("train", "--json", "--", "-n"));
  EXPECT_FALSE(parsed.line.json);
}

TEST_P(EveryVerbTest, HelpComesBeforeItsNameToo) {
  const Parsed help = Parse({"help", GetParam()->name});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.out, Parse({GetParam()->name, "--help"}).out);
}

TEST_P(EveryVerbTest, AFlagMayHaveHyphensAndIsShownWithUnderscores) {
  for (const DeclaredOption& option : OptionsOf(*GetParam())) {
    for (const std::string& flag : option.flags) {
      EXPECT_EQ(flag.find('-', 2), flag.npos) << flag;
      if (flag.find('_') == flag.npos) continue;
      std::string typed = flag;
      std::replace(typed.begin(), typed.end(), '_', '-');
      const Parsed parsed = Parse({GetParam()->name, option.takes_value ? typed + "=1" : typed});
      EXPECT_THAT(parsed.err, Not(HasSubstr("no flag"))) << typed;
    }
  }
}

TEST(CommandLineTest, BehindTwoDashesNothingIsAFlag) {
  for (const VerbEntry& entry : Verbs()) {
    if (entry.words != VerbEntry::Words::kOwn) continue;
    const Parsed parsed = Parse({entry.name, "--json", "--", "-rf", "--no-such-flag"});
    EXPECT_THAT(parsed.err, Not(HasSubstr("no flag"))) << entry.name;
  }
  for (const char* verb : {"show", "logs", "stop", "rm", "plot", "ps", "wait", "restart"}) {
    const Parsed parsed = Parse({verb, "--json", "--", "-rf"});
    EXPECT_NE(parsed.line.verb, nullptr) << verb << ": " << parsed.err;
    EXPECT_TRUE(parsed.line.json);
    EXPECT_THAT(parsed.line.rest, IsEmpty());
  }
}

TEST(CommandLineTest, WhatIsNotKnownIsNamedWithWhatIsNear) {
  EXPECT_EQ(Parse({"log", "x"}).err,
            "yard: no verb log; did you mean logs?; yard --help lists them\n");
  EXPECT_EQ(Parse({"help", "log"}).err, Parse({"log"}).err);
  EXPECT_EQ(Parse({"show", "x", "--filse=1"}).err,
            "yard show: no flag --filse; did you mean --files?; yard show --help lists all\n");
  EXPECT_EQ(Parse({"show", "x", "y"}).err,
            "yard show: this word is one too many: y; yard show --help lists all\n");
  EXPECT_EQ(Parse({"run", "python3", "-c", "print(1)", "--lr", "1"}).err,
            "yard run: no flag -c; a program and its words go behind --: yard run -- PROGRAM ...; "
            "yard run --help lists all\n");
  EXPECT_EQ(Parse({"--vresion"}).code, kUsage);
}

TEST(CommandLineTest, AnotherMachineIsNamedBeforeTheVerb) {
  EXPECT_THAT(Parse({"--help"}).out, HasSubstr("yard --at HOST VERB"));
  EXPECT_EQ(Parse({"ps", "--at", "gpu1"}).err,
            "yard ps: no flag --at; it goes before the verb: yard --at HOST ps\n");
  // main() has removed a first --at; a second one never names a machine.
  EXPECT_EQ(Parse({"--at", "gpu1", "ps"}).code, kUsage);
}

TEST(CommandLineTest, HelpNamesEveryVerb) {
  const Parsed help = Parse({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const VerbEntry& entry : Verbs()) EXPECT_THAT(help.out, HasSubstr(entry.name));
}

TEST(CommandLineTest, VersionGoesToStdout) {
  const Parsed version = Parse({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, StartsWith("yard "));
}

TEST(CommandLineTest, AnUnknownVerbIsAnErrorOfUsage) {
  const Parsed parsed = Parse({"frob\x1b", "--json"});
  EXPECT_EQ(parsed.code, kUsage);
  EXPECT_EQ(parsed.line.verb, nullptr);
  EXPECT_THAT(parsed.err, HasSubstr("no verb frob\\x1B;"));
  EXPECT_EQ(Parse({""}).code, kUsage);
  EXPECT_EQ(Parse({"--no-such-flag"}).code, kUsage);
  EXPECT_EQ(Parse({"--", "train"}).code, kUsage) << "no verb at all";
}

TEST(CommandLineTest, WhatWasTypedDrivesNoTerminal) {
  const Parsed parsed = Parse({"ps", "--\x1b[2J"});
  EXPECT_EQ(parsed.code, kUsage);
  EXPECT_THAT(parsed.err, HasSubstr("--\\x1B[2J"));
  EXPECT_THAT(parsed.err, EndsWith("\n"));
}

TEST(CommandLineTest, AWrongValueIsAnErrorOfUsage) {
  EXPECT_EQ(Parse({"status", "--color", "purple"}).code, kUsage);
  EXPECT_EQ(Parse({"logs", "x", "-n", "many"}).code, kUsage);
  for (const char* seconds : {"-1", "nan", "inf", "1e10", "soon", ""}) {
    EXPECT_EQ(Parse({"stop", "x", std::string("--grace=") + seconds}).code, kUsage) << seconds;
  }
  EXPECT_EQ(Parse({"run", "--max_restarts=-1", "--", "x"}).code, kUsage);
  EXPECT_EQ(Parse({"wait"}).code, kUsage) << "a thing is required";
}

}  // namespace
}  // namespace yard
