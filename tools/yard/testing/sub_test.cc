// Tests `yard sub` as users call it, with a real hub.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
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
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/yard/cli/verb.h"
#include "tools/yard/testing/fake_yard.h"

namespace yard {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class SubTest : public ::testing::Test {
 protected:
  void Publish(const std::string& topic, const std::string& payload) {
    msg::EnvelopeT event;
    event.payload.assign(payload.begin(), payload.end());
    event.payload_type = "application/json";
    ASSERT_EQ(yard_.hub().Publish(topic, std::move(event)).status(), absl::OkStatus());
  }
  // Returns the output of `words` for events that are published once the command subscribes to
  // `prefix`.
  FakeYard::Output Hear(const std::string& prefix, std::vector<std::string> words,
                        const std::vector<std::pair<std::string, std::string>>& events) {
    FakeYard::Output result;
    words.insert(words.end(), {"--timeout", "30"});
    std::thread listener([&] { result = yard_.Run(words); });
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (yard_.hub().CountSubscriptions(prefix) == 0 && absl::Now() < deadline) {
      std::this_thread::yield();
    }
    for (const auto& [topic, payload] : events) Publish(topic, payload);
    listener.join();
    return result;
  }
  static std::vector<std::string> Lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  FakeYard yard_;
};

// Lost events of a topic without a record cannot be recovered.
TEST_F(SubTest, WhatIsLostIsSaid) {
  yard_.Start();
  bus::RawPublisher publisher(yard_.locations());
  // Each call uses a topic of its own, because the hub sends a topic's last event to the next
  // subscriber.
  const auto hear = [&](const std::string& topic, std::vector<std::string> words) {
    words.insert(words.begin(), {"sub", topic, "-n", "2", "--timeout", "30", "--field", "payload"});
    FakeYard::Output result;
    std::thread listener([&] { result = yard_.Run(words); });
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (yard_.hub().CountSubscriptions(topic) == 0 && absl::Now() < deadline) {
      std::this_thread::yield();
    }
    for (const std::uint64_t seq : {1, 4}) {
      msg::EnvelopeT event;
      event.payload = {static_cast<std::uint8_t>('0' + seq)};
      event.payload_type = "application/json";
      publisher.Publish(topic, seq, std::move(event));
    }
    listener.join();
    EXPECT_EQ(result.code, kDone) << result.err;
    EXPECT_THAT(result.err, HasSubstr("yard sub: lost 2 events of " + topic + "\n"));
    return result;
  };
  EXPECT_THAT(Lines(hear("s/x/", {}).out), ElementsAre("1", "4"));
  const auto lines = Lines(hear("s/y/", {"--json"}).out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], R"({"lost":2,"topic":"s/y/"})");
}

TEST_F(SubTest, APatternPicksTopics) {
  yard_.Start();
  const auto result = Hear(
      "e/", {"sub", "e/*/loss", "-n", "2", "--field", "payload"},
      {{"e/a/loss/", "1"}, {"e/a/accuracy/", "2"}, {"e/a/loss/top/", "3"}, {"e/b/loss/", "4"}});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(Lines(result.out), ElementsAre("1", "4"));
}

TEST_F(SubTest, AFieldIsPrintedAlone) {
  yard_.Start();
  const auto result = Hear("e/x/", {"sub", "e/x/", "-n", "3", "--field", "payload.a.b[0]"},
                           {{"e/x/", R"({"a": {"b": ["text"]}})"},
                            {"e/x/", R"({"other": 1})"},
                            {"e/x/", R"({"a": {"b": [{"c": 1}]}})"},
                            {"e/x/", R"({"a": {"b": ["\u001b[2J"]}})"}});
  EXPECT_EQ(result.code, kDone) << result.err;
  const auto lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "text");
  EXPECT_EQ(lines[1], R"({"c":1})");
  EXPECT_EQ(lines[2].find('\x1B'), std::string::npos) << "a field cannot drive a terminal";
}

TEST_F(SubTest, SeveralFieldsStandBesideEachOther) {
  yard_.Start();
  const std::vector<std::pair<std::string, std::string>> events = {
      {"e/x/", R"({"a": "{\"loss\": 0.5}", "b": "text"})"},
      {"e/x/", R"({"c": 1})"},
      {"e/x/", R"({"b": "only"})"}};
  const std::vector<std::string> words = {"sub",     "e/x/",           "-n",      "2",
                                          "--field", "payload.a.loss", "--field", "payload.b"};
  const auto result = Hear("e/x/", words, events);
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(Lines(result.out), ElementsAre("0.5\ttext", "\tonly"));
  auto as_json = words;
  as_json[1] = "e/y/";
  as_json.push_back("--json");
  const auto lines =
      Lines(Hear("e/y/", as_json, {{"e/y/", events[0].second}, {"e/y/", events[2].second}}).out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(lines[1])["values"],
            nlohmann::json({{"payload.a.loss", nullptr}, {"payload.b", "only"}}));
}

