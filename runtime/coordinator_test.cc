#include "runtime/coordinator.h"

#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Blocks its waiters until Open() is called.
class Gate {
 public:
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.SignalAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (!open_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
};

class CoordinatorTest : public testing::Test {
 protected:
  // Returns a thread that runs until the gate opens.
  std::unique_ptr<Thread> Waiting(const std::string& name) {
    return std::make_unique<Thread>(name, [gate = gate_] { gate->Wait(); });
  }

  // Returns the result of a Join() during which `meanwhile` runs. The clock does not advance, so a
  // Join() that polled would never return.
  absl::Status JoinDuring(const std::function<void()>& meanwhile, std::vector<Thread*> threads = {},
                          absl::Duration grace = absl::Minutes(2), bool ignore = false) {
    absl::Status result;
    Thread joiner("joiner", [&] { result = coordinator_.Join(threads, grace, ignore); });
    EXPECT_TRUE(clock_.AwaitWaiters(1));
    meanwhile();
    EXPECT_TRUE(joiner.Join());
    return result;
  }

  FakeClock clock_;
  Coordinator coordinator_{Coordinator::Options{.clock = &clock_}};
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

TEST_F(CoordinatorTest, IsStoppedOnceAStopIsRequested) {
  EXPECT_FALSE(coordinator_.ShouldStop());
  EXPECT_FALSE(coordinator_.WaitForStop(absl::ZeroDuration()));
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_TRUE(coordinator_.ShouldStop());
  EXPECT_TRUE(coordinator_.WaitForStop(absl::ZeroDuration()));
  EXPECT_TRUE(coordinator_.WaitForStop(absl::InfiniteDuration()));
}

TEST_F(CoordinatorTest, WaitingForAStopTimesOut) {
  bool stopped = true;
  Thread waiter("waiter", [&] { stopped = coordinator_.WaitForStop(absl::Milliseconds(10)); });
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  clock_.Advance(absl::Milliseconds(9));
  EXPECT_TRUE(waiter.alive());
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_TRUE(waiter.Join());
  EXPECT_FALSE(stopped);
}

TEST_F(CoordinatorTest, AStopFromAnotherThreadWakesAWaiter) {
  Thread stopper("stopper", [&] {
    gate_->Wait();
    EXPECT_TRUE(coordinator_.RequestStop().ok());
  });
  EXPECT_FALSE(coordinator_.ShouldStop());
  gate_->Open();
  EXPECT_TRUE(coordinator_.WaitForStop(absl::Hours(1)));
  EXPECT_TRUE(coordinator_.ShouldStop());
  EXPECT_TRUE(stopper.Join());
}

TEST_F(CoordinatorTest, JoinWaitsForTheThreadsItIsGiven) {
  const auto a = Waiting("a"), b = Waiting("b"), c = Waiting("c");
  const auto status = JoinDuring(
      [&] {
        EXPECT_TRUE(a->alive() && b->alive() && c->alive());
        gate_->Open();
      },
      {a.get(), b.get(), c.get()});
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(a->alive() || b->alive() || c->alive());
  EXPECT_FALSE(coordinator_.ShouldStop());
}

TEST_F(CoordinatorTest, JoinWaitsForAllThatAreRegistered) {
  const auto a = Waiting("a"), b = Waiting("b"), c = Waiting("c");
  for (Thread* thread : {c.get(), a.get(), b.get()}) coordinator_.RegisterThread(thread);
  EXPECT_THAT(coordinator_.LiveThreads(), ElementsAre("a", "b", "c"));
  EXPECT_TRUE(JoinDuring([&] { gate_->Open(); }).ok());
  EXPECT_FALSE(a->alive() || b->alive() || c->alive());
}

TEST_F(CoordinatorTest, JoinWaitsForRegisteredThreadsAndThoseItIsGiven) {
  const auto a = Waiting("a"), b = Waiting("b"), c = Waiting("c");
  coordinator_.RegisterThread(a.get());
  coordinator_.RegisterThread(b.get());
  // A thread that is passed twice is joined once.
  EXPECT_TRUE(JoinDuring([&] { gate_->Open(); }, {c.get(), a.get()}).ok());
  EXPECT_FALSE(a->alive() || b->alive() || c->alive());
}

TEST_F(CoordinatorTest, JoinNoticesAThreadsEndWhileTimeStandsStill) {
  Gate second;
  Thread early("early", [&] { gate_->Wait(); });
  Thread late("late", [&] { second.Wait(); });
  EXPECT_TRUE(JoinDuring(
                  [&] {
                    gate_->Open();
                    EXPECT_TRUE(early.Join());
                    second.Open();
                  },
                  {&early, &late})
                  .ok());
}

TEST_F(CoordinatorTest, StragglersAreNamedWhenTheGraceExpires) {
  const absl::Duration graces[] = {absl::Nanoseconds(1), absl::Milliseconds(2), absl::Seconds(1)};
  for (const absl::Duration grace : graces) {
    const auto b = Waiting("stuck-b"), a = Waiting("stuck-a");
    coordinator_.RegisterThread(a.get());
    EXPECT_TRUE(coordinator_.RequestStop().ok());
    const auto status = JoinDuring([&] { clock_.Advance(grace); }, {b.get()}, grace);
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("threads still running: stuck-a stuck-b"));
    EXPECT_TRUE(a->alive());
    coordinator_.ClearStop();
  }
  gate_->Open();
}

TEST_F(CoordinatorTest, TheGraceBeginsWithTheStop) {
  const auto thread = Waiting("stuck");
  Thread stopper("stopper", [&] { EXPECT_TRUE(coordinator_.RequestStop().ok()); });
  EXPECT_TRUE(stopper.Join());
  const auto status = JoinDuring(
      [&] {
        clock_.Advance(absl::Seconds(9));
        EXPECT_FALSE(coordinator_.joined());
        clock_.Advance(absl::Seconds(1));
      },
      {thread.get()}, absl::Seconds(10));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_TRUE(coordinator_.joined());
  gate_->Open();
}

TEST_F(CoordinatorTest, ThreadsThatEndWithinTheGraceAreNoError) {
  const auto thread = Waiting("slow");
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_TRUE(JoinDuring([&] { gate_->Open(); }, {thread.get()}, absl::Seconds(1)).ok());
}

TEST_F(CoordinatorTest, StragglersMayBeIgnored) {
  const auto thread = Waiting("stuck");
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  const auto status = JoinDuring([&] { clock_.Advance(absl::Seconds(1)); }, {thread.get()},
                                 absl::Seconds(1), /*ignore=*/true);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(thread->alive());
  gate_->Open();
}

TEST_F(CoordinatorTest, AReportedErrorHasPriorityOverStragglers) {
  const auto thread = Waiting("stuck");
  EXPECT_TRUE(coordinator_.RequestStop(absl::DataLossError("bad block")).ok());
  const auto status =
      JoinDuring([&] { clock_.Advance(absl::Seconds(1)); }, {thread.get()}, absl::Seconds(1));
  EXPECT_EQ(status, absl::DataLossError("bad block"));
  gate_->Open();
}

TEST_F(CoordinatorTest, JoinReturnsTheFirstErrorReported) {
  std::vector<std::unique_ptr<Thread>> threads;
  threads.push_back(std::make_unique<Thread>("first", [&] {
    EXPECT_TRUE(coordinator_.RequestStop(absl::AbortedError("first")).ok());
    gate_->Open();
  }));
  threads.push_back(std::make_unique<Thread>("second", [&] {
    gate_->Wait();
    EXPECT_TRUE(coordinator_.RequestStop(absl::InternalError("second")).ok());
  }));
  for (const auto& thread : threads) coordinator_.RegisterThread(thread.get());
  EXPECT_EQ(coordinator_.Join(), absl::AbortedError("first"));
  EXPECT_EQ(coordinator_.RaiseRequested(), absl::AbortedError("first"));
}

TEST_F(CoordinatorTest, OfManyErrorsAtOnceExactlyOneIsKept) {
  constexpr int kThreads = 8;
  std::vector<std::unique_ptr<Thread>> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(std::make_unique<Thread>("racer", [this, i] {
      gate_->Wait();
      EXPECT_TRUE(coordinator_.RequestStop(absl::InternalError(std::to_string(i))).ok());
    }));
    coordinator_.RegisterThread(threads.back().get());
  }
  gate_->Open();
  const absl::Status kept = coordinator_.Join();
  EXPECT_TRUE(absl::IsInternal(kept));
  for (const auto& thread : threads) EXPECT_TRUE(thread->Join());
  EXPECT_EQ(coordinator_.RaiseRequested(), kept);
}

