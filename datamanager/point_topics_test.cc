#include "datamanager/point_topics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/fixtures/record_conformance.h"
#include "bus/wire/topic.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/find/run_tree.h"
#include "eventlog/event.h"
#include "runtime/clock.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kFile[] = "x.tfevents.1";
constexpr absl::Duration kLong = absl::Seconds(60);

// Returns a page, and reads everything that it needs.
absl::StatusOr<msg::SinceReplyT> PointsSince(RunCatalog& catalog,
                                             const msg::SinceRequestT& request) {
  const auto loop = runtime::EventLoop::Create();  // Its time limit is never reached.
  auto maker = MakePointsSince(request, &catalog, loop.get());
  if (!maker.ok()) return maker.status();
  for (;;) {
    auto part = (*maker)->Next();
    if (part.ok()) return std::move(part->reply);
    const auto ready = std::make_shared<std::promise<void>>();
    const auto waits = ready->get_future();
    if (!absl::IsUnavailable(part.status()) ||
        !(*maker)->OnReady([ready] { ready->set_value(); })) {
      return part.status();
    }
    if (waits.wait_for(absl::ToChronoSeconds(kLong)) != std::future_status::ready) {
      return absl::InternalError("nothing was read");
    }
  }
}

class PointTopicsTest : public testing::Test {
 protected:
  PointTopicsTest() {
    char name[] = "/tmp/poin-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~PointTopicsTest() override { std::filesystem::remove_all(root_); }

  std::string PathOf(const std::string& run, const std::string& file = kFile) const {
    return absl::StrCat(root_, "/", run, "/", file);
  }
  // Writes points with the values `first`, `first` + 1, ...
  void Report(const std::string& run, const std::string& tag, int first, int count,
              const std::string& file = kFile, double wall_time = 1) {
    std::string bytes;
    for (int i = first; i < first + count; ++i) {
      const eventlog::Scalar scalar{tag, static_cast<double>(i)};
      bytes += eventlog::RenderScalars(wall_time, i, {&scalar, 1});
    }
    std::filesystem::create_directories(absl::StrCat(root_, "/", run));
    std::ofstream(PathOf(run, file), std::ios::binary | std::ios::app) << bytes;
  }
  void Replace(const std::string& run, const std::string& tag, int first, int count) {
    Report("elsewhere", tag, first, count);
    std::filesystem::rename(PathOf("elsewhere"), PathOf(run));
    std::filesystem::remove(root_ + "/elsewhere");
  }

  std::unique_ptr<RunCatalog> MakeCatalog(std::uint64_t budget = 1 << 30,
                                          runtime::Clock* clock = runtime::Clock::Real()) {
    const auto publish = [this](std::string_view topic, msg::EnvelopeT event) {
      published_[std::string(topic)].push_back(std::move(event));
      return absl::OkStatus();
    };
    RunTree::Options options;
    options.root = root_;
    tree_ = std::make_unique<RunTree>(options);
    return *RunCatalog::Create(
        {.root = root_,
         .byte_budget = budget,
         .on_points =
             [this, publish](const auto& run, const auto& tag, auto generation, auto first,
                             const auto& points) {
               PublishPoints(publish, run, tag, generation, first, points);
               if (run != "held") return;
               held_.set_value();
               go_on_.get_future().wait_for(absl::ToChronoSeconds(kLong));
             },
         .clock = clock});
  }
  void Find(RunCatalog& catalog) {
    const RunTree::Delta delta = tree_->Rescan();
    catalog.Found(delta, tree_->runs());
  }
  // Scans, and waits until all loading threads are blocked by the run "held".
  void FindAndHold(RunCatalog& catalog) {
    Find(catalog);
    ASSERT_EQ(held_.get_future().wait_for(absl::ToChronoSeconds(kLong)), std::future_status::ready);
  }
  // Scans, and waits until everything has been read.
  void Scan(RunCatalog& catalog) {
    Find(catalog);
    ASSERT_TRUE(catalog.AwaitLoaded(absl::Seconds(60)));
  }
  // Returns "(from, to]" for each event published on the topic since the last call.
  std::vector<std::string> Spans(const std::string& topic) {
    std::vector<std::string> spans;
    for (const msg::EnvelopeT& event : std::exchange(published_[topic], {})) {
      spans.push_back(absl::StrCat("(", event.span->from(), ", ", event.span->to(), "]"));
      lanes_.insert(event.span->lane());
      EXPECT_EQ(event.body.AsPoints()->values.size(), event.span->to() - event.span->from());
    }
    return spans;
  }
  static msg::SinceRequestT RequestFor(const std::string& topic, std::uint64_t lane,
                                       std::uint64_t position) {
    msg::SinceRequestT request;
    request.places.push_back(std::make_unique<msg::PlaceT>());
    request.places.back()->topic = topic;
    request.places.back()->lane = lane;
    request.places.back()->position = position;
    return request;
  }
  // Returns the values of all pages after these positions; counts the pages.
  static std::map<std::string, std::vector<double>> ValuesAfter(
      RunCatalog& catalog, std::map<std::string, std::uint64_t> places, int* pages = nullptr,
      std::uint64_t lane = 0) {
    std::map<std::string, std::vector<double>> values;
    for (;;) {
      msg::SinceRequestT request;
      for (const auto& [topic, position] : places) {
        request.places.push_back(std::make_unique<msg::PlaceT>());
        request.places.back()->topic = topic;
        request.places.back()->lane = lane;
        request.places.back()->position = position;
      }
      const auto reply = PointsSince(catalog, request);
      EXPECT_EQ(reply.status(), absl::OkStatus());
      if (!reply.ok()) return values;
      if (pages != nullptr) ++*pages;
      for (const auto& recorded : reply->events) {
        const auto event = msg::UnPackEnvelope(recorded->envelope.data());
        const msg::PointsT& points = *event->body.AsPoints();
        EXPECT_EQ(bus::TopicOf({"m", points.run, points.tag}), recorded->topic);
        EXPECT_EQ(event->span->lane(), lane);
        EXPECT_EQ(event->span->from(), places[recorded->topic]);
        EXPECT_LE(points.values.size(), kPointsOfARecordedEvent);
        places[recorded->topic] = event->span->to();
        auto& all = values[recorded->topic];
        all.insert(all.end(), points.values.begin(), points.values.end());
      }
      if (!reply->more) return values;
      EXPECT_FALSE(reply->events.empty());
      if (reply->events.empty()) return values;
    }
  }
  static std::vector<std::string> Topics(RunCatalog& catalog, const std::string& prefix,
                                         const std::string& after = "") {
    msg::EndsRequestT request;
    request.prefix = prefix;
    request.after = after;
    std::vector<std::string> topics;
    const auto reply = EndsOfPoints(catalog, request);
    EXPECT_EQ(reply.status(), absl::OkStatus());
    for (const auto& place : reply->places) topics.push_back(place->topic);
    return topics;
  }

  std::string root_;
  std::unique_ptr<RunTree> tree_;
  std::map<std::string, std::vector<msg::EnvelopeT>> published_;
  std::set<std::uint64_t> lanes_;  // Lanes of all events that Spans() returned.
  std::promise<void> held_;        // Set when new points of the run "held" are announced.
  std::promise<void> go_on_;       // Lets that announcement finish, and reading continue.
};

TEST_F(PointTopicsTest, KeepTheirPromisesOnManyRunsAndTags) {
  const std::string long_name(100, 'n');
  Report("a", "loss", 0, 30'000);
  Report("a", "train/loss", 0, 3);
  Report("a-b", "loss", 0, 5);
  Report("a.c", "$", 0, 5);
  Report("group one/lr=0.1 ä", "accuracy %", 0, 2000);
  Report(long_name + "/1", long_name + "1", 0, 7);
  Report(long_name + "/1", long_name + "2", 0, 8);
  Report(long_name + "/2", long_name + "1", 0, 9);
  for (int tag = 0; tag < 1200; ++tag) Report("wide", absl::StrCat("t", tag), 0, 1);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  bus::ExpectConformingRecord(
      {.ends = [&](const msg::EndsRequestT& request) { return EndsOfPoints(*catalog, request); },
       .since = [&](const msg::SinceRequestT& request) { return PointsSince(*catalog, request); },
       .root = "m/"});
  const std::string topic = bus::TopicOf({"m", long_name + "/1", long_name + "2"});
  EXPECT_EQ(ValuesAfter(*catalog, {{topic, 6}}).at(topic), (std::vector<double>{6, 7}));
}

TEST_F(PointTopicsTest, SinceATimeBeginsWithItsFirstPoint) {
  for (int i = 0; i < 3000; ++i) Report("r", "loss", i, 1, kFile, 1000 + i);
  Report("r", "old", 0, 5, kFile, 10);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  // Returns "LANE'S POSITION: POINTS" for each event.
  const auto since = [&](const std::string& topic, std::int64_t seconds) {
    auto request = RequestFor(topic, 0, 0);
    request.since_us = seconds * 1'000'000;
    std::vector<std::string> events;
    const auto reply = PointsSince(*catalog, request);
    EXPECT_EQ(reply.status(), absl::OkStatus());
    for (const auto& recorded : reply->events) {
      const auto event = msg::UnPackEnvelope(recorded->envelope.data());
      const auto* const points = event->body.AsPoints();
      events.push_back(
          absl::StrCat(event->span->from(), ": ", points == nullptr ? 0 : points->values.size()));
    }
    return events;
  };
  EXPECT_THAT(since("m/r/loss/", 3500), ElementsAre("2500: 0", "2500: 500"));
  EXPECT_THAT(since("m/r/loss/", 1000), ElementsAre("0: 1024", "1024: 1024", "2048: 952"));
  EXPECT_THAT(since("m/r/loss/", 4000), ElementsAre("3000: 0"));
  EXPECT_THAT(since("m/r/old/", 11), ElementsAre("5: 0"));
}

TEST_F(PointTopicsTest, EndInTheOrderOfTopicsNotOfNames) {
  for (const char* run : {"a", "a b", "a-b", "a/b", "aa"}) Report(run, "t", 0, 1);
  Report("a", "t x", 0, 1);
  Report("a", "t-x", 0, 1);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  const std::vector<std::string> all = {"m/a$20b/t/", "m/a$2Fb/t/", "m/a-b/t/", "m/a/t$20x/",
                                        "m/a/t-x/",   "m/a/t/",     "m/aa/t/"};
  EXPECT_EQ(Topics(*catalog, ""), all);
  EXPECT_EQ(Topics(*catalog, "m/"), all);
  EXPECT_THAT(Topics(*catalog, "m/a/"), ElementsAre("m/a/t$20x/", "m/a/t-x/", "m/a/t/"));
  EXPECT_THAT(Topics(*catalog, "m/a/t$"), ElementsAre("m/a/t$20x/"));
  EXPECT_THAT(Topics(*catalog, "m/a/t/"), ElementsAre("m/a/t/"));
  EXPECT_THAT(Topics(*catalog, "m/a$"), ElementsAre("m/a$20b/t/", "m/a$2Fb/t/"));
  EXPECT_THAT(Topics(*catalog, "m/", "m/a/t-x/"), ElementsAre("m/a/t/", "m/aa/t/"));
  EXPECT_THAT(Topics(*catalog, "m/", "m/a/t.gone/"), ElementsAre("m/a/t/", "m/aa/t/"));
  EXPECT_THAT(Topics(*catalog, "m/", "m/a.gone/t/"),
              ElementsAre("m/a/t$20x/", "m/a/t-x/", "m/a/t/", "m/aa/t/"));
  EXPECT_THAT(Topics(*catalog, "m/a/", "m/aa/t/"), IsEmpty());
  EXPECT_THAT(Topics(*catalog, "l/"), IsEmpty());
  EXPECT_THAT(Topics(*catalog, "n/"), IsEmpty());
  EXPECT_THAT(Topics(*catalog, "m/b"), IsEmpty());
}

TEST_F(PointTopicsTest, PublishContiguousSpansWhileAFileGrows) {
  Report("r", "loss", 0, 10);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  EXPECT_THAT(Spans("m/r/loss/"), IsEmpty());
  Report("r", "loss", 10, 1);
  Scan(*catalog);
  Report("r", "loss", 11, 10'000);
  Report("r", "other", 0, 2);
  Scan(*catalog);
  Scan(*catalog);
  EXPECT_THAT(Spans("m/r/loss/"),
              ElementsAre("(10, 11]", "(11, 4107]", "(4107, 8203]", "(8203, 10011]"));
  EXPECT_THAT(Spans("m/r/other/"), ElementsAre("(0, 2]"));
}

TEST_F(PointTopicsTest, ARunThatIsNotInMemoryIsStillServed) {
  std::map<std::string, std::uint64_t> places;
  for (int run = 0; run < 4; ++run) {
    Report(absl::StrCat("r", run), "loss", 0, 3000);
    places[absl::StrCat("m/r", run, "/loss/")] = 100;
  }
  const auto catalog = MakeCatalog(1);
  Scan(*catalog);
  EXPECT_EQ(catalog->GetStats().counted, 4u);
  EXPECT_EQ(catalog->GetStats().cache.bytes, 0u);
  EXPECT_EQ(Topics(*catalog, "m/").size(), 4u);
  EXPECT_EQ(catalog->GetStats().cache.bytes, 0u) << "ends are known without points";
  const auto values = ValuesAfter(*catalog, places);
  ASSERT_EQ(values.size(), 4u);
  for (const auto& [topic, all] : values) {
    ASSERT_EQ(all.size(), 2900u) << topic;
    EXPECT_EQ(all.front(), 100);
    EXPECT_EQ(all.back(), 2999);
  }
  EXPECT_THAT(published_, IsEmpty()) << "nothing is new";
  // A subscriber that has all points causes no reading.
  ASSERT_TRUE(catalog->AwaitLoaded(absl::Seconds(60)));
  const auto steps = catalog->GetStats().loads.steps;
  for (auto& [topic, position] : places) position = 3000;
  EXPECT_THAT(ValuesAfter(*catalog, places), IsEmpty());
  EXPECT_EQ(catalog->GetStats().loads.steps, steps);
}

TEST_F(PointTopicsTest, ARunThatTakesLongIsToBeAskedForAgain) {
  Report("held", "loss", 0, 1);
  Report("r", "loss", 0, 3);
  runtime::FakeClock clock;
  const auto catalog = MakeCatalog(1, &clock);
  Scan(*catalog);
  Report("held", "loss", 1, 1);
  FindAndHold(*catalog);
  const auto loop = runtime::EventLoop::Create(&clock);
  const auto request = RequestFor("m/r/loss/", 0, 0);
  auto maker = MakePointsSince(request, catalog.get(), loop.get());
  ASSERT_TRUE(maker.ok()) << maker.status();
  EXPECT_EQ((*maker)->Next().status().code(), absl::StatusCode::kUnavailable);
  int calls = 0;
  ASSERT_TRUE((*maker)->OnReady([&] {
    ++calls;
    loop->Stop();
  }));
  clock.Advance(kSinceWithin);
  loop->Run();
  EXPECT_EQ((*maker)->Next().status().code(), absl::StatusCode::kDeadlineExceeded);
  go_on_.set_value();
  const auto reply = PointsSince(*catalog, request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->events.size(), 1u);
  EXPECT_EQ(calls, 1) << "it was read afterwards, too";
}

TEST_F(PointTopicsTest, WhatThereIsToTellDoesNotWaitForAnotherRun) {
  Report("a", "loss", 0, 1);
  Report("b", "loss", 0, 1, kFile, 2000);
  Report("held", "loss", 0, 1);
  const auto catalog = MakeCatalog(1);
  Scan(*catalog);
  Report("held", "loss", 1, 1);
  FindAndHold(*catalog);
  auto request = RequestFor("m/a/loss/", 0, 0);
  request.places.push_back(std::move(RequestFor("m/b/loss/", 0, 0).places[0]));
  request.since_us = 1'000'000'000;  // No point of "a" is that new, which is known without reading
                                     // its points.
  const auto reply = PointsSince(*catalog, request);
  go_on_.set_value();
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->events.size(), 1u);
  EXPECT_EQ(reply->events[0]->topic, "m/a/loss/");
  EXPECT_TRUE(reply->more);
}

TEST_F(PointTopicsTest, WhatARunGotThatIsNotInMemoryIsAnnouncedOnce) {
  Report("a", "loss", 0, 100);
  const auto catalog = MakeCatalog(1);
  Scan(*catalog);
  Report("a", "loss", 100, 5);
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/a/loss/", 0}}).at("m/a/loss/").size(), 100u);
  Scan(*catalog);
  EXPECT_THAT(Spans("m/a/loss/"), ElementsAre("(100, 105]"));
  Report("a", "loss", 105, 5);
  Scan(*catalog);
  EXPECT_THAT(Spans("m/a/loss/"), ElementsAre("(105, 110]"));
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/a/loss/", 104}}).at("m/a/loss/"),
            (std::vector<double>{104, 105, 106, 107, 108, 109}));
}

TEST_F(PointTopicsTest, AReplacedFileBeginsALaneOfItsOwn) {
  Report("r", "loss", 0, 10);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  Replace("r", "loss", 1000, 10);
  Scan(*catalog);
  EXPECT_THAT(Spans("m/r/loss/"), ElementsAre("(0, 10]"));
  EXPECT_EQ(lanes_, std::set<std::uint64_t>{1});
  // A subscriber with points of the old file gets all points; one with points of this file gets the
  // missing ones.
  const auto reply = PointsSince(*catalog, RequestFor("m/r/loss/", 0, 10));
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->events.size(), 1u);
  const auto event = msg::UnPackEnvelope(reply->events[0]->envelope.data());
  EXPECT_EQ(event->span->lane(), 1u);
  EXPECT_EQ(event->span->from(), 0u);
  EXPECT_EQ(event->body.AsPoints()->values.front(), 1000);
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/r/loss/", 8}}, nullptr, 1).at("m/r/loss/"),
            (std::vector<double>{1008, 1009}));
}