TEST_F(SubTest, AFilterReachesIntoTextAndLists) {
  yard_.Start();
  const auto result = Hear("e/x/",
                           {"sub", "e/x/", "-n", "2", "--field", "payload.n", "--filter",
                            "payload.metrics.loss>10 | payload.values[*]>3"},
                           {{"e/x/", R"({"n": 1, "metrics": "{\"loss\": 9}"})"},
                            {"e/x/", R"({"n": 2, "metrics": "{\"loss\": 11, \"a\": NaN}"})"},
                            {"e/x/", R"({"n": 3, "values": [1, 2, 3]})"},
                            {"e/x/", R"({"n": 4, "values": [1, 4, 3]})"}});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(Lines(result.out), ElementsAre("2", "4"));
}

TEST_F(SubTest, AFieldAsJsonKeepsTheRestOfTheEvent) {
  yard_.Start();
  const auto result = Hear("e/x/", {"sub", "e/x/", "-n", "1", "--field", "payload.a", "--json"},
                           {{"e/x/", R"({"a": "text"})"}});
  const json line = json::parse(result.out);
  EXPECT_EQ(line["value"], "text");
  EXPECT_EQ(line["topic"], "e/x/");
  EXPECT_EQ(line["seq"], 1);
  EXPECT_FALSE(line.contains("body"));
}

TEST_F(SubTest, AFilterLeavesOutTheOthers) {
  yard_.Start();
  const auto result = Hear("e/x/",
                           {"sub", "e/x/", "-n", "2", "--filter", "payload.step>1 & !payload.bad",
                            "--field", "payload.step"},
                           {{"e/x/", R"({"step": 1})"},
                            {"e/x/", R"({"step": 2})"},
                            {"e/x/", R"({"step": 3, "bad": true})"},
                            {"e/x/", R"({"step": 4})"}});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(Lines(result.out), ElementsAre("2", "4"));
}

TEST_F(SubTest, APlaceOfTheFilterThatNoEventHasIsTold) {
  yard_.Start();
  std::vector<std::pair<std::string, std::string>> events;
  for (int i = 1; i <= 12; ++i)
    events.emplace_back("e/x/", "{\"step\": " + std::to_string(i) + "}");
  const auto result = Hear("e/x/",
                           {"sub", "e/x/", "-n", "1", "--filter", "payload.step>11 | step=99",
                            "--field", "payload.step"},
                           events);
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(Lines(result.out), ElementsAre("12"));
  EXPECT_THAT(result.err, HasSubstr("yard sub: no event has step; did you mean payload.step?\n"));
  const auto known = Hear("e/y/", {"sub", "e/y/", "-n", "1", "--filter", "payload.step>0"},
                          {{"e/y/", R"({"step": 1})"}});
  EXPECT_THAT(known.err, Not(HasSubstr("no event has")));
}

TEST_F(SubTest, LastBeginsWithWhatWasAndRepeatsNothing) {
  yard_.Start();
  Publish("e/a/", "1");
  Publish("e/a/", "2");
  Publish("e/b/", "3");
  Publish("t/x/", "4");
  const auto exact =
      yard_.Run({"sub", "e/a/", "--last", "-n", "1", "--field", "payload", "--timeout", "30"});
  EXPECT_EQ(exact.code, kDone) << exact.err;
  EXPECT_THAT(Lines(exact.out), ElementsAre("2"));
  // Both prefixes contain e/a/.
  const auto several = yard_.Run(
      {"sub", "e/a/", "e/", "--last", "-n", "2", "--field", "payload", "--timeout", "30"});
  EXPECT_EQ(several.code, kDone) << several.err;
  EXPECT_THAT(Lines(several.out), ElementsAre("2", "3"));
}

