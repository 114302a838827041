// Tests what a subscriber receives, with a fake owner and a hub that lose what the test tells them
// to lose.

#include "bus/thread/recovery.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/call/record_page.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/receive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Fake owners with a record: lanes with entries 1 to `end`, of which those up to `forgotten` are no
// longer kept. They answer when Answer() is called.
class FakeOwners : public RecoveryCalls {
 public:
  struct Lane {
    std::uint64_t end = 0;
    std::uint64_t forgotten = 0;
  };
  std::map<std::string, std::map<std::uint64_t, Lane>> record;
  bool news = false;  // Ends the answer for each topic with news of its state.
  absl::Status down;
  std::vector<std::string> asked;  // "SERVICE TOPICS"

  void Ends(const std::string& service, const msg::EndsRequestT& request,
            std::function<void(absl::StatusOr<msg::EndsReplyT>)> done) override {
    Later([this, service, request, done] {
      if (!down.ok()) return done(down);
      EndsPage page(request);
      for (const auto& [topic, lanes] : record) {
        for (const auto& [lane, entries] : lanes) {
          if (!page.Add(topic, lane, entries.end)) return done(page.Take());
        }
      }
      done(page.Take());
    });
  }
  void Since(const std::string& service, const msg::SinceRequestT& request,
             std::function<void(absl::StatusOr<msg::SinceReplyT>)> done) override {
    asked.push_back(absl::StrCat(service, " ", request.places.size()));
    Later([this, request, done] {
      if (!down.ok()) return done(down);
      done(Answer(request));
    });
  }
  void RunAfter(absl::Duration delay, std::function<void()> function) override {
    timers_.emplace(now_ + delay, std::move(function));
  }
  absl::Duration Now() override { return now_; }

  // Answers all requests, including those that the answers cause.
  void AnswerAll() {
    while (!pending_.empty()) {
      const auto function = std::move(pending_.front());
      pending_.pop_front();
      function();
    }
  }
  // Advances time, and runs everything that becomes due.
  void Pass(absl::Duration time) {
    const absl::Duration end = now_ + time;
    AnswerAll();
    while (!timers_.empty() && timers_.begin()->first <= end) {
      now_ = timers_.begin()->first;
      const auto function = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      function();
      AnswerAll();
    }
    now_ = end;
  }

 private:
  void Later(std::function<void()> function) { pending_.push_back(std::move(function)); }

  msg::SinceReplyT Answer(const msg::SinceRequestT& request) {
    SincePage page;
    for (std::size_t i = 0; i < request.places.size(); ++i) {
      const msg::PlaceT& place = *request.places[i];
      const auto topic = record.find(place.topic);
      if (topic == record.end()) continue;
      if (const auto lane = topic->second.find(place.lane); lane != topic->second.end()) {
        std::uint64_t from = std::max(place.position, lane->second.forgotten);
        // Entry n was sent at second n.
        const auto before =
            static_cast<std::uint64_t>(std::max<std::int64_t>(request.since_us / 1'000'000 - 1, 0));
        if (request.since_us != 0 && before >= from && before > place.position) {
          from = std::min(before, lane->second.end);
          if (!page.AddBeginning(place.topic, place.lane, from)) return page.Take();
        }
        for (std::uint64_t entry = from + 1; entry <= lane->second.end; ++entry) {
          if (!Add(page, place.topic, place.lane, entry - 1, entry)) return page.Take();
        }
      }
      const bool last_of_topic =
          i + 1 == request.places.size() || request.places[i + 1]->topic != place.topic;
      const std::uint64_t end = topic->second.empty() ? 0 : topic->second.begin()->second.end;
      if (news && last_of_topic && !Add(page, place.topic, 0, end, end)) return page.Take();
    }
    return page.Take();
  }
  static bool Add(SincePage& page, const std::string& topic, std::uint64_t lane, std::uint64_t from,
                  std::uint64_t to) {
    msg::TrialEventT event;
    event.row = std::make_unique<msg::ResultRowT>();
    event.row->row = to;
    event.row->metrics = std::string(200, 'x');
    return page.Add(topic, msg::Span(lane, from, to), std::move(event));
  }

  absl::Duration now_ = absl::Seconds(1000);
  std::deque<std::function<void()>> pending_;
  std::multimap<absl::Duration, std::function<void()>> timers_;
};

