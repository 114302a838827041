#include "launcher/log_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/call/record_page.h"
#include "bus/fixtures/record_conformance.h"
#include "bus/schema/envelope_generated.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/job/job_store.h"
#include "launcher/wire/log_files.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kUntilGo[] = "while [ ! -e $FOLDER/go ]; do sleep 0.01; done;";

struct Event {
  std::string topic;
  std::uint64_t lane = 0, from = 0, to = 0;
  std::vector<std::string> lines;
};

class LogRecordTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(yard_.Open().ok()); }

  LogRecord Record() { return {yard_.table(), yard_.state_directory()}; }
  msg::EndsReplyT Ends(const msg::EndsRequestT& request) {
    msg::EndsReplyT reply;
    yard_.OnLoop([&] { reply = EndsOfLogs(Record(), request); });
    return reply;
  }
  msg::SinceReplyT Since(const msg::SinceRequestT& request) {
    msg::SinceReplyT reply;
    yard_.OnLoop([&] { reply = LogsSince(Record(), request); });
    return reply;
  }
  void ExpectConforming() {
    bus::ExpectConformingRecord({.ends = [this](const auto& request) { return Ends(request); },
                                 .since = [this](const auto& request) { return Since(request); },
                                 .root = "l/",
                                 .knows_times = false});
  }
  // Returns the positions by lane.
  std::map<std::uint64_t, std::uint64_t> EndsOf(const std::string& job) {
    msg::EndsRequestT request;
    request.prefix = TopicOf(job);
    std::map<std::uint64_t, std::uint64_t> ends;
    for (const auto& place : Ends(request).places) ends[place->lane] = place->position;
    return ends;
  }
  // Returns one page.
  std::vector<Event> SinceOf(const std::string& topic, std::uint64_t lane, std::uint64_t position) {
    msg::SinceRequestT request;
    request.places.push_back(std::make_unique<msg::PlaceT>());
    request.places[0]->topic = topic;
    request.places[0]->lane = lane;
    request.places[0]->position = position;
    std::vector<Event> events;
    for (const auto& recorded : Since(request).events) {
      const msg::Envelope& envelope = *msg::GetEnvelope(recorded->envelope.data());
      const msg::Span& span = *envelope.span();
      Event event{recorded->topic, span.lane(), span.from(), span.to(), {}};
      const msg::LogLines* const lines = envelope.body_as_LogLines();
      EXPECT_EQ(lines->end_offset(), span.to());
      EXPECT_EQ(2 * lines->attempt() + static_cast<std::uint64_t>(lines->stream()), span.lane());
      for (const auto* line : *lines->lines()) event.lines.push_back(line->str());
      events.push_back(std::move(event));
    }
    return events;
  }
  static std::string TopicOf(const std::string& job) { return TopicOfLogs(job, "worker-0"); }

  std::string Launch(const std::string& script, const std::string& folder = "") {
    auto spec = yard_.Shell(script);
    spec.log_directory = folder;
    auto job = yard_.Launch(spec);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? job->id : "";
  }
  std::string RunToEnd(const std::string& script, const std::string& folder = "") {
    const std::string id = Launch(script, folder);
    EXPECT_TRUE(yard_.AwaitEnd(id).has_value());
    return id;
  }
  // Returns the path of a log in the job's folder.
  std::string PathOf(const std::string& job, const std::string& log = "worker-0.1.stdout") const {
    return absl::StrCat(yard_.state_directory(), "/jobs/", job, "/", log);
  }
  // Splits a log into several files like a shim.
  static void SplitLog(const std::string& path, const std::vector<std::string>& rotated,
                       const std::string& rest) {
    std::uint64_t begin = 0;
    for (const auto& text : rotated) {
      ASSERT_TRUE(runtime::WriteFileAtomically(LogSegmentPath(path, begin), text, 0600).ok());
      begin += text.size();
    }
    ASSERT_TRUE(runtime::WriteFileAtomically(path, rest, 0600).ok());
  }
  std::string RunThreeAttempts() {
    auto spec = yard_.Shell(
        "echo x >> $FOLDER/tries; n=$(wc -l < $FOLDER/tries); seq 1 20000; echo err $n >&2;"
        "[ $n = 3 ]");
    spec.restart = msg::RestartPolicy::OnFailure;
    spec.max_restarts = 5;
    const auto job = yard_.Launch(spec);
    EXPECT_TRUE(job.ok() && yard_.AwaitEnd(job->id));
    return job.ok() ? job->id : "";
  }
  // Checks that the announced lines of a job are contiguous, and that the record has the same
  // lines.
  void ExpectSameLinesAsAnnounced(const std::string& job) {
    std::map<std::uint64_t, std::uint64_t> ends;
    std::map<std::uint64_t, std::vector<std::string>> announced;
    for (const auto& batch : yard_.Batches()) {
      if (batch.job != job) continue;
      const msg::EnvelopeT event = EnvelopeOf(batch.from, batch.lines);
      EXPECT_EQ(event.span->from(), ends[event.span->lane()]);
      ends[event.span->lane()] = event.span->to();
      auto& lines = announced[event.span->lane()];
      lines.insert(lines.end(), batch.lines.lines.begin(), batch.lines.lines.end());
    }
    for (const auto& [lane, end] : EndsOf(job)) {
      EXPECT_EQ(end, ends[lane]) << lane;
      std::vector<std::string> recorded;
      for (std::uint64_t at = 0; at < end;) {
        const auto page = SinceOf(TopicOf(job), lane, at);
        ASSERT_FALSE(page.empty());
        for (const Event& event : page) {
          if (event.lane != lane) continue;
          recorded.insert(recorded.end(), event.lines.begin(), event.lines.end());
          at = event.to;
        }
      }
      EXPECT_EQ(recorded, announced[lane]) << lane;
    }
  }

  TestingTable yard_;
};

