// Tests a worker with real shims; the test acts as the launcher.

#include "launcher/node/node_worker.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/fixtures/attempt_conformance.h"
#include "launcher/fixtures/shim_fixture.h"
#include "launcher/node/fake_launcher.h"
#include "launcher/node/node_link.h"
#include "launcher/node/remote_attempt.h"
#include "launcher/node/words/node_words.h"
#include "launcher/process/process_table.h"
#include "launcher/run/attempt.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/event_loop.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Order = NodeOrder::Kind;
using News = NodeNews::Kind;

std::string TemporaryFolder() {
  char name[] = "/tmp/ynoXXXXXX";
  return mkdtemp(name);
}

// An event that happens once. Thread-safe.
class Event {
 public:
  void Happen() {
    runtime::MutexLock lock(mutex_);
    has_happened_ = true;
    changed_.SignalAll();
  }
  // Waits for the event; returns false after the deadline.
  bool Await() {
    const absl::Time deadline = absl::Now() + kDeadline;
    runtime::MutexLock lock(mutex_);
    while (!has_happened_ && absl::Now() < deadline) {
      changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
    }
    return has_happened_;
  }
  bool has_happened() {
    runtime::MutexLock lock(mutex_);
    return has_happened_;
  }

 private:
  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  bool has_happened_ ABSL_GUARDED_BY(mutex_) = false;
};

// Polls a condition that has no event.
bool AwaitTrue(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + kDeadline;
  runtime::Mutex mutex;
  runtime::CondVar never;
  while (!condition()) {
    if (absl::Now() >= deadline) return false;
    runtime::MutexLock lock(mutex);
    never.WaitWithTimeout(mutex, absl::Milliseconds(2));
  }
  return true;
}

bool IsGone(pid_t pid) {
  const auto row = ReadProcess(pid);
  return !row || row->over;
}

// One worker from start to end, on a separate thread.
class WorkerLife {
 public:
  explicit WorkerLife(NodeWorker::Options options) {
    options.loop = loop_.get();
    OnLoop([&] {
      auto worker = NodeWorker::Create(std::move(options));
      status_ = worker.status();
      if (worker.ok()) worker_ = *std::move(worker);
    });
  }
  ~WorkerLife() {
    OnLoop([this] { worker_.reset(); });
    loop_->Stop();
    thread_.Join();
  }
  void OnLoop(const std::function<void()>& body) {
    Event done;
    loop_->Post([&] {
      body();
      done.Happen();
    });
    ASSERT_TRUE(done.Await());
  }
  NodeWorker* worker() { return worker_.get(); }
  runtime::EventLoop* loop() { return loop_.get(); }
  const absl::Status& status() const { return status_; }

 private:
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create();
  runtime::Thread thread_{"worker", [this] { loop_->Run(); }};
  std::unique_ptr<NodeWorker> worker_;
  absl::Status status_;
};

class NodeWorkerTest : public testing::Test {
 protected:
  NodeWorkerTest() : launcher_(folder_ + "/l") {
    options_.folder = folder_ + "/node";
    options_.socket_directory = folder_ + "/s";
    options_.launcher_socket = folder_ + "/l";
    options_.shim_path = runtime::FindBinary("launcher/yard-shim").value_or("");
    options_.owner = getpid();
    options_.owner_start_ticks = ReadProcess(getpid())->start_ticks;
    options_.hello.node = "n1";
  }
  ~NodeWorkerTest() override {
    for (const std::string& key : keys_) {
      KillAll(key);
    }
    life_.reset();
    std::filesystem::remove_all(folder_);
  }
  // Cleans up after a test that has failed.
  void KillAll(const std::string& key) {
    const std::string folder = Folder(key);
    const auto spec = ShimSpec::Decode(runtime::ReadFile(SpecPath(folder), 1 << 20).value_or(""));
    if (!spec) return;
    if (const auto shim = runtime::LockHolder(folder + "/lock"); shim.ok()) kill(*shim, SIGKILL);
    while (KillOrphanedTree({.task_socket = spec->task_socket}) > 0) {
    }
  }

