#include "datamanager/answer/query_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/answer/run_facts_of.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/brief/run_config.h"
#include "datamanager/brief/run_labels.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/fixtures/fake_run_source.h"
#include "datamanager/query/run_query.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "eventlog/testing/protobuf_bytes.h"

namespace datamanager {
namespace {

namespace pb = eventlog::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kFile = "/events.out.tfevents.1.host";

std::string Scalar(const std::string& tag) {
  const eventlog::Scalar scalar{tag, 0.5};
  return eventlog::RenderScalars(100, 1, {&scalar, 1});
}
std::string Start(const std::string& name) {
  const std::string entry = pb::Bytes(1, pb::Bytes(1, name) + pb::Bytes(2, pb::Double(2, 0.5)));
  const std::string metadata =
      pb::Bytes(9, pb::Bytes(1, pb::Bytes(1, "hparams") + pb::Bytes(2, pb::Bytes(3, entry))));
  std::string record;
  eventlog::AppendRecord(
      pb::Double(1, 7) +
          pb::Bytes(5, pb::Bytes(1, pb::Bytes(1, "_hparams_/session_start_info") + metadata)),
      &record);
  return record;
}

class QueryTermsTest : public ::testing::Test {
 protected:
  QueryTermsTest() {
    source_.Append(std::string("a") + kFile, Scalar("loss") + Scalar("eval/accuracy"));
    source_.Append(std::string("a/1") + kFile, Start("dropout"));
    source_.Append(std::string("unread") + kFile, Scalar("recall"));
    source_.Scan();
    for (const char* run : {"a", "a/1"}) source_.ReadFiles(run, RunSource::Need::kCounts);
    auto config = RunConfig::Parse(R"({"lr": 0.1, "net": {"depth": 3}})");
    EXPECT_TRUE(source_.item("a")
                    .Set(kConfigKey, std::make_shared<const RunConfig>(*std::move(config)))
                    .ok());
    auto labels = std::make_shared<RunLabels>();
    labels->labels = {"base"};
    EXPECT_TRUE(source_.item("a").Set<RunLabels>(kTrialKey, labels).ok());
  }

  // Returns "term>suggestion" for each unknown term.
  std::vector<std::string> Unknown(const std::string& text) {
    const auto query = RunQuery::Parse(text);
    EXPECT_TRUE(query.ok()) << query.status();
    const auto unknown = UnknownTerms(*query, source_);
    EXPECT_TRUE(unknown.ok()) << unknown.status();
    std::vector<std::string> words;
    for (const UnknownTerm& one : *unknown) words.push_back(one.term + ">" + one.meant);
    return words;
  }
  // Evaluates the query `text` for one run.
  Answer Ask(const std::string& text, const std::string& run = "a") {
    const auto query = RunQuery::Parse(text);
    EXPECT_TRUE(query.ok()) << query.status();
    const BriefFacts brief(source_.item(run));
    RunFacts facts = brief.Facts(CacheState::kNotCached);
    const PluginFacts plugin = PluginFactsOf(source_, *source_.Names(), run);
    facts.counted = run != "unread";
    facts.hparams = plugin.config.facts();
    facts.may_have_more_hparams = plugin.may_have_more;
    return query->Ask(facts, 0);
  }

  FakeRunSource source_;
};

TEST_F(QueryTermsTest, WhatSomeRunHasIsKnown) {
  EXPECT_THAT(Unknown("loss<1 | config.lr=2 & config.net/depth>1 | label:base | steps>1"),
              IsEmpty());
  EXPECT_THAT(Unknown("config.dropout<1 & !min:eval/accuracy>1"), IsEmpty());
}

TEST_F(QueryTermsTest, WhatNoneHasIsNamedWithWhatIsNear) {
  EXPECT_THAT(Unknown("los<1"), ElementsAre("los>loss"));
  EXPECT_THAT(Unknown("lr>0.1"), ElementsAre("lr>config.lr"));
  EXPECT_THAT(Unknown("config.loss>0.1"), ElementsAre("config.loss>loss"));
  EXPECT_THAT(Unknown("accuracy>0.1"), ElementsAre("accuracy>eval/accuracy"));
  EXPECT_THAT(Unknown("LOSS>0.1"), ElementsAre("LOSS>loss"));
  EXPECT_THAT(Unknown("label:bse | config.drop_out=1"),
              ElementsAre("config.drop_out>config.dropout", "label:bse>label:base"));
  EXPECT_THAT(Unknown("something_else<1 & loss<1"), ElementsAre("something_else>"));
}

TEST_F(QueryTermsTest, AQueryAsksForTheParametersOfTheRunBelowToo) {
  EXPECT_EQ(Ask("config.dropout=0.5"), Answer::kYes);
  EXPECT_EQ(Ask("config.lr=0.1"), Answer::kYes);
  EXPECT_EQ(Ask("config.nothing=1"), Answer::kNo);
  EXPECT_EQ(Ask("config.nothing=1", "unread"), Answer::kUnknown);
}

}  // namespace
}  // namespace datamanager
