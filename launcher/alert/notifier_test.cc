// Tests the path from an alert of a service, or a condition of this machine, to the job that
// notifies the user.

#include "launcher/alert/notifier.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/alert/alert_rows.h"
#include "bus/alert/alert_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/alert/launcher_alerts.h"
#include "launcher/alert/machine_rules.h"
#include "launcher/alert/notification_store.h"
#include "launcher/alert/notify_pace.h"
#include "nlohmann/json.hpp"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NotifierTest : public ::testing::Test {
 protected:
  NotifierTest() : path_(::testing::TempDir() + "/launcher.db") {
    remove(path_.c_str());
    SQLite::Database database(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(bus::kAlertTables);
    database.exec(kNotificationTables);
    Open();
  }
  ~NotifierTest() override {
    Close();
    loop_->Stop();
    thread_.Join();
  }

  // Runs `body` on the loop's thread, and then everything that is due.
  void On(const std::function<void()>& body) {
    for (int i = 0; i < 4; ++i) {
      std::promise<void> done;
      loop_->Post([&] {
        if (i == 0) body();
        done.set_value();
      });
      done.get_future().wait();
    }
  }
  void Close() {
    On([this] {
      alerts_.reset();
      notifier_.reset();
      store_.reset();
      alert_store_.reset();
    });
  }
  void Open() {
    Close();
    On([this] { OpenHere(); });
  }
  void OpenHere() {
    store_ = *NotificationStore::Open(path_);
    alert_store_ = *bus::AlertStore::Open({.path = path_, .owner = "launcher"});
    notifier_ = std::make_unique<Notifier>(
        Notifier::Options{.loop = loop_.get(),
                          .clock = &clock_,
                          .store = store_.get(),
                          .command = command_,
                          .kinds = kinds_,
                          .environment = {"HOME=/me"},
                          .state_directory = "/state",
                          .pace = {.most = 2, .window = absl::Minutes(10)},
                          .launch = [this](const std::string& request_id, msg::JobSpecT spec) {
                            if (!refusal_.ok()) return refusal_;
                            jobs_.emplace_back(request_id, std::move(spec));
                            return absl::OkStatus();
                          }});
    alerts_ = std::make_unique<LauncherAlerts>(LauncherAlerts::Options{
        .loop = loop_.get(),
        .clock = &clock_,
        .alerts = alert_store_.get(),
        .notifier = notifier_.get(),
        .publish = [this](const msg::AlertT& alert) { published_.push_back(alert); }});
    notifier_->Resume();
    alerts_->Resume();
  }
  void Advance(absl::Duration step) {
    clock_.Advance(step);
    On([] {});
  }
  void OnMachine(const MachineNews& news) {
    On([&] { alerts_->OnMachine(news); });
  }
  void OnRestart(const std::string& service, const std::string& how, std::int64_t started_us) {
    On([&] { alerts_->OnRestart(service, how, started_us); });
  }

  static msg::AlertT Alert(const std::string& id, const std::string& kind = "trial_failed") {
    msg::AlertT alert;
    alert.id = id;
    alert.kind = kind;
    alert.name = "name of " + id;
    alert.reason = "failed";
    alert.time_us = 1;
    return alert;
  }
  void Accept(const msg::AlertT& alert) {
    On([&] { EXPECT_EQ(notifier_->Accept(alert), absl::OkStatus()); });
  }
  // Returns the JSON that the command of a job reads.
  nlohmann::json InputOf(std::size_t job) const {
    for (const std::string& entry : jobs_.at(job).second.environment) {
      const std::string name = "YARD_COMMAND_INPUT=";
      if (entry.starts_with(name)) return nlohmann::json::parse(entry.substr(name.size()));
    }
    return nullptr;
  }
  std::vector<std::string> RequestIds() const {
    std::vector<std::string> ids;
    for (const auto& [id, spec] : jobs_) ids.push_back(id);
    return ids;
  }

  const std::string path_;
  runtime::FakeClock clock_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  runtime::Thread thread_{"loop", [this] { loop_->Run(); }};
  std::string command_ = "mail";
  std::vector<std::string> kinds_;
  absl::Status refusal_;
  std::vector<std::pair<std::string, msg::JobSpecT>> jobs_;
  std::vector<msg::AlertT> published_;
  std::unique_ptr<NotificationStore> store_;
  std::unique_ptr<bus::AlertStore> alert_store_;
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<LauncherAlerts> alerts_;
};

