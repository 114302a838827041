#include "datamanager/catalog/load_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/fake_clock.h"
#include "runtime/mutex.h"

namespace datamanager {
namespace {

using runtime::MutexLock;
using Urgency = LoadScheduler::Urgency;
using Need = LoadScheduler::Need;
using LoadRequest = LoadScheduler::LoadRequest;
using Progress = LoadScheduler::Progress;

constexpr absl::Duration kPatience = absl::Seconds(30);

// Loads whose steps the test controls. A step of a run whose name begins with '.' blocks until the
// test says how it ends; other runs need the number of steps that they were given, or one.
class FakeLoads {
 public:
  absl::StatusOr<Progress> Step(const std::string& run, LoadRequest request) {
    MutexLock lock(mutex_);
    log_.push_back(run);
    requests_[run] = request;
    ++in_step_[run];
    changed_.SignalAll();
    absl::StatusOr<Progress> progress = Progress{.done = true, .hands = 1, .hold = nullptr};
    if (run.front() == '.') {
      const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + kPatience;
      while (ends_[run].empty() && !all_go_on_) {
        if (!runtime::Clock::Real()->WaitUntil(changed_, mutex_, deadline)) {
          ADD_FAILURE() << "a step of " << run << " was never told to end";
          return progress;
        }
      }
      if (ends_[run].empty()) {
        progress->done = false;
      } else {
        progress = std::move(ends_[run].front());
        ends_[run].pop_front();
      }
    } else if (steps_[run] > 1) {
      --steps_[run];
      progress->done = false;
    }
    --in_step_[run];
    changed_.SignalAll();
    return progress;
  }

  void Give(const std::string& run, int steps) {
    MutexLock lock(mutex_);
    steps_[run] = steps;
  }
  // Sets how the current step of `run`, or the next one, ends.
  void End(const std::string& run, absl::StatusOr<Progress> progress) {
    MutexLock lock(mutex_);
    ends_[run].push_back(std::move(progress));
    changed_.SignalAll();
  }
  void Done(const std::string& run) {
    End(run, Progress{.done = true, .hands = 1, .hold = nullptr});
  }
  void More(const std::string& run, int hands = 1) {
    End(run, Progress{.done = false, .hands = hands, .hold = nullptr});
  }
  // From now on no step blocks, and no step is the last.
  void LetAllGoOn() {
    MutexLock lock(mutex_);
    all_go_on_ = true;
    changed_.SignalAll();
  }

  // Waits until `threads` threads are in a step of the run.
  bool AwaitInStep(const std::string& run, int threads = 1) {
    return Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return in_step_[run] == threads; });
  }
  // Waits until `steps` steps have begun.
  bool AwaitSteps(std::size_t steps) {
    return Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return log_.size() >= steps; });
  }
  std::vector<std::string> log() const {
    MutexLock lock(mutex_);
    return log_;
  }
  LoadRequest request(const std::string& run) {
    MutexLock lock(mutex_);
    return requests_[run];
  }

 private:
  template <typename Condition>
  bool Await(Condition condition) {
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + kPatience;
    MutexLock lock(mutex_);
    while (!condition()) {
      if (!runtime::Clock::Real()->WaitUntil(changed_, mutex_, deadline)) return false;
    }
    return true;
  }

  mutable runtime::Mutex mutex_;
  runtime::CondVar changed_;
  bool all_go_on_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> log_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, LoadRequest> requests_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> in_step_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> steps_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::deque<absl::StatusOr<Progress>>> ends_ ABSL_GUARDED_BY(mutex_);
};

// Keeps the status that its callback receives.
class Answer {
 public:
  std::function<void(const absl::Status&)> Callback() {
    return [state = state_](const absl::Status& status) {
      MutexLock lock(state->mutex);
      ++state->calls;
      state->status = status;
      state->changed.SignalAll();
    };
  }
  std::function<void()> Bare() {
    return [callback = Callback()] { callback(absl::OkStatus()); };
  }
  // Returns nullopt if the callback was not called in time.
  std::optional<absl::Status> Await() {
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + kPatience;
    MutexLock lock(state_->mutex);
    while (state_->calls == 0) {
      if (!runtime::Clock::Real()->WaitUntil(state_->changed, state_->mutex, deadline)) {
        return std::nullopt;
      }
    }
    return state_->status;
  }
  int calls() const {
    MutexLock lock(state_->mutex);
    return state_->calls;
  }

