#include "datamanager/query/run_query.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/query/run_facts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace datamanager {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kNow = 1'700'000'000'000'000;

// A trial's run that has been read.
class KnownRun {
 public:
  KnownRun() {
    run_.name = "sweep/t-abcde";
    run_.update_us = kNow - std::int64_t{3600} * 1'000'000;
    run_.bytes = 5 << 20;
    run_.files = 2;
    run_.state = CacheState::kCached;
    run_.labels = labels_;
    run_.config = config_;
    run_.counted = true;
    run_.points = 3000;
    run_.faults = 1;
    run_.last_step = 999;
    run_.tags = tags_;
  }
  KnownRun(const KnownRun&) = delete;
  KnownRun& operator=(const KnownRun&) = delete;

  const RunFacts& facts() const { return run_; }

 private:
  const std::vector<std::string> labels_ = {"base", "night run"};
  const std::vector<ConfigFacts> config_ = {
      {.name = "lr", .text = "0.1", .number = 0.1},
      {.name = "net/depth", .text = "12", .number = 12},
      {.name = "optimizer", .text = "adam", .number = {}},
      {.name = "version", .text = "1.0", .number = {}},
  };
  // Sorted by name.
  const std::vector<TagFacts> tags_ = {
      {.name = "a b:c", .plugin = "scalars", .scalar = true, .last = 1, .min = 1, .max = 1},
      {.name = "broken", .plugin = "scalars", .scalar = true, .last = kNan},
      {.name = "images/x", .plugin = "images"},
      {.name = "loss",
       .plugin = "scalars",
       .scalar = true,
       .last = static_cast<double>(0.1F),
       .min = 0.05,
       .max = 9},
      {.name = "steps", .plugin = "scalars", .scalar = true, .last = 7, .min = 7, .max = 7},
      {.name = "up", .plugin = "scalars", .scalar = true, .last = kInfinity, .min = 0, .max = 3},
  };
  RunFacts run_;
};

// Returns a run of which nothing has been read.
RunFacts UnknownRun() {
  RunFacts run;
  run.name = "new";
  run.update_us = kNow;
  run.bytes = 100;
  run.files = 1;
  return run;
}

Answer Ask(const std::string& query, const RunFacts& run) {
  const auto parsed = RunQuery::Parse(query);
  EXPECT_TRUE(parsed.ok()) << query << ": " << parsed.status();
  if (!parsed.ok()) return Answer::kUnknown;
  return parsed->Ask(run, kNow);
}

struct Row {
  const char* query;
  bool known;    // The answer for the run that was read.
  char new_run;  // The answer for the unread run: "y", "n" or "?".
};