TEST_F(CoordinatorTest, AnErrorAfterAPlainStopIsNotReported) {
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_TRUE(coordinator_.RequestStop(absl::InternalError("late")).ok());
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_TRUE(coordinator_.RaiseRequested().ok());
}

TEST_F(CoordinatorTest, TheEndOfTheDataIsACleanStop) {
  EXPECT_TRUE(coordinator_.RequestStop(absl::OutOfRangeError("no more records")).ok());
  EXPECT_TRUE(coordinator_.ShouldStop());
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST(CoordinatorOptionsTest, TheCodesOfACleanStopCanBeChosen) {
  Coordinator coordinator({.clean_stop_codes = {absl::StatusCode::kCancelled}});
  EXPECT_TRUE(coordinator.RequestStop(absl::CancelledError("enough")).ok());
  EXPECT_TRUE(coordinator.Join().ok());
  coordinator.ClearStop();
  EXPECT_TRUE(coordinator.RequestStop(absl::OutOfRangeError("now an error")).ok());
  EXPECT_TRUE(absl::IsOutOfRange(coordinator.Join()));
}

TEST_F(CoordinatorTest, AScopeReportsTheErrorItsBodyReturns) {
  EXPECT_TRUE(coordinator_.StopOnError([] { return absl::OkStatus(); }));
  EXPECT_FALSE(coordinator_.ShouldStop());
  EXPECT_FALSE(coordinator_.StopOnError([] { return absl::AbortedError("first"); }));
  EXPECT_FALSE(coordinator_.StopOnError([] { return absl::InternalError("second"); }));
  EXPECT_EQ(coordinator_.Join(), absl::AbortedError("first"));
}

TEST_F(CoordinatorTest, AScopeReportsAndSwallowsExceptions) {
  EXPECT_FALSE(
      coordinator_.StopOnError([]() -> absl::Status { throw std::runtime_error("disk on fire"); }));
  const auto status = coordinator_.Join();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("disk on fire"));
}

