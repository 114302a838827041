#include "launcher/run/retired_attempts.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/run/attempt.h"
#include "runtime/event_loop.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Records its acknowledgement and its destruction.
class NotedAttempt final : public Attempt {
 public:
  NotedAttempt(std::string name, std::vector<std::string>* log)
      : name_(std::move(name)), log_(log) {}
  ~NotedAttempt() override { log_->push_back(name_ + " gone"); }

  absl::Status Start() override { return absl::OkStatus(); }
  void Adopt() override {}
  void Stop(int, absl::Duration) override {}
  bool Signal(int) override { return false; }
  void AnswerBarrier(std::uint64_t, std::string) override {}
  void Acknowledge() override { log_->push_back(name_ + " acknowledged"); }

 private:
  const std::string name_;
  std::vector<std::string>* const log_;
};

class RetiredAttemptsTest : public ::testing::Test {
 protected:
  // Runs everything that is due within two pauses.
  void RunLoop() {
    loop_->RunAfter(2 * RetiredAttempts::kPause, [this] { loop_->Stop(); });
    loop_->Run();
  }
  std::unique_ptr<Attempt> Make(const std::string& name) {
    return std::make_unique<NotedAttempt>(name, &log_);
  }

  std::vector<std::string> log_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
};

TEST_F(RetiredAttemptsTest, AnAttemptIsAcknowledgedAfterItsEndIsStored) {
  RetiredAttempts retired(loop_.get());
  retired.Add("j-a", Make("first"));
  std::vector<Attempt*> stored = retired.TakeNew();
  retired.Add("j-a", Make("second"));  // Added too late for that transaction.
  retired.Acknowledge(std::move(stored));
  EXPECT_THAT(log_, IsEmpty());
  RunLoop();
  EXPECT_THAT(log_, ElementsAre("first acknowledged"));
}

TEST_F(RetiredAttemptsTest, AnEndThatWasStoredBeforeIsAcknowledgedAtOnce) {
  RetiredAttempts retired(loop_.get());
  retired.AddStored("j-a", Make("first"));
  EXPECT_THAT(log_, ElementsAre("first acknowledged"));
  EXPECT_THAT(retired.TakeNew(), IsEmpty());
  EXPECT_TRUE(retired.HasOf("j-a"));
}

TEST_F(RetiredAttemptsTest, AnAttemptIsKeptUntilItHasLeft) {
  RetiredAttempts retired(loop_.get());
  auto made = Make("first");
  const Attempt* const attempt = made.get();
  retired.Add("j-a", std::move(made));
  EXPECT_TRUE(retired.HasOf("j-a"));
  EXPECT_FALSE(retired.HasOf("j-b"));
  EXPECT_EQ(retired.Remove(attempt), "j-a");
  EXPECT_THAT(log_, ElementsAre("first gone"));
  EXPECT_FALSE(retired.HasOf("j-a"));
  EXPECT_EQ(retired.Remove(attempt), "");
}

TEST_F(RetiredAttemptsTest, NothingIsAcknowledgedAfterItsEnd) {
  {
    RetiredAttempts retired(loop_.get());
    retired.Add("j-a", Make("first"));
    retired.Acknowledge(retired.TakeNew());
  }
  RunLoop();
  EXPECT_THAT(log_, ElementsAre("first gone"));
}

}  // namespace
}  // namespace launcher
