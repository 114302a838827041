#include "trainer/function/function_process.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/text/json_value.h"
#include "runtime/thread.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/function/functions.h"
#include "trainer/function/named_values.h"
#include "trainer/function/program_channel.h"
#include "trainer/function/reporter.h"

namespace trainer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kOk[] = R"({"t":"ok","events":[]})";

// The test plays the trainer at the other end of the channel.
class FunctionProcessTest : public ::testing::Test {
 protected:
  FunctionProcessTest() {
    char name[] = "/tmp/fp-XXXXXX";
    directory_ = mkdtemp(name);
    int fds[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    program_ = runtime::UniqueFd(fds[0]);
    trainer_ = std::make_unique<ProgramChannel>(runtime::UniqueFd(fds[1]));
  }
  ~FunctionProcessTest() override {
    trainer_.reset();  // Ends a function that still waits for an answer.
    thread_.reset();
    std::filesystem::remove_all(directory_);
  }

  template <typename F>
  void Start(F function, FunctionOptions options = {},
             absl::Duration heartbeat = absl::ZeroDuration()) {
    process_ = std::make_unique<FunctionProcess>(
        MakeFunction("train", std::move(function), std::move(options)),
        ProgramChannel(std::move(program_)),
        FunctionProcess::Options{.run_directory = directory_,
                                 .heartbeat = heartbeat,
                                 .end_timeout = end_timeout_,
                                 .is_first_attempt = is_first_attempt_});
    thread_ = std::make_unique<runtime::Thread>("process", [this] { ended_ = process_->Run(); });
  }
  // Reads hello and sends the welcome.
  void Welcome(const std::string& config = "{}", const std::string& checkpoint = "null",
               int iteration = 0) {
    EXPECT_EQ(Next(), absl::StrCat(R"({"t":"hello","v":1,"pid":)", getpid(), "}"));
    Say(absl::StrCat(R"({"t":"welcome","v":1,"config":)", config, R"(,"checkpoint":)", checkpoint,
                     R"(,"iteration":)", iteration, R"(,"trial":"t-abcde","name":"first"})"));
  }
  std::string Next() {
    auto line = trainer_->Receive();
    return line.ok() ? *line : line.status().ToString();
  }
  void Say(const std::string& line) { EXPECT_EQ(trainer_->Send(line), absl::OkStatus()); }
  // Waits for the end of the function and returns the result of Run().
  absl::Status End() {
    thread_->Join();
    EXPECT_FALSE(process_->still_runs());
    return ended_;
  }
  // Returns the path in a member of a line.
  static std::string PathIn(const std::string& line, const std::string& name) {
    const auto json = runtime::ParseJson(line);
    const runtime::JsonValue* const path = json.ok() ? json->Find(name) : nullptr;
    return path == nullptr ? "" : runtime::StringOf(*path);
  }
  std::string Quoted(const std::string& name) const {
    return runtime::Quote(directory_ + "/" + name);
  }
  // Commits a checkpoint as the trainer does, and returns the trainer's answer.
  std::string Commit(const std::string& temporary, const std::string& name) {
    std::filesystem::rename(temporary, directory_ + "/" + name);
    return absl::StrCat(R"({"t":"ok","path":)", Quoted(name), R"(,"events":[]})");
  }

  std::string directory_;
  absl::Duration end_timeout_ = absl::Seconds(60);
  bool is_first_attempt_ = true;
  runtime::UniqueFd program_;
  std::unique_ptr<ProgramChannel> trainer_;
  std::unique_ptr<FunctionProcess> process_;
  absl::Status ended_;
  std::unique_ptr<runtime::Thread> thread_;
};

TEST_F(FunctionProcessTest, CodeBehindAReportWaitsForItsAnswer) {
  std::atomic<int> passed = 0;
  Start([&](const NamedValues& config, Reporter& reporter) {
    for (int epoch = 1; epoch <= config.Integer("net/epochs"); ++epoch) {
      reporter.Report({{"epoch", epoch}, {"name", "a\"b"}});
      passed = epoch;
    }
  });
  Welcome(R"({"net":{"epochs":3}})");
  for (int epoch = 1; epoch <= 3; ++epoch) {
    EXPECT_EQ(Next(), absl::StrCat(R"({"t":"report","seq":)", epoch, R"(,"m":{"epoch":)", epoch,
                                   R"(,"name":"a\"b"}})"));
    EXPECT_EQ(passed, epoch - 1);
    Say(kOk);
  }
  EXPECT_EQ(End(), absl::OkStatus());
  EXPECT_EQ(passed, 3);
}

