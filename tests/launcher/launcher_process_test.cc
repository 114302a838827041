// The launcher as a process, called over the bus.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/event/subscriber.h"
#include "bus/schema/launcher_methods.h"
#include "bus/thread/node.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/process/subprocess.h"

namespace launcher {
namespace {

// Where tasks say what the test waits for.
class Said {
 public:
  explicit Said(const std::string& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    fifo_ = runtime::UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  // The next line; empty after 20 s without one.
  std::string Next() {
    for (;;) {
      const auto newline = text_.find('\n');
      if (newline != std::string::npos) {
        const std::string line = text_.substr(0, newline);
        text_.erase(0, newline + 1);
        return line;
      }
      pollfd entry = {fifo_.get(), POLLIN, 0};
      char bytes[100];
      const ssize_t got = poll(&entry, 1, 20'000) == 1 ? read(fifo_.get(), bytes, sizeof bytes) : 0;
      if (got <= 0) return "";
      text_.append(bytes, static_cast<std::size_t>(got));
    }
  }

 private:
  runtime::UniqueFd fifo_;
  std::string text_;
};

void TwoWorkers(msg::JobSpecT& spec) {
  auto workers = std::make_unique<msg::TaskGroupT>();
  workers->type = "worker";
  workers->count = 2;
  spec.groups.push_back(std::move(workers));
}

class LauncherProcessTest : public ::testing::Test {
 protected:
  LauncherProcessTest() {
    char name[] = "/tmp/ylpXXXXXX";
    folder_ = mkdtemp(name);
    locations_.runtime_directory = folder_ + "/yard";
    locations_.state_directory = folder_ + "/state";
    locations_.registry_address = absl::StrCat("ipc://", folder_, "/yard/registry");
  }
  ~LauncherProcessTest() override {
    client_.reset();
    node_.reset();
    for (auto* process : {&launcher_, &registry_}) {
      if (!process->has_value()) continue;
      (void)(*process)->Signal(SIGKILL);
      (void)(*process)->Wait(absl::Seconds(10));
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void SetUp() override {
    registry_ = Start("registry/registry");
    launcher_ = Start("launcher/launcher");
    auto node = bus::Node::Create({.name = "test", .locations = locations_});
    ASSERT_TRUE(node.ok()) << node.status();
    node_ = std::move(*node);
    client_ = std::make_unique<bus::Client>(node_.get());
  }
  std::optional<runtime::Subprocess> Start(const std::string& label,
                                           const std::vector<std::string>& flags = {}) {
    const auto program = runtime::FindBinary(label);
    EXPECT_TRUE(program.ok()) << program.status();
    return StartProgram(program.value_or(""), flags);
  }
  std::optional<runtime::Subprocess> StartProgram(const std::string& program,
                                                  const std::vector<std::string>& flags = {}) {
    runtime::Subprocess::Options options;
    options.argv = {program};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    options.environment = {"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + folder_,
                           "YARD_STATE=" + locations_.state_directory};
    options.fds = {{2, 2}};
    options.new_session = true;
    auto process = runtime::Subprocess::Start(options);
    EXPECT_TRUE(process.ok()) << process.status();
    return std::move(*process);
  }
  static bus::CallOptions Patient(const std::string& request_id = "") {
    bus::CallOptions options;
    options.timeout = absl::Seconds(20);
    options.wait_for_service = true;
    options.request_id = request_id;
    return options;
  }
  std::string Launch(
      const std::string& script, const std::string& request_id = "",
      const std::function<void(msg::JobSpecT&)>& change = [](msg::JobSpecT&) {}) {
    msg::LaunchRequestT request;
    request.spec = std::make_unique<msg::JobSpecT>();
    request.spec->argv = {"sh", "-c", script};
    request.spec->environment = {"PATH=/usr/bin:/bin", "FOLDER=" + folder_};
    request.spec->working_directory = folder_;
    change(*request.spec);
    const auto reply = client_->Call<rpc::Launcher::Launch>(request, Patient(request_id));
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->job->id : "";
  }
  absl::StatusOr<msg::WaitJobReplyT> Wait(const std::string& job) {
    msg::WaitJobRequestT request;
    request.job = job;
    return client_->Stream<rpc::Launcher::WaitJob>(
        request, [](const msg::WaitJobReplyT&) { return true; }, Patient());
  }

  // The job once all its tasks run (they must not end before).
  msg::JobT AwaitAllRunning(const std::string& job) {
    msg::WaitJobRequestT request;
    request.job = job;
    msg::JobT running;
    const auto until_running = [&](const msg::WaitJobReplyT& part) {
      const auto runs = [](const auto& task) { return task->state == msg::TaskState::Running; };
      running = *part.job;
      return !std::all_of(running.tasks.begin(), running.tasks.end(), runs);
    };
    const auto end = client_->Stream<rpc::Launcher::WaitJob>(request, until_running, Patient());
    EXPECT_TRUE(absl::IsCancelled(end.status())) << end.status();
    return running;
  }

  std::string folder_;
  runtime::Locations locations_;
  std::optional<runtime::Subprocess> registry_, launcher_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Client> client_;
};

TEST_F(LauncherProcessTest, LaunchWaitLogsRemove) {
  const std::string job = Launch("echo hello; exit 3");
  const auto ended = Wait(job);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job->state, msg::TaskState::Failed);
  EXPECT_EQ(ended->job->reason, "exit code 3");
  msg::LogsRequestT logs;
  logs.job = job;
  std::string text;
  const auto log_end = client_->Stream<rpc::Launcher::Logs>(
      logs,
      [&](const msg::LogsReplyT& part) {
        text.append(part.data.begin(), part.data.end());
        return true;
      },
      Patient());
  ASSERT_TRUE(log_end.ok()) << log_end.status();
  EXPECT_EQ(text, "hello\n");
  msg::RemoveJobRequestT remove;
  remove.job = job;
  EXPECT_TRUE(client_->Call<rpc::Launcher::RemoveJob>(remove, Patient()).ok());
  EXPECT_EQ(client_->Call<rpc::Launcher::Jobs>({}, Patient())->jobs.size(), 0u);
}

TEST_F(LauncherProcessTest, FlagsSayHowManyEndedJobsAreKeptAndForHowLong) {
  for (const char* flag : {"--keep_jobs=0", "--keep_jobs_for=0s"}) {
    ASSERT_TRUE(Wait(Launch("true")).ok());
    ASSERT_TRUE(launcher_->Signal(SIGTERM).ok());  // (Killed now, it may not have stored the end.)
    ASSERT_TRUE(launcher_->Wait(absl::Seconds(20)).ok());
    launcher_ = Start("launcher/launcher", {flag});
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    std::size_t jobs = 1;
    while (jobs > 0 && absl::Now() < deadline) {
      const auto reply = client_->Call<rpc::Launcher::Jobs>({}, Patient());
      ASSERT_TRUE(reply.ok()) << reply.status();
      jobs = reply->jobs.size();
    }
    EXPECT_EQ(jobs, 0u) << flag;
  }
}

TEST_F(LauncherProcessTest, SaysHowItKillsATasksTree) {
  const auto reply = client_->Call<rpc::Launcher::KillModes>({}, Patient());
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->modes.size(), 5u);
  EXPECT_NE(reply->chosen, "");
  // A child that the probes have left would be the next one to be reported as ended.
  EXPECT_TRUE(Wait(Launch("true")).ok());
}

TEST_F(LauncherProcessTest, SaysWhatRunningTasksUse) {
  const std::string one = Launch("sleep 1000"), other = Launch("sleep 1000");
  const auto usage = [&](const std::string& job) {
    msg::UsageRequestT request;
    request.job = job;
    return client_->Call<rpc::Launcher::Usage>(request, Patient());
  };
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  auto all = usage("");
  while (all.ok() && all->tasks.size() < 2 && absl::Now() < deadline) all = usage("");
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->tasks.size(), 2u);
  for (const auto& task : all->tasks) {
    EXPECT_GT(task->rss_bytes, 0u);
    EXPECT_GE(task->processes, 1u);
  }
  for (const std::string& name : {one, one + "/worker-0"}) {
    const auto only = usage(name);
    ASSERT_TRUE(only.ok()) << only.status();
    ASSERT_EQ(only->tasks.size(), 1u) << name;
    EXPECT_EQ(only->tasks[0]->task, one + "/worker-0");
  }
  EXPECT_TRUE(absl::IsNotFound(usage("j-none").status()));
}

TEST_F(LauncherProcessTest, AJobGoesOnOverAKillOfTheLauncher) {
  const std::string job = Launch(
      "echo one; while [ ! -e $FOLDER/go ]; do sleep 0.01; done; echo two; exit 5", "request");
  ASSERT_TRUE(launcher_->Signal(SIGKILL).ok());
  ASSERT_TRUE(launcher_->Wait(absl::Seconds(10)).ok());
  launcher_ = Start("launcher/launcher");
  EXPECT_EQ(Launch("never", "request"), job);
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  const auto ended = Wait(job);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job->reason, "exit code 5");
  EXPECT_EQ(runtime::ReadFile(ended->job->tasks[0]->stdout_path, 100).value_or(""), "one\ntwo\n");
}

TEST_F(LauncherProcessTest, ADaemonJobIsStoppedWhenTheLauncherIsKilled) {
  Said said(folder_ + "/said");
  const std::string job = Launch(
      "trap 'echo saved >$FOLDER/said; exit 0' TERM; echo ready >$FOLDER/said;"
      " while :; do sleep 0.01; done",
      "", [](msg::JobSpecT& spec) { spec.daemon = true; });
  ASSERT_EQ(said.Next(), "ready");
  ASSERT_TRUE(launcher_->Signal(SIGKILL).ok());
  ASSERT_TRUE(launcher_->Wait(absl::Seconds(10)).ok());
  EXPECT_EQ(said.Next(), "saved");
  launcher_ = Start("launcher/launcher");
  const auto ended = Wait(job);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job->state, msg::TaskState::Exited);
  EXPECT_EQ(ended->job->reason, "stopped: exit code 0; its launcher has ended");
}

TEST_F(LauncherProcessTest, TasksMeetAtABarrierOverTheirReportChannel) {
  const std::string job = Launch(
      R"(echo '{"t":"barrier","name":"a","timeout_s":20}' >&3; read -r answer <&3; echo "$answer")",
      "", TwoWorkers);
  const auto ended = Wait(job);
  ASSERT_TRUE(ended.ok()) << ended.status();
  std::vector<std::string> answers;
  for (const auto& task : ended->job->tasks) {
    answers.push_back(runtime::ReadFile(task->stdout_path, 1000).value_or(""));
  }
  std::sort(answers.begin(), answers.end());
  EXPECT_EQ(answers, (std::vector<std::string>{"{\"t\":\"ok\",\"index\":0}\n",
                                               "{\"t\":\"ok\",\"index\":1}\n"}));
}

TEST_F(LauncherProcessTest, TasksMeetAtABarrierOverTheBus) {
  const std::string job = Launch("exec sleep 1000", "", TwoWorkers);
  AwaitAllRunning(job);
  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::vector<absl::StatusOr<msg::BarrierReplyT>> answers;
  const auto arrive = [&](const std::string& task, const std::string& name, std::uint32_t timeout,
                          const bus::CallOptions& options) {
    msg::BarrierRequestT request;
    request.task = absl::StrCat(job, "/", task);
    request.name = name;
    request.timeout_ms = timeout;
    const auto done = [&](absl::StatusOr<msg::BarrierReplyT> answer) {
      runtime::MutexLock lock(mutex);
      answers.push_back(std::move(answer));
      changed.SignalAll();
    };
    client_->Start<rpc::Launcher::Barrier>(request, {}, done, options);
  };
  const auto take = [&](std::size_t count) {
    runtime::MutexLock lock(mutex);
    while (answers.size() < count) changed.Wait(mutex);
    return std::exchange(answers, {});
  };

  arrive("worker-0", "a", 0, Patient());
  arrive("worker-1", "a", 0, Patient());
  const auto both = take(2);
  ASSERT_TRUE(both[0].ok()) << both[0].status();
  ASSERT_TRUE(both[1].ok()) << both[1].status();
  EXPECT_EQ(both[0]->index + both[1]->index, 1u);

  // A task that waits in vain does so for the time that it has given, or else until the end of its
  // call: then the barrier is broken for the other task too.
  arrive("worker-0", "b", 50, Patient());
  EXPECT_TRUE(absl::IsDeadlineExceeded(take(1)[0].status()));
  bus::CallOptions hasty = Patient();
  hasty.timeout = absl::Seconds(1);
  arrive("worker-1", "c", 0, hasty);
  EXPECT_TRUE(absl::IsDeadlineExceeded(take(1)[0].status()));
  arrive("worker-0", "c", 0, Patient());
  const absl::Status broken = take(1)[0].status();
  EXPECT_TRUE(absl::IsFailedPrecondition(broken)) << broken;
  EXPECT_NE(broken.message().find("worker-1 waited"), std::string::npos) << broken;

  msg::BarrierRequestT unknown;
  unknown.task = job + "/worker-2";
  unknown.name = "a";
  EXPECT_TRUE(absl::IsNotFound(client_->Call<rpc::Launcher::Barrier>(unknown, Patient()).status()));
}

TEST_F(LauncherProcessTest, OneTaskIsSignalledAndStartedAgainThenAllAreStopped) {
  Said said(folder_ + "/said");
  const std::string job = Launch(
      "trap 'echo $YARD_TASK told >$FOLDER/said' USR1; echo $YARD_TASK up >$FOLDER/said;"
      " while :; do sleep 0.01; done",
      "", TwoWorkers);
  const std::set<std::string> up = {said.Next(), said.Next()};
  ASSERT_EQ(up, (std::set<std::string>{"worker-0 up", "worker-1 up"}));
  const msg::JobT before = AwaitAllRunning(job);

  msg::SignalJobRequestT signal;
  signal.job = job + "/worker-1";
  signal.signal = SIGUSR1;
  const auto signalled = client_->Call<rpc::Launcher::SignalJob>(signal, Patient());
  ASSERT_TRUE(signalled.ok()) << signalled.status();
  EXPECT_EQ(signalled->tasks, std::vector<std::string>{"worker-1"});
  EXPECT_EQ(said.Next(), "worker-1 told");

  msg::RestartJobRequestT restart;
  restart.job = job + "/worker-1";
  restart.grace_ms = 20'000;
  const auto restarted = client_->Call<rpc::Launcher::RestartJob>(restart, Patient());
  ASSERT_TRUE(restarted.ok()) << restarted.status();
  EXPECT_EQ(restarted->job->id, job);
  EXPECT_EQ(said.Next(), "worker-1 up");
  const msg::JobT again = AwaitAllRunning(job);
  ASSERT_EQ(again.tasks[1]->attempts.size(), 2u);
  ASSERT_EQ(again.tasks[0]->attempts.size(), 1u);
  EXPECT_EQ(again.tasks[0]->attempts[0]->pid, before.tasks[0]->attempts[0]->pid);

  msg::RemoveJobRequestT remove;
  remove.job = job;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      client_->Call<rpc::Launcher::RemoveJob>(remove, Patient()).status()));
  msg::StopJobRequestT stop;
  stop.job = job;
  stop.grace_ms = 20'000;
  const auto stopped = client_->Call<rpc::Launcher::StopJob>(stop, Patient());
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_TRUE(stopped->job->stop_requested);
  const auto ended = Wait(job);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job->state, msg::TaskState::Exited);
  EXPECT_EQ(ended->job->reason, "stopped");
  EXPECT_TRUE(client_->Call<rpc::Launcher::RemoveJob>(remove, Patient()).ok());

  EXPECT_TRUE(
      absl::IsNotFound(client_->Call<rpc::Launcher::SignalJob>(signal, Patient()).status()));
  EXPECT_TRUE(
      absl::IsNotFound(client_->Call<rpc::Launcher::RestartJob>(restart, Patient()).status()));
  EXPECT_TRUE(absl::IsNotFound(client_->Call<rpc::Launcher::StopJob>(stop, Patient()).status()));
}

