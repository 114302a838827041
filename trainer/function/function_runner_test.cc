#include "trainer/function/function_runner.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/clock.h"
#include "runtime/fake_clock.h"
#include "runtime/sanitizer.h"
#include "runtime/thread.h"
#include "trainer/function/baton.h"
#include "trainer/function/function_session.h"
#include "trainer/function/functions.h"
#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"
#include "trainer/function/results.h"
#include "trainer/function/trainable.h"
#include "trainer/function/trainable_conformance.h"
#include "trainer/function/training_progress.h"
#include "trainer/testing/counting_trainable.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

// Signatures that must not compile, and signatures that must.
static_assert(!TrainableCallable<void (*)()>);
static_assert(!TrainableCallable<void (*)(int)>);
static_assert(!TrainableCallable<void (*)(NamedValues&)>);
static_assert(!TrainableCallable<void (*)(const NamedValues&, Reporter&, int)>);
static_assert(!TrainableCallable<std::string (*)(const NamedValues&)>);
static_assert(!TrainableCallable<int>);
static_assert(TrainableCallable<double (*)(const NamedValues&)>);
static_assert(TrainableCallable<void (*)(NamedValues)>);
static_assert(TrainableCallable<Results (*)(const NamedValues&)>);
static_assert(TrainableCallable<absl::Status (*)(const NamedValues&, Reporter&)>);

class FunctionRunnerTest : public ::testing::Test {
 protected:
  FunctionRunnerTest() {
    std::string name = absl::StrCat(::testing::TempDir(), "/function-XXXXXX");
    directory_ = absl::StrCat(mkdtemp(name.data()), "/run");
    options_.trial = {"t-abcde", "trial of a test", directory_};
    options_.warn = [this](const std::string& text) { warnings_.push_back(text); };
  }

  template <typename F>
  std::unique_ptr<FunctionRunner> Make(F function) {
    return std::make_unique<FunctionRunner>(MakeFunction("train", std::move(function)), options_);
  }

  // Steps to the end. Returns all results but the duplicate, which goes to `end_`.
  std::vector<Result> StepToTheEnd(FunctionRunner& runner) {
    std::vector<Result> results;
    while (true) {
      auto result = runner.Step();
      EXPECT_EQ(result.status(), absl::OkStatus());
      if (!result.ok()) return results;
      if (result->duplicate) {
        end_ = *std::move(result);
        return results;
      }
      results.push_back(*std::move(result));
    }
  }

  std::string directory_;
  FunctionRunner::Options options_;
  std::vector<std::string> warnings_;
  Result end_;
};

void CountUp(const NamedValues& config, Reporter& reporter) {
  const auto checkpoint = reporter.checkpoint();
  std::int64_t count = checkpoint ? checkpoint->values->Integer("count") : 0;
  while (++count <= config.Integer("last")) {
    reporter.SaveCheckpoint(NamedValues{{"count", count}});
    reporter.Report({{"count", count}});
  }
}

TEST(TrainableConformanceTest, FunctionRunner) {
  ExpectConformingTrainable([](const std::string& directory, int last) {
    FunctionRunner::Options options;
    options.trial = {"t-abcde", "counts", directory};
    options.config = {{"last", last}};
    return std::make_unique<FunctionRunner>(MakeFunction("count", CountUp), std::move(options));
  });
}

TEST(TrainableConformanceTest, CountingTrainable) {
  ExpectConformingTrainable([](const std::string& directory, int last) {
    return std::make_unique<CountingTrainable>(directory, last);
  });
}

TEST_F(FunctionRunnerTest, RunsNothingBeforeTheFirstStep) {
  std::atomic<bool> began = false;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    began = true;
    reporter.Report({});
  });
  EXPECT_EQ(runner->Save().status(), absl::OkStatus());
  EXPECT_FALSE(began);
  EXPECT_EQ(runner->Step().status(), absl::OkStatus());
  EXPECT_TRUE(began);
}

