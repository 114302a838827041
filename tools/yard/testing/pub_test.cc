// Tests `yard pub` as users call it, with a real hub.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/event/hub.h"
#include "bus/schema/envelope_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/fake_clock.h"
#include "runtime/file/unique_fd.h"
#include "tools/yard/cli/verb.h"
#include "tools/yard/testing/fake_yard.h"

namespace yard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class PubTest : public ::testing::Test {
 protected:
  FakeYard yard_;
};

// Returns the payloads of a topic's events from the hub's record.
std::vector<std::string> PayloadsOn(bus::Hub& hub, const std::string& topic) {
  msg::EndsRequestT ends;
  ends.prefix = topic;
  msg::SinceRequestT since;
  for (auto& place : hub.Ends(ends).places) {
    place->position = 0;
    since.places.push_back(std::move(place));
  }
  std::vector<std::string> payloads;
  for (bool more = !since.places.empty(); more;) {
    const msg::SinceReplyT page = hub.Since(since);
    for (const auto& event : page.events) {
      const msg::Envelope* const envelope = msg::GetEnvelope(event->envelope.data());
      const auto* const payload = envelope->payload();
      payloads.emplace_back(payload == nullptr ? ""
                                               : std::string(payload->begin(), payload->end()));
      since.places[0]->position = envelope->head()->seq();
    }
    more = page.more;
  }
  return payloads;
}

TEST_F(PubTest, PublishesManyWithTheirNumbers) {
  yard_.Start();
  const auto result = yard_.Run({"pub", "e/n", R"({"n": {{count}}})", "-n", "3"});
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.out, "e/n/ 3 events, seq 1 to 3, 0 subscribers\n");
  EXPECT_THAT(PayloadsOn(yard_.hub(), "e/n/"),
              ElementsAre("{\"n\": 1}", "{\"n\": 2}", "{\"n\": 3}"));
  // With --raw, text is not a template.
  EXPECT_EQ(yard_.Run({"pub", "e/raw", "{{count}}", "--raw"}).code, kDone);
  EXPECT_THAT(PayloadsOn(yard_.hub(), "e/raw/"), ElementsAre("{{count}}"));
}

TEST_F(PubTest, KeepsItsRate) {
  runtime::FakeClock clock;
  yard_.context().clock = &clock;
  yard_.Start();
  FakeYard::Output result;
  std::thread publisher([&] {
    result = yard_.Run({"pub", "e/n/", "{{count}}", "-n", "5", "--rate", "10"});
  });
  for (std::size_t published = 1; published < 5; ++published) {
    EXPECT_TRUE(clock.AwaitWaiters(1));
    EXPECT_THAT(PayloadsOn(yard_.hub(), "e/n/"), SizeIs(published));
    clock.Advance(absl::Milliseconds(100));
  }
  publisher.join();
  EXPECT_EQ(result.code, kDone) << result.err;
  EXPECT_EQ(result.err, "") << "it was never late";
  EXPECT_THAT(PayloadsOn(yard_.hub(), "e/n/"), SizeIs(5));
}

TEST_F(PubTest, CatchesUpWhenItCannotKeepItsRateAndSaysSo) {
  runtime::FakeClock clock;
  yard_.context().clock = &clock;
  yard_.Start();
  FakeYard::Output result;
  std::thread publisher([&] {
    result = yard_.Run({"pub", "e/n/", "{{count}}", "-n", "5", "--rate", "10"});
  });
  EXPECT_TRUE(clock.AwaitWaiters(1));
  clock.Advance(absl::Seconds(2));
  publisher.join();
  EXPECT_EQ(result.code, kDone);
  EXPECT_EQ(result.err, "yard pub: the rate was not kept: up to 1.9s late\n");
  EXPECT_THAT(PayloadsOn(yard_.hub(), "e/n/"), ElementsAre("1", "2", "3", "4", "5"));
}