class RecoveryTest : public ::testing::Test {
 protected:
  void Begin(std::vector<std::string> prefixes) {
    recovery_ = std::make_unique<Recovery>(Recovery::Options{
        .prefixes = std::move(prefixes),
        .calls = &owners_,
        .beginning = beginning_,
        .has_room = [this] { return has_room_; },
        .deliver =
            [this](std::string_view topic, const msg::Envelope& event,
                   std::span<const std::uint8_t> message, bool recovered) {
              EXPECT_EQ(msg::GetEnvelope(message.data()), &event);
              recovered_ += recovered;
              const msg::Span* const span = event.span();
              const std::uint64_t to = span != nullptr ? span->to() : event.head()->seq();
              const bool news = span != nullptr && span->from() == span->to();
              delivered_.push_back(absl::StrCat(std::string(topic), to, news ? "news" : ""));
            },
        .lost =
            [this](std::string_view topic, std::uint64_t lost) {
              lost_.push_back(absl::StrCat(std::string(topic), lost));
            },
        .ready = [this] { ++ready_; }});
  }
  // Begins, and completes the snapshot.
  void Ready(std::vector<std::string> prefixes) {
    Begin(std::move(prefixes));
    recovery_->HubHeard();
    owners_.AnswerAll();
    EXPECT_EQ(ready_, 1);
  }
  void Hear(const std::string& topic, msg::Kind kind, std::uint64_t from, std::uint64_t to,
            bool hole = false, std::uint64_t lane = 0, std::int64_t sent_us = 0) {
    msg::EnvelopeT envelope;
    envelope.kind = kind;
    envelope.head = std::make_unique<msg::Head>(lane, 1, to, sent_us);
    if (!topic.starts_with("e/")) envelope.span = std::make_unique<msg::Span>(lane, from, to);
    const Frame frame = Encode(envelope);
    const auto received = Receive(frame.bytes(), kMaxMessageBytes);
    ASSERT_EQ(received.status(), absl::OkStatus());
    recovery_->OnMessage(topic, frame, **received, hole);
  }
  void Event(const std::string& topic, std::uint64_t to) {
    Hear(topic, msg::Kind::Event, to - 1, to);
  }
  void Tail(const std::string& topic, std::uint64_t to) { Hear(topic, msg::Kind::Tail, to, to); }
  std::vector<std::string> Delivered() { return std::exchange(delivered_, {}); }
  std::vector<std::string> Lost() { return std::exchange(lost_, {}); }

  std::optional<Beginning> beginning_;
  bool has_room_ = true;
  FakeOwners owners_;
  std::unique_ptr<Recovery> recovery_;
  std::vector<std::string> delivered_, lost_;
  int ready_ = 0;
  int recovered_ = 0;
};

TEST_F(RecoveryTest, EventsThatFitAreDeliveredAndNobodyIsAsked) {
  owners_.record["t/a/"][0].end = 2;
  Ready({"t/"});
  Event("t/a/", 3);
  Event("t/a/", 4);
  Event("t/a/", 4);
  Event("t/a/", 2);
  EXPECT_THAT(Delivered(), ElementsAre("t/a/3", "t/a/4"));
  EXPECT_THAT(owners_.asked, IsEmpty());
  EXPECT_THAT(Lost(), IsEmpty());
}

TEST_F(RecoveryTest, HandlesTheTopicsOfOwnersThatAreWanted) {
  Begin({"t/a/", "m"});
  EXPECT_TRUE(recovery_->Handles("t/a/"));
  EXPECT_TRUE(recovery_->Handles("m/run/tag/"));
  EXPECT_FALSE(recovery_->Handles("l/j/t/"));
  EXPECT_FALSE(recovery_->Handles("s/launcher/j/"));
}