TEST_F(FunctionRunnerTest, NoReaderOfItsTableTakesTheExperimentIdForANumber) {
  for (int i = 0; i < 20; ++i) {
    const auto runner = Make([](const NamedValues&, Reporter& reporter) { reporter.Report({}); });
    const auto result = runner->Step();
    ASSERT_EQ(result.status(), absl::OkStatus());
    EXPECT_THAT(result->source->experiment_id, MatchesRegex("[a-f][0-9a-f]*"));
  }
}

TEST_F(FunctionRunnerTest, RunsWhatIsBehindAReportOnlyInTheNextStep) {
  std::atomic<int> before = 0, behind = 0;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    for (int i = 1; i <= 1000; ++i) {
      before = i;
      reporter.Report({{"i", i}});
      behind = i;
    }
  });
  for (int i = 1; i <= 1000; ++i) {
    const auto result = runner->Step();
    ASSERT_EQ(result.status(), absl::OkStatus());
    ASSERT_EQ(result->Get("i"), Value(i));
    ASSERT_EQ(before, i);
    ASSERT_EQ(behind, i - 1);
  }
  EXPECT_TRUE(runner->Step()->duplicate);
  EXPECT_EQ(behind, 1000);
}

// Ray's testAllValuesReceived.
TEST_F(FunctionRunnerTest, DropsAndChangesNoResult) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    for (int i = 0; i < 5; ++i) {
      reporter.Report({{"test", i}, {"note", absl::StrCat("n", i)}, {"done", i == 4}});
    }
  });
  const auto results = StepToTheEnd(*runner);
  ASSERT_THAT(results, SizeIs(5));
  for (int i = 0; i < 5; ++i) {
    const Result& result = results[static_cast<std::size_t>(i)];
    EXPECT_EQ(result.Get("test"), Value(i));
    EXPECT_EQ(result.Get("note"), Value(absl::StrCat("n", i)));
    EXPECT_EQ(result.done, i == 4);
    EXPECT_EQ(result.training_iteration, i + 1);
  }
}

// Ray's testNoDoneReceived: only the duplicate reports the end.
TEST_F(FunctionRunnerTest, SaysDoneOnceIfTheFunctionDoesNot) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    for (int i = 0; i < 5; ++i) reporter.Report({{"test", i}});
  });
  const auto results = StepToTheEnd(*runner);
  ASSERT_THAT(results, SizeIs(5));
  for (const Result& result : results) EXPECT_EQ(result.Get("done"), Value(false));
  EXPECT_EQ(end_.Get("done"), Value(true));
  EXPECT_EQ(end_.Get("test"), Value(4));
  EXPECT_EQ(end_.training_iteration, 5);
}

// Ray's testReporterNoUsage.
TEST_F(FunctionRunnerTest, AFunctionThatReportsNothingIsOnlyDone) {
  const auto runner = Make([](const NamedValues&, Reporter&) {});
  EXPECT_THAT(StepToTheEnd(*runner), SizeIs(0));
  EXPECT_TRUE(end_.done);
  EXPECT_TRUE(end_.reported.empty());
}

// Ray's testEarlyReturn.
TEST_F(FunctionRunnerTest, NothingRunsBehindDoneIfItIsStoppedThere) {
  std::atomic<bool> behind = false;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    reporter.Report({{"timesteps_total", 100}, {"done", true}});
    behind = true;
    Baton().Take();  // For ever.
  });
  const auto result = runner->Step();
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_TRUE(result->done);
  EXPECT_FALSE(result->duplicate);
  EXPECT_EQ(result->Get("timesteps_total"), Value(100));
  EXPECT_EQ(runner->Stop(), absl::OkStatus());
  EXPECT_FALSE(behind);
}

TEST_F(FunctionRunnerTest, AStepPastTheEndIsAnErrorAndTheNextBeginsAnew) {
  std::atomic<int> starts = 0;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    ++starts;
    reporter.Report({{"x", 1}});
  });
  for (int round = 1; round <= 3; ++round) {
    ASSERT_EQ(runner->Step()->training_iteration, round);
    ASSERT_TRUE(runner->Step()->duplicate);
    const absl::Status past = runner->Step().status();
    EXPECT_EQ(past.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(past.ToString(), HasSubstr("function train of trial t-abcde ran until completion"));
    EXPECT_EQ(starts, round);
  }
}