TEST_F(SubTest, SinceBeginsWithWhatTheHubHas) {
  yard_.Start();
  for (int i = 1; i <= 2500; ++i) Publish("e/a/", std::to_string(i));
  Publish("e/b/", "1");
  const auto all = yard_.Run(
      {"sub", "e/a/", "--since", "1h", "-n", "2500", "--field", "payload", "--timeout", "60"});
  EXPECT_EQ(all.code, kDone) << all.err;
  EXPECT_THAT(all.err, HasSubstr("e/ goes back to 20"));
  const auto lines = Lines(all.out);
  ASSERT_EQ(lines.size(), 2500U);
  for (int i = 0; i < 2500; ++i)
    EXPECT_EQ(lines[static_cast<std::size_t>(i)], std::to_string(i + 1));
  const auto some = yard_.Run({"sub", "e/a/", "--since", "2499", "-n", "2", "--field", "payload"});
  EXPECT_THAT(Lines(some.out), ElementsAre("2499", "2500")) << some.err;
  EXPECT_THAT(some.err, Not(HasSubstr("lost")));
  const auto none = yard_.Run({"sub", "e/", "--since", "0s", "-n", "1", "--timeout", "0.1"});
  EXPECT_EQ(none.code, kTimedOut) << none.out;
}

// Recorded events and events published meanwhile are each printed once, in order.
TEST_F(SubTest, SinceGoesOnWithWhatComes) {
  yard_.Start();
  for (int i = 1; i <= 100; ++i) Publish("e/a/", std::to_string(i));
  FakeYard::Output result;
  std::atomic<bool> ended{false};
  std::thread listener([&] {
    result = yard_.Run({"sub", "e/", "--since", "1h", "-n", "200", "--field", "payload"});
    ended = true;
  });
  for (int i = 101; !ended; ++i) {
    Publish("e/a/", std::to_string(i));
    std::this_thread::yield();
  }
  listener.join();
  const auto lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 200U) << result.err;
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(lines[static_cast<std::size_t>(i)], std::to_string(i + 1));
}

TEST_F(SubTest, SinceSaysWhatNobodyKeeps) {
  yard_.Start();
  const auto states = yard_.Run({"sub", "s/", "--since", "1h", "-n", "1", "--timeout", "0.1"});
  EXPECT_THAT(states.err, HasSubstr("nobody keeps states"));
  EXPECT_EQ(yard_.Run({"sub", "--since", "yesterday"}).code, kUsage);
  EXPECT_EQ(yard_.Run({"sub", "--since", "1h", "--last"}).code, kUsage);
}

TEST_F(SubTest, TimestampsSayWhenItWasSentAndHowLongItWasOnItsWay) {
  yard_.Start();
  Publish("e/a/", "1");
  const auto text = yard_.Run({"sub", "e/a/", "--since", "1", "-n", "1", "--timestamps"});
  EXPECT_THAT(text.out, MatchesRegex("20.*Z [+-].*s  e/a/  .*\n")) << text.err;
  const auto as_json =
      yard_.Run({"sub", "e/a/", "--since", "1", "-n", "1", "--timestamps", "--json"});
  const json line = json::parse(as_json.out);
  EXPECT_GE(line["received"].get<std::string>(), line["sent"].get<std::string>());
}

class DumpTest : public SubTest {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  const std::string path_ = ::testing::TempDir() + "/events";
};

TEST_F(DumpTest, WhatIsKeptIsPublishedAgain) {
  yard_.Start();
  msg::EnvelopeT envelope;
  envelope.body.Set(msg::TrialEventT());
  envelope.body.AsTrialEvent()->row = std::make_unique<msg::ResultRowT>();
  envelope.body.AsTrialEvent()->row->step = 7;
  for (int i = 1; i <= 600; ++i) Publish("e/a/", std::to_string(i));
  ASSERT_EQ(yard_.hub().Publish("e/rows/", std::move(envelope)).status(), absl::OkStatus());
  const auto kept = yard_.Run({"sub", "e/", "--since", "1h", "--dump", path_, "-n", "601"});
  EXPECT_EQ(kept.code, kDone) << kept.err;
  EXPECT_EQ(kept.out, "");
  EXPECT_THAT(kept.err, HasSubstr("/events: 601 events, "));
  const auto replayed = yard_.Run({"pub", "e/again", "--replay", path_, "--speed", "0"});
  EXPECT_EQ(replayed.code, kDone) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("/events: 601 events published"));
  const auto payloads = Lines(
      yard_.Run({"sub", "e/again/e/a/", "--since", "1", "-n", "600", "--field", "payload"}).out);
  ASSERT_EQ(payloads.size(), 600U);
  EXPECT_EQ(payloads.front(), "1");
  EXPECT_EQ(payloads.back(), "600");
  const auto row =
      yard_.Run({"sub", "e/again/e/rows/", "--since", "1", "-n", "1", "--field", "row.step"});
  EXPECT_EQ(row.out, "7\n") << row.err;
  const auto some = yard_.Run({"pub", "--replay", path_, "--rate", "1000", "-n", "3", "--json"});
  EXPECT_EQ(json::parse(some.out)["events"], 3) << some.err;
}

