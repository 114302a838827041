#include "runtime/event_loop.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/clock.h"
#include "runtime/fake_clock.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    read_end = UniqueFd(fds[0]);
    write_end = UniqueFd(fds[1]);
  }
  void Write(const std::string& text) const {
    EXPECT_EQ(write(write_end.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Returns the byte read, or "" at end of file.
  std::string Read() const {
    char byte = 0;
    return read(read_end.get(), &byte, 1) == 1 ? std::string(1, byte) : "";
  }
  UniqueFd read_end, write_end;
};

TEST(EventLoopTest, RunsWhatIsPostedInOrder) {
  const auto loop = EventLoop::Create();
  std::vector<int> ran;
  for (int i = 0; i < 3; ++i) loop->Post([&ran, i] { ran.push_back(i); });
  loop->Post([&] {
    loop->Post([&] {
      ran.push_back(4);
      loop->Stop();
    });
    ran.push_back(3);
  });
  loop->Run();
  EXPECT_THAT(ran, ElementsAre(0, 1, 2, 3, 4));
}

TEST(EventLoopTest, WhatIsPostedBeforeStopStillRunsAndWhatComesLaterDoesNot) {
  const auto loop = EventLoop::Create();
  std::vector<std::string> ran;
  const auto held = std::make_shared<int>(0);
  loop->Post([&] { ran.push_back("before"); });
  loop->Stop();
  loop->Post([&ran, held] { ran.push_back("after"); });
  loop->Run();
  EXPECT_THAT(ran, ElementsAre("before"));
  loop->Post([&ran, held] { ran.push_back("after Run()"); });
  EXPECT_EQ(held.use_count(), 1);
}

TEST(EventLoopTest, ThreadsMayPostAtAnyTime) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 1000;
  const auto loop = EventLoop::Create();
  int ran = 0;  // Used by the loop's thread only.
  std::vector<std::unique_ptr<Thread>> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(std::make_unique<Thread>("poster", [&] {
      for (int post = 0; post < kPosts; ++post) {
        loop->Post([&] {
          EXPECT_TRUE(loop->InLoopThread());
          if (++ran == kThreads * kPosts) loop->Stop();
        });
      }
    }));
  }
  EXPECT_FALSE(loop->InLoopThread());
  loop->Run();
  EXPECT_EQ(ran, kThreads * kPosts);
  for (const auto& thread : threads) EXPECT_TRUE(thread->Join());
}

TEST(EventLoopTest, AStopFromAnotherThreadEndsAnIdleLoop) {
  const auto loop = EventLoop::Create();
  Thread stopper("stopper", [&] { loop->Stop(); });
  loop->Run();
  EXPECT_TRUE(stopper.Join());
}

TEST(EventLoopTest, ATimerOfTheRealClockFires) {
  Clock* const clock = Clock::Real();
  const auto loop = EventLoop::Create();
  const absl::Duration start = clock->Monotonic();
  absl::Duration fired = absl::ZeroDuration();
  loop->RunAfter(absl::Hours(1), [] { ADD_FAILURE() << "an hour has not passed"; });
  loop->RunAfter(absl::Milliseconds(5), [&] {
    fired = clock->Monotonic();
    loop->Stop();
  });
  loop->Run();
  EXPECT_GE(fired - start, absl::Milliseconds(5));
}

TEST(EventLoopTest, AnEarlierTimerSetLaterComesFirst) {
  const auto loop = EventLoop::Create();
  std::vector<int> fired;
  loop->RunAfter(absl::Milliseconds(20), [&] {
    fired.push_back(2);
    loop->Stop();
  });
  loop->Post([&] { loop->RunAfter(absl::Milliseconds(1), [&] { fired.push_back(1); }); });
  loop->Run();
  EXPECT_THAT(fired, ElementsAre(1, 2));
}

TEST(EventLoopTest, ATimerThatSetsItselfAgainDoesNotStarveOthers) {
  for (const bool fake : {false, true}) {
    FakeClock fake_clock;
    const auto loop = EventLoop::Create(fake ? &fake_clock : Clock::Real());
    std::function<void()> again = [&] { loop->RunAfter(absl::ZeroDuration(), again); };
    again();
    int posts = 0;
    std::function<void()> count = [&] {
      if (++posts == 100) return loop->Stop();
      loop->Post(count);
    };
    loop->Post(count);
    loop->Run();
    EXPECT_EQ(posts, 100);
  }
}

// The loop runs on its own thread; the test advances the clock.
class FakeTimeEventLoopTest : public testing::Test {
 protected:
  ~FakeTimeEventLoopTest() override {
    loop_->Stop();
    EXPECT_TRUE(runner_.Join());
  }
  // Returns after everything due or posted has run.
  void Settle() {
    std::atomic<bool> ran = false;
    Thread waiter("settle", [&] {
      Mutex mutex;
      CondVar condition;
      MutexLock lock(mutex);
      bool reached = false;
      loop_->Post([&] {
        MutexLock inner(mutex);
        reached = true;
        condition.Signal();
      });
      while (!reached) condition.Wait(mutex);
      ran = true;
    });
    EXPECT_TRUE(waiter.Join(absl::Seconds(30)));
    EXPECT_TRUE(ran);
  }
  std::function<void()> Note(const std::string& what) {
    return [this, what] { fired_.push_back(what); };
  }

