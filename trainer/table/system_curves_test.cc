// System metrics of trials, from the launcher's measurement to the files of their runs.

#include "trainer/table/system_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/trainer_generated.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "runtime/file/file.h"
#include "trainer/table/trials.h"
#include "trainer/testing/trials_fixture.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SystemCurvesTest : public TrialsFixture {
 protected:
  SystemCurvesTest() {
    options_.usage = [this](SystemCurves::Usage done) {
      ++asked_;
      if (!answers_) {
        waiting_ = std::move(done);
      } else {
        done(Measured());
      }
    };
    Start();
  }
  ~SystemCurvesTest() override { Kill(); }

  // Each task has used half a core since the previous measurement.
  absl::StatusOr<msg::UsageReplyT> Measured() {
    if (!failure_.ok()) return failure_;
    msg::UsageReplyT reply;
    reply.measured_us = absl::ToUnixMicros(clock_.Now());
    for (const std::string& task : tasks_) {
      auto usage = std::make_unique<msg::TaskUsageT>();
      usage->task = task;
      usage->attempt = 1;
      usage->cpu_us = static_cast<std::uint64_t>(reply.measured_us) / 2;
      usage->rss_bytes = 4096;
      reply.tasks.push_back(std::move(usage));
    }
    return reply;
  }
  // Returns the only system file of a run; empty if there is no such file.
  std::string PathOf(const std::string& id) {
    for (const auto& entry : std::filesystem::directory_iterator(Get(id).log_directory)) {
      if (absl::StrContains(entry.path().filename().string(), "-sys")) return entry.path();
    }
    return {};
  }
  // Returns "STEP TAG ..." of each event but the first.
  std::vector<std::string> Points(const std::string& id) {
    std::vector<std::string> points;
    const std::string bytes = runtime::ReadFile(PathOf(id), 1 << 20).value_or(std::string());
    for (std::size_t at = 0; at < bytes.size();) {
      const auto record = eventlog::ParseRecord(std::string_view(bytes).substr(at));
      EXPECT_EQ(record.state, eventlog::ParsedRecord::State::kRecord);
      if (record.size == 0) break;
      at += record.size;
      eventlog::Event event;
      EXPECT_TRUE(eventlog::DecodeEvent(record.payload, &event).ok());
      std::string point = absl::StrCat(event.step);
      for (const auto& value : event.values) absl::StrAppend(&point, " ", std::string(value.tag));
      if (!event.values.empty()) points.push_back(point);
    }
    return points;
  }
  void Pass(absl::Duration time = SystemCurves::kEvery) { Advance(time); }

  int asked_ = 0;
  bool answers_ = true;
  SystemCurves::Usage waiting_;
  absl::Status failure_;
  std::vector<std::string> tasks_ = {"j-1/worker-0"};
};

TEST_F(SystemCurvesTest, APointHasTheStepOfTheNewestReport) {
  const std::string id = Run("a");
  Pass();
  Say("j-1", 1, R"({"t":"report","m":{"loss":1},"step":40})");
  Say("j-1", 2, R"({"t":"report","m":{"loss":1},"step":50})");
  Pass();
  Pass();
  Say("j-1", 3, R"({"t":"report","m":{"loss":1},"step":60})");
  Pass();
  EXPECT_THAT(Points(id), ElementsAre("0 sys/memory_bytes", "50 sys/cpu_percent sys/memory_bytes",
                                      "50 sys/cpu_percent sys/memory_bytes",
                                      "60 sys/cpu_percent sys/memory_bytes"));
  // The measurements are not reports.
  EXPECT_THAT(Rows(id), SizeIs(3));
  const std::string table =
      runtime::ReadFile(Get(id).log_directory + "/progress.csv", 1 << 20).value_or("");
  EXPECT_FALSE(absl::StrContains(table, "sys/"));
}

TEST_F(SystemCurvesTest, NobodyIsAskedWhileNothingRuns) {
  Pass(absl::Minutes(1));
  EXPECT_EQ(asked_, 0);
  Run("a");
  Pass();
  Pass();
  EXPECT_EQ(asked_, 2);
  SayEnd("j-1", 0);
  On([&] { jobs_.End("j-1", 0, ""); });
  Pass();
  Pass();
  Pass();
  EXPECT_EQ(asked_, 2);
  tasks_ = {"j-2/worker-0"};
  const std::string next = Run("b");
  Pass();
  EXPECT_THAT(Points(next), ElementsAre("0 sys/memory_bytes"));
}

