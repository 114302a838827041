#include "runtime/process/stop_signal.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"

namespace runtime {
namespace {

using testing::ElementsAre;

class StopSignalTest : public testing::Test {
 protected:
  StopSignalTest() {
    pthread_sigmask(SIG_SETMASK, nullptr, &before_);
    EXPECT_TRUE(StopSignal::BlockInThisThread().ok());
  }
  ~StopSignalTest() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  sigset_t before_;
  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create();
};

TEST_F(StopSignalTest, TheFirstSignalAndTheLaterOnesCallDifferentFunctions) {
  std::vector<std::pair<const char*, int>> calls;
  const auto stop = *StopSignal::Create(
      loop_.get(),
      [&](int signal) {
        EXPECT_TRUE(loop_->InLoopThread());
        calls.emplace_back("first", signal);
        kill(getpid(), SIGINT);
      },
      [&](int signal) {
        calls.emplace_back("again", signal);
        if (calls.size() == 2) {
          kill(getpid(), SIGTERM);
        } else {
          loop_->Stop();
        }
      });
  kill(getpid(), SIGTERM);
  loop_->Run();
  EXPECT_THAT(calls, ElementsAre(testing::Pair(testing::StrEq("first"), SIGTERM),
                                 testing::Pair(testing::StrEq("again"), SIGINT),
                                 testing::Pair(testing::StrEq("again"), SIGTERM)));
}

TEST_F(StopSignalTest, ASignalFromBeforeItWasMadeIsNotLost) {
  kill(getpid(), SIGINT);
  int seen = 0;
  const auto stop = *StopSignal::Create(
      loop_.get(),
      [&](int signal) {
        seen = signal;
        loop_->Stop();
      },
      [](int) { ADD_FAILURE(); });
  loop_->Run();
  EXPECT_EQ(seen, SIGINT);
}

TEST_F(StopSignalTest, MayBeDestroyedByItsOwnCallback) {
  std::unique_ptr<StopSignal> stop;
  stop = *StopSignal::Create(
      loop_.get(),
      [&](int) {
        stop.reset();
        loop_->Stop();
      },
      [](int) { ADD_FAILURE(); });
  kill(getpid(), SIGTERM);
  loop_->Run();
  EXPECT_EQ(stop, nullptr);
}

TEST_F(StopSignalTest, ABrokenPipeIsAnErrorAndNoSignal) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const UniqueFd near_end(fds[0]);
  UniqueFd(fds[1]).reset();
  EXPECT_EQ(write(near_end.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST(StopSignalRefusalTest, RefusesSignalsThatAreNotBlocked) {
  const auto loop = EventLoop::Create();
  const auto stop = StopSignal::Create(
      loop.get(), [](int) {}, [](int) {});
  EXPECT_TRUE(absl::IsFailedPrecondition(stop.status())) << stop.status();
}

}  // namespace
}  // namespace runtime