  FakeClock clock_;
  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create(&clock_);
  std::vector<std::string> fired_;  // Written by the loop's thread; read after Settle().
  Thread runner_{"loop", [this] { loop_->Run(); }};
};

TEST_F(FakeTimeEventLoopTest, TimersFireInOrderWhenTheClockIsAdvanced) {
  loop_->RunAfter(absl::Seconds(3), Note("c"));
  loop_->RunAfter(absl::Seconds(1), Note("a"));
  loop_->RunAfter(absl::Seconds(1), Note("b"));
  Settle();
  EXPECT_THAT(fired_, IsEmpty());
  clock_.Advance(absl::Milliseconds(999));
  Settle();
  EXPECT_THAT(fired_, IsEmpty());
  clock_.Advance(absl::Milliseconds(1));
  Settle();
  EXPECT_THAT(fired_, ElementsAre("a", "b"));
  clock_.Advance(absl::Hours(1));
  Settle();
  EXPECT_THAT(fired_, ElementsAre("a", "b", "c"));
}

TEST_F(FakeTimeEventLoopTest, ACancelledTimerDoesNotFire) {
  const auto first = loop_->RunAfter(absl::Seconds(1), Note("cancelled"));
  loop_->RunAfter(absl::Seconds(1), Note("kept"));
  EXPECT_NE(first, 0u);
  loop_->Cancel(first);
  loop_->Cancel(first);
  loop_->Cancel(12345);
  clock_.Advance(absl::Seconds(1));
  Settle();
  EXPECT_THAT(fired_, ElementsAre("kept"));
}

TEST_F(FakeTimeEventLoopTest, ATimerMayCancelOneThatIsDueAtTheSameMoment) {
  EventLoop::TimerId second = 0;
  loop_->RunAfter(absl::Seconds(1), [&] { loop_->Cancel(second); });
  second = loop_->RunAfter(absl::Seconds(1), Note("second"));
  clock_.Advance(absl::Seconds(1));
  Settle();
  EXPECT_THAT(fired_, IsEmpty());
}

TEST_F(FakeTimeEventLoopTest, AnEndlessDelayNeverPasses) {
  loop_->RunAfter(absl::InfiniteDuration(), Note("never"));
  clock_.Advance(absl::Hours(1'000'000));
  Settle();
  EXPECT_THAT(fired_, IsEmpty());
}

TEST(EventLoopWatchTest, ReportsAsLongAsThereIsSomethingToRead) {
  const auto loop = EventLoop::Create();
  const Pipe pipe;
  pipe.Write("abc");
  std::string seen;
  loop->Watch(pipe.read_end.get(), EventLoop::Readiness::kReadable, [&] {
    seen += pipe.Read();
    if (seen.size() == 3) loop->Stop();
  });
  loop->Run();
  EXPECT_EQ(seen, "abc");
}

TEST(EventLoopWatchTest, AHangUpCountsAsReady) {
  const auto loop = EventLoop::Create();
  Pipe pipe;
  pipe.write_end.reset();
  bool ended = false;
  loop->Watch(pipe.read_end.get(), EventLoop::Readiness::kReadable, [&] {
    ended = pipe.Read().empty();
    loop->Stop();
  });
  loop->Run();
  EXPECT_TRUE(ended);
}

TEST(EventLoopWatchTest, ReportsWhenThereIsRoomToWriteAgain) {
  const auto loop = EventLoop::Create();
  const Pipe pipe;
  const std::string block(4096, 'x');
  while (write(pipe.write_end.get(), block.data(), block.size()) > 0) continue;
  bool drained = false;
  loop->Watch(pipe.write_end.get(), EventLoop::Readiness::kWritable, [&] {
    EXPECT_TRUE(drained);
    loop->Stop();
  });
  loop->Post([&] {
    std::string rest(1 << 20, 0);
    while (read(pipe.read_end.get(), rest.data(), rest.size()) > 0) continue;
    drained = true;
  });
  loop->Run();
  EXPECT_TRUE(drained);
}

TEST(EventLoopWatchTest, OneDescriptorMayBeWatchedForBothAndTwice) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  const UniqueFd near_end(fds[0]), far_end(fds[1]);
  ASSERT_EQ(write(far_end.get(), "x", 1), 1);
  const auto loop = EventLoop::Create();
  int readable = 0, also_readable = 0, writable = 0;
  const auto stop_when_all = [&] {
    if (readable > 0 && also_readable > 0 && writable > 0) loop->Stop();
  };
  const auto count = [&](int& counter) {
    return [&counter, stop_when_all] {
      ++counter;
      stop_when_all();
    };
  };
  loop->Watch(near_end.get(), EventLoop::Readiness::kReadable, count(readable));
  loop->Watch(near_end.get(), EventLoop::Readiness::kReadable, count(also_readable));
  loop->Watch(near_end.get(), EventLoop::Readiness::kWritable, count(writable));
  loop->Run();
  EXPECT_GT(readable, 0);
}