TEST_F(NotifierTest, AnAlertIsOneJobHoweverOftenItIsHandedIn) {
  Accept(Alert("a-one"));
  Accept(Alert("a-one"));
  Open();
  Accept(Alert("a-one"));
  ASSERT_THAT(RequestIds(), ElementsAre("notify/a-one"));
  const msg::JobSpecT& job = jobs_[0].second;
  EXPECT_EQ(job.name, "notify-a-one");
  EXPECT_EQ(job.argv.back(), "mail");
  EXPECT_EQ(job.max_restarts, 2u) << "three tries";
  EXPECT_THAT(job.argv, Contains("30")) << "seconds for each";
  EXPECT_THAT(job.environment, Contains("HOME=/me"));
  EXPECT_THAT(job.environment, Contains("YARD_ALERT_KIND=trial_failed"));
  const nlohmann::json input = InputOf(0);
  EXPECT_EQ(input["id"], "a-one");
  EXPECT_EQ(input["name"], "name of a-one");
  EXPECT_EQ(input["reason"], "failed");
  EXPECT_EQ(input["count"], 1);
}

TEST_F(NotifierTest, OnlyUrgentKindsAreToldUnlessOthersAreNamed) {
  Accept(Alert("a-good", "trial_ended"));
  EXPECT_THAT(jobs_, IsEmpty());
  Accept(Alert("a-new", "kind_of_a_newer_trainer"));
  EXPECT_THAT(RequestIds(), ElementsAre("notify/a-new"));
  kinds_ = {"trial_ended"};
  Open();
  Accept(Alert("a-good", "trial_ended"));
  Accept(Alert("a-bad"));
  EXPECT_THAT(RequestIds(), ElementsAre("notify/a-new", "notify/a-good"));
}

TEST_F(NotifierTest, WithoutACommandNobodyIsTold) {
  command_ = "";
  Open();
  Accept(Alert("a-one"));
  Advance(absl::Hours(1));
  EXPECT_THAT(jobs_, IsEmpty());
  command_ = "mail";
  Open();
  EXPECT_THAT(jobs_, IsEmpty()) << "nor later of what is old";
}

TEST_F(NotifierTest, AlertsThatComeTooFastAreToldTogether) {
  Accept(Alert("a-one"));
  Accept(Alert("a-two"));
  for (int i = 0; i < 100; ++i) Accept(Alert(absl::StrCat("a-more", i)));
  EXPECT_THAT(jobs_, SizeIs(2));
  Advance(absl::Minutes(9));
  EXPECT_THAT(jobs_, SizeIs(2));
  Open();  // A restart does not reset the pace.
  EXPECT_THAT(jobs_, SizeIs(2));
  Advance(absl::Minutes(1));
  ASSERT_THAT(RequestIds(), ElementsAre("notify/a-one", "notify/a-two", "notify/a-more0"));
  const nlohmann::json input = InputOf(2);
  EXPECT_EQ(input["count"], 100);
  EXPECT_EQ(input["reason"], "failed (and 99 more alerts: yard alerts)");
  EXPECT_EQ(input["others"][0]["id"], "a-more1");
  EXPECT_LE(input["others"].size(), 20u);
  Advance(absl::Hours(1));
  EXPECT_THAT(jobs_, SizeIs(3));
}

TEST_F(NotifierTest, AJobThatCouldNotBeLaunchedIsLaunchedByTheNextLauncher) {
  refusal_ = absl::ResourceExhaustedError("too many jobs");
  Accept(Alert("a-one"));
  EXPECT_THAT(jobs_, IsEmpty());
  Close();
  refusal_ = absl::OkStatus();
  Open();
  EXPECT_THAT(RequestIds(), ElementsAre("notify/a-one"));
  refusal_ = absl::ResourceExhaustedError("too many jobs");
  Accept(Alert("a-two"));
  refusal_ = absl::OkStatus();
  Advance(absl::Seconds(1));
  EXPECT_THAT(RequestIds(), ElementsAre("notify/a-one", "notify/a-two"));
}