// Ray's testReturnAnonymous, testReturnSpecific, testYieldAnonymous and testYieldSpecific.
Results YieldNumbers(const NamedValues& config) {
  for (int i = 0; i < 10; ++i) co_yield config.Integer("a") + i;
}
Results YieldValues(const NamedValues& config) {
  for (int i = 0; i < 10; ++i) {
    NamedValues values;
    values.Set("m", config.Integer("a") + i);
    co_yield values;
  }
}

TEST_F(FunctionRunnerTest, ReportsWhatIsReturnedOrYielded) {
  const struct {
    const char* what;
    TrainableFunction function;
    std::vector<std::string> reported;
  } kCases[] = {
      {"a number",
       MakeFunction("f", [](const NamedValues& c) { return c.Number("a"); }),
       {R"({"_metric":4.0})"}},
      {"zero", MakeFunction("f", [](const NamedValues&) { return 0; }), {R"({"_metric":0})"}},
      {"values",
       MakeFunction("f",
                    [](const NamedValues& c) {
                      return NamedValues{{"m", c.Integer("a")}};
                    }),
       {R"({"m":4})"}},
      {"no values", MakeFunction("f", [](const NamedValues&) { return NamedValues(); }), {}},
      {"an OK", MakeFunction("f", [](const NamedValues&) { return absl::OkStatus(); }), {}},
      {"a report and a number",
       MakeFunction("f",
                    [](const NamedValues&, Reporter& reporter) {
                      reporter.Report({{"m", 1}});
                      return 2;
                    }),
       {R"({"m":1})", R"({"_metric":2})"}},
  };
  options_.config = {{"a", 4}};
  for (const auto& [what, function, reported] : kCases) {
    FunctionRunner runner(function, options_);
    std::vector<std::string> seen;
    for (const Result& result : StepToTheEnd(runner)) seen.push_back(result.reported.ToJson());
    EXPECT_EQ(seen, reported) << what;
  }
  for (const int a : {4, 8}) {
    options_.config = {{"a", a}};
    const auto numbers = StepToTheEnd(*Make(YieldNumbers));
    ASSERT_THAT(numbers, SizeIs(10));
    EXPECT_EQ(numbers.back().Get("_metric"), Value(a + 9));
    const auto values = StepToTheEnd(*Make(YieldValues));
    ASSERT_THAT(values, SizeIs(10));
    EXPECT_EQ(values.back().Get("m"), Value(a + 9));
  }
}

// Sets its flag in the destructor.
class Flagging {
 public:
  explicit Flagging(std::atomic<bool>& flag) : flag_(flag) {}
  ~Flagging() { flag_ = true; }
  Flagging(const Flagging&) = delete;
  Flagging& operator=(const Flagging&) = delete;

 private:
  std::atomic<bool>& flag_;
};

std::atomic<bool> generator_unwound = false;
Results YieldForEver(const NamedValues&) {
  const Flagging flagging(generator_unwound);
  while (true) co_yield 1;
}

TEST_F(FunctionRunnerTest, StopUnwindsAlsoAGenerator) {
  const auto runner = Make(YieldForEver);
  ASSERT_EQ(runner->Step().status(), absl::OkStatus());
  ASSERT_EQ(runner->Step().status(), absl::OkStatus());
  EXPECT_FALSE(generator_unwound);
  EXPECT_EQ(runner->Stop(), absl::OkStatus());
  EXPECT_TRUE(generator_unwound);
}

Results YieldThenFail(const NamedValues&) {
  co_yield 1.5;
  throw std::runtime_error("no more");
}

TEST_F(FunctionRunnerTest, AGeneratorFailsWithItsError) {
  const auto runner = Make(YieldThenFail);
  EXPECT_EQ(runner->Step()->Get("_metric"), Value(1.5));
  EXPECT_THAT(runner->Step().status().ToString(), HasSubstr("failed: no more"));
}