TEST_F(PointTopicsTest, ARunThatWasMadeAgainBeginsALaneOfItsOwn) {
  Report("r", "loss", 0, 10);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  std::filesystem::remove_all(root_ + "/r");
  Scan(*catalog);
  EXPECT_THAT(Topics(*catalog, "m/"), IsEmpty());
  Report("r", "loss", 500, 4);
  Scan(*catalog);
  EXPECT_THAT(Spans("m/r/loss/"), ElementsAre("(0, 4]"));
  EXPECT_EQ(lanes_, std::set<std::uint64_t>{1});
  // The run is replaced between two scans.
  std::filesystem::remove_all(root_ + "/r");
  Report("r", "loss", 600, 2);
  Scan(*catalog);
  EXPECT_THAT(Spans("m/r/loss/"), ElementsAre("(0, 2]"));
  EXPECT_EQ(lanes_, (std::set<std::uint64_t>{1, 2}));
}

TEST_F(PointTopicsTest, PositionsStayWhenFilesThatGrowInTurnsAreReadAgain) {
  Report("r", "loss", 0, 2, "a.tfevents");
  Report("r", "loss", 10, 2, "b.tfevents");
  const auto catalog = MakeCatalog(1);
  Scan(*catalog);
  Report("r", "loss", 2, 2, "a.tfevents");
  Scan(*catalog);
  Report("r", "loss", 12, 1, "b.tfevents");
  Scan(*catalog);
  const std::vector<double> all = {0, 1, 10, 11, 2, 3, 12};
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/r/loss/", 0}}).at("m/r/loss/"), all);
  EXPECT_THAT(Spans("m/r/loss/"), ElementsAre("(4, 6]", "(6, 7]"));
}

TEST_F(PointTopicsTest, ATopicThatIsNamedByAnotherLaneIsWantedFromItsBeginning) {
  Report("r", "loss", 0, 3);
  const auto catalog = MakeCatalog();
  Scan(*catalog);
  const auto reply = PointsSince(*catalog, RequestFor("m/r/loss/", 5, 2));
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->events.size(), 1u);
  EXPECT_EQ(msg::UnPackEnvelope(reply->events[0]->envelope.data())->span->to(), 3u);
}

TEST_F(PointTopicsTest, NothingIsToldBeforeTheFirstScan) {
  Report("r", "loss", 0, 3);
  const auto catalog = MakeCatalog();
  EXPECT_EQ(EndsOfPoints(*catalog, {}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(PointsSince(*catalog, {}).status().code(), absl::StatusCode::kUnavailable);
  Scan(*catalog);
  EXPECT_TRUE(EndsOfPoints(*catalog, {}).ok());
}

}  // namespace
}  // namespace datamanager