TEST_F(LauncherProcessTest, JobsGoOnUnderAnotherBinaryOfTheLauncher) {
  std::vector<std::string> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(Launch(absl::StrCat(
        "echo one; while [ ! -e $FOLDER/go ]; do sleep 0.01; done; echo two; exit ", i)));
  }
  const std::string other = folder_ + "/new/launcher";
  std::filesystem::create_directory(folder_ + "/new");
  for (const char* name : {"launcher", "yard-shim"}) {
    const auto program = runtime::FindBinary(absl::StrCat("launcher/", name));
    ASSERT_TRUE(program.ok()) << program.status();
    std::filesystem::copy_file(*program, absl::StrCat(folder_, "/new/", name));
  }
  ASSERT_TRUE(launcher_->Signal(SIGKILL).ok());
  ASSERT_TRUE(launcher_->Wait(absl::Seconds(10)).ok());
  launcher_ = StartProgram(other);
  for (const std::string& job : jobs) {
    msg::JobsRequestT request;
    request.job = job;
    const auto found = client_->Call<rpc::Launcher::Jobs>(request, Patient());
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->jobs.size(), 1u);
    EXPECT_LE(found->jobs[0]->state, msg::TaskState::Running) << found->jobs[0]->reason;
  }
  EXPECT_EQ(std::filesystem::read_symlink(absl::StrCat("/proc/", launcher_->pid(), "/exe")), other);
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto ended = Wait(jobs[i]);
    ASSERT_TRUE(ended.ok()) << ended.status();
    const msg::TaskT& task = *ended->job->tasks[0];
    ASSERT_EQ(task.attempts.size(), 1u);
    EXPECT_EQ(task.attempts[0]->exit_code, static_cast<int>(i));
    EXPECT_EQ(runtime::ReadFile(task.stdout_path, 100).value_or(""), "one\ntwo\n");
  }
  // Programs that start now do so from the new place.
  EXPECT_TRUE(Wait(Launch("true")).ok());
}