constexpr Row kRows[] = {
    // The last value of a tag, its minimum and maximum.
    {"loss<0.2", true, '?'},
    {"loss < 0.05", false, '?'},
    {"last:loss<0.2", true, '?'},
    {"min:loss<=0.05", true, '?'},
    {"max:loss>9", false, '?'},
    {"max:loss>=9", true, '?'},
    {"loss>-1e3", true, '?'},
    {"loss=0.1", true, '?'},  // Stored as a float.
    {"loss<=0.1", true, '?'},
    {"loss>0.1", false, '?'},
    {"loss!=0.1", false, '?'},
    {"loss==0.1", true, '?'},
    {"min:loss=0.05", true, '?'},  // Stored as a double.
    {"none<1", false, '?'},
    {"none!=1", false, '?'},
    {"!none<1", true, '?'},
    {"images/x!=1", false, '?'},
    // Values that are not finite.
    {"broken=nan", true, '?'},
    {"broken<1e300", false, '?'},
    {"broken!=nan", false, '?'},
    {"loss!=nan", true, '?'},
    {"min:broken!=1", false, '?'},
    {"up=inf", true, '?'},
    {"up>1e300", true, '?'},
    {"max:up<inf", true, '?'},
    // Names in quotes are tags.
    {"\"a b:c\"=1", true, '?'},
    {"min:'a b:c'=1", true, '?'},
    {"\"steps\"=7", true, '?'},
    {"steps=999", true, '?'},
    // Counts.
    {"points>=3000", true, '?'},
    {"tags=6", true, '?'},
    {"faults>0", true, '?'},
    {"files=2", true, 'n'},
    {"bytes>4MiB", true, 'n'},
    {"bytes<=1k", false, 'y'},
    {"age<1d", true, 'y'},
    {"age>59m", true, 'n'},
    {"age<1h", false, 'y'},
    // The configuration.
    {"config.lr=0.1", true, '?'},
    {"config.lr=1e-1", true, '?'},
    {"config.net/depth>10", true, '?'},
    {"config.\"net/depth\"<=11", false, '?'},
    {"config.optimizer=adam", true, '?'},
    {"config.optimizer!=sgd", true, '?'},
    {"config.optimizer<3", false, '?'},
    {"config.version=1.0", true, '?'},
    {"config.version=\"1.0\"", true, '?'},
    {"config.lr=\"0.10\"", false, '?'},
    {"config.momentum!=1", false, '?'},
    // Texts.
    {"label:base", true, '?'},
    {"label:bas", false, '?'},
    {"label:\"night run\"", true, '?'},
    {"name:^sweep/", true, 'n'},
    {"name:\"t-(abcde|x)$\"", true, 'n'},
    {"name:new", false, 'y'},
    {"tag:^loss$", true, '?'},
    {"tag:los\\b", false, '?'},
    {"tag:\"im\\w+s/\"", true, '?'},
    {"plugin:images", true, '?'},
    {"plugin:image", false, '?'},
    {"state:cached", true, 'n'},
    {"state:not-cached", false, 'y'},
    // Combinations: "!" binds more tightly than "&", and "&" than "|".
    {"loss<0.2 & label:base", true, '?'},
    {"loss<0.2&label:other", false, '?'},
    {"label:other | label:base", true, '?'},
    {"label:other || label:base && loss<9", true, '?'},
    {"label:base | label:base & label:other", true, '?'},
    {"(label:base | label:base) & label:other", false, '?'},
    {"!label:other & !(label:x | label:y)", true, '?'},
    {"!!label:base", true, '?'},
    {" \t( ( label:base ) )\n", true, '?'},
    // Queries whose answer does not depend on the unknown part.
    {"name:new | loss<0.01", false, 'y'},
    {"name:old & loss<0.2", false, 'n'},
    {"!(name:new | loss<0.2)", false, 'n'},
    {"!name:new | !loss<0.2", true, '?'},
};

TEST(RunQueryTest, EachRowOfTheTableHolds) {
  const KnownRun known;
  for (const Row& row : kRows) {
    EXPECT_EQ(Ask(row.query, known.facts()), row.known ? Answer::kYes : Answer::kNo) << row.query;
    const Answer expected = row.new_run == 'y'   ? Answer::kYes
                            : row.new_run == 'n' ? Answer::kNo
                                                 : Answer::kUnknown;
    EXPECT_EQ(Ask(row.query, UnknownRun()), expected) << row.query << ", a new run";
  }
}

TEST(RunQueryTest, ARunWithoutPointsHasNoSteps) {
  RunFacts run = UnknownRun();
  run.counted = true;
  EXPECT_EQ(Ask("steps<1", run), Answer::kNo);
  EXPECT_EQ(Ask("!steps>=0", run), Answer::kYes);
  EXPECT_EQ(Ask("points=0 & tags=0", run), Answer::kYes);
}

TEST(RunQueryTest, ARunWithoutATrialHasNoLabelsAndNoConfiguration) {
  RunFacts run = UnknownRun();
  run.labels.emplace();
  run.config.emplace();
  EXPECT_EQ(Ask("label:base", run), Answer::kNo);
  EXPECT_EQ(Ask("!label:base", run), Answer::kYes);
  EXPECT_EQ(Ask("config.lr=0.1", run), Answer::kUnknown) << "its files may say";
  run.counted = true;
  EXPECT_EQ(Ask("config.lr=0.1", run), Answer::kNo);
}

TEST(RunQueryTest, ParametersOfThePluginCountWhereNothingElseHasTheName) {
  RunFacts run = UnknownRun();
  const std::vector<ConfigFacts> config = {{.name = "lr", .text = "0.1", .number = 0.1}};
  const std::vector<ConfigFacts> hparams = {{.name = "lr", .text = "0.5", .number = 0.5},
                                            {.name = "opt", .text = "adam", .is_text = true}};
  run.config = config;
  EXPECT_EQ(Ask("config.lr=0.1", run), Answer::kYes) << "also before its files are read";
  EXPECT_EQ(Ask("config.opt=adam", run), Answer::kUnknown);
  run.counted = true;
  run.hparams = hparams;
  EXPECT_EQ(Ask("config.lr=0.1", run), Answer::kYes);
  EXPECT_EQ(Ask("config.opt=adam", run), Answer::kYes);
  EXPECT_EQ(Ask("config.other=1", run), Answer::kNo);
  run.may_have_more_hparams = true;
  EXPECT_EQ(Ask("config.other=1", run), Answer::kUnknown);
}