TEST_F(LogRecordTest, SeveralJobsAndAttemptsConform) {
  const std::string retried = RunThreeAttempts();
  const std::string empty = RunToEnd("true");
  RunToEnd("seq 1 100; printf half >&2");
  const std::string live = Launch(absl::StrCat("seq 1 70000; printf half;", kUntilGo));
  ASSERT_TRUE(yard_.AwaitRunning(live));
  ASSERT_TRUE(yard_.AwaitInFile(PathOf(live), "half"));
  ASSERT_TRUE(yard_.AwaitLine("70000"));
  ExpectConforming();
  EXPECT_EQ(EndsOf(empty), (std::map<std::uint64_t, std::uint64_t>{{2, 0}, {3, 0}}));
  EXPECT_EQ(EndsOf(retried).size(), 6u);
  EXPECT_GT(EndsOf(retried)[2], bus::SincePage::kMaxBytes / 2);
}

TEST_F(LogRecordTest, AnnouncesWithoutHolesWhatItHas) {
  ExpectSameLinesAsAnnounced(RunThreeAttempts());
  // Each line is announced before the next one is written.
  const std::string job = Launch(
      "for i in 1 2 3; do echo part $i; while [ ! -e $FOLDER/go$i ]; do sleep 0.01; done; done; "
      "printf rest");
  for (const char* i : {"1", "2", "3"}) {
    ASSERT_TRUE(yard_.AwaitLine(absl::StrCat("part ", i)));
    ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go" + i, "", 0600).ok());
  }
  ASSERT_TRUE(yard_.AwaitEnd(job).has_value());
  ExpectSameLinesAsAnnounced(job);
}

TEST_F(LogRecordTest, ALineThatHasNotEndedCountsOnceTheAttemptIsOver) {
  const std::string job = Launch(absl::StrCat("printf 'one\\ntw';", kUntilGo, "printf o"));
  ASSERT_TRUE(yard_.AwaitRunning(job));
  ASSERT_TRUE(yard_.AwaitInFile(PathOf(job), "tw"));
  ASSERT_TRUE(yard_.AwaitLine("one"));
  EXPECT_EQ(EndsOf(job)[2], 4u);
  auto events = SinceOf(TopicOf(job), 2, 0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].lines, ElementsAre("one"));
  EXPECT_THAT(SinceOf(TopicOf(job), 2, 4), IsEmpty());
  ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600).ok());
  ASSERT_TRUE(yard_.AwaitEnd(job));
  EXPECT_EQ(EndsOf(job)[2], 7u);
  events = SinceOf(TopicOf(job), 2, 4);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].lines, ElementsAre("two"));
}

TEST_F(LogRecordTest, TheRestOfALineIsAPiece) {
  const std::string job = RunToEnd("echo hello; echo there");
  const auto events = SinceOf(TopicOf(job), 2, 2);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].from, 2u);
  EXPECT_THAT(events[0].lines, ElementsAre("llo", "there"));
}