TEST_F(RecoveryTest, AlertsAreAskedOfTheServiceThatOwnsTheirKind) {
  owners_.record["a/disk_low/x/"][0].end = 1;
  owners_.record["a/trial_failed/x/"][0].end = 1;
  owners_.record["a/metric_threshold/x/"][0].end = 1;
  Ready({"a/"});
  EXPECT_THAT(recovery_->Services(), ElementsAre("trainer", "launcher"));
  for (auto& [topic, lanes] : owners_.record) lanes[0].end = 3;
  Event("a/trial_failed/x/", 3);
  Event("a/metric_threshold/x/", 3);
  owners_.AnswerAll();
  EXPECT_THAT(owners_.asked, ElementsAre("trainer 1", "trainer 1"));
  Event("a/disk_low/x/", 3);
  owners_.AnswerAll();
  EXPECT_EQ(owners_.asked.back(), "launcher 1");
  EXPECT_THAT(Delivered(),
              ElementsAre("a/trial_failed/x/2", "a/trial_failed/x/3", "a/metric_threshold/x/2",
                          "a/metric_threshold/x/3", "a/disk_low/x/2", "a/disk_low/x/3"));
  EXPECT_THAT(Lost(), IsEmpty());
  EXPECT_TRUE(HasRecord("a/"));
}

TEST_F(RecoveryTest, IsReadyAtOnceWhereNobodyOwnsAnything) {
  Begin({"s/"});
  recovery_->HubHeard();
  EXPECT_EQ(ready_, 1);
}

TEST_F(RecoveryTest, WhatIsHeardBeforeTheSnapshotIsThereIsDelivered) {
  owners_.record["t/a/"][0].end = 5;
  Begin({"t/"});
  recovery_->HubHeard();
  Event("t/a/", 4);
  Event("t/a/", 5);
  EXPECT_EQ(ready_, 0);
  owners_.AnswerAll();
  EXPECT_EQ(ready_, 1);
  Event("t/a/", 6);
  EXPECT_THAT(Delivered(), ElementsAre("t/a/4", "t/a/5", "t/a/6"));
  EXPECT_THAT(Lost(), IsEmpty());
}

TEST_F(RecoveryTest, WhatTheSnapshotHasOvertakenIsDelivered) {
  owners_.record["t/a/"][0].end = owners_.record["t/b/"][0].end = 5;
  Begin({"t/"});
  recovery_->HubHeard(/*greeted_us=*/100);
  owners_.AnswerAll();
  EXPECT_EQ(ready_, 1);
  const auto hear = [&](const std::string& topic, std::uint64_t to, std::int64_t sent_us) {
    Hear(topic, msg::Kind::Event, to - 1, to, false, 0, sent_us);
  };
  hear("t/a/", 4, 100);
  hear("t/a/", 5, 101);
  hear("t/a/", 5, 101);
  hear("t/a/", 6, 102);
  hear("t/b/", 5, 99);  // Sent before the recovery began.
  hear("t/b/", 6, 103);
  EXPECT_THAT(Delivered(), ElementsAre("t/a/4", "t/a/5", "t/a/6", "t/b/6"));
  EXPECT_THAT(owners_.asked, IsEmpty());
  EXPECT_THAT(Lost(), IsEmpty());
}

TEST_F(RecoveryTest, AHoleIsFilledInOrder) {
  owners_.record["t/a/"][0].end = 1;
  Ready({"t/"});
  owners_.record["t/a/"][0].end = 6;
  Event("t/a/", 2);
  Event("t/a/", 5);
  Event("t/a/", 6);
  EXPECT_THAT(Delivered(), ElementsAre("t/a/2"));
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("t/a/3", "t/a/4", "t/a/5", "t/a/6"));
  EXPECT_EQ(owners_.asked.size(), 1u);
  // Events published after the owner answered are held, not lost.
  owners_.record["t/a/"][0].end = 9;
  Event("t/a/", 9);
  Event("t/a/", 10);
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("t/a/7", "t/a/8", "t/a/9", "t/a/10"));
  EXPECT_THAT(Lost(), IsEmpty());
  EXPECT_EQ(recovered_, 7);
}

TEST_F(RecoveryTest, ATailThatSaysMoreIsFollowed) {
  owners_.record["l/j/w/"][2].end = 100;
  Ready({"l/"});
  owners_.record["l/j/w/"][2].end = 103;
  Hear("l/j/w/", msg::Kind::Tail, 103, 103, false, 2);
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("l/j/w/101", "l/j/w/102", "l/j/w/103"));
  Hear("l/j/w/", msg::Kind::Tail, 103, 103, false, 2);
  EXPECT_EQ(owners_.asked.size(), 1u);
}