TEST_F(FunctionProcessTest, ACheckpointGoesWithTheNextReport) {
  std::vector<std::string> seen;
  Start([&](const NamedValues&, Reporter& reporter) {
    reporter.SaveCheckpoint(12, [](const std::string& directory) {
      EXPECT_TRUE(runtime::WriteFileAtomically(directory + "/weights", "w", 0644).ok());
    });
    reporter.Report({{"loss", 1}});
    seen.push_back(reporter.checkpoint()->directory);
  });
  Welcome();
  const std::string report = Next();
  const std::string temporary = PathIn(report, "ckpt");
  EXPECT_EQ(temporary.substr(0, temporary.rfind('/')), directory_);
  EXPECT_EQ(TemporaryStep(temporary), 12);
  EXPECT_TRUE(std::filesystem::exists(temporary + "/weights"));
  Say(Commit(temporary, "checkpoint_000012"));
  EXPECT_EQ(End(), absl::OkStatus());
  EXPECT_THAT(seen, ElementsAre(directory_ + "/checkpoint_000012"));
}

TEST_F(FunctionProcessTest, OfSeveralCheckpointsTheEarlierOnesAreCommittedFirst) {
  Start([](const NamedValues&, Reporter& reporter) {
    reporter.SaveCheckpoint(1, [](const std::string&) {});
    reporter.SaveCheckpoint({{"epoch", 1}});
    reporter.SaveCheckpoint({{"epoch", 2}});
    reporter.Report({});
  });
  Welcome();
  const std::string first = Next();
  EXPECT_EQ(TemporaryStep(PathIn(first, "path")), 1);
  Say(Commit(PathIn(first, "path"), "checkpoint_000001"));
  // The values saved last count.
  const std::string report = Next();
  const std::string temporary = PathIn(report, "ckpt");
  EXPECT_EQ(ReadDictionary(temporary).value_or(""), R"({"epoch":2})");
  EXPECT_TRUE(ReadMetadata(temporary)->saved_as_dict);
  EXPECT_THAT(report, HasSubstr(R"("t":"report")"));
  Say(Commit(temporary, "checkpoint_000002"));
  EXPECT_EQ(End(), absl::OkStatus());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 2);
}

TEST_F(FunctionProcessTest, StartsFromTheCheckpointOfTheWelcome) {
  const auto temporary = MakeTemporaryCheckpoint(directory_);
  ASSERT_TRUE(WriteDictionary(*temporary, R"({"epoch":7})").ok());
  CheckpointMetadata metadata;
  metadata.iteration = 7;
  metadata.saved_as_dict = true;
  ASSERT_TRUE(CommitCheckpoint(*temporary, "checkpoint_000007", metadata).ok());
  FunctionOptions options;
  options.stop = [](const Result& result) { return result.training_iteration == 8; };
  Start(
      [](const NamedValues&, Reporter& reporter) {
        const auto from = reporter.checkpoint();
        reporter.Report({{"epoch", from->values->Integer("epoch") + 1},
                         {"trial", reporter.trial().id},
                         {"name", reporter.trial().name}});
      },
      options);
  Welcome("{}", Quoted("checkpoint_000007"), 7);
  EXPECT_THAT(Next(), HasSubstr("iteration 8"));
  EXPECT_EQ(Next(), R"({"t":"report","seq":1,"done":true,)"
                    R"("m":{"epoch":8,"trial":"t-abcde","name":"first"}})");
  Say(kOk);
  EXPECT_EQ(End(), absl::OkStatus());
}

double ReportsOne(const NamedValues&) { return 1; }

constexpr char kReportOfOne[] = R"({"t":"report","seq":1,"m":{"_metric":1.0}})";

TEST_F(FunctionProcessTest, TheLogSaysThatAFunctionCannotCheckpoint) {
  Start(ReportsOne);
  Welcome();
  EXPECT_THAT(Next(), AllOf(HasSubstr(R"({"t":"log","text":"function train cannot go on from a )"),
                            HasSubstr("set warn_without_checkpoints to false")));
  EXPECT_EQ(Next(), kReportOfOne);
  Say(kOk);
  EXPECT_EQ(End(), absl::OkStatus());
}

