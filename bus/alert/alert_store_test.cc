#include "bus/alert/alert_store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bus/alert/alert_rows.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class AlertStoreTest : public ::testing::Test {
 protected:
  AlertStoreTest() : path_(::testing::TempDir() + "/alerts.db") {
    remove(path_.c_str());
    SQLite::Database(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec(kAlertTables);
    Open();
  }
  void Open(std::size_t keep = 10'000) {
    alerts_.reset();
    auto store = AlertStore::Open({.path = path_, .owner = "trainer", .keep = keep});
    ASSERT_TRUE(store.ok()) << store.status();
    alerts_ = *std::move(store);
  }

  static NewAlert Alert(const std::string& cause, const std::string& kind = "trial_failed",
                        const std::string& name = "first", std::int64_t time_us = 1) {
    NewAlert alert{.cause = cause, .alert = {}};
    alert.alert.kind = kind;
    alert.alert.name = name;
    alert.alert.trial = "t-" + name;
    alert.alert.time_us = time_us;
    alert.alert.reason = "failed";
    return alert;
  }
  msg::AlertT Add(const NewAlert& alert) {
    const auto added = alerts_->Add(alert);
    EXPECT_TRUE(added.ok() && added->has_value()) << added.status();
    return **added;
  }
  // Returns "ID" for each listed alert, with "+" appended if it is acknowledged.
  std::vector<std::string> Listed(const msg::AlertsRequestT& request = {}) {
    const auto reply = alerts_->List(request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    std::vector<std::string> ids;
    for (const auto& alert : reply->alerts) {
      ids.push_back(absl::StrCat(alert->number, alert->acknowledged ? "+" : ""));
    }
    return ids;
  }
  std::uint64_t Acknowledge(const std::vector<std::string>& ids, bool all = false) {
    msg::AcknowledgeAlertsRequestT request;
    request.alerts = ids;
    request.all = all;
    const auto done = alerts_->Acknowledge(request, 77);
    EXPECT_TRUE(done.ok()) << done.status();
    return done->reply.changed;
  }
  // Returns "TOPIC FROM-TO REASON" for each event after these positions.
  std::vector<std::string> Since(const std::string& topic, std::uint64_t position,
                                 std::int64_t since_us = 0) {
    msg::SinceRequestT request;
    request.since_us = since_us;
    request.places.push_back(std::make_unique<msg::PlaceT>());
    request.places.back()->topic = topic;
    request.places.back()->position = position;
    const auto reply = alerts_->Since(request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    std::vector<std::string> events;
    for (const auto& event : reply->events) {
      const auto* const envelope = flatbuffers::GetRoot<msg::Envelope>(event->envelope.data());
      const msg::Alert* const alert = envelope->body_as_Alert();
      events.push_back(absl::StrCat(envelope->span()->from(), "-", envelope->span()->to(), " ",
                                    alert == nullptr ? "" : alert->id()->str()));
    }
    return events;
  }

  const std::string path_;
  std::unique_ptr<AlertStore> alerts_;
};

TEST_F(AlertStoreTest, ACauseHasOneAlertUntilItIsReleased) {
  const msg::AlertT first = Add(Alert("disk/"));
  EXPECT_EQ(first.owner, "trainer");
  const auto again = alerts_->Add(Alert("disk/"));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->has_value());
  Open();  // The same after a restart.
  EXPECT_FALSE(alerts_->Add(Alert("disk/"))->has_value());
  EXPECT_TRUE(*alerts_->Holds("disk/"));
  ASSERT_EQ(alerts_->Release("disk/"), absl::OkStatus());
  EXPECT_FALSE(*alerts_->Holds("disk/"));
  EXPECT_NE(Add(Alert("disk/")).id, first.id);
}

TEST_F(AlertStoreTest, ListsUnacknowledgedOnesFirstAndTheNewestFirst) {
  const msg::AlertT one = Add(Alert("1"));
  Add(Alert("2"));
  Add(Alert("3", "trial_ended"));  // Needs no acknowledgement.
  const msg::AlertT four = Add(Alert("4", "trial_failed", "other"));
  EXPECT_THAT(Listed(), ElementsAre("4", "2", "1", "3+"));
  EXPECT_EQ(Acknowledge({four.id, "a-unknown"}), 1u);
  EXPECT_EQ(Acknowledge({four.id}), 0u);
  EXPECT_THAT(Listed(), ElementsAre("2", "1", "4+", "3+"));
  EXPECT_EQ(alerts_->List({})->unacknowledged, 2u);
  msg::AlertsRequestT request;
  request.unacknowledged_only = true;
  EXPECT_THAT(Listed(request), ElementsAre("2", "1"));
  request = {};
  request.limit = 1;
  EXPECT_THAT(Listed(request), ElementsAre("2"));
  EXPECT_TRUE(alerts_->List(request)->more);
  request = {};
  request.trial = "t-other";
  EXPECT_THAT(Listed(request), ElementsAre("4+"));
  EXPECT_EQ(Acknowledge({}, /*all=*/true), 2u);
  EXPECT_THAT(*alerts_->TrialsWith("trial_failed"), IsEmpty());
}

TEST_F(AlertStoreTest, AcknowledgesAllOfATrial) {
  Add(Alert("1"));
  Add(Alert("2", "metric_not_finite"));
  Add(Alert("3", "trial_failed", "other"));
  EXPECT_THAT(*alerts_->TrialsWith("trial_failed"), ElementsAre("t-first", "t-other"));
  msg::AcknowledgeAlertsRequestT request;
  request.trial = "t-first";
  const auto done = alerts_->Acknowledge(request, 77);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_THAT(done->changed, SizeIs(2));
  EXPECT_EQ(done->changed.front().acknowledged_us, 77);
  EXPECT_THAT(*alerts_->TrialsWith("trial_failed"), ElementsAre("t-other"));
}

TEST_F(AlertStoreTest, HandsEachOnOnce) {
  NewAlert with_command = Alert("1");
  with_command.command = "echo ended";
  Add(with_command);
  Add(Alert("2"));
  auto due = alerts_->NotHanded(10);
  ASSERT_THAT(*due, SizeIs(2));
  EXPECT_EQ((*due)[0].command, "echo ended");
  ASSERT_EQ(alerts_->MarkHanded((*due)[0].alert.number), absl::OkStatus());
  Open();
  due = alerts_->NotHanded(10);
  ASSERT_THAT(*due, SizeIs(1));
  EXPECT_EQ((*due)[0].alert.number, 2u);
}

TEST_F(AlertStoreTest, ForgetsAcknowledgedOnesFirstAndNoneThatIsNotHandedOn) {
  Open(/*keep=*/10);
  std::vector<msg::AlertT> all;
  for (int i = 1; i <= 64; ++i) all.push_back(Add(Alert(absl::StrCat(i))));
  for (int i = 0; i < 5; ++i) Acknowledge({all[static_cast<std::size_t>(i + 50)].id});
  for (std::size_t i = 1; i < all.size(); ++i) {  // Hand on all but the first.
    ASSERT_EQ(alerts_->MarkHanded(all[i].number), absl::OkStatus());
  }
  const std::vector<std::string> kept = Listed();
  EXPECT_THAT(kept, ElementsAre("64", "63", "62", "61", "60", "59", "58", "57", "56", "50", "1"));
}

TEST_F(AlertStoreTest, EachAlertIsAnEntryOfItsTopic) {
  const std::string topic = "a/trial_failed/first/";
  const msg::AlertT one = Add(Alert("1"));
  Add(Alert("2", "trial_failed", "other"));
  const msg::AlertT three = Add(Alert("3", "trial_failed", "first", 9));
  EXPECT_EQ(TopicOfAlert(one), topic);
  EXPECT_THAT(Since(topic, 0), ElementsAre("0-1 " + one.id, "1-3 " + three.id));
  EXPECT_THAT(Since(topic, 1), ElementsAre("1-3 " + three.id));
  EXPECT_THAT(Since(topic, 3), IsEmpty());
  EXPECT_THAT(Since(topic, 0, /*since_us=*/5), ElementsAre("1-1 ", "1-3 " + three.id));
  EXPECT_THAT(Since("a/trial_failed/nobody/", 0), IsEmpty());
  const auto ends = alerts_->Ends({});
  ASSERT_THAT(ends->places, SizeIs(2));
  EXPECT_EQ(ends->places[0]->topic, topic);
  EXPECT_EQ(ends->places[0]->position, 3u);
  const auto published = alerts_->EnvelopeOf(three);
  EXPECT_EQ(published->span->from(), 1u);
  EXPECT_EQ(published->span->to(), 3u);
}

TEST_F(AlertStoreTest, AnAcknowledgementIsNewsAtTheEndOfItsTopic) {
  msg::AlertT one = Add(Alert("1"));
  Add(Alert("2"));
  one.acknowledged = true;
  one.acknowledged_us = 77;
  const auto published = alerts_->EnvelopeOf(one);
  EXPECT_EQ(published->span->from(), 2u);
  EXPECT_EQ(published->span->to(), 2u);
}

TEST_F(AlertStoreTest, CutsHostileText) {
  NewAlert alert = Alert("1", "metric_not_finite", std::string(5000, 'x') + "/\n\xff\x1b");
  alert.alert.reason = std::string(3000, 'r') + "\xff";
  alert.alert.lines.assign(1000, std::string(10'000, 'l'));
  alert.alert.lines.back() = "last";
  const msg::AlertT stored = Add(alert);
  EXPECT_LE(TopicOfAlert(stored).size(), 200u);
  EXPECT_LE(stored.reason.size(), kLongestReason + 3);
  EXPECT_THAT(stored.lines, SizeIs(kMostLines));
  EXPECT_EQ(stored.lines.back(), "last");
  EXPECT_LE(stored.lines.front().size(), kLongestLine + 3);
}

TEST_F(AlertStoreTest, TellsRequestsForAlertsFromOthers) {
  msg::EndsRequestT ends;
  ends.prefix = "a/";
  EXPECT_TRUE(IsForAlerts(ends));
  ends.prefix = "";
  EXPECT_FALSE(IsForAlerts(ends));
  msg::SinceRequestT since;
  EXPECT_FALSE(IsForAlerts(since));
  since.places.push_back(std::make_unique<msg::PlaceT>());
  since.places.back()->topic = "a/trial_failed/x/";
  EXPECT_TRUE(IsForAlerts(since));
  since.places.push_back(std::make_unique<msg::PlaceT>());
  since.places.back()->topic = "t/t-abcde/";
  EXPECT_FALSE(IsForAlerts(since));
}

}  // namespace
}  // namespace bus