TEST_F(RecoveryTest, ANewHubLeadsToWhatWasMissedAlsoOfNewTopics) {
  owners_.record["m/a/x/"][0].end = 1;
  owners_.record["m/b/x/"][0].end = 7;
  Ready({"m/"});
  owners_.record["m/a/x/"][0].end = 3;
  owners_.record["m/c/x/"][0].end = 2;
  recovery_->HubHeard();
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("m/a/x/2", "m/a/x/3", "m/c/x/1", "m/c/x/2"));
  EXPECT_THAT(Lost(), IsEmpty());
}

TEST_F(RecoveryTest, ARestartedOwnerHasWhatItHadNoTimeToPublish) {
  owners_.record["t/a/"][0].end = 1;
  Ready({"t/", "m/"});
  EXPECT_THAT(recovery_->Services(), ElementsAre("trainer", "datamanager"));
  owners_.record["t/a/"][0].end = 2;
  recovery_->ServiceStarted("launcher");
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), IsEmpty());
  recovery_->ServiceStarted("trainer");
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("t/a/2"));
}

TEST_F(RecoveryTest, ANewTopicIsCompleteFromItsFirstEntry) {
  Ready({"t/"});
  owners_.record["t/new/"][0].end = 3;
  Event("t/new/", 3);
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("t/new/1", "t/new/2", "t/new/3"));
}

TEST_F(RecoveryTest, WithoutItsOwnerTheFirstEventOfATopicIsNeverAHole) {
  owners_.down = absl::UnavailableError("not there");
  Ready({"t/"});
  Event("t/a/", 8);
  Event("t/a/", 9);
  EXPECT_THAT(Delivered(), ElementsAre("t/a/8", "t/a/9"));
  EXPECT_THAT(owners_.asked, IsEmpty());
  // Once the owner exists, its topics are known.
  owners_.down = absl::OkStatus();
  owners_.record["t/a/"][0].end = 9;
  owners_.record["t/b/"][0].end = 4;
  owners_.Pass(absl::Seconds(2));
  owners_.record["t/b/"][0].end = 6;
  Event("t/b/", 6);
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("t/b/5", "t/b/6"));
}

TEST_F(RecoveryTest, NewsIsDeliveredAndLostNewsIsAskedFor) {
  owners_.record["t/a/"][0].end = 3;
  owners_.news = true;
  Ready({"t/"});
  Hear("t/a/", msg::Kind::Event, 3, 3);
  EXPECT_THAT(Delivered(), ElementsAre("t/a/3news"));
  // A hole in the numbers although no entry is missing: the lost message was news.
  Hear("t/a/", msg::Kind::Tail, 3, 3, /*hole=*/true);
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("t/a/3news"));
}

TEST_F(RecoveryTest, OlderNewsNeverComesAfterWhatTheOwnerTells) {
  owners_.record["t/a/"][0].end = 1;
  owners_.news = true;
  Ready({"t/"});
  owners_.record["t/a/"][0].end = 3;
  Event("t/a/", 3);
  Hear("t/a/", msg::Kind::Event, 3, 3);  // Arrives while the owner is being asked.
  owners_.AnswerAll();
  const std::vector<std::string> all = Delivered();
  ASSERT_GE(all.size(), 3u);
  EXPECT_EQ(all.back(), "t/a/3news");
  EXPECT_EQ(owners_.asked.size(), 2u);  // One more request, for the news.
}

TEST_F(RecoveryTest, WhatTheOwnerDoesNotHaveIsToldAsLost) {
  owners_.record["t/a/"][0].end = 1;
  Ready({"t/"});
  owners_.record["t/a/"][0] = {.end = 8, .forgotten = 5};
  Event("t/a/", 8);
  owners_.AnswerAll();
  EXPECT_THAT(Lost(), ElementsAre("t/a/4"));
  EXPECT_THAT(Delivered(), ElementsAre("t/a/6", "t/a/7", "t/a/8"));
  // The owner has lost the whole topic.
  owners_.record.clear();
  Event("t/a/", 12);
  Tail("t/a/", 14);
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("t/a/12"));
  EXPECT_THAT(Lost(), ElementsAre("t/a/3", "t/a/2"));
}

