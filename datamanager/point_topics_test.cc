#include "datamanager/point_topics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bus/record_conformance.h"
#include "bus/topic.h"
#include "eventlog/event.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kFile[] = "x.tfevents.1";

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
  // Points with values from `first` on.
  void Report(const std::string& run, const std::string& tag, int first, int count,
              const std::string& file = kFile) {
    std::string bytes;
    for (int i = first; i < first + count; ++i) {
      const eventlog::Scalar scalar{tag, static_cast<double>(i)};
      bytes += eventlog::RenderScalars(1, i, {&scalar, 1});
    }
    std::filesystem::create_directories(absl::StrCat(root_, "/", run));
    std::ofstream(PathOf(run, file), std::ios::binary | std::ios::app) << bytes;
  }
  void Replace(const std::string& run, const std::string& tag, int first, int count) {
    Report("elsewhere", tag, first, count);
    std::filesystem::rename(PathOf("elsewhere"), PathOf(run));
    std::filesystem::remove(root_ + "/elsewhere");
  }

  std::unique_ptr<RunCatalog> MakeCatalog(std::size_t budget = 1 << 30) {
    const auto publish = [this](std::string_view topic, msg::EnvelopeT event) {
      published_[std::string(topic)].push_back(std::move(event));
      return absl::OkStatus();
    };
    return std::make_unique<RunCatalog>(RunCatalog::Options{
        .root = root_,
        .byte_budget = budget,
        .on_points = [publish](const auto& run, const auto& tag, auto first, const auto& points) {
          PublishPoints(publish, run, tag, first, points);
        }});
  }
  // "(from, to]" of what has been published on the topic since the last call.
  std::vector<std::string> Spans(const std::string& topic) {
    std::vector<std::string> spans;
    for (const msg::EnvelopeT& event : std::exchange(published_[topic], {})) {
      spans.push_back(absl::StrCat("(", event.span->from(), ", ", event.span->to(), "]"));
      EXPECT_EQ(event.span->lane(), 0u);
      EXPECT_EQ(event.body.AsPoints()->values.size(), event.span->to() - event.span->from());
    }
    return spans;
  }
  // All pages of what comes after these places; counts the pages.
  static std::map<std::string, std::vector<double>> ValuesAfter(
      RunCatalog& catalog, std::map<std::string, std::uint64_t> places, int* pages = nullptr) {
    std::map<std::string, std::vector<double>> values;
    for (;;) {
      msg::SinceRequestT request;
      for (const auto& [topic, position] : places) {
        request.places.push_back(std::make_unique<msg::PlaceT>());
        request.places.back()->topic = topic;
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
  static std::vector<std::string> Topics(const RunCatalog& catalog, const std::string& prefix,
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
  std::map<std::string, std::vector<msg::EnvelopeT>> published_;
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
  catalog->Scan();
  bus::ExpectConformingRecord(
      {.ends = [&](const msg::EndsRequestT& request) { return EndsOfPoints(*catalog, request); },
       .since = [&](const msg::SinceRequestT& request) { return PointsSince(*catalog, request); },
       .root = "m/"});
  const std::string topic = bus::TopicOf({"m", long_name + "/1", long_name + "2"});
  EXPECT_EQ(ValuesAfter(*catalog, {{topic, 6}}).at(topic), (std::vector<double>{6, 7}));
}

TEST_F(PointTopicsTest, EndInTheOrderOfTopicsNotOfNames) {
  for (const char* run : {"a", "a b", "a-b", "a/b", "aa"}) Report(run, "t", 0, 1);
  Report("a", "t x", 0, 1);
  Report("a", "t-x", 0, 1);
  const auto catalog = MakeCatalog();
  catalog->Scan();
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
  catalog->Scan();
  EXPECT_THAT(Spans("m/r/loss/"), IsEmpty());
  Report("r", "loss", 10, 1);
  catalog->Refresh(root_ + "/r");
  Report("r", "loss", 11, 10'000);
  Report("r", "other", 0, 2);
  catalog->Scan();
  catalog->Scan();
  EXPECT_THAT(Spans("m/r/loss/"),
              ElementsAre("(10, 11]", "(11, 4107]", "(4107, 8203]", "(8203, 10011]"));
  EXPECT_THAT(Spans("m/r/other/"), ElementsAre("(0, 2]"));
}

TEST_F(PointTopicsTest, ARunDroppedFromMemoryIsStillServed) {
  std::map<std::string, std::uint64_t> places;
  for (int run = 0; run < 4; ++run) {
    Report(absl::StrCat("r", run), "loss", 0, 3000);
    places[absl::StrCat("m/r", run, "/loss/")] = 100;
  }
  const auto catalog = MakeCatalog(5000 * sizeof(Point));
  catalog->Scan();
  const auto before = catalog->GetStats();
  EXPECT_GE(before.dropped, 3u);
  EXPECT_EQ(Topics(*catalog, "m/").size(), 4u);
  EXPECT_EQ(catalog->GetStats().bytes, before.bytes) << "ends are known without points";
  const auto values = ValuesAfter(*catalog, places);
  ASSERT_EQ(values.size(), 4u);
  for (const auto& [topic, all] : values) {
    ASSERT_EQ(all.size(), 2900u) << topic;
    EXPECT_EQ(all.front(), 100);
    EXPECT_EQ(all.back(), 2999);
  }
  int pages = 0;
  for (auto& [topic, position] : places) position = 2999;
  EXPECT_EQ(ValuesAfter(*catalog, places, &pages).size(), 4u);
  EXPECT_GE(pages, 3) << "a page reads one run again, one may still be in memory";
  EXPECT_THAT(published_, IsEmpty()) << "nothing is new";
  // Who has everything costs no reading.
  const auto dropped = catalog->GetStats().dropped;
  for (auto& [topic, position] : places) position = 3000;
  EXPECT_THAT(ValuesAfter(*catalog, places), IsEmpty());
  EXPECT_EQ(catalog->GetStats().dropped, dropped);
}

TEST_F(PointTopicsTest, WhatADroppedRunGotMeanwhileIsAnnouncedOnce) {
  Report("a", "loss", 0, 100);
  Report("b", "loss", 0, 100);
  const auto catalog = MakeCatalog(1);
  catalog->Scan();
  Report("a", "loss", 100, 5);
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/b/loss/", 99}}).size(), 1u);
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/a/loss/", 0}}).at("m/a/loss/").size(), 105u);
  catalog->Refresh(root_ + "/a");
  EXPECT_THAT(Spans("m/a/loss/"), ElementsAre("(100, 105]"));
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/b/loss/", 99}}).size(), 1u);
  Report("a", "loss", 105, 5);
  catalog->Refresh(root_ + "/a");
  EXPECT_THAT(Spans("m/a/loss/"), ElementsAre("(105, 110]"));
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/a/loss/", 104}}).at("m/a/loss/"),
            (std::vector<double>{104, 105, 106, 107, 108, 109}));
}

TEST_F(PointTopicsTest, AReplacedFileGoesOnBehindWhatWasAnnounced) {
  Report("r", "loss", 0, 10);
  const auto catalog = MakeCatalog();
  catalog->Scan();
  Replace("r", "loss", 1000, 10);
  catalog->Scan();
  EXPECT_THAT(Spans("m/r/loss/"), IsEmpty());
  Replace("r", "loss", 2000, 12);
  catalog->Scan();
  EXPECT_THAT(Spans("m/r/loss/"), ElementsAre("(10, 12]"));
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/r/loss/", 10}}).at("m/r/loss/"),
            (std::vector<double>{2010, 2011}));
}

TEST_F(PointTopicsTest, ATagWithFewerPointsThanBeforeBeginsAgain) {
  Report("r", "loss", 0, 10);
  const auto catalog = MakeCatalog();
  catalog->Scan();
  Replace("r", "loss", 1000, 4);
  catalog->Scan();
  EXPECT_THAT(Spans("m/r/loss/"), ElementsAre("(0, 4]"));
  EXPECT_THAT(ValuesAfter(*catalog, {{"m/r/loss/", 10}}), IsEmpty());
  Report("r", "loss", 1004, 8);
  catalog->Scan();
  EXPECT_THAT(Spans("m/r/loss/"), ElementsAre("(4, 12]"));
  EXPECT_EQ(ValuesAfter(*catalog, {{"m/r/loss/", 10}}).at("m/r/loss/"),
            (std::vector<double>{1010, 1011}));
}

TEST_F(PointTopicsTest, PositionsStayWhenFilesThatGrowInTurnsAreRestored) {
  Report("r", "loss", 0, 2, "a.tfevents");
  Report("r", "loss", 10, 2, "b.tfevents");
  Report("other", "loss", 0, 1);
  const auto catalog = MakeCatalog(1);
  catalog->Scan();
  Report("r", "loss", 2, 2, "a.tfevents");
  catalog->Refresh(root_ + "/r");
  Report("r", "loss", 12, 1, "b.tfevents");
  catalog->Refresh(root_ + "/r");
  const std::vector<double> all = {0, 1, 10, 11, 2, 3, 12};
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(ValuesAfter(*catalog, {{"m/other/loss/", 0}}).size(), 1u);  // Drops the other one.
    EXPECT_EQ(ValuesAfter(*catalog, {{"m/r/loss/", 0}}).at("m/r/loss/"), all) << round;
  }
  EXPECT_THAT(Spans("m/r/loss/"), ElementsAre("(4, 6]", "(6, 7]"));
}

TEST_F(PointTopicsTest, ATopicThatIsNamedByAnotherLaneIsWantedFromItsBeginning) {
  Report("r", "loss", 0, 3);
  const auto catalog = MakeCatalog();
  catalog->Scan();
  msg::SinceRequestT request;
  request.places.push_back(std::make_unique<msg::PlaceT>());
  request.places.back()->topic = "m/r/loss/";
  request.places.back()->lane = 5;
  request.places.back()->position = 2;
  const auto reply = PointsSince(*catalog, request);
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->events.size(), 1u);
  EXPECT_EQ(msg::UnPackEnvelope(reply->events[0]->envelope.data())->span->to(), 3u);
}

TEST_F(PointTopicsTest, NothingIsToldBeforeTheFirstScan) {
  Report("r", "loss", 0, 3);
  const auto catalog = MakeCatalog();
  EXPECT_EQ(EndsOfPoints(*catalog, {}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(PointsSince(*catalog, {}).status().code(), absl::StatusCode::kUnavailable);
  catalog->Scan();
  EXPECT_TRUE(EndsOfPoints(*catalog, {}).ok());
}

}  // namespace
}  // namespace datamanager