TEST_F(FunctionRunnerTest, StopUnwindsThroughHandlersOfErrors) {
  std::atomic<bool> unwound = false, handled = false;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    const Flagging flagging(unwound);
    try {
      while (true) reporter.Report({{"x", 1}});
    } catch (const std::exception&) {
      handled = true;
    }
  });
  ASSERT_EQ(runner->Step().status(), absl::OkStatus());
  EXPECT_EQ(runner->Stop(), absl::OkStatus());
  EXPECT_TRUE(unwound);
  EXPECT_FALSE(handled);
}

TEST_F(FunctionRunnerTest, AFunctionThatGoesOnAfterStopIsToldAgain) {
  std::atomic<int> told = 0;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    while (told < 3) {
      try {
        reporter.Report({{"x", 1}});
      } catch (...) {
        ++told;
      }
    }
  });
  ASSERT_EQ(runner->Step().status(), absl::OkStatus());
  EXPECT_EQ(runner->Stop(), absl::OkStatus());
  EXPECT_EQ(told, 3);
}

TEST_F(FunctionRunnerTest, DestructionStops) {
  std::atomic<bool> unwound = false;
  {
    const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
      const Flagging flagging(unwound);
      reporter.Report({{"x", 1}});
    });
    ASSERT_EQ(runner->Step().status(), absl::OkStatus());
    EXPECT_FALSE(unwound);
  }
  EXPECT_TRUE(unwound);
  EXPECT_THAT(warnings_, SizeIs(0));
}

// Ray's testLotsOfStops.
TEST_F(FunctionRunnerTest, EveryOneOfManyIsCleanedUp) {
  std::atomic<int> cleaned = 0;
  for (int i = 0; i < 10; ++i) {
    const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
      try {
        while (true) reporter.Report({{"x", 1}});
      } catch (...) {
        ++cleaned;
        throw;
      }
    });
    ASSERT_EQ(runner->Step().status(), absl::OkStatus());
    EXPECT_EQ(runner->Stop(), absl::OkStatus());
  }
  EXPECT_EQ(cleaned, 10);
}

TEST_F(FunctionRunnerTest, ResultsComeBeforeTheErrorAndTheNextStepBeginsAnew) {
  std::atomic<int> starts = 0;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    ++starts;
    reporter.Report({{"x", 1}});
    reporter.Report({{"x", 2}});
    throw std::runtime_error("the loss is gone");
  });
  for (int round = 1; round <= 2; ++round) {
    EXPECT_EQ(runner->Step()->Get("x"), Value(1));
    EXPECT_EQ(runner->Step()->Get("x"), Value(2));
    const absl::Status failed = runner->Step().status();
    EXPECT_EQ(failed.code(), absl::StatusCode::kUnknown);
    EXPECT_EQ(failed.message(), "function train of trial t-abcde failed: the loss is gone");
    EXPECT_EQ(starts, round);
  }
  EXPECT_EQ(runner->Stop(), absl::OkStatus()) << "the error was told already";
}

// Ray's "ran until completion without reporting": neither a result nor an error. Excluded with
// sanitizers: the undefined-behaviour sanitizer mistakes the forced end of a thread, for which
// there is no exception object, for a reference to null.
#ifndef RUNTIME_ADDRESS_SANITIZER
TEST_F(FunctionRunnerTest, AThreadThatEndsInTheFunctionIsAnErrorAndTheNextStepBeginsAnew) {
  std::atomic<bool> unwound = false;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    const Flagging flagging(unwound);
    reporter.Report({{"x", 1}});
    pthread_exit(nullptr);
  });
  for (int round = 1; round <= 2; ++round) {
    EXPECT_EQ(runner->Step()->Get("x"), Value(1));
    const absl::Status ended = runner->Step().status();
    EXPECT_EQ(ended.code(), absl::StatusCode::kAborted);
    EXPECT_EQ(ended.message(),
              "function train of trial t-abcde failed: its thread has ended without a result or an "
              "error");
    EXPECT_TRUE(unwound);
  }
  EXPECT_EQ(runner->Stop(), absl::OkStatus()) << "the thread is known to have ended";
}
#endif

struct OddThing {};