  void Open() {
    life_.emplace(options_);
    ASSERT_TRUE(life_->status().ok()) << life_->status();
  }
  // Destroys the worker, which leaves its attempts like a kill does.
  void Close() { life_.reset(); }
  void OpenWelcome() {
    Open();
    (void)launcher_.Welcome();
  }
  ShimSpec Shell(const std::string& script) const {
    return {.argv = {"sh", "-c", script},
            .environment = {"PATH=/usr/bin:/bin", "FOLDER=" + folder_},
            .working_directory = folder_};
  }
  void Start(const std::string& key, const ShimSpec& spec) {
    keys_.push_back(key);
    launcher_.Send({.kind = Order::kStart, .attempt = key, .spec = spec.Encode()});
  }
  void Start(const std::string& key, const std::string& script) { Start(key, Shell(script)); }
  std::optional<NodeNews> AwaitRunning(const std::string& key) {
    return launcher_.Await([&](const NodeNews& news) {
      return news.attempt == key && news.kind == News::kState &&
             news.state.phase == ShimPhase::kRunning;
    });
  }
  // Waits until the attempt has written this many bytes.
  void AwaitOutput(const std::string& key, std::uint64_t bytes) {
    (void)launcher_.Await([&](const NodeNews& news) {
      return news.attempt == key && news.kind == News::kState && news.state.stdout_end >= bytes;
    });
  }
  NodeNews AwaitOver(const std::string& key) {
    return launcher_.Await(key, News::kOver).value_or(NodeNews());
  }
  void Acknowledge(const std::string& key) {
    launcher_.Send({.kind = Order::kAcknowledge, .attempt = key});
    (void)launcher_.Await(key, News::kLeft);
  }
  std::string Folder(const std::string& key) const { return options_.folder + "/attempts/" + key; }
  std::vector<std::string> In(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  void ExpectNothingLeft() {
    EXPECT_THAT(In(options_.folder + "/attempts"), IsEmpty());
    EXPECT_THAT(In(options_.socket_directory), IsEmpty());
  }

  const std::string folder_ = TemporaryFolder();
  FakeLauncher launcher_;
  NodeWorker::Options options_;
  std::optional<WorkerLife> life_;
  std::vector<std::string> keys_;
};

TEST_F(NodeWorkerTest, RunsAnAttemptAndKeepsItsOutputUntilTheEndIsAcknowledged) {
  Open();
  const auto hello = launcher_.Welcome();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->node, "n1");
  EXPECT_EQ(hello->pid, getpid());
  EXPECT_EQ(hello->boot, BootId());
  EXPECT_THAT(hello->attempts, IsEmpty());
  Start("a", "head -c 150000 /dev/zero | tr '\\0' x; echo oops >&2; exit 3");
  const NodeNews over = AwaitOver("a");
  EXPECT_EQ(over.state.exit_code, 3);
  EXPECT_EQ(over.state.stdout_end, 150'000u);
  EXPECT_EQ(over.how, "exit code 3");
  EXPECT_FALSE(over.lost);
  EXPECT_EQ(launcher_.Read("a", false, 0).size(), kMaxNodeOutput);
  EXPECT_EQ(launcher_.ReadAll("a"), std::string(150'000, 'x'));
  EXPECT_EQ(launcher_.ReadAll("a", /*is_stderr=*/true), "oops\n");
  EXPECT_EQ(launcher_.Read("a", false, 150'000), "");
  EXPECT_EQ(launcher_.Read("a", false, ~std::uint64_t{0}), "");
  EXPECT_EQ(launcher_.Read("other", false, 0), "");
  Acknowledge("a");
  ExpectNothingLeft();
  EXPECT_EQ(launcher_.Read("a", false, 0), "");
}

TEST_F(NodeWorkerTest, SetsFilesSocketsAndOwnerOfTheSpecItself) {
  OpenWelcome();
  ShimSpec spec = Shell("sleep 100");
  spec.stdout_path = spec.stderr_path = folder_ + "/not-here";
  spec.control_socket = folder_ + "/not-there";
  spec.owner = 1;
  spec.rotate_bytes = 10;
  spec.log_limit = 1000;
  Start("a", spec);
  (void)AwaitRunning("a");
  const auto own = ShimSpec::Decode(runtime::ReadFile(SpecPath(Folder("a")), 1 << 20).value_or(""));
  ASSERT_TRUE(own);
  EXPECT_EQ(own->stdout_path, Folder("a") + "/stdout");
  EXPECT_EQ(own->stderr_path, Folder("a") + "/stderr");
  EXPECT_TRUE(absl::StartsWith(own->control_socket, options_.socket_directory));
  EXPECT_TRUE(absl::StartsWith(own->task_socket, options_.socket_directory));
  EXPECT_EQ(own->owner, getpid());
  EXPECT_EQ(own->owner_start_ticks, options_.owner_start_ticks);
  EXPECT_EQ(own->owner_stop_signal, SIGTERM);
  EXPECT_EQ(own->owner_stop_grace_ms, 10'000);
  EXPECT_EQ(own->rotate_bytes, 0u);
  EXPECT_EQ(own->log_limit, 1000u);
  launcher_.Send({.kind = Order::kDiscard, .attempt = "a"});
  (void)launcher_.Await("a", News::kLeft);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/not-here"));
}

TEST_F(NodeWorkerTest, TellsThatAProgramIsReadyAndPassesSignalsAndStops) {
  OpenWelcome();
  ShimSpec spec = Shell(
      "trap 'echo usr' USR1; trap 'echo term; exit 7' TERM; echo up; echo >&$YARD_READY_FD;"
      "while :; do sleep 0.01; done");
  spec.ready_fd = 5;
  Start("a", spec);
  (void)launcher_.Await([](const NodeNews& news) { return news.state.ready; });
  launcher_.Send({.kind = Order::kSignal, .attempt = "a", .signal = SIGUSR1});
  AwaitOutput("a", 7);
  launcher_.Send({.kind = Order::kStop, .attempt = "a", .signal = SIGTERM, .grace_ms = 20'000});
  EXPECT_EQ(AwaitOver("a").state.exit_code, 7);
  EXPECT_EQ(launcher_.ReadAll("a"), "up\nusr\nterm\n");
  Acknowledge("a");
}

TEST_F(NodeWorkerTest, KillsTheTreeAfterTheGraceOfAStop) {
  OpenWelcome();
  Start("a", "trap '' TERM; sleep 1000 & echo up; while :; do sleep 1; done");
  AwaitOutput("a", 3);
  launcher_.Send({.kind = Order::kStop, .attempt = "a", .signal = SIGTERM, .grace_ms = 10});
  const NodeNews over = AwaitOver("a");
  EXPECT_EQ(over.state.signal, SIGKILL);
  Acknowledge("a");
}

TEST_F(NodeWorkerTest, PassesABarrierAndItsAnswerAlsoOnAnotherConnection) {
  OpenWelcome();
  Start("a", "echo '{\"t\":\"barrier\",\"name\":\"b\"}' >&3; head -n 1 <&3");
  const auto barrier = launcher_.Await("a", News::kBarrier);
  ASSERT_TRUE(barrier);
  EXPECT_THAT(barrier->barrier.line, HasSubstr("\"name\":\"b\""));
  launcher_.Hear();
  const auto hello = launcher_.Welcome();
  EXPECT_THAT(hello->attempts, ElementsAre("a"));
  const auto again = launcher_.Await("a", News::kBarrier);
  EXPECT_EQ(again->barrier, barrier->barrier);
  launcher_.Send({.kind = Order::kBarrier,
                  .attempt = "a",
                  .number = barrier->barrier.number,
                  .line = "{\"ok\":true}"});
  EXPECT_EQ(AwaitOver("a").state.exit_code, 0);
  EXPECT_THAT(launcher_.ReadAll("a"), HasSubstr("\"ok\":true"));
  Acknowledge("a");
}

TEST_F(NodeWorkerTest, ABarrierThatWasAnsweredIsNotSaidAgain) {
  OpenWelcome();
  Start("a", "echo '{\"t\":\"barrier\",\"name\":\"b\"}' >&3; head -n 1 <&3; head -n 1 <&3");
  const auto barrier = launcher_.Await("a", News::kBarrier);
  ASSERT_TRUE(barrier);
  launcher_.Send({.kind = Order::kBarrier,
                  .attempt = "a",
                  .number = barrier->barrier.number,
                  .line = "{\"ok\":true}"});
  while (!absl::StrContains(launcher_.ReadAll("a"), "ok")) std::this_thread::yield();
  launcher_.Welcome();
  launcher_.Send({.kind = Order::kStop, .attempt = "a", .signal = SIGKILL});
  EXPECT_TRUE(launcher_.Await([](const NodeNews& news) {
    EXPECT_NE(news.kind, News::kBarrier);
    return news.kind == News::kOver;
  }));
  Acknowledge("a");
}

TEST_F(NodeWorkerTest,
       SaysTheEndOnEveryConnectionUntilItIsAcknowledgedAndThatNothingIsLeftUntilHeard) {
  OpenWelcome();
  Start("a", "exit 4");
  EXPECT_EQ(AwaitOver("a").state.exit_code, 4);
  (void)launcher_.Welcome();
  EXPECT_EQ(AwaitOver("a").state.exit_code, 4);
  launcher_.Hear();
  (void)launcher_.Welcome();  // (It may be a new launcher.)
  EXPECT_EQ(AwaitOver("a").state.exit_code, 4);
  Acknowledge("a");
  EXPECT_THAT(launcher_.Welcome()->attempts, IsEmpty());
  ASSERT_TRUE(launcher_.Await("a", News::kLeft));
  launcher_.Hear();
  (void)launcher_.Welcome();
  Start("b", "exit 0");
  // If the acknowledged news were sent again, it would come first.
  const auto next = launcher_.Await([](const NodeNews&) { return true; });
  EXPECT_EQ(next->attempt, "b");
  (void)AwaitOver("b");
  Acknowledge("b");
}

// While there is no connection no news are sent; the end is sent on the next one.
TEST_F(NodeWorkerTest, AnEndThatComesWithoutAConnectionIsToldOnTheNextOne) {
  OpenWelcome();
  Start("a", "echo up; while [ ! -e $FOLDER/go ]; do sleep 0.01; done; exit 5");
  AwaitOutput("a", 3);
  launcher_.Close();
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  ASSERT_TRUE(AwaitTrue([&] { return std::filesystem::exists(Folder("a") + "/exit"); }));
  (void)launcher_.Welcome();
  EXPECT_EQ(AwaitOver("a").state.exit_code, 5);
  Acknowledge("a");
}

TEST_F(NodeWorkerTest, AStartThatIsSaidTwiceRunsTheProgramOnce) {
  OpenWelcome();
  const std::string script =
      "echo x >> $FOLDER/ran; while [ ! -e $FOLDER/go ]; do sleep 0.01; done";
  Start("a", script);
  Start("a", script);
  (void)AwaitRunning("a");
  (void)launcher_.Welcome();
  Start("a", script);
  (void)AwaitRunning("a");
  Close();
  Open();
  (void)launcher_.Welcome();
  Start("a", script);
  (void)AwaitRunning("a");
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  (void)AwaitOver("a");
  Start("a", script);
  (void)AwaitOver("a");
  EXPECT_EQ(runtime::ReadFile(folder_ + "/ran", 100).value_or(""), "x\n");
  Acknowledge("a");
}

TEST_F(NodeWorkerTest, AnotherWorkerTakesUpWhatRunsAndWhatHasEndedMeanwhile) {
  OpenWelcome();
  Start("runs", "echo up; while [ ! -e $FOLDER/go ]; do sleep 0.01; done; exit 6");
  Start("ends", "echo up; while [ ! -e $FOLDER/end ]; do sleep 0.01; done; echo last; exit 7");
  AwaitOutput("runs", 3);
  AwaitOutput("ends", 3);
  Close();
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/end", "", 0600).ok());
  ASSERT_TRUE(AwaitTrue([&] { return std::filesystem::exists(Folder("ends") + "/exit"); }));
  Open();
  EXPECT_THAT(launcher_.Welcome()->attempts, ElementsAre("ends", "runs"));
  const NodeNews over = AwaitOver("ends");
  EXPECT_EQ(over.state.exit_code, 7);
  EXPECT_FALSE(over.lost);
  EXPECT_EQ(launcher_.ReadAll("ends"), "up\nlast\n");
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  EXPECT_EQ(AwaitOver("runs").state.exit_code, 6);
  Acknowledge("runs");
  Acknowledge("ends");
  ExpectNothingLeft();
}

TEST_F(NodeWorkerTest, AnotherWorkerStartsWhatWasOrderedAndRemovesWhatWasBeingRemoved) {
  OpenWelcome();
  Start("a", "exit 8");
  EXPECT_EQ(AwaitOver("a").state.exit_code, 8);
  Close();
  // As if workers had been killed after the order of "b", and while they were removing "c".
  auto spec = *ShimSpec::Decode(runtime::ReadFile(SpecPath(Folder("a")), 1 << 20).value_or(""));
  spec.task_socket = options_.socket_directory + "/b";
  spec.control_socket = spec.task_socket + ".ctl";
  spec.stdout_path = spec.stderr_path = Folder("b") + "/stdout";
  std::filesystem::create_directory(Folder("b"));
  std::filesystem::create_directory(Folder("c"));
  ASSERT_TRUE(runtime::WriteFileAtomically(SpecPath(Folder("b")), spec.Encode(), 0600).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(Folder("c") + "/stdout", "text", 0600).ok());
  // "d" has an unreadable spec.
  std::filesystem::create_directory(Folder("d"));
  ASSERT_TRUE(runtime::WriteFileAtomically(SpecPath(Folder("d")), "spoilt", 0600).ok());
  Open();
  EXPECT_THAT(launcher_.Welcome()->attempts, ElementsAre("a", "b", "d"));
  EXPECT_FALSE(std::filesystem::exists(Folder("c")));
  EXPECT_EQ(AwaitOver("b").state.exit_code, 8);
  (void)launcher_.Welcome();
  EXPECT_TRUE(AwaitOver("d").lost);
  for (const char* const key : {"a", "b", "d"}) Acknowledge(key);
  ExpectNothingLeft();
}

// After a kill of the stub, its attempts must not run beside those of the next stub.
TEST_F(NodeWorkerTest, AttemptsOfAnEarlierOwnerAreKilledBeforeAConnection) {
  OpenWelcome();
  Start("a", "trap '' TERM; echo up; while :; do sleep 1; done");
  const auto running = AwaitRunning("a");
  ASSERT_TRUE(running);
  Close();
  ++options_.owner_start_ticks;
  Open();
  EXPECT_THAT(launcher_.Welcome()->attempts, ElementsAre("a"));
  EXPECT_TRUE(IsGone(running->state.pid));
  EXPECT_EQ(AwaitOver("a").state.signal, SIGKILL);
  Acknowledge("a");
  ExpectNothingLeft();
}

TEST_F(NodeWorkerTest, AShimThatIsKilledIsTold) {
  OpenWelcome();
  Start("a", "echo up; sleep 1000");
  const auto running = AwaitRunning("a");
  ASSERT_TRUE(running);
  ASSERT_EQ(kill(running->state.shim_pid, SIGKILL), 0);
  const NodeNews over = AwaitOver("a");
  EXPECT_TRUE(over.shim_lost);
  EXPECT_EQ(over.how, "the shim was killed (signal 9)");
  EXPECT_TRUE(IsGone(running->state.pid));
  Acknowledge("a");
  ExpectNothingLeft();
}

TEST_F(NodeWorkerTest, ADiscardedAttemptIsKilledAndRemoved) {
  OpenWelcome();
  Start("runs", "trap '' TERM; echo up; while :; do sleep 1; done");
  Start("ended", "exit 0");
  (void)AwaitOver("ended");
  (void)launcher_.Welcome();
  const auto running = AwaitRunning("runs");
  ASSERT_TRUE(running);
  for (const char* const key : {"runs", "ended", "unknown"}) {
    launcher_.Send({.kind = Order::kDiscard, .attempt = key});
    ASSERT_TRUE(launcher_.Await(key, News::kLeft)) << key;
  }
  EXPECT_TRUE(IsGone(running->state.pid));
  ExpectNothingLeft();
}

TEST_F(NodeWorkerTest, AnAcknowledgementOfALiveAttemptIsIgnoredAndOfAnUnknownOneAnswered) {
  OpenWelcome();
  Start("a", "while [ ! -e $FOLDER/go ]; do sleep 0.01; done; exit 9");
  (void)AwaitRunning("a");
  launcher_.Send({.kind = Order::kAcknowledge, .attempt = "a"});
  launcher_.Send({.kind = Order::kAcknowledge, .attempt = "unknown"});
  ASSERT_TRUE(launcher_.Await("unknown", News::kLeft));
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  EXPECT_EQ(AwaitOver("a").state.exit_code, 9);
  Acknowledge("a");
}

TEST_F(NodeWorkerTest, AStartThatFailsIsAnEndWithItsReason) {
  OpenWelcome();
  launcher_.Send({.kind = Order::kStart, .attempt = "none", .spec = "nonsense"});
  EXPECT_THAT(AwaitOver("none").state.failure, HasSubstr("cannot be decoded"));
  ShimSpec large = Shell("true");
  large.environment.push_back("X=" + std::string(NodeWorker::kMaxSpec, 'x'));
  Start("large", large);
  EXPECT_THAT(AwaitOver("large").how, HasSubstr("at most 2097152"));
  ShimSpec reports = Shell("true");
  reports.trainer_socket = "/the/launcher's/own";
  Start("reports", reports);
  EXPECT_THAT(AwaitOver("reports").how, HasSubstr("--trainer_socket"));
  ShimSpec missing = Shell("true");
  missing.argv = {"/no/such/program"};
  Start("missing", missing);
  EXPECT_EQ(AwaitOver("missing").state.error_number, ENOENT);
  for (const char* const key : {"none", "large", "reports", "missing"}) Acknowledge(key);
  ExpectNothingLeft();
}

// Malformed messages have no other effect than being counted.
TEST_F(NodeWorkerTest, WordsThatCannotBeUnderstoodAreDroppedAndCounted) {
  Open();
  (void)launcher_.Accept();
  launcher_.Send({.kind = Order::kAcknowledge, .attempt = "before-the-welcome"});
  launcher_.Send({.kind = Order::kWelcome});
  launcher_.SendFrame("no record");
  launcher_.SendFrame(NodeHello{.node = "n"}.Encode());
  launcher_.Send({.kind = Order::kStart, .attempt = "../up", .spec = Shell("true").Encode()});
  launcher_.Send({.kind = Order::kStart, .attempt = "A/b", .spec = Shell("true").Encode()});
  Start("a", "echo up; while [ ! -e $FOLDER/go ]; do sleep 0.01; done");
  AwaitOutput("a", 3);
  launcher_.Send({.kind = Order::kSignal, .attempt = "a", .signal = 4711});
  launcher_.Send({.kind = Order::kStop, .attempt = "a", .signal = -1});
  launcher_.Send({.kind = Order::kBarrier,
                  .attempt = "a",
                  .number = 1,
                  .line = std::string(kMaxBarrierAnswer + 1, 'x')});
  launcher_.Send({.kind = Order::kBarrier, .attempt = "a", .number = 99, .line = "{}"});
  launcher_.Send({.kind = Order::kWelcome});
  EXPECT_EQ(launcher_.Read("a", false, 0), "up\n");
  life_->OnLoop([&] { EXPECT_EQ(life_->worker()->bad_words(), 8u); });
  EXPECT_FALSE(std::filesystem::exists(options_.folder + "/up"));
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  EXPECT_EQ(AwaitOver("a").state.exit_code, 0);
  Acknowledge("a");
  // A frame over the limit ends the connection; the worker reconnects.
  (void)launcher_.Accept();
  launcher_.SendFrame(std::string(5 << 20, 'x'));
  EXPECT_THAT(launcher_.Welcome()->attempts, IsEmpty());
}

TEST_F(NodeWorkerTest, ARefusedNodeTriesAgainAfterAWhile) {
  options_.refused_pause = absl::Milliseconds(300);
  Open();
  (void)launcher_.Accept();
  const absl::Time refused = absl::Now();
  launcher_.Send({.kind = Order::kRefuse, .line = "another version"});
  EXPECT_TRUE(launcher_.AwaitClosed());
  (void)launcher_.Welcome();
  EXPECT_GE(absl::Now() - refused, absl::Milliseconds(290));
}

TEST_F(NodeWorkerTest, ANodeThatIsRefusedForGoodIsUnwanted) {
  Event unwanted;
  options_.on_unwanted = [&](const std::string& why) {
    EXPECT_EQ(why, "run b is not the first");
    unwanted.Happen();
  };
  options_.refused_pause = absl::Milliseconds(1);
  Open();
  (void)launcher_.Accept();
  launcher_.Send({.kind = Order::kRefuse, .line = "another version"});
  (void)launcher_.Accept();
  EXPECT_FALSE(unwanted.has_happened());
  launcher_.Send({.kind = Order::kRefuse, .line = "run b is not the first", .for_good = true});
  EXPECT_TRUE(unwanted.Await());
}

TEST_F(NodeWorkerTest, ANodeThatNoLauncherWelcomesIsUnwantedAfterItsPatience) {
  Event unwanted;
  options_.on_unwanted = [&](const std::string&) { unwanted.Happen(); };
  options_.patience = absl::Milliseconds(300);
  OpenWelcome();
  const absl::Time lost = absl::Now();
  EXPECT_FALSE(unwanted.has_happened());
  launcher_.Close();
  (void)launcher_.Accept();  // The launcher does not send a welcome.
  EXPECT_TRUE(unwanted.Await());
  EXPECT_GE(absl::Now() - lost, absl::Milliseconds(290));
}

TEST_F(NodeWorkerTest, AttemptsOfANodeThatItsHostTakesAwayAreToldAsLost) {
  options_.taken_by = "Slurm has ended job 17 on node2";
  OpenWelcome();
  Start("saves", "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done");
  AwaitOutput("saves", 3);
  Start("stopped", "trap 'exit 4' TERM; echo up; while :; do sleep 0.01; done");
  AwaitOutput("stopped", 3);
  launcher_.Send(
      {.kind = Order::kStop, .attempt = "stopped", .signal = SIGWINCH, .grace_ms = 60'000});
  // By now the earlier order was carried out.
  EXPECT_EQ(launcher_.Read("stopped", false, 0), "up\n");
  Event left;
  life_->OnLoop([&] { life_->worker()->Leave(kDeadline, [&] { left.Happen(); }); });
  EXPECT_TRUE(launcher_.AwaitHello()->leaving);
  launcher_.Send({.kind = Order::kStart, .attempt = "late", .spec = Shell("true").Encode()});
  EXPECT_TRUE(AwaitOver("late").lost);
  const NodeNews saved = AwaitOver("saves");
  EXPECT_TRUE(saved.lost);
  EXPECT_EQ(saved.how, "Slurm has ended job 17 on node2 (exit code 0)");
  // The launcher had asked this attempt to stop before.
  const NodeNews stopped = AwaitOver("stopped");
  EXPECT_FALSE(stopped.lost);
  EXPECT_EQ(stopped.state.exit_code, 4);
  for (const char* const key : {"saves", "stopped", "late"}) Acknowledge(key);
  launcher_.Hear();
  EXPECT_TRUE(left.Await());
  ExpectNothingLeft();
}

TEST_F(NodeWorkerTest, LeavingStopsAllAttemptsAndWaitsForTheirAcknowledgement) {
  OpenWelcome();
  Start("soft", "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done");
  AwaitOutput("soft", 3);
  Start("hard", "trap '' TERM; echo up; while :; do sleep 1; done");
  AwaitOutput("hard", 3);
  Event left;
  life_->OnLoop([&] { life_->worker()->Leave(absl::Milliseconds(200), [&] { left.Happen(); }); });
  EXPECT_TRUE(launcher_.AwaitHello()->leaving);
  launcher_.Send({.kind = Order::kStart, .attempt = "late", .spec = Shell("true").Encode()});
  EXPECT_THAT(AwaitOver("late").how, HasSubstr("is being stopped"));
  EXPECT_EQ(AwaitOver("soft").state.exit_code, 3);
  EXPECT_EQ(AwaitOver("hard").state.signal, SIGKILL);
  EXPECT_FALSE(left.has_happened());
  for (const char* const key : {"late", "soft", "hard"}) Acknowledge(key);
  EXPECT_FALSE(left.has_happened());
  launcher_.Hear();
  EXPECT_TRUE(left.Await());
  ExpectNothingLeft();
}

TEST_F(NodeWorkerTest, LeavingWithoutALauncherKeepsTheEndsForTheNextWorker) {
  OpenWelcome();
  Start("a", "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done");
  AwaitOutput("a", 3);
  launcher_.StopListening();
  launcher_.Close();
  Event left;
  life_->OnLoop([&] { life_->worker()->Leave(kDeadline, [&] { left.Happen(); }); });
  EXPECT_TRUE(left.Await());
  Close();
  // Its shim does not wait for an acknowledgement that can never come.
  EXPECT_TRUE(AwaitTrue([&] { return !runtime::LockHolder(Folder("a") + "/lock").ok(); }));
  ASSERT_EQ(unlink(options_.launcher_socket.c_str()), 0);
  FakeLauncher next(options_.launcher_socket);
  Open();
  EXPECT_THAT(next.Welcome()->attempts, ElementsAre("a"));
  EXPECT_EQ(next.Await("a", News::kOver)->state.exit_code, 3);
  next.Send({.kind = Order::kAcknowledge, .attempt = "a"});
  EXPECT_TRUE(next.Await("a", News::kLeft));
  ExpectNothingLeft();
}

TEST_F(NodeWorkerTest, APathThatIsTooLongForASocketIsRefused) {
  std::filesystem::create_directories(Folder("being-removed"));
  options_.socket_directory = folder_ + "/" + std::string(100, 's');
  life_.emplace(options_);
  EXPECT_EQ(life_->status().code(), absl::StatusCode::kInvalidArgument);
  // It re-adopts and starts nothing.
  EXPECT_TRUE(std::filesystem::exists(Folder("being-removed")));
  EXPECT_THAT(std::string(life_->status().message()), HasSubstr("is too long"));
}

// Runs the conformance suite with the launcher's side and this worker.
TEST_F(NodeWorkerTest, AnAttemptOnANodeKeepsThePromisesOfAnAttempt) {
  const std::string path = folder_ + "/real";
  const runtime::UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(path);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  options_.launcher_socket = path;
  Open();
  std::unique_ptr<NodeLink> link;
  runtime::EventLoop::WatchId watch = 0;
  life_->OnLoop([&] {
    link = std::make_unique<NodeLink>(NodeLink::Options{.loop = life_->loop(), .name = "there"});
    watch = life_->loop()->Watch(listener.get(), runtime::EventLoop::Readiness::kReadable, [&] {
      link->Take(runtime::UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    });
  });
  const std::string directory = folder_ + "/launcher";
  std::filesystem::create_directory(directory);
  const AttemptMaker maker{.make = [&](runtime::EventLoop* loop, const AttemptMaker::Asked& asked,
                                       Attempt::Callbacks callbacks) -> std::unique_ptr<Attempt> {
    return std::make_unique<RemoteAttempt>(
        RemoteAttempt::Options{.loop = loop,
                               .node = link.get(),
                               .key = asked.name,
                               .folder = asked.folder,
                               .stdout_path = asked.spec.stdout_path,
                               .stderr_path = asked.spec.stderr_path,
                               .spec = [&asked] { return asked.spec; }},
        std::move(callbacks));
  }};
  ExpectConformingAttempt(life_->loop(), directory, maker);
  life_->OnLoop([&] {
    life_->loop()->Unwatch(watch);
    link.reset();
  });
  EXPECT_TRUE(AwaitTrue([&] { return In(options_.folder + "/attempts").empty(); }));
}

}  // namespace
}  // namespace launcher