TEST(RunQueryTest, SaysWhatItAsksForByName) {
  std::vector<std::string> terms;
  for (const auto& term : RunQuery::Parse("loss<1 & !(min:loss<2 | config.lr=1) | label:a | "
                                          "steps>1 | name:x | config.lr=2")
                              ->Terms()) {
    terms.push_back(std::to_string(static_cast<int>(term.kind)) + term.name);
  }
  EXPECT_EQ(terms, (std::vector<std::string>{"0loss", "1lr", "2a"}));
}

TEST(RunQueryTest, AClockThatIsBehindMakesNothingYoungerThanNew) {
  RunFacts run = UnknownRun();
  run.update_us = kNow + 5'000'000;
  EXPECT_EQ(Ask("age=0", run), Answer::kYes);
  run.update_us = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Ask("age>10000d", run), Answer::kYes) << "no overflow";
}

TEST(RunQueryTest, OnlyANumberThatIsNearAFloatMeansThatFloat) {
  const std::vector<TagFacts> tags = {
      {.name = "huge", .plugin = "scalars", .scalar = true, .last = kInfinity},
      {.name = "near", .plugin = "scalars", .scalar = true, .last = 0.1000000005},
      {.name = "zero", .plugin = "scalars", .scalar = true, .last = 0},
  };
  RunFacts run = UnknownRun();
  run.counted = true;
  run.tags = tags;
  EXPECT_EQ(Ask("zero<1e-50", run), Answer::kYes);
  EXPECT_EQ(Ask("zero=1e-50", run), Answer::kNo);
  EXPECT_EQ(Ask("huge=1e300", run), Answer::kNo);
  EXPECT_EQ(Ask("near=0.1", run), Answer::kNo);
  EXPECT_EQ(Ask("near>0.1", run), Answer::kYes);
}

TEST(RunQueryTest, KnowsWhetherItLooksIntoFiles) {
  for (const char* query : {"loss<1", "name:a & !(state:failed | steps>1)", "tag:a", "plugin:a",
                            "points>1", "tags>1", "faults>1", "min:a<1", "label:a | config.a=1"}) {
    EXPECT_TRUE(RunQuery::Parse(query)->NeedsFiles()) << query;
  }
  for (const char* query : {"name:a", "label:a", "!(age<1d & bytes>1 & files>1)", "state:cached"}) {
    EXPECT_FALSE(RunQuery::Parse(query)->NeedsFiles()) << query;
  }
}

struct ErrorRow {
  std::string query;
  int column;
  const char* message;
};

