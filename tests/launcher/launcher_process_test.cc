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
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/client.h"
#include "bus/node.h"
#include "bus/schema/launcher_methods.h"
#include "bus/subscriber.h"
#include "runtime/file.h"
#include "runtime/locations.h"
#include "runtime/mutex.h"
#include "runtime/subprocess.h"
#include "runtime/unique_fd.h"

namespace launcher {
namespace {

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
  const std::string path = folder_ + "/said";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const runtime::UniqueFd said(open(path.c_str(), O_RDWR | O_CLOEXEC));
  const auto says = [&](const std::string& word) {
    pollfd entry = {said.get(), POLLIN, 0};
    char text[100];
    const ssize_t got = poll(&entry, 1, 20'000) == 1 ? read(said.get(), text, sizeof text) : 0;
    return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))) == word + "\n";
  };
  const std::string job = Launch(
      "trap 'echo saved >$FOLDER/said; exit 0' TERM; echo ready >$FOLDER/said;"
      " while :; do sleep 0.01; done",
      "", [](msg::JobSpecT& spec) { spec.daemon = true; });
  ASSERT_TRUE(says("ready"));
  ASSERT_TRUE(launcher_->Signal(SIGKILL).ok());
  ASSERT_TRUE(launcher_->Wait(absl::Seconds(10)).ok());
  EXPECT_TRUE(says("saved"));
  launcher_ = Start("launcher/launcher");
  const auto ended = Wait(job);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->job->state, msg::TaskState::Exited);
  EXPECT_EQ(ended->job->reason, "stopped: exit code 0; its launcher has ended");
}

TEST_F(LauncherProcessTest, TasksMeetAtABarrierOverTheirReportChannel) {
  const std::string job = Launch(
      R"(echo '{"t":"barrier","name":"a","timeout_s":20}' >&3; read -r answer <&3; echo "$answer")",
      "", [](msg::JobSpecT& spec) {
        auto workers = std::make_unique<msg::TaskGroupT>();
        workers->type = "worker";
        workers->count = 2;
        spec.groups.push_back(std::move(workers));
      });
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
  // What starts now does so from the new place.
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
