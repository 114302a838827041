#include "web/events/pending_events.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bus/schema/envelope_generated.h"
#include "flatbuffers/flatbuffers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace web {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

class PendingEventsTest : public testing::Test {
 protected:
  template <typename Body>
  void Add(const std::string& topic, Body body) {
    msg::EnvelopeT envelope;
    envelope.body.Set(std::move(body));
    flatbuffers::FlatBufferBuilder builder;
    msg::FinishEnvelopeBuffer(builder, msg::Envelope::Pack(builder, &envelope));
    pending_.Add(topic, *msg::GetEnvelope(builder.GetBufferPointer()));
  }
  void AddTrial(const std::string& id, msg::TrialState state) {
    msg::TrialEventT event;
    event.trial = std::make_unique<msg::TrialT>();
    event.trial->id = id;
    event.trial->state = state;
    event.trial->argv = {"train"};
    Add("yard", std::move(event));
  }
  void AddPoints(std::size_t count) {
    msg::PointsT points;
    points.run = "a";
    points.tag = "loss";
    points.steps.resize(count, 7);
    points.wall_times.resize(count, 1.5);
    points.values.resize(count, 0.25);
    Add("run:a", std::move(points));
  }
  void AddSweep(const std::string& topic, std::uint64_t first, std::uint64_t trials) {
    msg::SweepEventT event;
    event.sweep = std::make_unique<msg::SweepT>();
    event.sweep->id = "s-1";
    for (std::uint64_t i = 0; i < trials; ++i) {
      event.trials.push_back(std::make_unique<msg::SweepTrialT>());
      event.trials.back()->number = first + i;
    }
    Add(topic, std::move(event));
  }

  // Returns "TOPIC EVENT" for each event, then "TOPIC ?" for each gap.
  std::vector<std::string> Tell() {
    std::vector<std::string> told;
    data_.clear();
    pending_.Tell(
        [&](const std::string& topic, std::string_view event, const json& data, bool) {
          told.push_back(topic + " " + std::string(event));
          data_.push_back(data);
        },
        [&](const std::string& topic) { told.push_back(topic + " ?"); });
    return told;
  }

  PendingEvents pending_;
  std::vector<json> data_;
};

TEST_F(PendingEventsTest, SeveralChangesOfAThingAreItsNewest) {
  EXPECT_TRUE(pending_.empty());
  AddTrial("t-1", msg::TrialState::Running);
  AddTrial("t-1", msg::TrialState::Failed);
  EXPECT_FALSE(pending_.empty());
  EXPECT_THAT(Tell(), ElementsAre("yard trial"));
  EXPECT_EQ(data_[0]["id"], "t-1");
  EXPECT_EQ(data_[0]["state"], "failed");
  EXPECT_FALSE(data_[0].contains("argv"));
}

TEST_F(PendingEventsTest, PointsOfATagAreToldTogether) {
  AddPoints(2);
  AddPoints(1);
  EXPECT_THAT(Tell(), ElementsAre("run:a points"));
  EXPECT_EQ(data_[0]["steps"], json({7, 7, 7}));
  EXPECT_EQ(data_[0]["values"], json({0.25, 0.25, 0.25}));
}

TEST_F(PendingEventsTest, MorePointsThanOneEventMayTellAreAGap) {
  AddPoints(kMostPointsAtOnce);
  AddPoints(1);
  EXPECT_THAT(Tell(), ElementsAre("run:a points", "run:a ?"));
  EXPECT_EQ(data_[0]["steps"].size(), kMostPointsAtOnce);
}

TEST_F(PendingEventsTest, ASweepIsToldWithItsChangedTrials) {
  AddSweep("sweep:s-1", 0, 2);
  AddSweep("sweep:s-1", 1, 2);
  EXPECT_THAT(Tell(), ElementsAre("sweep:s-1 sweep"));
  EXPECT_EQ(data_[0]["sweep"]["id"], "s-1");
  EXPECT_EQ(data_[0]["trials"].size(), 3u);
}

TEST_F(PendingEventsTest, MoreTrialsThanOneEventMayTellAreAGap) {
  AddSweep("sweep:s-1", 0, kMostTrialsAtOnce + 1);
  EXPECT_THAT(Tell(), ElementsAre("sweep:s-1 ?"));
  EXPECT_THAT(data_, IsEmpty());
}

TEST_F(PendingEventsTest, LinesOfDifferentStreamsAreDifferentEvents) {
  for (const auto stream : {msg::LogStream::Stdout, msg::LogStream::Stderr}) {
    msg::LogLinesT lines;
    lines.task = "worker-0";
    lines.stream = stream;
    lines.lines = {"hello"};
    Add("logs:j-1", std::move(lines));
  }
  EXPECT_THAT(Tell(), ElementsAre("logs:j-1 lines", "logs:j-1 lines"));
  EXPECT_NE(data_[0]["stream"], data_[1]["stream"]);
}

TEST_F(PendingEventsTest, EachGapIsToldOnce) {
  pending_.AddGap("run:a");
  pending_.AddGap("run:a");
  EXPECT_THAT(Tell(), ElementsAre("run:a ?"));
}

}  // namespace
}  // namespace web
