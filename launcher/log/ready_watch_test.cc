#include "launcher/log/ready_watch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "launcher/job/ready_pattern.h"
#include "launcher/log/follow_pace.h"
#include "launcher/log/line_reader.h"
#include "launcher/wire/log_files.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(20);
constexpr std::uint64_t kBytesATurn = 256 * 1024;
constexpr std::uint64_t kMiB = 1 << 20;

// Makes this many bytes, in lines of 64.
std::string Noise(std::uint64_t bytes) {
  std::string text;
  while (text.size() < bytes) text += std::string(63, '.') + '\n';
  return text;
}

class ReadyWatchTest : public ::testing::Test {
 protected:
  ReadyWatchTest() {
    char name[] = "/tmp/yrwXXXXXX";
    folder_ = mkdtemp(name);
  }
  ~ReadyWatchTest() override {
    OnLoop([this] {
      watch_.reset();
      pace_.reset();
    });
    loop_->Stop();
    EXPECT_TRUE(thread_.Join());
    std::filesystem::remove_all(folder_);
  }
  void OnLoop(const std::function<void()>& body) {
    runtime::Mutex mutex;
    runtime::CondVar changed;
    bool done = false;
    loop_->Post([&] {
      body();
      runtime::MutexLock lock(mutex);
      done = true;
      changed.Signal();
    });
    runtime::MutexLock lock(mutex);
    while (!done) changed.Wait(mutex);
  }
  std::string out() const { return folder_ + "/out"; }
  std::string errors() const { return folder_ + "/errors"; }
  // Appends text; returns the new length of the stream.
  static std::uint64_t Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::app) << text;
    return std::filesystem::file_size(path);
  }
  void Watch(const std::string& pattern = "^ready$", std::uint64_t out_begin = 0) {
    OnLoop([&] {
      auto compiled = ReadyPattern::Compile(pattern);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
      watch_ = std::make_unique<ReadyWatch>(pace_.get(), *std::move(compiled),
                                            LineReader(out(), out_begin), LineReader(errors(), 0),
                                            [this] { ++found_; });
    });
  }
  void Advance(std::uint64_t out_end, std::uint64_t errors_end = 0) {
    OnLoop([=, this] { watch_->Advance(out_end, errors_end); });
  }
  void Finish(std::uint64_t out_end, std::uint64_t errors_end = 0) {
    OnLoop([=, this] { watch_->Finish(out_end, errors_end); });
  }
  int found() {
    int found = 0;
    OnLoop([&] { found = found_; });
    return found;
  }
  // Returns the number of turns of the pace until the line is found; 1000 if it is not.
  int TurnsUntilFound() {
    int turns = 0;
    for (; turns < 1000 && found() == 0; ++turns) clock_.Advance(kTurn);
    return turns;
  }

  std::string folder_;
  runtime::FakeClock clock_;
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  std::unique_ptr<FollowPace> pace_ = std::make_unique<FollowPace>(
      loop_.get(), FollowPace::Options{kTurn, static_cast<std::int64_t>(kBytesATurn)});
  std::unique_ptr<ReadyWatch> watch_;
  int found_ = 0;
  runtime::Thread thread_{"loop", [this] { loop_->Run(); }};
};

TEST_F(ReadyWatchTest, FindsTheLineInEitherStreamOnce) {
  for (const bool in_errors : {false, true}) {
    found_ = 0;
    std::filesystem::remove(out());
    std::filesystem::remove(errors());
    Watch();
    const auto out_end = Write(out(), in_errors ? "up\n" : "up\nready\nmore\n");
    const auto errors_end = Write(errors(), in_errors ? "ready\n" : "warning\n");
    Advance(out_end, errors_end);
    EXPECT_EQ(found(), 1);
    Advance(Write(out(), "ready\n"), errors_end);
    Finish(Write(out(), "ready\n"), errors_end);
    EXPECT_EQ(found(), 1);
  }
}

TEST_F(ReadyWatchTest, ALineCountsOnceItIsWholeAndTheLastOneAtTheEnd) {
  Watch();
  Advance(Write(out(), "rea"));
  Advance(Write(out(), "dy"));
  EXPECT_EQ(found(), 0);
  Advance(Write(out(), "\n"));
  EXPECT_EQ(found(), 1);

  found_ = 0;
  Watch("^last$");
  const auto end = Write(out(), "last");
  Advance(end);
  EXPECT_EQ(found(), 0);
  Finish(end);
  EXPECT_EQ(found(), 1);
}

TEST_F(ReadyWatchTest, WhatAnEarlierAttemptHasSaidInTheSameFileDoesNotCount) {
  const auto begin = Write(out(), "ready\n");
  Watch("^ready$", begin);
  const auto end = Write(out(), "up\n");
  Advance(end);
  Finish(end);
  EXPECT_EQ(found(), 0);
}

TEST_F(ReadyWatchTest, ABurstIsReadAtThePaceAndNothingOfItIsLeftOut) {
  Watch();
  Advance(Write(out(), Noise(4 * kMiB) + "ready\n"));
  EXPECT_EQ(found(), 0) << "the loop was held up by 4 MiB";
  EXPECT_GE(TurnsUntilFound(), static_cast<int>(4 * kMiB / kBytesATurn) - 1);
  EXPECT_EQ(found(), 1);
}

TEST_F(ReadyWatchTest, ABurstInOneStreamDoesNotHoldUpTheOther) {
  Watch();
  const auto out_end = Write(out(), Noise(4 * kMiB));
  Advance(out_end, Write(errors(), "ready\n"));
  EXPECT_EQ(found(), 1);
}

TEST_F(ReadyWatchTest, AtTheEndItLooksAtOnceButNotAtAnyAmount) {
  Watch();
  Finish(Write(out(), Noise(4 * kMiB) + "ready\n"));
  EXPECT_EQ(found(), 1);

  found_ = 0;
  Watch("^last$");
  Finish(Write(out(), Noise(ReadyWatch::kMaxAtEnd) + "last\n"));
  EXPECT_EQ(found(), 0);
}

TEST_F(ReadyWatchTest, WhatWasRotatedAwayIsLookedAtWhileItIsThere) {
  ASSERT_EQ(Write(LogSegmentPath(out(), 0), "up\nready\n"), 9u);
  Write(out(), "more\n");
  Watch();
  Advance(14);
  EXPECT_EQ(found(), 1);

  std::filesystem::remove(LogSegmentPath(out(), 0));
  Write(LogSegmentPath(out(), 9), "more\n");
  std::filesystem::remove(out());
  Write(out(), "ready\n");
  found_ = 0;
  Watch();
  Advance(20);
  EXPECT_EQ(found(), 1) << "the search goes on behind what is gone";
}

TEST_F(ReadyWatchTest, OneThatIsGoneIsNotCalledByThePace) {
  Watch();
  Advance(Write(out(), Noise(kMiB) + "ready\n"));
  OnLoop([this] { watch_.reset(); });
  for (int turn = 0; turn < 20; ++turn) clock_.Advance(kTurn);
  EXPECT_EQ(found(), 0);
}

}  // namespace
}  // namespace launcher