TEST_F(FunctionRunnerTest, TellsWhatFailed) {
  const struct {
    std::function<void()> fail;
    absl::StatusCode code;
    std::string text;
  } kCases[] = {
      {[] { throw std::out_of_range("row 7"); }, absl::StatusCode::kUnknown, "row 7"},
      {[] { throw OddThing(); }, absl::StatusCode::kUnknown, "OddThing"},
      {[] { throw std::bad_alloc(); }, absl::StatusCode::kResourceExhausted, "out of memory"},
      {[] { throw std::runtime_error("bad \xff byte"); }, absl::StatusCode::kUnknown,
       "bad \xEF\xBF\xBD byte"},
      {[] { NamedValues().Number("lr"); }, absl::StatusCode::kUnknown, "\"lr\" is not there"},
  };
  for (const auto& [fail, code, text] : kCases) {
    const auto runner = Make([fail = fail](const NamedValues&, Reporter&) { fail(); });
    const absl::Status failed = runner->Step().status();
    EXPECT_EQ(failed.code(), code) << text;
    EXPECT_THAT(std::string(failed.message()), HasSubstr(text));
  }
  const auto status = Make([](const NamedValues&, Reporter&) {
                        return absl::DataLossError("a batch is missing");
                      })->Step();
  EXPECT_EQ(status.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.status().ToString(), HasSubstr("a batch is missing"));
  const auto endless = Make([](const NamedValues&, Reporter&) {
                         throw std::runtime_error(std::string(1 << 20, 'x'));
                       })->Step();
  EXPECT_LT(endless.status().message().size(), 5000u);
}

TEST_F(FunctionRunnerTest, StopReturnsAnErrorOfTheCleanUp) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    try {
      reporter.Report({{"x", 1}});
    } catch (...) {
      throw std::runtime_error("cannot close the log");
    }
  });
  ASSERT_EQ(runner->Step().status(), absl::OkStatus());
  EXPECT_THAT(runner->Stop().ToString(), HasSubstr("cannot close the log"));
  EXPECT_EQ(runner->Stop(), absl::OkStatus());
}

TEST_F(FunctionRunnerTest, AStepThatTimesOutGoesOnInTheNext) {
  Baton gate;
  options_.step_timeout = absl::Milliseconds(1);
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    gate.Take();
    reporter.Report({{"x", 1}});
    reporter.Report({{"x", 2}});
  });
  const absl::Status timed_out = runner->Step().status();
  EXPECT_EQ(timed_out.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(timed_out.ToString(), HasSubstr("function train of trial t-abcde"));
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(runner->Save().status().code(), kRefused);
  EXPECT_EQ(runner->Restore(directory_).code(), kRefused);
  EXPECT_EQ(runner->RestoreFromObject("").code(), kRefused);
  EXPECT_EQ(runner->Execute([](Trainable&) { return absl::OkStatus(); }).code(), kRefused);
  gate.Pass();
  for (int x = 1; x <= 2; ++x) {
    absl::StatusOr<Result> result = runner->Step();
    while (absl::IsDeadlineExceeded(result.status())) result = runner->Step();
    ASSERT_EQ(result.status(), absl::OkStatus());
    EXPECT_EQ(result->Get("x"), Value(x));
  }
}

TEST_F(FunctionRunnerTest, AFunctionThatDoesNotStopIsNamedAndLeftAlone) {
  // The thread outlives the runner and, for a moment, the test.
  const auto gate = std::make_shared<Baton>(), ended = std::make_shared<Baton>();
  std::atomic<bool> stopped = false;
  options_.step_timeout = options_.stop_timeout = absl::Milliseconds(1);
  {
    const auto runner =
        Make([&stopped, gate, ended](const NamedValues& config, Reporter& reporter) {
          gate->Take();
          try {
            reporter.Report(config);
          } catch (const StopTrial&) {
            stopped = CurrentReporter() == &reporter && reporter.trial().id == "t-abcde";
          }
          ended->Pass();
        });
    EXPECT_EQ(runner->Step().status().code(), absl::StatusCode::kDeadlineExceeded);
    const absl::Status left = runner->Stop();
    EXPECT_EQ(left.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(left.ToString(), HasSubstr("function train of trial t-abcde still runs"));
  }
  gate->Pass();  // The runner is gone; the objects that the function reaches still exist.
  EXPECT_TRUE(ended->Take(absl::Seconds(60)));
  EXPECT_TRUE(stopped);
}

TEST_F(FunctionRunnerTest, WarnsOnceOfAFunctionThatCannotCheckpoint) {
  const auto plain = MakeFunction("plain", [](const NamedValues&) {});
  FunctionRunner first(plain, options_), second(plain, options_);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("function plain cannot go on from a checkpoint")));
  warnings_.clear();
  FunctionRunner silenced(
      MakeFunction("f", [](const NamedValues&) {}, {.warn_without_checkpoints = false}), options_);
  FunctionRunner able(MakeFunction("f", [](const NamedValues&, Reporter&) {}), options_);
  EXPECT_THAT(warnings_, SizeIs(0));
}