std::string SoftAndHard(rlim_t soft, rlim_t hard) {
  const auto text = [](rlim_t limit) {
    return limit == RLIM_INFINITY ? std::string("unlimited") : absl::StrCat(limit);
  };
  return absl::StrCat(text(soft), "\n", text(hard), "\n");
}

TEST_F(LauncherProcessTest, TasksHaveTheLimitOfFilesThatTheLauncherWasStartedWith) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 256;
  ASSERT_TRUE(launcher_->Signal(SIGKILL).ok());
  ASSERT_TRUE(launcher_->Wait(absl::Seconds(10)).ok());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  launcher_ = Start("launcher/launcher");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const auto ended = Wait(Launch("ulimit -Sn; ulimit -Hn"));
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(runtime::ReadFile(ended->job->tasks[0]->stdout_path, 100).value_or(""),
            SoftAndHard(256, before.rlim_max));
  rlimit of_launcher = {};
  ASSERT_EQ(prlimit(launcher_->pid(), RLIMIT_NOFILE, nullptr, &of_launcher), 0);
  EXPECT_EQ(of_launcher.rlim_cur, before.rlim_max);
}

TEST_F(LauncherProcessTest, PublishesStatesAndLines) {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  std::vector<std::string> topics;
  bus::Subscriber subscriber(node_.get(), {.prefixes = {"s/launcher/", "l/"},
                                           .on_event =
                                               [&](std::string_view topic, const msg::Envelope&) {
                                                 runtime::MutexLock lock(mutex);
                                                 topics.emplace_back(topic);
                                                 changed.SignalAll();
                                               },
                                           .on_lost = {},
                                           .on_connected = {}});
  ASSERT_TRUE(subscriber.WaitUntilConnected(absl::Seconds(20)).ok());
  // The first jobs may be published before the hub knows of the subscription.
  const auto has = [&](const std::string& topic) {
    runtime::MutexLock lock(mutex);
    if (std::find(topics.begin(), topics.end(), topic) != topics.end()) return true;
    changed.WaitWithTimeout(mutex, absl::Milliseconds(200));
    return std::find(topics.begin(), topics.end(), topic) != topics.end();
  };
  bool lines = false, states = false;
  for (int i = 0; i < 50 && !(lines && states); ++i) {
    const std::string job = Launch("echo line");
    ASSERT_TRUE(Wait(job).ok());
    lines = lines || has("l/" + job + "/worker-0/");
    states = states || has("s/launcher/" + job + "/");
  }
  EXPECT_TRUE(lines);
  EXPECT_TRUE(states);
}

TEST_F(LauncherProcessTest, StopsWhenAskedAndLeavesItsJobs) {
  const std::string job = Launch("while [ ! -e $FOLDER/go ]; do sleep 0.01; done; exit 4");
  ASSERT_TRUE(launcher_->Signal(SIGTERM).ok());
  const auto status = launcher_->Wait(absl::Seconds(15));
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_TRUE(status->ok()) << status->ToString();
  launcher_ = Start("launcher/launcher");
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/go", "", 0600).ok());
  const auto ended = Wait(job);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job->reason, "exit code 4");
}

}  // namespace
}  // namespace launcher