TEST_F(LogRecordTest, ARotatedLogIsOneRecord) {
  const std::string job = RunToEnd("echo one; echo two; echo three");
  SplitLog(PathOf(job), {"one\n", "two\n"}, "three\n");
  EXPECT_EQ(EndsOf(job)[2], 14u);
  const auto events = SinceOf(TopicOf(job), 2, 4);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].from, 4u);
  EXPECT_THAT(events[0].lines, ElementsAre("two", "three"));
  ExpectConforming();
}

TEST_F(LogRecordTest, WhatWasRotatedAwayIsInNoSpan) {
  const std::string job = RunToEnd("echo one; echo two; echo three");
  SplitLog(PathOf(job), {"one\n", "two\n"}, "three\n");
  std::filesystem::remove(LogSegmentPath(PathOf(job), 0));
  EXPECT_EQ(EndsOf(job)[2], 14u);
  const auto events = SinceOf(TopicOf(job), 2, 0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].from, 4u);
  EXPECT_EQ(events[0].to, 14u);
  EXPECT_THAT(events[0].lines, ElementsAre("two", "three"));
}

TEST_F(LogRecordTest, LanesBehindTheFirstNamedOneComeFromTheirBeginning) {
  const std::string job = RunToEnd("echo out; echo err >&2");
  const auto both = SinceOf(TopicOf(job), 2, 4);
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].lane, 3u);
  EXPECT_EQ(both[0].from, 0u);
  EXPECT_THAT(both[0].lines, ElementsAre("err"));
  EXPECT_THAT(SinceOf(TopicOf(job), 3, 4), IsEmpty());
  EXPECT_EQ(SinceOf(TopicOf(job), 0, 0).size(), 2u);
}

TEST_F(LogRecordTest, WhatTheFeedHasLeftOutIsRecorded) {
  const std::string job =
      Launch(absl::StrCat("echo first;", kUntilGo, "seq 1000000 1999999; echo x > $FOLDER/done"));
  ASSERT_TRUE(yard_.AwaitLine("first"));
  yard_.OnLoop([&] {
    // The launcher is notified of all output at once.
    ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600).ok());
    ASSERT_TRUE(yard_.AwaitInFile(yard_.folder() + "/done", "x"));
  });
  ASSERT_TRUE(yard_.AwaitEnd(job));
  std::uint64_t position = 0, left_out = 0;
  for (const auto& batch : yard_.Batches()) {
    left_out += batch.from > position ? batch.from - position : 0;
    while (position < batch.from) {
      const auto events = SinceOf(TopicOf(job), 2, position);
      ASSERT_FALSE(events.empty());
      for (const Event& event : events) {
        ASSERT_EQ(event.from, position);
        position = event.to;
      }
    }
    position = std::max(position, batch.lines.end_offset);
  }
  EXPECT_GT(left_out, 6u << 20);
  EXPECT_EQ(position, 6u + 8'000'000u);
  EXPECT_EQ(EndsOf(job)[2], position);
}

TEST_F(LogRecordTest, WhatAnEarlierJobHasWrittenInTheSameFileIsNotRead) {
  const std::string folder = yard_.folder() + "/shared";
  const std::string first = RunToEnd("echo first", folder);
  const std::string second = RunToEnd("echo second", folder);
  const std::string silent = RunToEnd("true", folder);
  EXPECT_EQ(EndsOf(first)[2], 6u);
  EXPECT_EQ(EndsOf(second)[2], 13u);
  EXPECT_EQ(EndsOf(silent)[2], 0u);
  const auto events = SinceOf(TopicOf(second), 2, 0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].from, 0u);
  EXPECT_THAT(events[0].lines, ElementsAre("second"));
  ExpectConforming();
  ExpectSameLinesAsAnnounced(second);
}

TEST_F(LogRecordTest, AFileThatIsGoneHasNoEvents) {
  const std::string job = RunToEnd("echo out; echo err >&2");
  ASSERT_TRUE(std::filesystem::remove(PathOf(job)));
  EXPECT_EQ(EndsOf(job), (std::map<std::uint64_t, std::uint64_t>{{3, 4}}));
  EXPECT_EQ(SinceOf(TopicOf(job), 2, 0).size(), 1u);
  ASSERT_TRUE(std::filesystem::remove(PathOf(job, "worker-0.1.stderr")));
  EXPECT_THAT(EndsOf(job), IsEmpty());
  EXPECT_THAT(SinceOf(TopicOf(job), 2, 0), IsEmpty());
}

