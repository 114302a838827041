#include "tools/yard/event/timely_lines.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "runtime/mutex.h"

namespace yard {
namespace {

using ::testing::ElementsAre;

TEST(TimelyLinesTest, WhatWaitsForItsRestIsGivenAfterASecond) {
  runtime::FakeClock clock;
  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::vector<std::string> taken;
  const auto await = [&](std::size_t count) {
    runtime::MutexLock lock(mutex);
    while (taken.size() < count && changed.WaitWithTimeout(mutex, absl::Seconds(30))) {
    }
    return taken;
  };
  TimelyLines lines(
      [&](const std::string&, bool, std::string_view line) {
        runtime::MutexLock lock(mutex);
        taken.emplace_back(line);
        changed.SignalAll();
      },
      [] {}, &clock);
  msg::LogsReplyT part;
  part.task = "w";
  const std::string bytes = "a line\nPassword: ";
  part.data.assign(bytes.begin(), bytes.end());
  lines.Add(part);
  EXPECT_THAT(await(1), ElementsAre("a line"));
  ASSERT_TRUE(clock.AwaitWaiters(1));
  clock.Advance(WholeLines::kPatience);
  EXPECT_THAT(await(2), ElementsAre("a line", "Password: "));
}

}  // namespace
}  // namespace yard