TEST_F(FunctionProcessTest, TheLogDoesNotSayItIfItIsSilenced) {
  Start(ReportsOne, {.warn_without_checkpoints = false});
  Welcome();
  EXPECT_EQ(Next(), kReportOfOne);
  Say(kOk);
  EXPECT_EQ(End(), absl::OkStatus());
}

TEST_F(FunctionProcessTest, TheLogDoesNotSayItAgainInALaterAttempt) {
  is_first_attempt_ = false;
  Start(ReportsOne);
  Welcome();
  EXPECT_EQ(Next(), kReportOfOne);
  Say(kOk);
  EXPECT_EQ(End(), absl::OkStatus());
}

TEST_F(FunctionProcessTest, ADamagedCheckpointIsItsFailure) {
  Start([](const NamedValues&, Reporter&) {});
  Welcome("{}", Quoted("checkpoint_000007"), 7);
  EXPECT_THAT(Next(), AllOf(HasSubstr(R"({"t":"fail")"), HasSubstr("checkpoint_000007")));
  EXPECT_FALSE(End().ok());
}

// While this lives, no new thread gets memory for its stack.
class HugeStacks {
 public:
  HugeStacks() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge = {};
    EXPECT_EQ(pthread_attr_init(&huge), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 48), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  ~HugeStacks() {
    EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
    pthread_attr_destroy(&before_);
  }
  HugeStacks(const HugeStacks&) = delete;
  HugeStacks& operator=(const HugeStacks&) = delete;

 private:
  pthread_attr_t before_ = {};
};

TEST_F(FunctionProcessTest, AThreadThatCannotBeStartedIsItsFailure) {
  std::atomic<bool> ran = false;
  Start([&](const NamedValues&, Reporter&) { ran = true; });
  const HugeStacks stacks;
  Welcome();
  EXPECT_THAT(Next(), HasSubstr(R"({"t":"fail","error":"function train failed: cannot start its )"
                                R"(thread: )"));
  EXPECT_EQ(End().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(ran);
}

TEST_F(FunctionProcessTest, AReportThatItsEscapesMakeTooLongCanBeCaught) {
  constexpr std::size_t kLimit = 1 << 20;
  std::string refused;
  Start([&](const NamedValues&, Reporter& reporter) {
    reporter.SaveCheckpoint(1, [](const std::string&) {});
    try {
      reporter.Report({{"text", std::string(kLimit / 4, '\1')}});  // Each is \u0001 in JSON.
    } catch (const std::invalid_argument& error) {
      refused = error.what();
    }
    // Finds the longest text that is accepted.
    for (std::size_t room = 0;; ++room) {
      try {
        reporter.Report({{"text", std::string(kLimit / 6 - room, '\1')}});
        break;
      } catch (const std::invalid_argument&) {
      }
    }
  });
  Welcome();
  const std::string line = Next();
  EXPECT_LE(line.size(), kLimit);
  EXPECT_GT(line.size(), kLimit - 1024);
  EXPECT_THAT(refused, HasSubstr("a report of 1572"));
  EXPECT_THAT(refused, HasSubstr("bytes as JSON is over the limit of "));
  Say(Commit(PathIn(line, "ckpt"), "checkpoint_000001"));
  EXPECT_EQ(End(), absl::OkStatus());
}

TEST_F(FunctionProcessTest, AStopUnwindsItAndKeepsWhatItSavesMeanwhile) {
  struct Saver {
    ~Saver() {
      reporter.SaveCheckpoint(5, [](const std::string&) {});
    }
    Reporter& reporter;
  };
  std::atomic<bool> went_on = false;
  Start([&](const NamedValues&, Reporter& reporter) {
    const Saver saver{reporter};
    reporter.Report({});
    went_on = true;
  });
  Welcome();
  EXPECT_THAT(Next(), HasSubstr("report"));
  Say(R"({"t":"stop","reason":"pause","grace_s":10})");
  const std::string end = Next();
  EXPECT_THAT(end, HasSubstr(R"({"t":"ckpt_end","path":)"));
  EXPECT_EQ(TemporaryStep(PathIn(end, "path")), 5);
  Say(kOk);
  EXPECT_EQ(End(), absl::OkStatus());
  EXPECT_FALSE(went_on);
}