TEST_F(RecoveryTest, AnOwnerThatIsBeingRestartedIsAskedAgain) {
  owners_.record["t/a/"][0].end = 1;
  Ready({"t/"});
  owners_.record["t/a/"][0].end = 4;
  owners_.down = absl::UnavailableError("restarting");
  Event("t/a/", 3);
  owners_.Pass(absl::Seconds(5));
  EXPECT_THAT(Delivered(), IsEmpty());
  Event("t/a/", 4);
  owners_.down = absl::OkStatus();
  owners_.Pass(absl::Seconds(2));
  EXPECT_THAT(Delivered(), ElementsAre("t/a/2", "t/a/3", "t/a/4"));
  EXPECT_THAT(Lost(), IsEmpty());
}

TEST_F(RecoveryTest, AnOwnerThatStaysAwayCostsItsEventsAndSaysSo) {
  owners_.record["t/a/"][0].end = 1;
  Ready({"t/"});
  owners_.down = absl::UnavailableError("gone");
  Event("t/a/", 3);
  Event("t/a/", 4);
  owners_.Pass(absl::Seconds(40));
  EXPECT_THAT(Lost(), ElementsAre("t/a/1"));
  EXPECT_THAT(Delivered(), ElementsAre("t/a/3", "t/a/4"));
  Event("t/a/", 5);
  EXPECT_THAT(Delivered(), ElementsAre("t/a/5"));
}

TEST_F(RecoveryTest, ManyTopicsWithManyPagesAreAllFilled) {
  constexpr int kTopics = 500;
  const auto name = [](int i) { return absl::StrCat("t/", 1000 + i, "/"); };
  for (int i = 0; i < kTopics; ++i) owners_.record[name(i)][0].end = 1;
  Ready({"t/"});
  for (int i = 0; i < kTopics; ++i) owners_.record[name(i)][0].end = 50;
  recovery_->HubHeard();
  owners_.AnswerAll();
  std::map<std::string, int> counts;
  for (const std::string& event : Delivered()) ++counts[event.substr(0, event.rfind('/') + 1)];
  EXPECT_EQ(counts.size(), static_cast<std::size_t>(kTopics));
  for (const auto& [topic, count] : counts) EXPECT_EQ(count, 49) << topic;
}

TEST_F(RecoveryTest, UsersEventsAreCountedForEachPublisher) {
  owners_.record["e/x/"][7].end = 3;
  Ready({"e/"});
  Hear("e/x/", msg::Kind::Event, 0, 4, false, 7);
  Hear("e/x/", msg::Kind::Event, 0, 20, false, 8);  // Another publisher: no hole.
  EXPECT_THAT(Delivered(), ElementsAre("e/x/4", "e/x/20"));
  owners_.record["e/x/"][7] = {.end = 9, .forgotten = 6};
  Hear("e/x/", msg::Kind::Event, 0, 9, false, 7);
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), ElementsAre("e/x/7", "e/x/8", "e/x/9"));
  EXPECT_THAT(Lost(), ElementsAre("e/x/2"));
  // A new hub has kept nothing. The tail of a surviving publisher shows how much is missing.
  owners_.record.clear();
  recovery_->HubHeard();
  EXPECT_THAT(Lost(), ElementsAre("e/0"));
  Hear("e/x/", msg::Kind::Tail, 0, 25, false, 8);
  owners_.AnswerAll();
  EXPECT_THAT(Lost(), ElementsAre("e/x/5"));
}

// Each entry is delivered exactly once and in order, whatever is lost.
TEST_F(RecoveryTest, EveryEntryOnceAndInOrderWhateverIsLost) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    owners_.record.clear();
    Delivered();
    ready_ = 0;
    const auto topic = [](unsigned i) { return absl::StrCat("t/", i, "/"); };
    for (unsigned i = 0; i < 3; ++i) owners_.record[topic(i)][0].end = random() % 5;
    std::map<std::string, std::uint64_t> expected;
    for (const auto& [name, lanes] : owners_.record) expected[name] = lanes.at(0).end;
    Ready({"t/"});
    for (int step = 0; step < 300; ++step) {
      const std::string name = topic(random() % 4);  // Topic 3 is new.
      const std::uint64_t to = ++owners_.record[name][0].end;
      if (random() % 3 != 0) Event(name, to);
      if (random() % 10 == 0) Tail(name, to);
      if (random() % 40 == 0) recovery_->HubHeard();
      if (random() % 4 == 0) owners_.AnswerAll();
    }
    for (const auto& [name, lanes] : owners_.record) Tail(name, lanes.at(0).end);
    owners_.AnswerAll();
    for (const std::string& event : Delivered()) {
      const std::size_t end = event.rfind('/') + 1;
      ASSERT_EQ(event.substr(end), absl::StrCat(++expected[event.substr(0, end)])) << seed;
    }
    for (const auto& [name, lanes] : owners_.record) {
      ASSERT_EQ(expected[name], lanes.at(0).end) << name << " seed " << seed;
    }
    ASSERT_THAT(Lost(), IsEmpty()) << seed;
  }
}

