// Tests `yard topic` as users call it, with a real hub.

#include <atomic>
#include <cstdint>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/event/hub.h"
#include "bus/event/raw_publisher.h"
#include "bus/schema/envelope_generated.h"
#include "bus/thread/counters.h"
#include "bus/thread/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/fake_clock.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/testing/fake_yard.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<json> Objects(const std::string& text) {
  std::vector<json> objects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) objects.push_back(json::parse(line));
  return objects;
}

class TopicTest : public ::testing::Test {
 protected:
  void Publish(const std::string& topic, const std::string& payload) {
    msg::EnvelopeT event;
    event.payload.assign(payload.begin(), payload.end());
    event.payload_type = "text/plain";
    ASSERT_EQ(yard_.hub().Publish(topic, std::move(event)).status(), absl::OkStatus());
  }
  // Runs `words` while an event is published every tenth of a second of the fake clock.
  FakeYard::Output WhilePublishing(const std::string& topic, std::vector<std::string> words) {
    runtime::FakeClock clock;
    yard_.context().clock = &clock;
    const absl::Time gone_by = absl::Now() + absl::Seconds(30);
    while (yard_.hub().CountSubscriptions(topic) != 0 && absl::Now() < gone_by) {
      std::this_thread::yield();  // The previous verb is still subscribed.
    }
    FakeYard::Output result;
    std::atomic<bool> ended{false};
    std::thread verb([&] {
      result = yard_.Run(words);
      ended = true;
    });
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    const auto in_time = [&] { return !ended && absl::Now() < deadline; };
    while (yard_.hub().CountSubscriptions(topic) == 0 && in_time()) std::this_thread::yield();
    const bus::Counter& heard = (*yard_.context().node())->counters().events_received;
    while (in_time()) {
      const std::uint64_t before = heard.Get();
      Publish(topic, "0123456789");
      while (heard.Get() == before && in_time()) std::this_thread::yield();
      clock.Advance(absl::Milliseconds(100));
    }
    EXPECT_TRUE(ended);
    verb.join();
    return result;
  }

  FakeYard yard_;
};

TEST_F(TopicTest, LsListsWhatWasPublished) {
  yard_.Start();
  Publish("e/b/", "x");
  Publish("e/a/", "x");
  Publish("e/a/", "x");
  Publish("t/t-abcde/", "x");
  const auto objects = Objects(yard_.Run({"topic", "ls", "e/", "--json"}).out);
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0]["topic"], "e/a/");
  EXPECT_EQ(objects[0]["type"], "text/plain");
  EXPECT_EQ(objects[0]["payload"], true);
  EXPECT_EQ(objects[0]["events"], 2);
  EXPECT_EQ(objects[0]["seq"], 2);
  EXPECT_EQ(objects[0]["subscribers"], 0);
  EXPECT_EQ(objects[1]["topic"], "e/b/");
  const auto table = yard_.Run({"topic", "ls"});
  EXPECT_EQ(table.code, kDone) << table.err;
  EXPECT_THAT(table.out, StartsWith("TOPIC"));
  EXPECT_THAT(table.out, HasSubstr("t/t-abcde/"));
  EXPECT_THAT(table.err, HasSubstr("3 topics"));
}

TEST_F(TopicTest, LsGoesThroughAllPages) {
  yard_.Start();
  std::vector<bus::Hub::NewEvent> events;
  for (int i = 0; i < 2'500; ++i) {
    events.push_back({"e/" + std::to_string(i) + "/", msg::EnvelopeT()});
  }
  ASSERT_EQ(yard_.hub().PublishAll(std::move(events)).status(), absl::OkStatus());
  EXPECT_EQ(Objects(yard_.Run({"topic", "ls", "--json"}).out).size(), 2'500U);
}

TEST_F(TopicTest, HzTellsTheRate) {
  yard_.Start();
  const auto result = WhilePublishing("e/x/", {"topic", "hz", "e/x/", "-n", "3", "--json"});
  ASSERT_EQ(result.code, kDone) << result.err;
  const auto reports = Objects(result.out);
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[2]["topic"], "e/x/");
  EXPECT_GE(reports[2]["events"], 25);
  EXPECT_NEAR(reports[2]["hz"].get<double>(), 10, 1);
  EXPECT_EQ(reports[2]["lost"], 0);
}

