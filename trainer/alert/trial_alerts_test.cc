// Tests alerts of trials from their conditions to the launcher, with kills of the trainer.

#include "trainer/alert/trial_alerts.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/alert/alert_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "trainer/report/metric_rule.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TrialAlertsTest : public TrialsFixture {
 protected:
  TrialAlertsTest() { Start(); }
  ~TrialAlertsTest() override { Kill(); }

  void BeforeOpen(Trials::Options& options) override {
    auto alert_store = bus::AlertStore::Open({.path = store_->path(), .owner = "trainer"});
    ASSERT_TRUE(alert_store.ok()) << alert_store.status();
    alert_store_ = *std::move(alert_store);
    TrialAlerts::Options mine;
    mine.loop = options.loop;
    mine.clock = &clock_;
    mine.store = store_.get();
    mine.alerts = alert_store_.get();
    mine.rules = rules_;
    mine.publish = [this](const msg::AlertT& alert) { published_.push_back(alert); };
    mine.notify = [this, loop = options.loop](const msg::AlertT& alert,
                                              TrialAlerts::Options::Done done) {
      if (loses_answers_) {
        notified_.push_back(alert);
        return;
      }
      if (refusal_.ok()) notified_.push_back(alert);
      loop->Post([done, status = refusal_] { done(status); });
    };
    mine.launch = [this, loop = options.loop](const std::string& request_id,
                                              const msg::JobSpecT& spec,
                                              TrialAlerts::Options::Done done) {
      launched_.push_back(request_id);
      last_job_ = spec;
      loop->Post([done] { done(absl::OkStatus()); });
    };
    mine.leaders = [loop = options.loop](const std::string&,
                                         std::function<void(std::vector<pid_t>)> done) {
      loop->Post([done] { done({}); });
    };
    mine.trial = [this](const std::string& id) { return trials_->Get(id); };
    mine.environment = [this](const std::string& id) { return trials_->EnvironmentOf(id); };
    mine.state_directory = "/state";
    alerts_ = std::make_unique<TrialAlerts>(std::move(mine));
    store_->SetAlertSource(alerts_.get());
  }
  void AfterResume() override { alerts_->Resume(); }
  void AfterKill() override {
    alerts_.reset();
    alert_store_.reset();
  }

  static std::vector<std::string> KindsOf(const std::vector<msg::AlertT>& alerts) {
    std::vector<std::string> kinds;
    for (const msg::AlertT& alert : alerts) kinds.push_back(alert.kind);
    return kinds;
  }
  std::string JobOf(const std::string& trial) { return Get(trial).job; }
  void Fail(const std::string& trial) {
    On([&] { jobs_.End(JobOfNow(trial), 3); });
    Advance(absl::Seconds(5));
    Advance(absl::Seconds(5));
  }
  std::string JobOfNow(const std::string& trial) { return trials_->Get(trial)->job; }

  TrialRules::Settings rules_;
  std::unique_ptr<bus::AlertStore> alert_store_;
  std::unique_ptr<TrialAlerts> alerts_;
  std::vector<msg::AlertT> published_, notified_;
  std::vector<std::string> launched_;
  msg::JobSpecT last_job_;
  absl::Status refusal_;
  bool loses_answers_ = false;
};

TEST_F(TrialAlertsTest, AFailureIsPublishedAndHandedOnOnce) {
  const std::string id = Run("first");
  Fail(id);
  ASSERT_THAT(KindsOf(published_), ElementsAre("trial_failed"));
  EXPECT_EQ(published_[0].trial, id);
  EXPECT_EQ(published_[0].name, "first");
  EXPECT_EQ(published_[0].owner, "trainer");
  EXPECT_THAT(published_[0].reason, HasSubstr("exit code 3"));
  ASSERT_THAT(notified_, SizeIs(1));
  EXPECT_EQ(notified_[0].id, published_[0].id);
  Restart();
  Advance(absl::Minutes(1));
  EXPECT_THAT(notified_, SizeIs(1));
  EXPECT_THAT(published_, SizeIs(1));
}

TEST_F(TrialAlertsTest, AnAlertThatTheLauncherDoesNotTakeIsHandedOnLater) {
  refusal_ = absl::UnavailableError("the launcher is away");
  const std::string id = Run();
  Fail(id);
  EXPECT_THAT(published_, SizeIs(1));
  EXPECT_THAT(notified_, IsEmpty());
  Kill();
  refusal_ = absl::OkStatus();
  Start();
  ASSERT_THAT(notified_, SizeIs(1));
  EXPECT_EQ(notified_[0].id, published_[0].id);
  EXPECT_THAT(published_, SizeIs(1)) << "subscribers get it from the record";
}

TEST_F(TrialAlertsTest, WithoutAnAnswerItIsHandedOnAgainUnderTheSameId) {
  loses_answers_ = true;
  const std::string id = Run();
  Fail(id);
  ASSERT_THAT(notified_, SizeIs(1));
  loses_answers_ = false;
  Restart();
  ASSERT_THAT(notified_, SizeIs(2));
  EXPECT_EQ(notified_[1].id, notified_[0].id) << "so that the launcher knows it";
}