TEST(EventLoopWatchTest, AWatchMayEndInItsOwnCallback) {
  const auto loop = EventLoop::Create();
  const Pipe pipe;
  pipe.Write("abc");
  int calls = 0;
  EventLoop::WatchId watch = 0;
  const auto held = std::make_shared<int>(7);
  watch = loop->Watch(pipe.read_end.get(), EventLoop::Readiness::kReadable, [&, held] {
    ++calls;
    loop->Unwatch(watch);
    EXPECT_EQ(*held, 7);
    // Enough iterations for a second callback, if the loop made one.
    loop->RunAfter(absl::Milliseconds(1), [&] { loop->Stop(); });
  });
  loop->Run();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(EventLoopWatchTest, AWatchThatAnotherCallbackEndsIsNotCalled) {
  const auto loop = EventLoop::Create();
  const Pipe one, other;
  one.Write("a");
  other.Write("b");
  EventLoop::WatchId watches[2] = {};
  int calls = 0;
  const auto end_both = [&] {
    ++calls;
    loop->Unwatch(watches[0]);
    loop->Unwatch(watches[1]);
    loop->RunAfter(absl::Milliseconds(1), [&] { loop->Stop(); });
  };
  watches[0] = loop->Watch(one.read_end.get(), EventLoop::Readiness::kReadable, end_both);
  watches[1] = loop->Watch(other.read_end.get(), EventLoop::Readiness::kReadable, end_both);
  loop->Run();
  EXPECT_EQ(calls, 1);
}

TEST(EventLoopWatchTest, TheDescriptorStaysTheCallers) {
  const auto loop = EventLoop::Create();
  const Pipe pipe;
  for (int round = 0; round < 3; ++round) {
    const auto watch =
        loop->Watch(pipe.read_end.get(), EventLoop::Readiness::kReadable, [] { ADD_FAILURE(); });
    loop->Unwatch(watch);
    loop->Unwatch(watch);
  }
  // A callback for a destroyed watch would access freed memory.
  pipe.Write("x");
  loop->RunAfter(absl::Milliseconds(1), [&] { loop->Stop(); });
  loop->Run();
  EXPECT_EQ(pipe.Read(), "x");
  EXPECT_GE(fcntl(pipe.read_end.get(), F_GETFD), 0);
}

TEST(EventLoopWatchTest, OneOfTwoWatchesOfADescriptorMayEnd) {
  const auto loop = EventLoop::Create();
  const Pipe pipe;
  const auto held = std::make_shared<int>(0);
  const auto gone = loop->Watch(pipe.read_end.get(), EventLoop::Readiness::kReadable,
                                [held] { ADD_FAILURE() << "no longer watched"; });
  loop->Watch(pipe.read_end.get(), EventLoop::Readiness::kReadable, [&] {
    if (pipe.Read() == "b") loop->Stop();
  });
  loop->Unwatch(gone);
  EXPECT_EQ(held.use_count(), 1);
  pipe.Write("ab");
  loop->Run();
}

TEST(EventLoopWatchTest, ANumberThatIsUsedAgainIsANewDescriptor) {
  const auto loop = EventLoop::Create();
  auto first = std::make_unique<Pipe>();
  const int number = first->read_end.get();
  first->Write("x");
  EventLoop::WatchId watch = 0;
  watch = loop->Watch(number, EventLoop::Readiness::kReadable, [&] {
    loop->Unwatch(watch);
    first = nullptr;
    first = std::make_unique<Pipe>();
    ASSERT_EQ(first->read_end.get(), number);
    loop->Watch(number, EventLoop::Readiness::kReadable, [&] {
      EXPECT_EQ(first->Read(), "y");
      loop->Stop();
    });
    loop->Post([&] { first->Write("y"); });
  });
  loop->Run();
}

TEST(EventLoopWatchTest, ALoopMayBeDestroyedWithAllThatItStillHas) {
  const Pipe pipe;
  const auto held = std::make_shared<int>(0);
  {
    const auto loop = EventLoop::Create();
    loop->Watch(pipe.read_end.get(), EventLoop::Readiness::kReadable, [held] {});
    loop->RunAfter(absl::Hours(1), [held] {});
    loop->Post([held] {});
    loop->Post([&] { loop->Stop(); });
    loop->Run();
    loop->RunAfter(absl::Hours(1), [held] {});
  }
  {
    const auto never_run = EventLoop::Create();
    never_run->Watch(pipe.read_end.get(), EventLoop::Readiness::kReadable, [held] {});
    never_run->Post([held] {});
  }
  EXPECT_EQ(held.use_count(), 1);
  pipe.Write("x");
  EXPECT_EQ(pipe.Read(), "x");
}

}  // namespace
}  // namespace runtime