TEST_F(TopicTest, WhatIsLostIsSaidBesideTheRate) {
  yard_.Start();
  bus::RawPublisher publisher(yard_.locations());
  runtime::FakeClock clock;
  yard_.context().clock = &clock;
  const bus::Counter& lost = (*yard_.context().node())->counters().events_lost;
  // Each call uses a topic of its own, because the hub sends a topic's last event to the next
  // subscriber.
  const auto measure = [&](const std::string& topic, std::vector<std::string> words) {
    words.insert(words.begin(), {"topic", "hz", topic, "-n", "2"});
    FakeYard::Output result;
    std::atomic<bool> ended{false};
    std::thread verb([&] {
      result = yard_.Run(words);
      ended = true;
    });
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    const auto in_time = [&] { return !ended && absl::Now() < deadline; };
    while (yard_.hub().CountSubscriptions(topic) == 0 && in_time()) std::this_thread::yield();
    const std::uint64_t before = lost.Get();
    for (const std::uint64_t seq : {1, 4}) publisher.Publish(topic, seq, msg::EnvelopeT());
    while (lost.Get() == before && in_time()) std::this_thread::yield();
    // The clock advances only after the verb has measured the second before.
    while (in_time()) {
      if (clock.AwaitWaiters(1, absl::Milliseconds(20))) clock.Advance(absl::Seconds(1));
    }
    verb.join();
    EXPECT_EQ(result.code, kDone) << result.err;
    return result.out;
  };
  const std::string text = measure("s/x/", {});
  EXPECT_THAT(text, StartsWith("s/x/  "));
  EXPECT_THAT(text, EndsWith(", 2 lost\n"));
  const auto reports = Objects(measure("s/y/", {"--json"}));
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[1]["lost"], 2);
}

TEST_F(TopicTest, BwAndDelayHaveTheirOwnNumbers) {
  yard_.Start();
  const auto bandwidth = WhilePublishing("e/x/", {"topic", "bw", "e/", "-n", "2", "--json"});
  ASSERT_EQ(bandwidth.code, kDone) << bandwidth.err;
  EXPECT_GT(Objects(bandwidth.out).back()["min_bytes"], 10);
  EXPECT_GT(Objects(bandwidth.out).back()["bytes_per_s"], 0);
  // By the fake clock, all events were sent in the future.
  const auto delay = WhilePublishing("e/x/", {"topic", "delay", "e/", "-n", "1"});
  ASSERT_EQ(delay.code, kDone) << delay.err;
  EXPECT_THAT(delay.out, StartsWith("e/x/  p50 "));
  EXPECT_THAT(delay.out, HasSubstr("heard before they were sent"));
}

TEST_F(TopicTest, NothingHeardIsSaidWithItsCode) {
  yard_.Start();
  const auto result = yard_.Run({"topic", "hz", "e/x/", "--timeout", "0.1"});
  EXPECT_EQ(result.code, kTimedOut);
  EXPECT_THAT(result.err, HasSubstr("nothing came on e/x/"));
  EXPECT_EQ(result.out, "");
}

TEST_F(TopicTest, WrongWordsAreUsage) {
  yard_.Start();
  EXPECT_EQ(yard_.Run({"topic"}).code, kUsage);
  const auto result = yard_.Run({"topic", "Hz", "e/"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("none of ls, hz, bw, delay"));
  EXPECT_EQ(yard_.Run({"topic", "hz"}).code, kUsage);
}

}  // namespace
}  // namespace yard