TEST_F(TrialAlertsTest, ARefusalForGoodDoesNotHoldUpTheOthers) {
  refusal_ = absl::UnimplementedError("an old launcher");
  Fail(Run());
  refusal_ = absl::OkStatus();
  Fail(Run());
  EXPECT_THAT(notified_, SizeIs(1));
}

TEST_F(TrialAlertsTest, MetricsRaiseAlertsInTheTransactionOfTheirReport) {
  const std::string id = Run("nan");
  const std::string job = JobOf(id);
  EXPECT_THAT(Say(job, 1, R"({"t":"report","m":{"loss":NaN}})"), HasSubstr("ok"));
  EXPECT_THAT(KindsOf(published_), ElementsAre("metric_not_finite"));
  Say(job, 2, R"({"t":"report","m":{"loss":NaN}})");
  Restart();
  Say(job, 3, R"({"t":"report","m":{"loss":NaN}})");
  EXPECT_THAT(KindsOf(published_), ElementsAre("metric_not_finite")) << "once for each metric";
}

TEST_F(TrialAlertsTest, ATrialHasRulesOfItsOwn) {
  auto request = Request();
  request.options->alerts = {"loss>10"};
  const std::string id = Run(request);
  Say(JobOf(id), 1, R"({"t":"report","m":{"loss":11}})");
  EXPECT_THAT(KindsOf(published_), ElementsAre("metric_threshold"));
}

TEST_F(TrialAlertsTest, ARuleThatIsNoneIsRefused) {
  auto request = Request();
  request.options->alerts = {"loss=10"};
  const auto refused = TryRun(request);
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_THAT(refused.status().message(), HasSubstr("such as loss>10"));
}

TEST_F(TrialAlertsTest, ATrialThatStallsIsToldOnceAlsoOverARestart) {
  const std::string id = Run();
  const std::string job = JobOf(id);
  for (int i = 1; i <= 6; ++i) {
    Say(job, i, R"({"t":"report","m":{"loss":1}})");
    Advance(absl::Seconds(10));
  }
  Advance(absl::Seconds(80));
  EXPECT_THAT(published_, IsEmpty());
  Advance(absl::Seconds(30));
  ASSERT_THAT(KindsOf(published_), ElementsAre("trial_stalled"));
  EXPECT_THAT(published_[0].reason, HasSubstr("median of its steps is 10s"));
  EXPECT_THAT(notified_, SizeIs(1));
  Restart();
  Advance(absl::Seconds(200));
  Advance(absl::Seconds(200));
  EXPECT_THAT(published_, SizeIs(1));
  Say(job, 7, R"({"t":"report","m":{"loss":1}})");
  Advance(absl::Seconds(110));
  Advance(absl::Seconds(60));
  EXPECT_THAT(published_, SizeIs(2));
}

TEST_F(TrialAlertsTest, OnEndRunsOnceWithTheTrialAsJson) {
  auto request = Request("first");
  request.options->on_end = "mail";
  request.working_directory = "/tmp";
  const std::string id = Run(request);
  Say(JobOf(id), 1, R"({"t":"report","m":{"loss":1.5}})");
  Fail(id);
  ASSERT_THAT(launched_, SizeIs(1));
  EXPECT_EQ(last_job_.name, absl::StrCat("on_end-", id, "-1"));
  EXPECT_EQ(last_job_.working_directory, "/tmp");
  EXPECT_EQ(last_job_.argv.back(), "mail");
  EXPECT_THAT(last_job_.environment, Contains("YARD_TRIAL=" + id));
  EXPECT_THAT(last_job_.environment, Contains("YARD_TRIAL_STATE=failed"));
  EXPECT_THAT(last_job_.environment, Contains("YARD_STATE=/state"));
  EXPECT_THAT(last_job_.environment, Contains("PATH=/bin")) << "as the trial was asked for with";
  for (const std::string& entry : last_job_.environment) {
    if (!entry.starts_with("YARD_COMMAND_INPUT=")) continue;
    const auto json = nlohmann::json::parse(entry.substr(entry.find('=') + 1));
    EXPECT_EQ(json["name"], "first");
    EXPECT_EQ(json["state"], "failed");
    EXPECT_EQ(json["metrics"]["loss"], 1.5);
  }
  Restart();
  Advance(absl::Minutes(1));
  EXPECT_THAT(launched_, SizeIs(1));
  On([&] { EXPECT_TRUE(trials_->ResumeTrial(id).ok()); });
  Fail(id);
  ASSERT_THAT(launched_, SizeIs(2)) << "it has ended once more";
  EXPECT_NE(launched_[0], launched_[1]);
}

TEST_F(TrialAlertsTest, AFailureIsUnseenUntilItIsAcknowledged) {
  const std::string id = Run();
  Fail(id);
  On([&] { EXPECT_TRUE(alerts_->IsUnseen(id)); });
  Restart();
  On([&] {
    EXPECT_TRUE(alerts_->IsUnseen(id));
    alerts_->Acknowledge(id);
    EXPECT_FALSE(alerts_->IsUnseen(id));
  });
  EXPECT_TRUE(published_.back().acknowledged) << "others hear of it";
  Restart();
  On([&] { EXPECT_FALSE(alerts_->IsUnseen(id)); });
}

}  // namespace
}  // namespace trainer