TEST_F(FunctionProcessTest, OneThatIsStoppedKnowsWhereItsCheckpointIs) {
  std::string seen;
  Start([&](const NamedValues&, Reporter& reporter) {
    reporter.SaveCheckpoint({{"epoch", 1}});
    try {
      reporter.Report({});
    } catch (const StopTrial&) {
      seen = reporter.checkpoint()->directory;
      throw;
    }
  });
  Welcome("{}", "null", 3);
  EXPECT_THAT(Next(), HasSubstr("ckpt"));
  Say(R"({"t":"stop","reason":"stop","grace_s":10})");
  EXPECT_EQ(End(), absl::OkStatus());
  EXPECT_EQ(seen, directory_ + "/checkpoint_000004");
}

TEST_F(FunctionProcessTest, OneThatDoesNotEndIsNamed) {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool may_end = false, has_ended = false;
  end_timeout_ = absl::ZeroDuration();
  Start([&](const NamedValues&, Reporter& reporter) {
    try {
      reporter.Report({});
    } catch (const StopTrial&) {
      runtime::MutexLock lock(mutex);
      while (!may_end) changed.Wait(mutex);
      has_ended = true;
      changed.SignalAll();
    }
  });
  Welcome();
  EXPECT_THAT(Next(), HasSubstr("report"));
  Say(R"({"t":"stop","reason":"stop","grace_s":0})");
  thread_->Join();
  EXPECT_TRUE(process_->still_runs());
  EXPECT_EQ(ended_.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(ended_.message(), HasSubstr("function train still runs"));
  runtime::MutexLock lock(mutex);
  may_end = true;
  changed.SignalAll();
  while (!has_ended) changed.Wait(mutex);
}

TEST_F(FunctionProcessTest, ItsFailureIsSaidAndWhatItSavedIsKept) {
  Start([](const NamedValues&, Reporter& reporter) {
    reporter.SaveCheckpoint(3, [](const std::string&) {});
    throw std::runtime_error("no \"data\"");
  });
  Welcome();
  const std::string end = Next();
  EXPECT_THAT(end, HasSubstr("ckpt_end"));
  Say(Commit(PathIn(end, "path"), "checkpoint_000003"));
  EXPECT_EQ(Next(), R"({"t":"fail","error":"function train failed: no \"data\""})");
  const absl::Status ended = End();
  EXPECT_EQ(ended.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(ended.message(), "function train failed: no \"data\"");
}

TEST_F(FunctionProcessTest, AReportThatIsRefusedEndsIt) {
  std::atomic<bool> unwound = false;
  Start([&](const NamedValues&, Reporter& reporter) {
    const std::shared_ptr<void> watch(nullptr, [&](void*) { unwound = true; });
    reporter.Report({{"loss", 1}});
  });
  Welcome();
  EXPECT_THAT(Next(), HasSubstr("loss"));
  Say(R"({"t":"error","code":"FAILED_PRECONDITION","error":"report 1 has no acc"})");
  EXPECT_THAT(Next(), HasSubstr("report 1 has no acc"));
  EXPECT_THAT(End().message(), HasSubstr("report 1: the trainer refuses it: report 1 has no acc"));
  EXPECT_TRUE(unwound);
}

TEST_F(FunctionProcessTest, AnswersThatAreNoneEndIt) {
  Start([](const NamedValues&, Reporter& reporter) { reporter.Report({}); });
  Welcome();
  EXPECT_THAT(Next(), HasSubstr("report"));
  Say(R"({"t":"ckpt_dir","path":"/x"})");
  EXPECT_THAT(End().message(), HasSubstr("the trainer's answer is not understood: \"{"));
}

TEST_F(FunctionProcessTest, AWelcomeThatIsNoneStartsNothing) {
  std::atomic<bool> ran = false;
  Start([&](const NamedValues&) { ran = true; });
  EXPECT_THAT(Next(), HasSubstr("hello"));
  Say("[1,2]");
  EXPECT_THAT(End().message(), HasSubstr("is not understood"));
  EXPECT_FALSE(ran);
}

TEST_F(FunctionProcessTest, AJobThatIsNoTrialIsSaid) {
  Start([](const NamedValues&) {});
  EXPECT_THAT(Next(), HasSubstr("hello"));
  Say(R"({"t":"error","code":"FAILED_PRECONDITION","error":"this task is no trial"})");
  EXPECT_THAT(End().message(), HasSubstr("this task is no trial"));
}

TEST_F(FunctionProcessTest, AChannelThatClosesEndsIt) {
  std::atomic<bool> unwound = false;
  Start([&](const NamedValues&, Reporter& reporter) {
    const std::shared_ptr<void> watch(nullptr, [&](void*) { unwound = true; });
    reporter.Report({});
  });
  Welcome();
  EXPECT_THAT(Next(), HasSubstr("report"));
  trainer_.reset();
  EXPECT_EQ(End().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(unwound);
}

TEST_F(FunctionProcessTest, HeartbeatsWhileItComputes) {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool may_report = false;
  Start(
      [&](const NamedValues&, Reporter& reporter) {
        {
          runtime::MutexLock lock(mutex);
          while (!may_report) changed.Wait(mutex);
        }
        reporter.Report({{"a", 1}});
      },
      {}, absl::Milliseconds(2));
  Welcome();
  EXPECT_EQ(Next(), R"({"t":"hb"})");
  EXPECT_EQ(Next(), R"({"t":"hb"})");
  {
    runtime::MutexLock lock(mutex);
    may_report = true;
    changed.SignalAll();
  }
  std::string line;
  while ((line = Next()) == R"({"t":"hb"})") {
  }
  EXPECT_EQ(line, R"({"t":"report","seq":1,"m":{"a":1}})");
  Say(kOk);
  EXPECT_EQ(End(), absl::OkStatus());
}

TEST_F(FunctionProcessTest, AReportWithDoneIsItsLast) {
  std::atomic<bool> went_on = false;
  Start([&](const NamedValues&, Reporter& reporter) {
    reporter.Report({{"done", true}});
    went_on = true;
  });
  Welcome();
  EXPECT_EQ(Next(), R"({"t":"report","seq":1,"done":true,"m":{"done":true}})");
  Say(kOk);
  EXPECT_EQ(End(), absl::OkStatus());
  EXPECT_FALSE(went_on);
}

TEST_F(FunctionProcessTest, AStopFunctionThatThrowsIsItsFailure) {
  FunctionOptions options;
  options.stop = [](const Result& result) { return result.reported.Number("loss") < 0.1; };
  Start([](const NamedValues&, Reporter& reporter) { reporter.Report({{"acc", 1}}); }, options);
  Welcome();
  EXPECT_THAT(Next(), AllOf(HasSubstr("fail"), HasSubstr("the stop function of train failed"),
                            HasSubstr("loss")));
  EXPECT_FALSE(End().ok());
}

struct OddThing {};

TEST_F(FunctionProcessTest, AStopFunctionThatThrowsNoExceptionIsItsFailureToo) {
  FunctionOptions options;
  options.stop = [](const Result&) -> bool { throw OddThing(); };
  Start([](const NamedValues&, Reporter& reporter) { reporter.Report({{"acc", 1}}); }, options);
  Welcome();
  EXPECT_THAT(Next(), AllOf(HasSubstr(R"({"t":"fail","error":"function train failed: the stop )"),
                            HasSubstr("function of train failed: an exception of type "),
                            HasSubstr("OddThing")));
  EXPECT_FALSE(End().ok());
}

TEST_F(FunctionProcessTest, ItIsToldEvents) {
  std::vector<std::string> events;
  Start([&](const NamedValues&, Reporter& reporter) {
    EXPECT_THAT(reporter.TakeEvents(), ElementsAre());
    reporter.Report({});
    events = reporter.TakeEvents();
    EXPECT_THAT(reporter.TakeEvents(), ElementsAre());
  });
  Welcome();
  EXPECT_THAT(Next(), HasSubstr("report"));
  Say(R"({"t":"ok","events":[{"lr": 0.5},2]})");
  EXPECT_EQ(End(), absl::OkStatus());
  EXPECT_THAT(events, ElementsAre(R"({"lr":0.5})", "2"));
}

TEST_F(FunctionProcessTest, ARequestToStopEndsItAtItsNextReport) {
  std::atomic<bool> went_on = false;
  Start([&](const NamedValues&, Reporter& reporter) {
    reporter.Report({});
    reporter.Report({});
    went_on = true;
  });
  Welcome();
  EXPECT_THAT(Next(), HasSubstr(R"("seq":1)"));
  process_->RequestStop();
  Say(kOk);
  EXPECT_EQ(End(), absl::OkStatus());
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace trainer
