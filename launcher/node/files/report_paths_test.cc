#include "launcher/node/files/report_paths.h"

#include <string>

#include "gtest/gtest.h"

namespace launcher {
namespace {

const RunPlaces kPlaces = {.launcher = "/here/runs/r", .node = "/tmp/n/run"};

TEST(ReportPathsTest, PathsBelowTheRunMove) {
  EXPECT_EQ(AtNode(kPlaces, "/here/runs/r/checkpoint_tmp1"), "/tmp/n/run/checkpoint_tmp1");
  EXPECT_EQ(AtNode(kPlaces, "/here/runs/r"), "/tmp/n/run");
  EXPECT_EQ(AtNode(kPlaces, "/here/runs/r2/c"), "/here/runs/r2/c");
  EXPECT_EQ(AtNode(kPlaces, "c"), "c");
  EXPECT_EQ(AtLauncher(kPlaces, "/tmp/n/run/c/d"), "/here/runs/r/c/d");
  EXPECT_EQ(AtLauncher(kPlaces, "/tmp/n/runner"), "/tmp/n/runner");
}

TEST(ReportPathsTest, LinesThatSaveAreKnown) {
  EXPECT_EQ(SavedPath(R"({"t":"ckpt_end","path":"/tmp/n/run/c"})"), "/tmp/n/run/c");
  EXPECT_EQ(SavedPath(R"({"path":"\u002fa \"b","t": "ckpt_end" })"), "/a \"b");
  EXPECT_EQ(SavedPath(R"({"t":"report","m":{"loss":NaN},"ckpt":"mine"})"), "mine");
  for (const std::string line :
       {R"({"t":"report","m":{"ckpt":"mine"}})", R"({"t":"report","m":{},"ckpt":null})",
        R"({"t":"ckpt_begin","step":1})", R"({"t":"log","text":"{\"t\":\"ckpt_end\"}"})",
        R"({"t":"ckpt_end"})", R"({"t":"ckpt_end","path":7})", R"({"t":"ckpt_end","path":"x)",
        R"([{"t":"ckpt_end","path":"x"}])", "ckpt", ""}) {
    EXPECT_EQ(SavedPath(line), std::nullopt) << line;
    EXPECT_EQ(WithSavedPath(line, "/other"), line);
  }
}

TEST(ReportPathsTest, NothingButThePathIsChanged) {
  EXPECT_EQ(WithSavedPath(
                R"({ "seq" : 1.50, "t":"report","m":{"a":1e400, "ckpt":"no"}, "ckpt" : "a/b" })",
                "/x \"y\""),
            R"({ "seq" : 1.50, "t":"report","m":{"a":1e400, "ckpt":"no"}, "ckpt" : "/x \"y\"" })");
  // The last of two members with the same name counts, as in the trainer.
  EXPECT_EQ(WithSavedPath(R"({"t":"ckpt_end","path":"a","path":"b"})", "c"),
            R"({"t":"ckpt_end","path":"a","path":"c"})");
}

TEST(ReportPathsTest, AFailureSaysWhy) {
  EXPECT_EQ(FailedSave(R"({"t":"ckpt_end","seq":[1],"path":"a"})", "/r/a", "x \"y\""),
            R"({"t":"ckpt_fail","seq":[1],"path":"/r/a","error":"x \"y\""})");
  EXPECT_EQ(FailedSave(R"({"t":"report","ckpt":"a"})", "/r/a", "x"),
            R"({"t":"ckpt_fail","path":"/r/a","error":"x"})");
}

TEST(ReportPathsTest, AnswersHaveThePathsOfTheNode) {
  AnswerAtNode answer =
      AnswerFor(kPlaces, R"({"t":"ckpt_dir","seq":2,"path":"/here/runs/r/checkpoint_tmp1"})");
  EXPECT_EQ(answer.text, R"({"t":"ckpt_dir","seq":2,"path":"/tmp/n/run/checkpoint_tmp1"})");
  EXPECT_EQ(answer.directory, "/tmp/n/run/checkpoint_tmp1");
  answer = AnswerFor(kPlaces,
                     R"({"t":"ok","path":"/here/runs/r/c","events":[{"path":"/here/runs/r/c"}]})");
  EXPECT_EQ(answer.text,
            R"({"t":"ok","path":"/tmp/n/run/c","events":[{"path":"/here/runs/r/c"}]})");
  EXPECT_EQ(answer.saved, "/tmp/n/run/c");
  EXPECT_EQ(answer.directory, "");
  answer = AnswerFor(
      kPlaces,
      R"({"t":"welcome","config":{"checkpoint":"/here/runs/r/x","n":NaN},"checkpoint":"/here/runs/r/c"})");
  EXPECT_EQ(
      answer.text,
      R"({"t":"welcome","config":{"checkpoint":"/here/runs/r/x","n":NaN},"checkpoint":"/tmp/n/run/c"})");
  for (const std::string same :
       {R"({"t":"welcome","checkpoint":null})", R"({"t":"ok","events":["path"]})",
        R"({"t":"stop","path":"/here/runs/r/c"})", R"({"t":"ok","path":"/other/c"})",
        R"({"t":"error","error":"path /here/runs/r"})", R"({"t":"ok","path":)", "", "path"}) {
    answer = AnswerFor(kPlaces, same);
    EXPECT_EQ(answer.text, same);
    EXPECT_EQ(answer.directory + answer.saved, "");
  }
}

}  // namespace
}  // namespace launcher