TEST_F(CoordinatorTest, AScopeReportsWhatIsThrownThoughItIsNoException) {
  EXPECT_FALSE(coordinator_.StopOnError([]() -> absl::Status { throw 42; }));
  EXPECT_TRUE(absl::IsInternal(coordinator_.Join()));
}

TEST_F(CoordinatorTest, ACleanStopOfAScopeIsNoError) {
  EXPECT_FALSE(coordinator_.StopOnError([] { return absl::OutOfRangeError("done"); }));
  EXPECT_TRUE(coordinator_.ShouldStop());
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST_F(CoordinatorTest, ClearStopForgetsTheErrorToo) {
  EXPECT_TRUE(coordinator_.RequestStop(absl::InternalError("first")).ok());
  EXPECT_TRUE(absl::IsInternal(coordinator_.Join()));
  EXPECT_TRUE(coordinator_.joined());
  coordinator_.ClearStop();
  EXPECT_FALSE(coordinator_.joined());
  EXPECT_FALSE(coordinator_.ShouldStop());
  EXPECT_TRUE(coordinator_.RaiseRequested().ok());
  EXPECT_TRUE(coordinator_.Join().ok());
  coordinator_.ClearStop();
  EXPECT_TRUE(coordinator_.RequestStop(absl::AbortedError("again")).ok());
  EXPECT_EQ(coordinator_.Join(), absl::AbortedError("again"));
}

TEST_F(CoordinatorTest, AnErrorAfterJoinComesBackAtOnce) {
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_EQ(coordinator_.RequestStop(absl::InternalError("too late")),
            absl::InternalError("too late"));
  EXPECT_TRUE(coordinator_.RequestStop(absl::OutOfRangeError("a clean one does not")).ok());
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST_F(CoordinatorTest, AnExceptionAfterJoinIsStillSwallowed) {
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_FALSE(coordinator_.StopOnError([]() -> absl::Status { throw std::logic_error("late"); }));
  EXPECT_TRUE(coordinator_.ShouldStop());
  EXPECT_TRUE(coordinator_.RaiseRequested().ok());
}

TEST_F(CoordinatorTest, AThreadMayEndInsideAScope) {
  Thread thread("leaves", [this] {
    coordinator_.StopOnError([]() -> absl::Status { pthread_exit(nullptr); });
    ADD_FAILURE() << "it goes on";
  });
  coordinator_.RegisterThread(&thread);
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_FALSE(thread.alive());
  EXPECT_FALSE(coordinator_.ShouldStop());
}

TEST_F(CoordinatorTest, AnErrorAfterJoinIsAStopAllTheSame) {
  EXPECT_TRUE(coordinator_.Join().ok());
  EXPECT_FALSE(coordinator_.ShouldStop());
  EXPECT_FALSE(coordinator_.RequestStop(absl::InternalError("too late")).ok());
  EXPECT_TRUE(coordinator_.ShouldStop());
}

TEST_F(CoordinatorTest, JoinMayBeCalledAgainAndReturnsTheErrorAgain) {
  EXPECT_FALSE(coordinator_.joined());
  EXPECT_TRUE(coordinator_.RequestStop(absl::InternalError("kept")).ok());
  EXPECT_EQ(coordinator_.Join(), absl::InternalError("kept"));
  EXPECT_TRUE(coordinator_.joined());
  EXPECT_EQ(coordinator_.Join(), absl::InternalError("kept"));
}

TEST_F(CoordinatorTest, JoinForgetsTheRegisteredThreads) {
  const auto thread = Waiting("stuck");
  coordinator_.RegisterThread(thread.get());
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(coordinator_.Join({}, absl::ZeroDuration())));
  EXPECT_THAT(coordinator_.LiveThreads(), IsEmpty());
  EXPECT_TRUE(coordinator_.Join({}, absl::ZeroDuration()).ok());
  gate_->Open();
}

TEST_F(CoordinatorTest, AThreadRegisteredDuringJoinIsNotAwaited) {
  const auto known = Waiting("known");
  const auto gate = std::make_shared<Gate>();
  Thread late("late", [gate] { gate->Wait(); });
  coordinator_.RegisterThread(known.get());
  EXPECT_TRUE(JoinDuring([&] {
                coordinator_.RegisterThread(&late);
                gate_->Open();
              }).ok());
  EXPECT_TRUE(late.alive());
  gate->Open();
}

TEST_F(CoordinatorTest, ARegisteredThreadMayEndAndGoBeforeJoin) {
  {
    const auto thread = Waiting("short");
    coordinator_.RegisterThread(thread.get());
    gate_->Open();
    EXPECT_TRUE(thread->Join());
  }
  EXPECT_THAT(coordinator_.LiveThreads(), IsEmpty());
  EXPECT_TRUE(coordinator_.Join().ok());
}

TEST(CoordinatorLifeTest, AStragglerOutlivesItsThreadObjectAndTheCoordinator) {
  const auto gate = std::make_shared<Gate>();
  std::shared_ptr<Thread::Life> life;
  {
    Coordinator coordinator;
    Thread thread("straggler", [gate, coordinator = coordinator.Share()] {
      gate->Wait();
      EXPECT_TRUE(coordinator->ShouldStop());
    });
    life = thread.life();
    coordinator.RegisterThread(&thread);
    EXPECT_TRUE(coordinator.RequestStop().ok());
    EXPECT_TRUE(absl::IsDeadlineExceeded(coordinator.Join({}, absl::ZeroDuration())));
  }
  EXPECT_TRUE(life->alive());
  gate->Open();
  EXPECT_TRUE(life->AwaitEnd(absl::Seconds(30)));
}

TEST_F(CoordinatorTest, AStopCallsBackOnceUnlessItIsRemoved) {
  int stayed = 0;
  int removed = 0;
  coordinator_.OnStop([&] {
    ++stayed;
    EXPECT_TRUE(coordinator_.ShouldStop());
  });
  coordinator_.RemoveOnStop(coordinator_.OnStop([&] { ++removed; }));
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_TRUE(coordinator_.RequestStop().ok());
  EXPECT_EQ(stayed, 1);
  EXPECT_EQ(removed, 0);
  bool at_once = false;
  coordinator_.OnStop([&] { at_once = true; });
  EXPECT_TRUE(at_once);
}

}  // namespace
}  // namespace runtime