// Ray's testTrialInfoAccess and testEnabled.
TEST_F(FunctionRunnerTest, TheSessionIsBoundToTheThreadAndEndsWithTheTrial) {
  EXPECT_EQ(CurrentReporter(), nullptr);
  const auto deep = [](int value) { CurrentReporter()->Report({{"deep", value}}); };
  std::atomic<bool> same = false, elsewhere = true;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    same = CurrentReporter() == &reporter;
    runtime::Thread("other", [&] { elsewhere = CurrentReporter() != nullptr; }).Join();
    const TrialInfo& trial = CurrentReporter()->trial();
    reporter.Report({{"id", trial.id}, {"name", trial.name}, {"directory", trial.directory}});
    deep(7);
  });
  const auto result = runner->Step();
  ASSERT_EQ(result.status(), absl::OkStatus());
  EXPECT_TRUE(same);
  EXPECT_FALSE(elsewhere);
  EXPECT_EQ(CurrentReporter(), nullptr) << "not on the driver's thread";
  EXPECT_EQ(result->Get("id"), Value("t-abcde"));
  EXPECT_EQ(result->Get("trial_id"), Value("t-abcde"));
  EXPECT_EQ(result->Get("name"), Value("trial of a test"));
  EXPECT_EQ(result->Get("directory"), Value(directory_));
  EXPECT_EQ(runner->Step()->Get("deep"), Value(7));
}

// Ray's testConfigPurity.
TEST_F(FunctionRunnerTest, SeesExactlyItsConfiguration) {
  options_.config = {{"a", "b"}};
  const auto result = Make([](const NamedValues& config, Reporter& reporter) {
                        reporter.Report({{"seen", config.ToJson()}});
                      })->Step();
  EXPECT_EQ(result->Get("seen"), Value(R"({"a":"b"})"));
}

// Ray's testTrainableCallable and testWithParameters.
TEST_F(FunctionRunnerTest, TakesAnythingThatCanBeCalled) {
  const auto data = std::make_shared<std::vector<int>>(500'000, 1);
  const auto with_data = [](const std::shared_ptr<std::vector<int>>& data, const NamedValues&) {
    return data->size();
  };
  const auto result = Make(std::bind_front(with_data, data))->Step();
  EXPECT_EQ(result->Get("_metric"), Value(500'000));
  EXPECT_EQ(data.use_count(), 1) << "nothing of it is kept";
  struct Callable {
    int operator()(const NamedValues&) const { return 3; }
  };
  EXPECT_EQ(Make(Callable())->Step()->Get("_metric"), Value(3));
}

// Ray's testRegisterEnvOverwrite.
TEST_F(FunctionRunnerTest, OfOneNameTheLatestRegistrationCounts) {
  RegisterFunction("twice", [](const NamedValues&) { return 100; });
  RegisterFunction("twice", [](const NamedValues&) { return 200; });
  const auto found = FindFunction("twice");
  ASSERT_EQ(found.status(), absl::OkStatus());
  EXPECT_EQ(FunctionRunner(*found, options_).Step()->Get("_metric"), Value(200));
  const absl::Status missing = FindFunction("thrice").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.ToString(), HasSubstr("thrice"));
  EXPECT_THAT(missing.ToString(), HasSubstr("twice"));
}

TEST_F(FunctionRunnerTest, CountsTheTimeOfTheFunctionNotOfItsDriver) {
  runtime::FakeClock clock;
  options_.clock = &clock;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    for (int i = 1; i <= 2; ++i) {
      clock.Advance(absl::Seconds(i));
      reporter.Report({{"x", i}});
    }
    reporter.Report({{"time_this_iter_s", 10}});
  });
  EXPECT_EQ(runner->Step()->time_this_iter, absl::Seconds(1));
  clock.Advance(absl::Hours(1));  // The driver logs, or the trial is paused.
  const auto second = runner->Step();
  EXPECT_EQ(second->time_this_iter, absl::Seconds(2));
  EXPECT_EQ(second->time_total, absl::Seconds(3));
  EXPECT_EQ(second->time, clock.Now());
  const auto third = runner->Step();
  EXPECT_EQ(third->time_this_iter, absl::Seconds(10)) << "as reported";
  EXPECT_EQ(third->Get("time_total_s"), Value(13.0));
}