TEST(RunQueryTest, AnErrorSaysWhereAndWhy) {
  const ErrorRow rows[] = {
      {"", 1, "expected a query, not nothing"},
      {"  ", 1, "expected a query, not nothing"},
      {"loss", 5, "expected one of < <= > >= = != behind \"loss\""},
      {"loss<", 6, "expected a number behind <"},
      {"loss< & label:base", 7, "expected a number behind <"},
      {"loss<=abc", 7, "\"abc\" is not a number"},
      {"loss<1e400", 6, "\"1e400\" is not a number"},
      {"loss<nan", 6, "nan is neither less nor greater: use = or !="},
      {"loss<\"1\"", 6, "expected a number behind <"},
      {"loss!1", 5, "expected one of < <= > >= = != behind \"loss\""},
      {"loss<1 label:a", 8, "expected & or | here"},
      {"loss<1)", 7, "this ) closes nothing"},
      {"(loss<1", 8, "expected & or |, or a ) for the ( of column 1"},
      {"x<1 & (a<1 | (b<1) c<2)", 20, "expected & or |, or a ) for the ( of column 7"},
      {"& loss<1", 1, "expected a condition like loss<0.1 or label:base"},
      {"loss<1 &", 9, "expected a condition like loss<0.1 or label:base"},
      {"loss<1 &&& a<1", 10, "expected a condition like loss<0.1 or label:base"},
      {"!", 2, "expected a condition like loss<0.1 or label:base"},
      {"()", 2, "expected a condition like loss<0.1 or label:base"},
      {"lable:base", 1,
       "\"lable:\" is none of label: name: note: tag: plugin: state: last: min: "
       "max:"},
      {"label:", 7, "expected a word behind label:"},
      {"label: & a<1", 8, "expected a word behind label:"},
      {"name:a[b", 6, "bad pattern: missing ]: [b"},
      {"tag:\"(\"", 5, "bad pattern: missing ): ("},
      {"state:warm", 7, "\"warm\" is none of not-cached, caching, cached, failed"},
      {"age<1w", 5, "\"1w\" is not a time like 90s, 1h30m or 2d"},
      {"age<", 5, "expected a time like 90s, 1h30m or 2d behind <"},
      {"bytes>1PB", 7, "\"1PB\" is not a size like 512MiB or 4k"},
      {"config.=1", 8, "expected a name behind config."},
      {"config.lr", 10, "expected one of < <= > >= = != behind \"config.lr\""},
      {"config.lr=", 11, "expected a value behind ="},
      {"config.lr<abc", 11, "< needs a number, not \"abc\""},
      {"config.lr<\"1\"", 11, "< needs a number, not \"1\""},
      {"config.lr>=nan", 12, "nan is neither less nor greater: use = or !="},
      {"label:'base", 7, "this quote is not closed"},
      {"\"\"<1", 1, "a tag has a name"},
      {"hä<1 & ö", 9, "expected one of < <= > >= = != behind \"ö\""},
  };
  for (const ErrorRow& row : rows) {
    const auto parsed = RunQuery::Parse(row.query);
    ASSERT_TRUE(absl::IsInvalidArgument(parsed.status())) << row.query;
    const std::string text(parsed.status().message());
    EXPECT_THAT(text,
                StartsWith("query, column " + std::to_string(row.column) + ": " + row.message))
        << row.query;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  }
}

TEST(RunQueryTest, AnErrorShowsTheCaretBelowTheColumn) {
  EXPECT_EQ(std::string(RunQuery::Parse("loss< & label:base").status().message()),
            "query, column 7: expected a number behind <\n"
            "  loss< & label:base\n"
            "        ^");
}

TEST(RunQueryTest, QuotesMayHoldQuotesAndPatternsBackslashes) {
  const std::vector<std::string> labels = {"a\"b", "c\\d", "e\\f"};
  RunFacts run = UnknownRun();
  run.labels = labels;
  EXPECT_EQ(Ask("label:\"a\\\"b\"", run), Answer::kYes);
  EXPECT_EQ(Ask("label:'a\"b'", run), Answer::kYes);
  EXPECT_EQ(Ask("label:\"c\\\\d\"", run), Answer::kYes);
  EXPECT_EQ(Ask("label:\"e\\f\"", run), Answer::kYes);
  EXPECT_EQ(Ask("name:\"\\w\\.\"", run), Answer::kNo);
}

TEST(RunQueryTest, HasItsLimits) {
  std::string conditions = "a<1";
  for (std::size_t i = 1; i < RunQuery::kMaxConditions; ++i) conditions += "&a<1";
  EXPECT_TRUE(RunQuery::Parse(conditions).ok());
  EXPECT_THAT(std::string(RunQuery::Parse(conditions + "&a<1").status().message()),
              HasSubstr("at most 64 conditions"));

  const std::string deep =
      std::string(RunQuery::kMaxDepth, '(') + "a<1" + std::string(RunQuery::kMaxDepth, ')');
  EXPECT_TRUE(RunQuery::Parse(deep).ok());
  EXPECT_THAT(std::string(RunQuery::Parse("!" + deep).status().message()),
              HasSubstr("too many ( and ! within each other"));

  const std::string longest = "\"" + std::string(RunQuery::kMaxSize - 4, 'a') + "\"<1";
  EXPECT_TRUE(RunQuery::Parse(longest).ok());
  EXPECT_THAT(std::string(RunQuery::Parse(longest + " ").status().message()),
              HasSubstr("at most 4096 bytes"));
  EXPECT_LT(RunQuery::Parse(std::string(1 << 20, '(')).status().message().size(), 500U);

  EXPECT_FALSE(RunQuery::Parse("name:" + std::string(1025, 'a')).ok()) << "a pattern";
}

TEST(RunQueryTest, ACopyAnswersTheSame) {
  const auto query = RunQuery::Parse("name:new");
  ASSERT_TRUE(query.ok());
  const RunQuery copy = *query;
  EXPECT_EQ(copy.Ask(UnknownRun(), kNow), Answer::kYes);
}

}  // namespace
}  // namespace datamanager
