#include "datamanager/query/run_selection.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/query/run_facts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string_view> kRuns = {".", "base", "base/eval", "sweep/a", "sweep/b"};

const std::vector<TagFacts> kFirstTags = {
    {.name = "accuracy", .plugin = "scalars", .scalar = true},
    {.name = "image", .plugin = "images"},
    {.name = "loss", .plugin = "scalars", .scalar = true},
};
const std::vector<TagFacts> kSecondTags = {
    {.name = "loss", .plugin = "scalars", .scalar = true},
    {.name = "lr", .plugin = "scalars", .scalar = true},
};
const std::vector<RunTags> kTags = {{.run = "a", .tags = kFirstTags},
                                    {.run = "b", .tags = kSecondTags}};

RunSelection Make(SelectionRequest request) {
  auto selection = RunSelection::Make(std::move(request));
  EXPECT_TRUE(selection.ok()) << selection.status();
  return *std::move(selection);
}

std::vector<std::string_view> RunsOf(SelectionRequest request) {
  const auto indices = Make(std::move(request)).FindRuns(kRuns);
  EXPECT_TRUE(indices.ok()) << indices.status();
  std::vector<std::string_view> names;
  for (const std::size_t index : *indices) names.push_back(kRuns[index]);
  return names;
}

std::vector<std::string> SeriesOf(SelectionRequest request) {
  const auto series = Make(std::move(request)).FindSeries(kTags);
  EXPECT_TRUE(series.ok()) << series.status();
  std::vector<std::string> names;
  for (const SelectedSeries& one : *series) {
    const RunTags& run = kTags[one.run];
    names.push_back(std::string(run.run) + "/" + std::string(run.tags[one.tag].name));
  }
  return names;
}

TEST(RunSelectionTest, NothingSelectsEverything) {
  EXPECT_EQ(RunsOf({}), kRuns);
  EXPECT_THAT(SeriesOf({}), ElementsAre("a/accuracy", "a/image", "a/loss", "b/loss", "b/lr"));
  const RunSelection selection = Make({});
  EXPECT_EQ(selection.Ask(RunFacts(), 0), Answer::kYes);
  EXPECT_FALSE(selection.NeedsFiles());
}

TEST(RunSelectionTest, RunsByNameOrUniquePrefixInTheOrderOfTheRequest) {
  EXPECT_THAT(RunsOf({.runs = {"sweep/b", "base", "base/e", "."}}),
              ElementsAre("sweep/b", "base", "base/eval", "."));
  EXPECT_THAT(RunsOf({.runs = {"base/e", "base/eval", "base/ev"}}), ElementsAre("base/eval"));
}

TEST(RunSelectionTest, RunsByPatternAlsoOfNamedOnes) {
  EXPECT_THAT(RunsOf({.run_pattern = "^sweep/"}), ElementsAre("sweep/a", "sweep/b"));
  EXPECT_THAT(RunsOf({.runs = {"sweep/b", "base"}, .run_pattern = "b$"}), ElementsAre("sweep/b"));
  EXPECT_THAT(RunsOf({.run_pattern = "none"}), IsEmpty());
}

TEST(RunSelectionTest, ANameThatIsNoRunsOrSeveralRunsIsAnError) {
  const auto none = Make({.runs = {"base", "swept"}}).FindRuns(kRuns);
  EXPECT_TRUE(absl::IsNotFound(none.status())) << none.status();
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("no run \"swept\""));
  const auto both = Make({.runs = {"sweep"}}).FindRuns(kRuns);
  EXPECT_TRUE(absl::IsFailedPrecondition(both.status())) << both.status();
  EXPECT_THAT(std::string(both.status().message()),
              HasSubstr("run \"sweep\" matches sweep/a, sweep/b"));
  EXPECT_TRUE(absl::IsNotFound(Make({.runs = {""}}).FindRuns(kRuns).status()));
  EXPECT_TRUE(absl::IsNotFound(Make({.runs = {"z"}}).FindRuns(kRuns).status()));
  EXPECT_TRUE(absl::IsNotFound(Make({.runs = {"base"}}).FindRuns({}).status()));
}

TEST(RunSelectionTest, ManyMatchesAreCounted) {
  const std::vector<std::string_view> names = {"a1", "a2", "a3", "a4", "a5", "a6", "a7"};
  EXPECT_THAT(std::string(Make({.runs = {"a"}}).FindRuns(names).status().message()),
              HasSubstr("matches a1, a2, a3, a4, a5 and 2 more"));
}