TEST_F(FunctionRunnerTest, RefusesAReportOverTheBounds) {
  const auto runner = Make([](const NamedValues&, Reporter& reporter) {
    std::string refused;
    try {
      reporter.Report({{"text", std::string((1 << 20) + 1, 'x')}});
    } catch (const std::invalid_argument& error) {
      refused = error.what();
    }
    reporter.Report({{"refused", refused}});
    NamedValues many;
    for (int i = 0; i <= 20'000; ++i) many.Set(absl::StrCat(i), i);
    reporter.Report(many);
  });
  EXPECT_THAT(*runner->Step()->Get("refused").AsText(), HasSubstr("is over the limit of 1048576"));
  EXPECT_THAT(runner->Step().status().ToString(),
              HasSubstr("a report of 20001 values is over the limit of 20000"));
}

TEST_F(FunctionRunnerTest, RefusesASecondThreadThatReports) {
  Baton parked, refused;
  const auto runner = Make([&](const NamedValues&, Reporter& reporter) {
    runtime::Thread other("other", [&] {
      parked.Take();
      try {
        reporter.Report({{"x", 2}});
      } catch (const std::logic_error&) {
        refused.Pass();
      }
    });
    reporter.Report({{"x", 1}});
    other.Join();
  });
  EXPECT_EQ(runner->Step()->Get("x"), Value(1));
  parked.Pass();
  EXPECT_TRUE(refused.Take(absl::Seconds(60)));
  EXPECT_TRUE(runner->Step()->duplicate);
}

// A function that fails after its other thread has reported, before a driver takes the report.
TEST(FunctionSessionTest, AResultThatIsQueuedComesBeforeTheError) {
  FunctionSession session({"t-abcde", "", ""}, std::nullopt, runtime::Clock::Real());
  std::atomic<bool> woken = false;
  std::unique_ptr<runtime::Thread> other;
  session.Run([&](Reporter& reporter) -> absl::Status {
    other = std::make_unique<runtime::Thread>("other", [&] {
      try {
        session.Report({{"x", 1}});
      } catch (const StopTrial&) {
        woken = true;
      }
    });
    while (!session.HasUnreadReport()) sched_yield();
    EXPECT_EQ(reporter.trial().id, "t-abcde");
    throw std::runtime_error("late");
  });
  const auto first = session.Await(absl::Seconds(60));
  ASSERT_EQ(first.status(), absl::OkStatus());
  EXPECT_EQ(first->kind, FunctionSession::Event::Kind::kReport);
  EXPECT_EQ(first->values, (NamedValues{{"x", 1}}));
  EXPECT_TRUE(first->error_is_next);
  const auto second = session.Await(absl::Seconds(60));
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_EQ(second->kind, FunctionSession::Event::Kind::kFailed);
  EXPECT_EQ(second->error, absl::UnknownError("late"));
  session.RequestStop();
  EXPECT_TRUE(other->Join(absl::Seconds(60)));
  EXPECT_TRUE(woken);
}

}  // namespace
}  // namespace trainer