 private:
  struct State {
    runtime::Mutex mutex;
    runtime::CondVar changed;
    int calls ABSL_GUARDED_BY(mutex) = 0;
    absl::Status status ABSL_GUARDED_BY(mutex);
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

class LoadSchedulerTest : public testing::Test {
 protected:
  void Start(int threads) {
    auto scheduler =
        LoadScheduler::Create({.threads = threads,
                               .clock = &clock_,
                               .step = [this](const std::string& run, LoadRequest request) {
                                 return loads_.Step(run, request);
                               }});
    ASSERT_TRUE(scheduler.ok()) << scheduler.status();
    scheduler_ = *std::move(scheduler);
  }
  // Blocks the only thread in a step.
  void Hold() {
    scheduler_->Schedule(".gate", Urgency::kChanged, 0);
    ASSERT_TRUE(loads_.AwaitInStep(".gate"));
  }
  // Unblocks it, and waits until all work is done.
  void Release() {
    Answer loaded;
    scheduler_->WhenLoaded(loaded.Bare());
    loads_.Done(".gate");
    ASSERT_TRUE(loaded.Await().has_value());
  }
  absl::Duration In(absl::Duration time) { return clock_.Monotonic() + time; }

  runtime::FakeClock clock_;
  FakeLoads loads_;
  std::unique_ptr<LoadScheduler> scheduler_;
};

using Log = std::vector<std::string>;

TEST_F(LoadSchedulerTest, TheMostUrgentGoesFirstThenTheNewest) {
  Start(1);
  Hold();
  scheduler_->Schedule("uncached old", Urgency::kUnasked, 1);
  scheduler_->Schedule("uncached new", Urgency::kUnasked, 9);
  scheduler_->Schedule("uncounted old", Urgency::kCount, 1);
  scheduler_->Schedule("uncounted new", Urgency::kCount, 2);
  scheduler_->Schedule("changed first", Urgency::kChanged, 0);
  scheduler_->Schedule("changed second", Urgency::kChanged, 5);
  scheduler_->Schedule("asked", Urgency::kAsked, 0);
  Release();
  EXPECT_EQ(loads_.log(), (Log{".gate", "asked", "changed first", "changed second", "uncounted new",
                               "uncounted old", "uncached new", "uncached old"}));
}

TEST_F(LoadSchedulerTest, SaysWhatARunIsReadFor) {
  Start(1);
  const auto want = [&](Urgency urgency) {
    Answer loaded;
    scheduler_->Schedule("a", urgency, 0);
    scheduler_->WhenLoaded(loaded.Bare());
    EXPECT_TRUE(loaded.Await().has_value());
    return loads_.request("a");
  };
  EXPECT_EQ(want(Urgency::kAsked).need, Need::kCache);
  EXPECT_TRUE(want(Urgency::kAsked).asked);
  EXPECT_EQ(want(Urgency::kChanged).need, Need::kRefresh);
  EXPECT_EQ(want(Urgency::kCount).need, Need::kRefresh);
  EXPECT_EQ(want(Urgency::kUnasked).need, Need::kCache);
  EXPECT_FALSE(want(Urgency::kUnasked).asked);
}

TEST_F(LoadSchedulerTest, WhoIsAskedForBeginsOneStepLater) {
  Start(1);
  scheduler_->Schedule(".large", Urgency::kUnasked, 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(loads_.AwaitInStep(".large"));
    const std::string run = "small " + std::to_string(i);
    Answer answer;
    scheduler_->Ask(run, In(absl::Seconds(1)), answer.Callback());
    loads_.More(".large");
    const std::optional<absl::Status> status = answer.Await();
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(status->ok()) << *status;
    ASSERT_TRUE(loads_.AwaitSteps(static_cast<std::size_t>(2 * i) + 3));
  }
  EXPECT_EQ(loads_.log(),
            (Log{".large", "small 0", ".large", "small 1", ".large", "small 2", ".large"}));
  loads_.Done(".large");
}

TEST_F(LoadSchedulerTest, ALoadThatIsAskedForMeanwhileBecomesUrgent) {
  Start(1);
  scheduler_->Schedule(".large", Urgency::kUnasked, 0);
  ASSERT_TRUE(loads_.AwaitInStep(".large"));
  scheduler_->Schedule("changed", Urgency::kChanged, 0);
  scheduler_->Ask(".large", absl::InfiniteDuration(), [](const absl::Status&) {});
  loads_.More(".large");
  ASSERT_TRUE(loads_.AwaitSteps(2));
  EXPECT_EQ(loads_.log(), (Log{".large", ".large"}));
  EXPECT_TRUE(loads_.request(".large").asked);
  Answer loaded;
  scheduler_->WhenLoaded(loaded.Bare());
  loads_.Done(".large");
  EXPECT_TRUE(loaded.Await().has_value());
  EXPECT_EQ(loads_.log(), (Log{".large", ".large", "changed"})) << "it is not read once more";
}

TEST_F(LoadSchedulerTest, RunsThatAreAskedForTakeTurns) {
  Start(1);
  Hold();
  loads_.Give("a", 3);
  loads_.Give("b", 2);
  scheduler_->Schedule("a", Urgency::kAsked, 0);
  scheduler_->Schedule("b", Urgency::kAsked, 0);
  Release();
  EXPECT_EQ(loads_.log(), (Log{".gate", "a", "b", "a", "b", "a"}));
}

TEST_F(LoadSchedulerTest, ChangedRunsTakeTurns) {
  Start(1);
  Hold();
  loads_.Give("a", 3);
  scheduler_->Schedule("a", Urgency::kChanged, 0);
  scheduler_->Schedule("b", Urgency::kChanged, 0);
  scheduler_->Schedule("a", Urgency::kChanged, 0);  // Keeps its turn.
  Release();
  EXPECT_EQ(loads_.log(), (Log{".gate", "a", "b", "a", "a"}));
}

TEST_F(LoadSchedulerTest, OfEightStepsOneIsForAChangedRun) {
  Start(1);
  Hold();
  loads_.Give("asked", 40);
  loads_.Give("changed", 40);
  scheduler_->Schedule("asked", Urgency::kAsked, 0);
  scheduler_->Schedule("changed", Urgency::kChanged, 0);
  scheduler_->Schedule("uncounted", Urgency::kCount, 0);
  Release();
  const Log log = loads_.log();
  EXPECT_EQ(std::count(log.begin() + 1, log.begin() + 25, "changed"), 3);
  EXPECT_EQ(log.back(), "uncounted");
}

TEST_F(LoadSchedulerTest, AThousandChangesAreOneStep) {
  Start(1);
  Hold();
  for (int i = 0; i < 1000; ++i) scheduler_->Schedule("a", Urgency::kChanged, i);
  Release();
  EXPECT_EQ(loads_.log(), (Log{".gate", "a"}));
}

TEST_F(LoadSchedulerTest, WhatChangesWhileItIsReadIsLookedAtAgain) {
  Start(1);
  scheduler_->Schedule(".a", Urgency::kChanged, 0);
  ASSERT_TRUE(loads_.AwaitInStep(".a"));
  scheduler_->Schedule(".a", Urgency::kChanged, 0);
  Answer loaded;
  scheduler_->WhenLoaded(loaded.Bare());
  loads_.Done(".a");
  ASSERT_TRUE(loads_.AwaitSteps(2));
  EXPECT_EQ(loaded.calls(), 0);
  loads_.Done(".a");
  EXPECT_TRUE(loaded.Await().has_value());
  EXPECT_EQ(loads_.log().size(), 2U);
}

TEST_F(LoadSchedulerTest, AStepThatOnlyCountedDoesNotAnswerWhoWantsPoints) {
  Start(1);
  scheduler_->Schedule(".a", Urgency::kCount, 0);
  ASSERT_TRUE(loads_.AwaitInStep(".a"));
  Answer answer;
  scheduler_->Ask(".a", absl::InfiniteDuration(), answer.Callback());
  loads_.Done(".a");
  ASSERT_TRUE(loads_.AwaitSteps(2));
  EXPECT_EQ(answer.calls(), 0);
  EXPECT_EQ(loads_.request(".a").need, Need::kCache);
  loads_.Done(".a");
  EXPECT_EQ(answer.Await(), absl::OkStatus());
}

TEST_F(LoadSchedulerTest, AWaitEndsAtItsDeadlineAndTheLoadGoesOn) {
  Start(1);
  Answer late;
  Answer patient;
  scheduler_->Ask(".a", In(absl::Seconds(5)), late.Callback());
  scheduler_->Ask(".a", In(absl::Seconds(60)), patient.Callback());
  ASSERT_TRUE(loads_.AwaitInStep(".a"));
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  clock_.Advance(absl::Seconds(5));
  const std::optional<absl::Status> status = late.Await();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(patient.calls(), 0);
  loads_.Done(".a");
  EXPECT_EQ(patient.Await(), absl::OkStatus());
  EXPECT_EQ(late.calls(), 1);
}

TEST_F(LoadSchedulerTest, AFailedLoadIsTriedAgainAfterGrowingPauses) {
  Start(1);
  Answer answer;
  scheduler_->Ask(".a", absl::InfiniteDuration(), answer.Callback());
  loads_.End(".a", absl::UnavailableError("no descriptor"));
  EXPECT_EQ(answer.Await(), absl::UnavailableError("no descriptor"));
  std::size_t steps = 1;
  for (const int pause : {1, 2, 4}) {
    ASSERT_TRUE(clock_.AwaitWaiters(1));
    EXPECT_EQ(scheduler_->GetStats().failed, 1U);
    clock_.Advance(absl::Seconds(pause) - absl::Milliseconds(1));
    EXPECT_EQ(loads_.log().size(), steps);
    loads_.End(".a", absl::UnavailableError("no descriptor"));
    clock_.Advance(absl::Milliseconds(1));
    ASSERT_TRUE(loads_.AwaitSteps(++steps));
    EXPECT_EQ(loads_.request(".a").need, Need::kCache);
    EXPECT_FALSE(loads_.request(".a").asked);
    Answer settled;
    scheduler_->WhenLoaded(settled.Bare());
    ASSERT_TRUE(settled.Await().has_value());
  }
  // A caller's request does not wait for the pause, and a success ends the pause.
  Answer again;
  scheduler_->Ask(".a", absl::InfiniteDuration(), again.Callback());
  loads_.Done(".a");
  EXPECT_EQ(again.Await(), absl::OkStatus());
  EXPECT_EQ(scheduler_->GetStats().failed, 0U);
  EXPECT_EQ(scheduler_->GetStats().failures, 4U);
}

TEST_F(LoadSchedulerTest, AFailedRunIsReadWhenItChangesButNotForEveryScan) {
  Start(1);
  scheduler_->Schedule(".a", Urgency::kCount, 0);
  loads_.End(".a", absl::UnavailableError("no descriptor"));
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  scheduler_->Schedule(".a", Urgency::kCount, 0);
  scheduler_->Schedule(".a", Urgency::kUnasked, 0);
  Answer nothing;
  scheduler_->WhenLoaded(nothing.Bare());
  EXPECT_EQ(nothing.calls(), 1);  // Immediately: there is no work.
  scheduler_->Schedule(".a", Urgency::kChanged, 0);
  ASSERT_TRUE(loads_.AwaitSteps(2));
  EXPECT_EQ(loads_.request(".a").need, Need::kCache);  // Because the rest is wanted too.
  loads_.Done(".a");
}

TEST_F(LoadSchedulerTest, ARunThatIsNotFoundIsForgotten) {
  Start(1);
  Answer answer;
  scheduler_->Ask(".a", absl::InfiniteDuration(), answer.Callback());
  loads_.End(".a", absl::NotFoundError("run .a"));
  EXPECT_EQ(answer.Await(), absl::NotFoundError("run .a"));
  EXPECT_EQ(scheduler_->GetStats().failed, 0U);
}

TEST_F(LoadSchedulerTest, AForgottenRunIsNotReadOn) {
  Start(1);
  Answer reading;
  Answer waiting;
  scheduler_->Ask(".a", absl::InfiniteDuration(), reading.Callback());
  ASSERT_TRUE(loads_.AwaitInStep(".a"));
  scheduler_->Ask("b", In(absl::Seconds(1)), waiting.Callback());
  scheduler_->Forget(".a");
  scheduler_->Forget("b");
  scheduler_->Forget("unheard of");
  EXPECT_EQ(reading.Await()->code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(waiting.Await()->code(), absl::StatusCode::kNotFound);
  Answer loaded;
  scheduler_->WhenLoaded(loaded.Bare());
  EXPECT_EQ(loaded.calls(), 1);
  loads_.More(".a");
  Answer other;
  scheduler_->Ask("c", absl::InfiniteDuration(), other.Callback());
  EXPECT_EQ(other.Await(), absl::OkStatus());
  EXPECT_EQ(loads_.log(), (Log{".a", "c"}));
}

TEST_F(LoadSchedulerTest, ARunThatComesBackWhileItsOldStepEndsIsReadAnew) {
  Start(1);
  scheduler_->Schedule(".a", Urgency::kCount, 0);
  ASSERT_TRUE(loads_.AwaitInStep(".a"));
  scheduler_->Forget(".a");
  Answer answer;
  scheduler_->Ask(".a", absl::InfiniteDuration(), answer.Callback());
  loads_.Done(".a");
  ASSERT_TRUE(loads_.AwaitSteps(2));
  EXPECT_EQ(answer.calls(), 0);
  loads_.Done(".a");
  EXPECT_EQ(answer.Await(), absl::OkStatus());
}

TEST_F(LoadSchedulerTest, PartsOfARunAreReadByThreadsWithNothingElseToDo) {
  Start(4);
  scheduler_->Schedule(".large", Urgency::kAsked, 0);
  ASSERT_TRUE(loads_.AwaitInStep(".large"));
  EXPECT_EQ(scheduler_->GetStats().threads, 1);
  loads_.More(".large", 3);
  ASSERT_TRUE(loads_.AwaitInStep(".large", 3));
  // Three threads work on it, and the fourth is free for others.
  Answer other;
  scheduler_->Ask("small", absl::InfiniteDuration(), other.Callback());
  EXPECT_EQ(other.Await(), absl::OkStatus());
  EXPECT_EQ(scheduler_->GetStats().busy, 3);

  // A step that finds no part to read reports one hand. The load ends when its last step ends.
  Answer answer;
  scheduler_->Ask(".large", absl::InfiniteDuration(), answer.Callback());
  loads_.More(".large");
  loads_.More(".large");
  ASSERT_TRUE(loads_.AwaitInStep(".large", 1));
  EXPECT_EQ(answer.calls(), 0);
  loads_.Done(".large");
  loads_.Done(".large");
  EXPECT_EQ(answer.Await(), absl::OkStatus());
}

TEST_F(LoadSchedulerTest, AnotherRunIsReadBeforePartsOfOne) {
  Start(2);
  scheduler_->Schedule(".gate", Urgency::kAsked, 0);
  ASSERT_TRUE(loads_.AwaitInStep(".gate"));
  scheduler_->Schedule(".large", Urgency::kAsked, 0);
  ASSERT_TRUE(loads_.AwaitInStep(".large"));
  scheduler_->Schedule("changed", Urgency::kChanged, 0);
  scheduler_->Schedule("unasked", Urgency::kUnasked, 0);
  // This thread continues with the run, because it was requested. The other thread can choose
  // between the run's parts, the changed run and the unrequested one.
  loads_.More(".large", 2);
  ASSERT_TRUE(loads_.AwaitSteps(3));
  loads_.Done(".gate");
  ASSERT_TRUE(loads_.AwaitInStep(".large", 2));
  EXPECT_EQ(loads_.log(), (Log{".gate", ".large", ".large", "changed", ".large"}));
  loads_.Done(".large");
  loads_.Done(".large");
}

TEST_F(LoadSchedulerTest, ThereAreNoMoreThreadsThanRuns) {
  Start(3);
  EXPECT_EQ(scheduler_->GetStats().threads, 0);
  for (int i = 0; i < 20; ++i) {
    Answer answer;
    loads_.Give("a", 5);
    scheduler_->Ask("a", absl::InfiniteDuration(), answer.Callback());
    ASSERT_EQ(answer.Await(), absl::OkStatus());
  }
  EXPECT_EQ(scheduler_->GetStats().threads, 1);
  for (const char* run : {".a", ".b", ".c", ".d"}) {
    scheduler_->Schedule(run, Urgency::kChanged, 0);
  }
  ASSERT_TRUE(loads_.AwaitInStep(".a"));
  ASSERT_TRUE(loads_.AwaitInStep(".b"));
  ASSERT_TRUE(loads_.AwaitInStep(".c"));
  EXPECT_EQ(scheduler_->GetStats().threads, 3);
  EXPECT_EQ(scheduler_->GetStats().busy, 3);
  EXPECT_EQ(scheduler_->GetStats().changed, 4U);
  for (const char* run : {".a", ".b", ".c", ".d"}) loads_.Done(run);
}

TEST_F(LoadSchedulerTest, WhatIsDoneButForAProblemIsTriedAgainAndWhoWaitedHasTheRest) {
  Start(1);
  Answer answer;
  scheduler_->Ask(".a", absl::InfiniteDuration(), answer.Callback());
  const Progress in_part{
      .done = true, .hands = 1, .hold = nullptr, .problem = absl::UnavailableError("no disk")};
  loads_.End(".a", in_part);
  EXPECT_EQ(answer.Await(), absl::OkStatus());
  std::size_t steps = 1;
  for (const int pause : {1, 2}) {
    ASSERT_TRUE(clock_.AwaitWaiters(1));
    EXPECT_EQ(scheduler_->GetStats().failed, 1U);
    loads_.End(".a", in_part);
    clock_.Advance(absl::Seconds(pause) - absl::Milliseconds(1));
    EXPECT_EQ(loads_.log().size(), steps);
    clock_.Advance(absl::Milliseconds(1));
    ASSERT_TRUE(loads_.AwaitSteps(++steps));
    Answer settled;
    scheduler_->WhenLoaded(settled.Bare());
    ASSERT_TRUE(settled.Await().has_value());
  }
  EXPECT_EQ(scheduler_->GetStats().failures, 3U);
  loads_.Done(".a");
  ASSERT_TRUE(clock_.AwaitWaiters(1));
  clock_.Advance(absl::Seconds(4));
  ASSERT_TRUE(loads_.AwaitSteps(++steps));
  Answer settled;
  scheduler_->WhenLoaded(settled.Bare());
  ASSERT_TRUE(settled.Await().has_value());
  EXPECT_EQ(scheduler_->GetStats().failed, 0U);
}

TEST_F(LoadSchedulerTest, WhatCouldNotBeKeptIsThereForWhoWaited) {
  Start(1);
  auto points = std::make_shared<int>(7);
  const std::weak_ptr<int> seen = points;
  Answer answer;
  scheduler_->Ask(".a", absl::InfiniteDuration(),
                  [callback = answer.Callback(), seen](const absl::Status& status) {
                    callback(seen.expired() ? absl::InternalError("gone") : status);
                  });
  loads_.End(".a", Progress{.done = true, .hands = 1, .hold = std::move(points)});
  EXPECT_EQ(answer.Await(), absl::OkStatus());
  // Another step, so that the first one is over.
  Answer other;
  scheduler_->Ask("b", absl::InfiniteDuration(), other.Callback());
  EXPECT_EQ(other.Await(), absl::OkStatus());
  EXPECT_TRUE(seen.expired());
}

TEST_F(LoadSchedulerTest, ACallbackMayAskAgain) {
  Start(1);
  Answer answer;
  scheduler_->Ask("a", absl::InfiniteDuration(), [&](const absl::Status&) {
    scheduler_->Ask("b", absl::InfiniteDuration(), answer.Callback());
  });
  EXPECT_EQ(answer.Await(), absl::OkStatus());
}

TEST_F(LoadSchedulerTest, WhoWaitsAtTheEndIsCancelled) {
  Start(1);
  Answer reading;
  Answer waiting;
  scheduler_->Ask(".a", absl::InfiniteDuration(), reading.Callback());
  ASSERT_TRUE(loads_.AwaitInStep(".a"));
  scheduler_->Ask(".b", In(absl::Seconds(1)), waiting.Callback());
  loads_.LetAllGoOn();
  scheduler_.reset();
  EXPECT_EQ(reading.Await()->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(waiting.Await()->code(), absl::StatusCode::kCancelled);
}

TEST_F(LoadSchedulerTest, SoManyWaitAndNoMore) {
  Start(1);
  Hold();
  Answer answer;
  for (std::size_t i = 0; i < LoadScheduler::kMaxWaiting; ++i) {
    scheduler_->Ask("a", absl::InfiniteDuration(), answer.Callback());
  }
  EXPECT_EQ(answer.calls(), 0);
  Answer refused;
  scheduler_->Ask("b", absl::InfiniteDuration(), refused.Callback());
  EXPECT_EQ(refused.Await()->code(), absl::StatusCode::kResourceExhausted);
  Release();
  EXPECT_EQ(loads_.log(), (Log{".gate", "a"}));
}

TEST(LoadThreadsTest, WithinOneAndThirty) {
  EXPECT_EQ(*LoadThreads(0, 8), 8);
  EXPECT_EQ(*LoadThreads(0, 128), 30);
  EXPECT_EQ(*LoadThreads(0, 0), 1);
  EXPECT_EQ(*LoadThreads(1, 8), 1);
  EXPECT_EQ(*LoadThreads(30, 2), 30);
  for (const int flag : {-1, 31, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(LoadThreads(flag, 8).status(),
              absl::InvalidArgumentError("--load_threads is " + std::to_string(flag) +
                                         ": it must be within 1 and 30, or 0 for as many as there "
                                         "are cores"));
  }
  EXPECT_FALSE(LoadScheduler::Create({.threads = 31}).ok());
  EXPECT_FALSE(LoadScheduler::Create({.threads = 0}).ok());
}

}  // namespace
}  // namespace datamanager
