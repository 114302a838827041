// Tests the verbs that accept messages as JSON, as far as possible without a yard.

#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/yard/cli/context.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/command_line.h"

namespace yard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Result {
  int code = -1;
  std::string out, err;
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
    context.json = line.json;
    context.node = [&]() -> absl::StatusOr<bus::Node*> {
      result.asked_the_bus = true;
      return absl::UnavailableError("no yard here");
    };
    context.client = [&]() -> absl::StatusOr<bus::Client*> {
      result.asked_the_bus = true;
      return absl::UnavailableError("no yard here");
    };
    result.code = line.verb->Run(context);
  }
  result.out = out.str();
  result.err = err.str();
  return result;
}

TEST(CallTest, ListsMethodsWithTheirFields) {
  const Result result = RunWords({"call", "launcher", "--list"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("StopJob"));
  EXPECT_THAT(result.out, HasSubstr("job: string, live_only: bool"));
  EXPECT_THAT(result.out, HasSubstr("Shutdown")) << "what every service has";
  EXPECT_FALSE(result.asked_the_bus);
}

TEST(CallTest, ListsAsOneObjectALine) {
  const Result result = RunWords({"call", "--list", "--json"});
  EXPECT_EQ(result.code, kDone) << result.err;
  std::istringstream lines(result.out);
  int shutdowns = 0;
  bool follow_streams = false;
  for (std::string text; std::getline(lines, text);) {
    const auto object = nlohmann::json::parse(text);
    shutdowns += object.at("method") == "Shutdown" ? 1 : 0;
    follow_streams |= object.at("method") == "FollowTrial" && object.at("streaming") == true;
  }
  EXPECT_EQ(shutdowns, 1);
  EXPECT_TRUE(follow_streams);
}

TEST(CallTest, AnUnknownServiceOrMethodIsNotFound) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"call", "lancher", "--list"}, {"call", "lancher", "Jobs"}}) {
    const Result result = RunWords(words);
    EXPECT_EQ(result.code, kNotFound);
    EXPECT_THAT(result.err, HasSubstr("datamanager"));
    EXPECT_THAT(result.out, IsEmpty());
  }
  const Result method = RunWords({"call", "launcher", "Job"});
  EXPECT_EQ(method.code, kNotFound);
  EXPECT_THAT(method.err, HasSubstr("StopJob"));
}

TEST(CallTest, AWrongRequestIsUsageAndSendsNothing) {
  const Result result = RunWords({"call", "launcher", "Jobs", "{jb: 1}"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("line 1, column 2: unknown field"));
  EXPECT_FALSE(result.asked_the_bus);
  EXPECT_EQ(RunWords({"call", "launcher"}).code, kUsage);
}

TEST(CallTest, WithoutAYardIsUnreachable) {
  const Result result = RunWords({"call", "launcher", "Jobs"});
  EXPECT_TRUE(result.asked_the_bus);
  EXPECT_EQ(result.code, kUnreachable);
  EXPECT_THAT(result.err, HasSubstr("yard call: no yard here"));
}

TEST(PubTest, WhatIsNotJsonIsUsageWithItsPlace) {
  for (const char* text : {"{\"a\": }", "{a: 1}", "", "{} {}", "[1,]", "\"\xFF\"", "NaN"}) {
    const Result result = RunWords({"pub", "e/x/", text});
    EXPECT_EQ(result.code, kUsage) << text;
    EXPECT_FALSE(result.asked_the_bus) << text;
  }
  EXPECT_THAT(RunWords({"pub", "e/x/", "{\"a\": }"}).err, HasSubstr("line 1, column 7"));
}

TEST(PubTest, AnyTextGoesRaw) {
  EXPECT_EQ(RunWords({"pub", "e/x/", "{oops", "--raw"}).code, kUnreachable);
}

TEST(SubTest, WithoutAYardIsUnreachable) {
  EXPECT_EQ(RunWords({"sub", "e/", "-n", "1"}).code, kUnreachable);
}

TEST(PlotTest, NeedsARun) { EXPECT_EQ(RunWords({"plot"}).code, kUsage); }

}  // namespace
}  // namespace yard