TEST_F(RecoveryTest, BeginsAtATime) {
  owners_.record["t/a/"][0] = {.end = 5};
  owners_.record["t/old/"][0] = {.end = 3};
  beginning_ = Beginning{.time = absl::FromUnixSeconds(4)};
  Ready({"t/"});
  EXPECT_THAT(Delivered(), ElementsAre("t/a/4", "t/a/5"));
  Event("t/old/", 4);
  Event("t/a/", 6);
  EXPECT_THAT(Delivered(), ElementsAre("t/old/4", "t/a/6"));
  EXPECT_THAT(Lost(), IsEmpty());
  EXPECT_EQ(recovered_, 2);
}

TEST_F(RecoveryTest, BeginsBehindAPosition) {
  owners_.record["t/a/"][0] = {.end = 5};
  owners_.record["t/b/"][0] = {.end = 2};
  owners_.record["t/c/"][0] = {.end = 9, .forgotten = 7};
  beginning_ = Beginning{.position = 3};
  Ready({"t/"});
  EXPECT_THAT(Delivered(), ElementsAre("t/a/4", "t/a/5", "t/c/8", "t/c/9"));
  EXPECT_THAT(Lost(), ElementsAre("t/c/4")) << "entries 4 to 7";
  Event("t/b/", 3);
  EXPECT_THAT(Delivered(), ElementsAre("t/b/3"));
}

TEST_F(RecoveryTest, TellsThatEntriesOfThatTimeAreGone) {
  owners_.record["t/a/"][0] = {.end = 5, .forgotten = 3};
  beginning_ = Beginning{.time = absl::FromUnixSeconds(2)};
  Ready({"t/"});
  EXPECT_THAT(Delivered(), ElementsAre("t/a/4", "t/a/5"));
  EXPECT_THAT(Lost(), ElementsAre("t/a/0")) << "nobody knows how many";
}

TEST_F(RecoveryTest, WhatComesWhileItBeginsIsDeliveredBehindIt) {
  owners_.record["t/a/"][0] = {.end = 5};
  beginning_ = Beginning{.time = absl::FromUnixSeconds(2)};
  Begin({"t/"});
  recovery_->HubHeard();
  Event("t/a/", 6);
  owners_.record["t/a/"][0].end = 6;
  owners_.AnswerAll();
  Event("t/a/", 7);
  EXPECT_THAT(Delivered(), ElementsAre("t/a/2", "t/a/3", "t/a/4", "t/a/5", "t/a/6", "t/a/7"));
  EXPECT_THAT(Lost(), IsEmpty());
}

TEST_F(RecoveryTest, BeginsOnceOnly) {
  owners_.record["t/a/"][0] = {.end = 3};
  beginning_ = Beginning{};
  Ready({"t/"});
  EXPECT_EQ(Delivered().size(), 3u);
  recovery_->HubHeard();
  recovery_->ServiceStarted("trainer");
  owners_.AnswerAll();
  EXPECT_THAT(Delivered(), IsEmpty());
}

TEST_F(RecoveryTest, AsksOnlyWhileThereIsRoom) {
  owners_.record["t/a/"][0] = {.end = 3000};
  beginning_ = Beginning{};
  has_room_ = false;
  Ready({"t/"});
  owners_.Pass(absl::Seconds(1));
  EXPECT_THAT(owners_.asked, IsEmpty());
  has_room_ = true;
  owners_.Pass(absl::Seconds(1));
  EXPECT_EQ(Delivered().size(), 3000u);
}

}  // namespace
}  // namespace bus
