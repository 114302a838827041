#include "trainer/report/report_line.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/report_channel/relay_protocol.h"

namespace trainer {
namespace {

using ::testing::HasSubstr;
using Kind = ReportLine::Kind;

ReportLine Parsed(const std::string& line) {
  auto report = ParseReportLine(line);
  EXPECT_TRUE(report.ok()) << line << ": " << report.status();
  return report.ok() ? *report : ReportLine();
}

TEST(ReportLineTest, ReadsEveryKind) {
  EXPECT_EQ(Parsed(R"({"t":"hello","v":1})").kind, Kind::kHello);
  EXPECT_EQ(Parsed(R"({"t":"hb"})").kind, Kind::kHeartbeat);
  EXPECT_EQ(Parsed(R"({"t":"log","text":"a\nb"})").text, "a\nb");
  EXPECT_EQ(Parsed(R"({"t":"fail","error":"out of data"})").text, "out of data");
  EXPECT_EQ(Parsed(R"({"t":"fail"})").kind, Kind::kFail);
  EXPECT_EQ(Parsed(R"({"t":"barrier"})").kind, Kind::kUnimplemented);
  EXPECT_EQ(Parsed(R"({"t":"ckpt_begin"})").kind, Kind::kCheckpointBegin);
  EXPECT_EQ(Parsed(R"({"t":"ckpt_begin"})").step, std::nullopt);
  EXPECT_EQ(Parsed(R"({"t":"ckpt_begin","step":70})").step, 70);
  EXPECT_EQ(Parsed(R"({"t":"ckpt_end","path":"\u002fa b"})").kind, Kind::kCheckpointEnd);
  EXPECT_EQ(Parsed(R"({"t":"ckpt_end","path":"\u002fa b"})").checkpoint, "/a b");
  const ReportLine failed = Parsed(R"({"t":"ckpt_fail","path":"/a","error":"why"})");
  EXPECT_EQ(failed.kind, Kind::kCheckpointFail);
  EXPECT_EQ(failed.failed_path + failed.text + failed.checkpoint, "/awhy");
  EXPECT_EQ(Parsed(R"({"t":"report","m":{},"ckpt":"dir"})").checkpoint, "dir");
  EXPECT_EQ(Parsed(R"({"t":"report","m":{},"ckpt":null})").checkpoint, "");
}

TEST(ReportLineTest, ReadsWhatAReportSaysOfItself) {
  const ReportLine report =
      Parsed(R"({"t":"report","m":{"timesteps_this_iter":5,"episodes_this_iter":0}})");
  EXPECT_EQ(report.timesteps_this_iter, 5);
  EXPECT_EQ(report.episodes_this_iter, 0);
  EXPECT_FALSE(report.only_done);
  for (const char* count : {"-1", "1.5", "\"5\"", "null", "NaN"}) {
    EXPECT_EQ(Parsed(absl::StrCat(R"({"t":"report","m":{"timesteps_this_iter":)", count, "}}"))
                  .timesteps_this_iter,
              std::nullopt)
        << count;
  }
  EXPECT_TRUE(Parsed(R"({"t":"report","m":{},"done":true})").only_done);
  EXPECT_TRUE(Parsed(R"({"t":"report","m":{"done":true}})").only_done);
  EXPECT_FALSE(Parsed(R"({"t":"report","m":{"done":true,"a":1}})").only_done);
  EXPECT_FALSE(Parsed(R"({"t":"report","m":{}})").only_done);
  EXPECT_EQ(Parsed(R"({"t":"hello","pid":77})").pid, 77);
  EXPECT_EQ(Parsed(R"({"t":"hello","pid":-7})").pid, 0);
}

TEST(ReportLineTest, NamesThatGrowWhenTheyAreFlattenedAreRefused) {
  std::string values;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&values, i == 0 ? "" : ",", "\"", i, "\":0");
  const auto line = [&](std::size_t name) {
    return absl::StrCat(R"({"t":"report","m":{")", std::string(name, 'n'), R"(":{)", values, "}}}");
  };
  EXPECT_TRUE(ParseReportLine(line(1000)).ok());
  EXPECT_THAT(std::string(ParseReportLine(line(10'000)).status().message()),
              testing::HasSubstr("too long"));
}

TEST(ReportLineTest, OnlyWhatDecidesSomethingWantsAnAnswer) {
  EXPECT_TRUE(WantsAnswer(Parsed(R"({"t":"hello"})")));
  EXPECT_TRUE(WantsAnswer(Parsed(R"({"t":"report","m":{}})")));
  EXPECT_TRUE(WantsAnswer(Parsed(R"({"t":"barrier"})")));
  EXPECT_TRUE(WantsAnswer(Parsed(R"({"t":"ckpt_begin"})")));
  EXPECT_TRUE(WantsAnswer(Parsed(R"({"t":"ckpt_end","path":"x"})")));
  EXPECT_TRUE(WantsAnswer(Parsed(R"({"t":"ckpt_fail"})")));
  EXPECT_FALSE(WantsAnswer(Parsed(R"({"t":"hb"})")));
  EXPECT_FALSE(WantsAnswer(Parsed(R"({"t":"log"})")));
  EXPECT_FALSE(WantsAnswer(Parsed(R"({"t":"fail"})")));
}

TEST(ReportLineTest, ReadsAReport) {
  const ReportLine report = Parsed(
      R"( { "seq" : "a7", "t":"report", "m":{"loss":0.10, "n": {"a":[1, 2]}}, "step":-3, "done":true } )");
  EXPECT_EQ(report.kind, Kind::kReport);
  EXPECT_EQ(report.seq, "\"a7\"");
  EXPECT_EQ(report.metrics, R"({"loss":0.10,"n":{"a":[1,2]}})");
  EXPECT_EQ(report.step, -3);
  EXPECT_TRUE(report.done);
}

TEST(ReportLineTest, StepDoneAndTimesMayStandInTheMetrics) {
  const ReportLine report = Parsed(
      R"({"t":"report","m":{"step":9,"done":true,"training_iteration":4,"time_this_iter_s":2.5}})");
  EXPECT_EQ(report.step, 9);
  EXPECT_TRUE(report.done);
  EXPECT_EQ(report.training_iteration, 4);
  EXPECT_EQ(report.time_this_iter_s, 2.5);
  EXPECT_EQ(Parsed(R"({"t":"report","m":{"step":9},"step":2})").step, 2);
  EXPECT_FALSE(Parsed(R"({"t":"report","m":{"step":1.5}})").step.has_value());
}

TEST(ReportLineTest, TheLastOfTwoMembersCounts) {
  EXPECT_EQ(Parsed(R"({"t":"hb","t":"report","m":{"a":1},"m":{"b":1,"b":2}})").metrics,
            R"({"b":2})");
}

TEST(ReportLineTest, RefusesWithTheBytePosition) {
  const struct {
    std::string line;
    const char* message;
  } kCases[] = {
      {"", "expected a value at byte 0"},
      {"nonsense", "expected a value at byte 0"},
      {"{", "expected a name in quotes at byte 1"},
      {R"({"t")", "expected ':' at byte 4"},
      {R"({"t":"hb"} x)", "expected the end of the text at byte 11"},
      {R"({"t":"hb",})", "expected a name in quotes at byte 10"},
      {R"({"t":"hb"]})", "expected ',' or '}' at byte 9"},
      {R"({"t":01})", "expected ',' or '}' at byte 6"},
      {R"({"t":-})", "expected a value at byte 5"},
      {R"({"t":1.})", "expected a value at byte 5"},
      {R"({"t":1e})", "expected a value at byte 5"},
      {R"({"t":+1})", "expected a value at byte 5"},
      {R"({"t":-NaN})", "expected a value at byte 5"},
      {R"({"t":"\x"})", "expected an escape at byte 6"},
      {R"({"t":"\u12g4"})", "expected an escape at byte 6"},
      {"{\"t\":\"\x80\"}", "expected UTF-8 at byte 6"},
      {"{\"t\":\"\xC0\x80\"}", "expected UTF-8 at byte 6"},
      {"{\"t\":\"\xED\xA0\x80\"}", "expected UTF-8 at byte 6"},
      {"{\"t\":\"a\tb\"}", "expected no control character in a string at byte 7"},
      {R"({"t":"hb)", "at the end of a string at byte 8"},
      {"[]", "expected a JSON object"},
      {"{}", "expected a string \"t\""},
      {R"({"t":1})", "expected a string \"t\""},
      {R"({"t":"nope"})", "no kind of line is called \"nope\""},
      {R"({"t":"report"})", "a report needs an object \"m\""},
      {R"({"t":"report","m":[]})", "a report needs an object \"m\""},
      {R"({"t":"report","m":{},"step":1.5})", "\"step\" must be a whole number"},
      {R"({"t":"report","m":{},"ckpt":3})", "\"ckpt\" must be a string"},
      {R"({"t":"report","m":{},"ckpt":""})", "\"ckpt\" must be a string"},
      {R"({"t":"ckpt_begin","step":-1})", "\"step\" of a checkpoint must be a whole number"},
      {R"({"t":"ckpt_begin","step":"1"})", "\"step\" of a checkpoint must be a whole number"},
      {R"({"t":"ckpt_end"})", "ckpt_end needs \"path\""},
      {R"({"t":"ckpt_end","path":null})", "\"path\" must be a string"},
      {std::string(33, '['), "more than 32 levels at byte 32"},
      {std::string(runtime::kMaxReportLine + 1, ' '), "more than 1048576"},
  };
  for (const auto& test : kCases) {
    const auto report = ParseReportLine(test.line);
    ASSERT_FALSE(report.ok()) << test.line.substr(0, 80);
    EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(report.status().message()), HasSubstr(test.message));
  }
}

TEST(ReportLineTest, RefusesTooManyValues) {
  std::string line = R"({"t":"report","m":{"a":[0)";
  for (int i = 0; i < 20'000; ++i) line += ",0";
  EXPECT_THAT(std::string(ParseReportLine(line + "]}}").status().message()),
              HasSubstr("more than 20000 values"));
}

std::vector<Metric> Flat(const std::string& metrics) {
  auto leaves = FlattenMetrics(metrics);
  EXPECT_TRUE(leaves.ok()) << leaves.status();
  return leaves.ok() ? *leaves : std::vector<Metric>();
}

TEST(FlattenMetricsTest, JoinsNamesAndKeepsDigits) {
  const auto leaves = Flat(
      R"({"a":{"b":{"c":1.50}},"n":9007199254740993,"s":"x\u00e9\ud83d\ude00","y":true,"z":null,"l":[1, 2]})");
  ASSERT_EQ(leaves.size(), 6u);
  EXPECT_EQ(leaves[0].name, "a/b/c");
  EXPECT_EQ(leaves[0].text, "1.50");
  EXPECT_EQ(leaves[0].number, 1.5);
  EXPECT_EQ(leaves[1].text, "9007199254740993");
  EXPECT_EQ(leaves[2].text, "x\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_FALSE(leaves[2].number.has_value());
  EXPECT_EQ(leaves[3].number, 1);
  EXPECT_EQ(leaves[4].text, "");
  EXPECT_EQ(leaves[5].text, "[1,2]");
}

TEST(FlattenMetricsTest, ReadsWhatPythonWritesBeyondTheStandard) {
  const auto leaves = Flat(
      R"({"a":NaN,"b":Infinity,"c":-Infinity,"d":1e400,"e":-1e400,"f":1e-400,"g":99999999999999999999})");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(*leaves[0].number));
  EXPECT_EQ(leaves[1].number, infinity);
  EXPECT_EQ(leaves[2].number, -infinity);
  EXPECT_EQ(leaves[3].number, infinity);
  EXPECT_EQ(leaves[4].number, -infinity);
  EXPECT_EQ(leaves[5].number, 0);
  EXPECT_EQ(leaves[6].number, 1e20);
}

TEST(ParseReportLineTest, ReadsAChangeOfTheConfiguration) {
  const auto line =
      ParseReportLine(R"({"t":"config", "c" : {"lr": 0.10, "net":{"a":[1]}},"seq":3})");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->kind, ReportLine::Kind::kConfig);
  EXPECT_EQ(line->config, R"({"lr":0.10,"net":{"a":[1]}})");
  EXPECT_EQ(line->seq, "3");
  EXPECT_TRUE(WantsAnswer(*line));
  for (const char* const wrong : {R"({"t":"config"})", R"({"t":"config","c":[1]})"}) {
    EXPECT_EQ(ParseReportLine(wrong).status(),
              absl::InvalidArgumentError("config needs an object \"c\""));
  }
}

TEST(ParseReportLineTest, ReadsAnnotations) {
  const auto line = ParseReportLine(
      R"({"t":"annotate","labels":["a","\u00e9"],"remove_labels":["b"],"note":"","name":"n"})");
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->kind, ReportLine::Kind::kAnnotate);
  EXPECT_EQ(line->labels, (std::vector<std::string>{"a", "é"}));
  EXPECT_EQ(line->remove_labels, std::vector<std::string>{"b"});
  EXPECT_EQ(line->note, "");
  EXPECT_EQ(line->name, "n");
  EXPECT_TRUE(WantsAnswer(*line));
  const auto nothing = ParseReportLine(R"({"t":"annotate","note":null})");
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_FALSE(nothing->note.has_value());
  EXPECT_EQ(ParseReportLine(R"({"t":"annotate","labels":"a"})").status(),
            absl::InvalidArgumentError("\"labels\" must be an array of strings"));
  EXPECT_EQ(ParseReportLine(R"({"t":"annotate","remove_labels":[1]})").status(),
            absl::InvalidArgumentError("\"remove_labels\" must be an array of strings"));
  EXPECT_EQ(ParseReportLine(R"({"t":"annotate","name":7})").status(),
            absl::InvalidArgumentError("\"name\" must be a string"));
}

TEST(FlattenMetricsTest, OfTwoOfOneNameTheLastCounts) {
  const auto leaves = Flat(R"({"a":{"b":1},"a/b":2})");
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_EQ(leaves[0].number, 2);
}

TEST(AnswerLineTest, IsTheProtocol) {
  EXPECT_EQ(OkLine("7"), R"({"t":"ok","seq":7,"events":[]})");
  EXPECT_EQ(OkLine(""), R"({"t":"ok","events":[]})");
  EXPECT_EQ(OkLine("", "1,[2]", "/r"), R"({"t":"ok","path":"/r","events":[1,[2]]})");
  EXPECT_EQ(OkLine("7", {}, "/r/c"), R"({"t":"ok","seq":7,"path":"/r/c","events":[]})");
  EXPECT_EQ(CheckpointDirectoryLine("", "/r/\"c"), R"({"t":"ckpt_dir","path":"/r/\"c"})");
  EXPECT_EQ(StopLine("7", "stop", 2.5), R"({"t":"stop","seq":7,"reason":"stop","grace_s":2.5})");
  EXPECT_EQ(ErrorLine("", absl::InvalidArgumentError("a \"b\"\n")),
            R"({"t":"error","code":"INVALID_ARGUMENT","error":"a \"b\"\n"})");
  EXPECT_EQ(
      WelcomeLine("{}", "/r/c", 7, "t-abcde", "n"),
      R"({"t":"welcome","v":1,"config":{},"checkpoint":"/r/c","iteration":7,"trial":"t-abcde","name":"n"})");
  EXPECT_EQ(
      WelcomeLine(R"({"lr":1})", "", 0, "t-abcde", "n"),
      R"({"t":"welcome","v":1,"config":{"lr":1},"checkpoint":null,"iteration":0,"trial":"t-abcde","name":"n"})");
}

}  // namespace
}  // namespace trainer