TEST_F(SystemCurvesTest, ALauncherThatDoesNotAnswerIsAskedOnce) {
  const std::string id = Run("a");
  answers_ = false;
  Pass();
  Pass();
  Pass();
  EXPECT_EQ(asked_, 1);
  failure_ = absl::UnavailableError("no launcher");
  On([&] { std::exchange(waiting_, {})(Measured()); });
  failure_ = absl::OkStatus();
  answers_ = true;
  Pass();
  EXPECT_THAT(Points(id), SizeIs(1));
}

TEST_F(SystemCurvesTest, AnAnswerToATrainerThatIsGoneIsDropped) {
  Run("a");
  answers_ = false;
  Pass();
  Kill();
  waiting_(Measured());
  Start();
}

TEST_F(SystemCurvesTest, EachTrialHasItsOwn) {
  tasks_ = {"j-1/worker-0", "j-2/chief-0", "j-2/worker-0", "j-12/worker-0", "j-99/worker-0"};
  const std::string a = Run("a"), b = Run("b");
  Pass();
  Pass();
  EXPECT_THAT(Points(a), SizeIs(2));
  EXPECT_THAT(Points(b), SizeIs(2));
}

TEST_F(SystemCurvesTest, WhatTheProgramReportsUnderSuchANameIsThePrograms) {
  const std::string id = Run("a");
  Say("j-1", 1, R"({"t":"report","m":{"sys":{"memory_bytes":1},"loss":1},"step":1})");
  Pass();
  EXPECT_THAT(Points(id), IsEmpty());
  // This includes metrics that it reported earlier.
  Say("j-1", 2, R"({"t":"report","m":{"loss":1},"step":2})");
  Pass();
  EXPECT_THAT(Points(id), ElementsAre("2 sys/cpu_percent"));
}

TEST_F(SystemCurvesTest, TheNextTrainerGoesOnBehindWhatIsWhole) {
  const std::string id = Run("a");
  Pass();
  Pass();
  Kill();
  const std::string path = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/runs/a")) {
      if (absl::StrContains(entry.path().string(), "-sys")) return entry.path().string();
    }
    return std::string();
  }();
  const auto whole = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, whole - 3);
  Start();
  // The repair happens at the start.
  const auto repaired = std::filesystem::file_size(path);
  EXPECT_LT(repaired, whole - 3);
  Pass();
  Pass();
  EXPECT_THAT(Points(id), ElementsAre("0 sys/memory_bytes", "0 sys/memory_bytes",
                                      "0 sys/cpu_percent sys/memory_bytes"));
}

TEST_F(SystemCurvesTest, ARunWhoseFileCannotBeWrittenGoesOn) {
  const std::string id = Run("a");
  Pass();
  const std::string path = PathOf(id);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  Pass();
  Pass();
  EXPECT_EQ(Get(id).state, msg::TrialState::Running);
  EXPECT_EQ(Say("j-1", 1, R"({"t":"report","m":{"loss":1}})"), R"({"t":"ok","events":[]})");
  std::filesystem::remove(path);
  Pass();
  EXPECT_THAT(Points(id), ElementsAre("1 sys/cpu_percent sys/memory_bytes"));
}

TEST_F(SystemCurvesTest, AnOldRunHasFewerPoints) {
  const std::string id = Run("a");
  for (int i = 0; i < 24 * 3600 / 5; ++i) Pass();
  const auto day = Points(id).size();
  // 1,000 points in the first 5,000 s, then 1,000 each time the run's age grows by a factor of e;
  // from 60,000 s on one a minute.
  EXPECT_GT(day, 3'000u);
  EXPECT_LT(day, 4'500u);
  for (int i = 0; i < 3600 / 5; ++i) Pass();
  EXPECT_THAT(Points(id).size() - day, testing::AllOf(testing::Ge(55u), testing::Le(62u)));
}

}  // namespace
}  // namespace trainer