TEST_F(LogRecordTest, APageIsBoundedForShortAndLongLines) {
  // Short lines make many small batches, long lines few large ones.
  const std::string job = RunToEnd("yes | head -n 400000; head -c 3000000 /dev/zero >&2");
  for (const std::uint64_t lane : {2, 3}) {
    std::uint64_t bytes = 0;
    for (const Event& event : SinceOf(TopicOf(job), lane, 0)) {
      EXPECT_LE(event.lines.size(), 256u);
      EXPECT_LE(event.to - event.from, 64u << 10);
      bytes += event.to - event.from;
    }
    EXPECT_GT(bytes, 0u);
    EXPECT_LE(bytes, 256u << 10);
  }
}

TEST_F(LogRecordTest, TheNextLauncherAnnouncesTheLastLineSoThatHolesAreSeen) {
  const std::string job =
      Launch(absl::StrCat("echo one;", kUntilGo, "echo two; echo three; echo >$FOLDER/done;",
                          "while [ ! -e $FOLDER/end ]; do sleep 0.01; done"));
  ASSERT_TRUE(yard_.AwaitRunning(job));
  ASSERT_TRUE(yard_.AwaitInFile(PathOf(job), "one\n"));
  yard_.Close();
  ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600).ok());
  ASSERT_TRUE(yard_.AwaitInFile(PathOf(job), "three\n"));
  const std::size_t before = yard_.Batches().size();
  ASSERT_TRUE(yard_.Open().ok());
  ASSERT_TRUE(yard_.AwaitRunning(job));
  ASSERT_TRUE(yard_.AwaitLine("three"));
  const auto batch = yard_.Batches()[before];
  EXPECT_EQ(batch.from, 8u);
  EXPECT_THAT(batch.lines.lines, ElementsAre("three"));
  EXPECT_EQ(EndsOf(job)[2], 14u);
  ExpectConforming();
  ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/end", "", 0600).ok());
  ASSERT_TRUE(yard_.AwaitEnd(job));
  EXPECT_EQ(EndsOf(job)[2], 14u);
}

TEST_F(LogRecordTest, WhatAKilledShimHasWrittenIsRecorded) {
  const std::string job = Launch(absl::StrCat("echo one; printf half;", kUntilGo));
  const auto running = yard_.AwaitRunning(job);
  ASSERT_TRUE(running.has_value());
  ASSERT_TRUE(yard_.AwaitInFile(PathOf(job), "half"));
  ASSERT_EQ(kill(ShimOf(yard_.state_directory(), *running), SIGKILL), 0);
  ASSERT_TRUE(yard_.AwaitEnd(job));
  EXPECT_EQ(EndsOf(job)[2], 8u);
  ExpectConforming();
  ExpectSameLinesAsAnnounced(job);
}

TEST_F(LogRecordTest, EndsTellsTheNewestHundredAttempts) {
  const std::string job = RunToEnd("echo x");
  // A hundred restarts would take too long, so they are written into the store.
  yard_.Close();
  {
    auto store = JobStore::Open(yard_.state_directory() + "/launcher.db");
    ASSERT_TRUE(store.ok());
    auto rows = (*store)->Load();
    ASSERT_TRUE(rows.ok());
    JobRow row = std::move(rows->front());
    for (int number = 2; number <= 150; ++number) {
      row.tasks[0].attempts.push_back({.number = number, .ended_us = 1, .stdout_end = 2});
      ASSERT_TRUE((*store)->Save({{.job = &row, .of_job = true, .tasks = {0}}}).ok());
      ASSERT_TRUE(runtime::WriteFileAtomically(
                      PathOf(job, absl::StrCat("worker-0.", number, ".stdout")), "x\n", 0600)
                      .ok());
    }
  }
  ASSERT_TRUE(yard_.Open().ok());
  const auto ends = EndsOf(job);
  EXPECT_EQ(ends.size(), 100u);
  EXPECT_EQ(ends.begin()->first, 2u * 51);
  EXPECT_EQ(SinceOf(TopicOf(job), 2, 0).size(), 150u);
  ExpectConforming();
}

}  // namespace
}  // namespace launcher