TEST(RunSelectionTest, AsksTheQuery) {
  RunFacts run;
  run.name = "x";
  const RunSelection by_name = Make({.query = "name:x"});
  EXPECT_EQ(by_name.Ask(run, 0), Answer::kYes);
  EXPECT_FALSE(by_name.NeedsFiles());
  const RunSelection by_loss = Make({.query = "loss<1"});
  EXPECT_EQ(by_loss.Ask(run, 0), Answer::kUnknown);
  EXPECT_TRUE(by_loss.NeedsFiles());
}

TEST(RunSelectionTest, TagsByNameInTheOrderOfTheRequest) {
  EXPECT_THAT(SeriesOf({.tags = {"lr", "loss", "lr"}}), ElementsAre("a/loss", "b/lr", "b/loss"));
}

TEST(RunSelectionTest, TagsByPatternAndPlugin) {
  EXPECT_THAT(SeriesOf({.tag_pattern = "^l"}), ElementsAre("a/loss", "b/loss", "b/lr"));
  EXPECT_THAT(SeriesOf({.plugin = "images"}), ElementsAre("a/image"));
  EXPECT_THAT(SeriesOf({.tags = {"loss", "lr"}, .tag_pattern = "oss"}),
              ElementsAre("a/loss", "b/loss"));
  EXPECT_THAT(SeriesOf({.tags = {"image"}, .plugin = "scalars"}), IsEmpty());
}

TEST(RunSelectionTest, ATagThatNoRunHasIsAnError) {
  const RunSelection selection = Make({.tags = {"loss", "lss"}});
  const auto several = selection.FindSeries(kTags);
  EXPECT_TRUE(absl::IsNotFound(several.status())) << several.status();
  EXPECT_THAT(std::string(several.status().message()),
              HasSubstr("no tag \"lss\" in any of 2 runs"));
  const auto one = selection.FindSeries(std::span(kTags).first(1));
  EXPECT_THAT(std::string(one.status().message()),
              HasSubstr("no tag \"lss\" in run a; it has accuracy, image, loss"));
  const std::vector<RunTags> empty = {{.run = "c", .tags = {}}};
  EXPECT_THAT(std::string(selection.FindSeries(empty).status().message()),
              HasSubstr("no tag \"loss\" in run c; it has none"));
  const auto nothing = selection.FindSeries({});
  EXPECT_TRUE(nothing.ok()) << "no run, so none that lacks it: " << nothing.status();
}

TEST(RunSelectionTest, WhatIsWrongIsNamed) {
  const auto message = [](SelectionRequest request) {
    const auto selection = RunSelection::Make(std::move(request));
    EXPECT_TRUE(absl::IsInvalidArgument(selection.status())) << selection.status();
    return std::string(selection.status().message());
  };
  EXPECT_THAT(message({.run_pattern = "["}), HasSubstr("run_pattern: missing ]"));
  EXPECT_THAT(message({.tag_pattern = "("}), HasSubstr("tag_pattern: missing )"));
  EXPECT_THAT(message({.query = "loss<"}), HasSubstr("query, column 6: expected a number"));
  EXPECT_THAT(message({.query = " "}), HasSubstr("expected a query, not nothing"));
  EXPECT_THAT(message({.runs = std::vector<std::string>(10'001, "a")}),
              HasSubstr("at most 10000 runs"));
  EXPECT_THAT(message({.tags = std::vector<std::string>(10'001, "a")}), HasSubstr("as many tags"));
}

TEST(RunSelectionTest, MoreSeriesThanFitAreRefused) {
  std::vector<std::string> names;
  for (int i = 0; i < 1001; ++i) names.push_back(std::to_string(100'000 + i));
  const std::vector<TagFacts> tags = [&] {
    std::vector<TagFacts> all;
    for (const std::string& name : names) all.push_back({.name = name, .plugin = ""});
    return all;
  }();
  const std::vector<RunTags> runs(1000, RunTags{.run = "r", .tags = tags});
  const auto series = Make({}).FindSeries(runs);
  EXPECT_TRUE(absl::IsResourceExhausted(series.status())) << series.status();
  const auto fewer = Make({.tag_pattern = "^1000"}).FindSeries(runs);
  ASSERT_TRUE(fewer.ok()) << fewer.status();
  EXPECT_EQ(fewer->size(), 100'000U);
}

}  // namespace
}  // namespace datamanager