TEST_F(PubTest, TakesLinesOfStdinInTheirOrder) {
  constexpr int kLines = 2'000;
  const runtime::UniqueFd file(memfd_create("lines", MFD_CLOEXEC));
  std::string text;
  std::vector<std::string> lines;
  for (int i = 0; i < kLines; ++i) lines.push_back(absl::StrCat("[", i, ", \"{{count}}\"]"));
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  ASSERT_EQ(pwrite(file.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  yard_.context().in = file.get();
  yard_.Start();
  const auto result = yard_.Run({"pub", "e/n/", "--stdin", "--json"});
  ASSERT_EQ(result.code, kDone) << result.err;
  const auto said = nlohmann::json::parse(result.out);
  EXPECT_EQ(said["events"], kLines);
  EXPECT_EQ(said["first_seq"], 1);
  EXPECT_EQ(said["seq"], kLines);
  EXPECT_EQ(PayloadsOn(yard_.hub(), "e/n/"), lines);
}

TEST_F(PubTest, NamesTheLineThatIsWrongAndPublishesThoseBefore) {
  const runtime::UniqueFd file(memfd_create("lines", MFD_CLOEXEC));
  ASSERT_EQ(pwrite(file.get(), "1\n2\n{x\n4\n", 9, 0), 9);
  yard_.context().in = file.get();
  yard_.Start();
  const auto result = yard_.Run({"pub", "e/n/", "--stdin"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("yard pub: line 3: not JSON"));
  EXPECT_THAT(result.out, HasSubstr("2 events, seq 1 to 2"));
  EXPECT_THAT(PayloadsOn(yard_.hub(), "e/n/"), ElementsAre("1", "2"));
}

TEST_F(PubTest, TakesAWholeStdinAsOneEvent) {
  const runtime::UniqueFd file(memfd_create("text", MFD_CLOEXEC));
  ASSERT_EQ(pwrite(file.get(), "{\n}\n", 4, 0), 4);
  yard_.context().in = file.get();
  yard_.Start();
  EXPECT_EQ(yard_.Run({"pub", "e/n/", "-"}).code, kDone);
  EXPECT_THAT(PayloadsOn(yard_.hub(), "e/n/"), ElementsAre("{\n}\n"));
}

TEST_F(PubTest, MakesWhatTheTopicHas) {
  yard_.Start();
  EXPECT_EQ(yard_.Run({"pub", "e/p/", "{run: \"a\"}", "--type", "Points"}).code, kDone);
  // From now on, the topic's type is known.
  EXPECT_EQ(yard_.Run({"pub", "e/p/", "{\"run\": \"b\"}"}).code, kDone);
  msg::TopicsRequestT request;
  request.prefix = "e/p/";
  EXPECT_EQ(yard_.hub().Topics(request).topics.at(0)->type, "Points");
  EXPECT_EQ(yard_.hub().Topics(request).topics.at(0)->events, 2U);
  const auto wrong = yard_.Run({"pub", "e/p/", "{\"rum\": \"b\"}"});
  EXPECT_EQ(wrong.code, kUsage);
  EXPECT_THAT(wrong.err, HasSubstr("Points: line 1, column 2: unknown field \"rum\""));
  EXPECT_EQ(yard_.Run({"pub", "e/p/", "{\"rum\": \"b\"}", "--type", "json"}).code, kDone);
  EXPECT_TRUE(yard_.hub().Topics(request).topics.at(0)->is_payload);
  EXPECT_EQ(yard_.Run({"pub", "e/p/", "{}", "--type", "Pints"}).code, kNotFound);
}

TEST_F(PubTest, WaitsForSubscribersAndSaysWhenTheyDoNotCome) {
  yard_.Start();
  const auto late = yard_.Run({"pub", "e/w/", "1", "-w", "1", "--timeout", "2"});
  EXPECT_EQ(late.code, kTimedOut);
  EXPECT_THAT(late.err, HasSubstr("0 of 1 subscriptions of e/w/"));
  EXPECT_EQ(late.out, "");
  const auto alone = yard_.Run({"pub", "e/w/", "2", "--require", "1"});
  EXPECT_EQ(alone.code, kFailed);
  EXPECT_THAT(alone.err, HasSubstr("0 subscriptions of e/w/ when it was published, 1 required"));
  FakeYard::Output waited;
  std::thread publisher([&] {
    waited = yard_.Run(
        {"pub", "e/w/", "{{count}}", "-n", "3", "-w", "1", "--require", "1", "--timeout", "30"});
  });
  const auto heard = yard_.Run({"sub", "e/w/", "-n", "3", "--timeout", "30"});
  publisher.join();
  EXPECT_EQ(heard.code, kDone) << heard.err;
  EXPECT_EQ(waited.code, kDone) << waited.err;
}

TEST_F(PubTest, ASingleOneAlwaysArrives) {
  constexpr int kEvents = 200;
  yard_.Start();
  FakeYard::Output heard;
  std::thread listener([&] {
    heard = yard_.Run(
        {"sub", "e/one/", "-n", absl::StrCat(kEvents), "--field", "payload", "--timeout", "300"});
  });
  EXPECT_EQ(yard_.Run({"pub", "e/one/", "0", "-w", "1", "--timeout", "300"}).code, kDone);
  std::string all = "0\n";
  for (int i = 1; i < kEvents; ++i) {
    EXPECT_EQ(yard_.Run({"pub", "e/one/", absl::StrCat(i)}).code, kDone);
    absl::StrAppend(&all, i, "\n");
  }
  listener.join();
  EXPECT_EQ(heard.code, kDone) << heard.err;
  EXPECT_EQ(heard.out, all);
}

TEST_F(PubTest, RefusesWordsThatContradict) {
  yard_.Start();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"pub", "e/x/"},
        {"pub", "e/x/", "1", "2"},
        {"pub", "e/x/", "1", "-n", "0"},
        {"pub", "e/x/", "1", "--stdin"},
        {"pub", "e/x/", "1", "--raw", "--type", "Points"}}) {
    EXPECT_EQ(yard_.Run(words).code, kUsage);
  }
}

}  // namespace
}  // namespace yard