TEST_F(DumpTest, OnlyWhatPassesTheFilterIsKept) {
  yard_.Start();
  for (int i = 1; i <= 9; ++i) Publish("e/a/", "{\"n\": " + std::to_string(i) + "}");
  const auto kept = yard_.Run({"sub", "e/", "--since", "1", "--dump", path_, "-n", "2", "--filter",
                               "payload.n>=8", "--json"});
  EXPECT_EQ(kept.code, kDone) << kept.err;
  EXPECT_EQ(json::parse(kept.out)["events"], 2);
}

TEST_F(DumpTest, ABoundAndAnOldFileAreKept) {
  yard_.Start();
  for (int i = 1; i <= 9; ++i) Publish("e/a/", "1");
  const auto full = yard_.Run(
      {"sub", "e/", "--since", "1", "--dump", path_, "--max_bytes", "600", "--timeout", "30"});
  EXPECT_EQ(full.code, kFailed);
  EXPECT_THAT(full.err, HasSubstr("has no room in 600; --max_bytes allows more"));
  EXPECT_LE(std::filesystem::file_size(path_), 600U);
  EXPECT_EQ(yard_.Run({"sub", "e/", "--dump", path_}).code, kRefused);
  EXPECT_EQ(yard_.Run({"sub", "e/", "--dump", path_ + "2", "--last"}).code, kUsage);
}

TEST_F(DumpTest, WhatIsWrongWithAReplayIsSaid) {
  yard_.Start();
  EXPECT_EQ(yard_.Run({"pub", "--replay", path_}).code, kNotFound);
  EXPECT_EQ(yard_.Run({"pub", "e/a/", "1", "--replay", path_}).code, kUsage);
  EXPECT_EQ(yard_.Run({"pub"}).code, kUsage);
}

// The hub also sends the last value to a subscriber of exactly that topic.
TEST_F(SubTest, WhatFollowsTheLastEventIsNew) {
  yard_.Start();
  Publish("e/a/", "1");
  FakeYard::Output result;
  std::atomic<bool> ended{false};
  std::thread listener([&] {
    result =
        yard_.Run({"sub", "e/a/", "--last", "-n", "3", "--field", "payload", "--timeout", "30"});
    ended = true;
  });
  for (int i = 2; !ended; ++i) {
    Publish("e/a/", std::to_string(i));
    std::this_thread::yield();
  }
  listener.join();
  EXPECT_EQ(result.code, kDone) << result.err;
  const auto lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(std::stoi(lines[1]), std::stoi(lines[0]) + 1);
  EXPECT_EQ(std::stoi(lines[2]), std::stoi(lines[1]) + 1);
}

// A trial that reports often sends several results in one event.
TEST_F(SubTest, EachResultIsALine) {
  yard_.Start();
  msg::TrialEventT event;
  event.row = std::make_unique<msg::ResultRowT>();
  event.row->row = event.row->step = 1;
  for (int step = 2; step <= 4; ++step) {
    event.more_rows.push_back(std::make_unique<msg::ResultRowT>());
    event.more_rows.back()->row = event.more_rows.back()->step = static_cast<std::uint64_t>(step);
  }
  msg::EnvelopeT envelope;
  envelope.body.Set(std::move(event));
  ASSERT_EQ(yard_.hub().Publish("e/rows/", std::move(envelope)).status(), absl::OkStatus());
  const auto last = yard_.Run({"sub", "e/rows/", "--last", "--field", "row.step", "-n", "1"});
  EXPECT_EQ(last.out, "4\n") << last.err;
}

TEST_F(SubTest, WhatIsWrongWithItsWordsIsSaidBeforeAnythingIsHeard) {
  yard_.Start();
  EXPECT_EQ(yard_.Run({"sub", "m/a*/"}).code, kUsage);
  EXPECT_EQ(yard_.Run({"sub", "--field", "a..b"}).code, kUsage);
  const auto filter = yard_.Run({"sub", "--filter", "step>"});
  EXPECT_EQ(filter.code, kUsage);
  EXPECT_THAT(filter.err, HasSubstr("filter, column 6: expected a value\n  step>\n       ^"));
}

}  // namespace
}  // namespace yard