TEST_F(NotifierTest, TheTextFitsWhateverTheAlertHolds) {
  msg::AlertT alert = Alert("a-one");
  alert.name = std::string(900, '\x01');
  alert.reason = std::string(1000, '\x02');
  alert.lines.assign(40, std::string(500, '\x03') + "\xff");
  std::vector<msg::AlertT> alerts(1000, alert);
  const std::string text = NotificationText(alerts);
  EXPECT_LE(text.size(), 96u << 10);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["count"], 1000);
}

TEST_F(NotifierTest, AConditionOfTheMachineIsStoredPublishedAndTold) {
  MachineNews news;
  bus::NewAlert alert{.cause = "disk//runs", .alert = Alert("", "disk_low")};
  news.raised.push_back(alert);
  OnMachine(news);
  OnMachine(news);
  ASSERT_THAT(published_, SizeIs(1));
  EXPECT_EQ(published_[0].owner, "launcher");
  EXPECT_THAT(jobs_, SizeIs(1));
  news = {};
  news.released.push_back("disk//runs");
  news.raised.push_back(alert);
  OnMachine(news);
  EXPECT_THAT(published_, SizeIs(2));
}

TEST_F(NotifierTest, AnAlertThatWasStoredBeforeAKillIsTold) {
  On([&] { ASSERT_TRUE(alert_store_->Add({.cause = "x", .alert = Alert("", "gpu_lost")}).ok()); });
  Open();
  EXPECT_THAT(jobs_, SizeIs(1));
  Open();
  EXPECT_THAT(jobs_, SizeIs(1));
}

TEST_F(NotifierTest, AServiceInACrashLoopIsToldAtGrowingPauses) {
  // It is restarted every five seconds for an hour.
  for (int i = 0; i < 720; ++i) {
    OnRestart("trainer", "killed by signal 9", 1000 + i);
    Advance(absl::Seconds(5));
  }
  // The first alert is immediate; the next come 1, 2, 4, 8 and 16 minutes after the previous one,
  // and so on.
  ASSERT_THAT(published_, SizeIs(6));
  EXPECT_EQ(published_[0].kind, "service_restarted");
  EXPECT_EQ(published_[0].name, "trainer");
  EXPECT_EQ(published_[0].reason, "trainer has ended (killed by signal 9) and is started again");
  EXPECT_EQ(published_[1].reason,
            "trainer has ended (killed by signal 9) and is started again, 11 times since the last "
            "alert of it");
  Advance(absl::Hours(1));
  EXPECT_THAT(published_, SizeIs(7)) << "none is left out";
}

TEST_F(NotifierTest, OneMoreRestartIsToldAfterAMinute) {
  OnRestart("web", "ended", 1);
  OnRestart("trainer", "ended", 1);
  EXPECT_THAT(published_, SizeIs(2));
  OnRestart("web", "ended", 2);
  EXPECT_THAT(published_, SizeIs(2));
  Advance(absl::Minutes(1));
  EXPECT_THAT(published_, SizeIs(3));
}

TEST(NotifyPaceTest, AllowsSoManyWithinItsWindow) {
  NotifyPace pace({.most = 2, .window = absl::Minutes(10)});
  const absl::Time start = absl::FromUnixSeconds(1'700'000'000);
  EXPECT_EQ(pace.Wait(start), absl::ZeroDuration());
  pace.Told(start);
  pace.Told(start + absl::Minutes(1));
  EXPECT_EQ(pace.Wait(start + absl::Minutes(2)), absl::Minutes(8));
  EXPECT_EQ(pace.Wait(start + absl::Minutes(10)), absl::ZeroDuration());
  // If the clock is set back by a year, notifications do not wait for a year.
  pace.Told(start + absl::Minutes(10));
  EXPECT_LE(pace.Wait(start - absl::Hours(24 * 365)), absl::Minutes(10));
}

}  // namespace
}  // namespace launcher
