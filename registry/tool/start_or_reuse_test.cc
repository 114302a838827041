#include "registry/tool/start_or_reuse.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/launcher_client/job_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "registry/info/cache_key.h"
#include "registry/info/info_directory.h"
#include "registry/tool/instance_view.h"
#include "registry/tool/tool_probe.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"

namespace registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Outcome = msg::StartOutcome;
using Reply = absl::StatusOr<msg::StartOrReuseReplyT>;

class FakeProbe : public ToolProbe {
 public:
  std::optional<Process> Look(pid_t pid) override {
    const auto found = processes.find(pid);
    return found == processes.end() ? std::nullopt : std::optional(found->second);
  }
  Listeners ListenersOf(uid_t) override {
    Listeners listeners;
    for (const int port : ports) listeners[port].insert(static_cast<std::uint64_t>(port));
    return listeners;
  }
  bool Holds(pid_t pid, const Listeners& listeners, int port) override {
    for (const auto& [at, sockets] : listeners) {
      const auto owner = owners.find(at);
      if ((port == 0 || port == at) && (owner == owners.end() || owner->second == pid)) return true;
    }
    return false;
  }

  std::map<pid_t, Process> processes;
  std::set<int> ports;
  std::map<int, pid_t> owners;  // Owners of ports; all own a port that is missing here.
};

// A launcher whose jobs ("j-1", "j-2", ...) start, run and end when the test says so.
class FakeLauncher : public bus::JobControl {
 public:
  void Launch(const std::string&, const std::string& trace, const msg::JobSpecT& spec,
              std::function<void(absl::StatusOr<std::string>)> done) override {
    specs.push_back(spec);
    traces.push_back(trace);
    if (!refusal.ok()) return done(refusal);
    if (live.contains(spec.name)) return done(absl::AlreadyExistsError("a live job has this name"));
    const std::string id = absl::StrCat("j-", ++jobs_);
    live[spec.name] = id;
    done(id);
  }
  void Follow(const std::string& job, std::function<void(const msg::JobT&)> changed,
              std::function<void(absl::StatusOr<msg::JobT>)> ended) override {
    followed.push_back(job);
    const auto by_name = live.find(job);
    const std::string id = by_name == live.end() ? job : by_name->second;
    if (!id.starts_with("j-")) return ended(absl::NotFoundError("no such job"));
    followers_[id].push_back({std::move(changed), std::move(ended)});
  }
  void Stop(const std::string&, absl::Duration, const std::string&, const std::string&) override {}

  static msg::JobT Job(msg::AttemptT attempt, const std::string& id = "j-1") {
    msg::JobT job;
    job.id = id;
    job.tasks.push_back(std::make_unique<msg::TaskT>());
    job.tasks[0]->attempts.push_back(std::make_unique<msg::AttemptT>(std::move(attempt)));
    return job;
  }
  void Run(pid_t pid, const std::string& id = "j-1") {
    msg::AttemptT attempt;
    attempt.pid = pid;
    attempt.started_us = 1'000'000'000'000'000;
    const auto followers = followers_[id];
    for (const Follower& follower : followers) follower.changed(Job(attempt, id));
  }
  void End(const msg::JobT& job) {
    std::erase_if(live, [&](const auto& one) { return one.second == job.id; });
    const auto followers = std::exchange(followers_[job.id], {});
    for (const Follower& follower : followers) follower.ended(job);
  }

  std::vector<msg::JobSpecT> specs;
  std::vector<std::string> traces, followed;
  std::map<std::string, std::string> live;  // Ids by name.
  absl::Status refusal;

 private:
  struct Follower {
    std::function<void(const msg::JobT&)> changed;
    std::function<void(absl::StatusOr<msg::JobT>)> ended;
  };
  int jobs_ = 0;
  std::map<std::string, std::vector<Follower>> followers_;
};

constexpr std::int64_t kStarted = 1'000'000'000;
constexpr pid_t kPid = 1 << 24;  // Above every real process id, so that no real process is watched.

class StartOrReuseTest : public ::testing::Test {
 protected:
  StartOrReuseTest() {
    char name[] = "/tmp/sor-XXXXXX";
    temporary_ = mkdtemp(name);
    MakeTool("tensorboard");
    directory_ = std::make_unique<InfoDirectory>(temporary_);
    EXPECT_EQ(directory_->Create(), absl::OkStatus());
    MakeStarts();
  }
  void MakeStarts() {
    starts_ = std::make_unique<StartOrReuse>(
        StartOrReuse::Options{.loop = loop_.get(),
                              .clock = &clock_,
                              .jobs = &launcher_,
                              .probe = &probe_,
                              .uid = getuid(),
                              .view = [this](const std::string& path) { return View(path); },
                              .launcher_is_there = [this] { return launcher_is_there_; }});
  }
  ~StartOrReuseTest() override {
    starts_.reset();
    view_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(temporary_, ignored);
  }

  void MakeTool(const std::string& name, mode_t mode = 0755) {
    const std::string path = temporary_ + "/" + name;
    ASSERT_EQ(runtime::WriteFileAtomically(path, "#!/bin/sh\n", mode), absl::OkStatus());
  }
  InstanceView* View(const std::string& path) {
    EXPECT_EQ(path, temporary_);
    if (view_ == nullptr) {
      view_ =
          std::make_unique<InstanceView>(InstanceView::Options{.loop = loop_.get(),
                                                               .probe = &probe_,
                                                               .temporary_directory = path,
                                                               .uid = uid_,
                                                               .changed = [this] { Changed(); }});
    }
    return view_.get();
  }
  msg::StartOrReuseRequestT Request(std::vector<std::string> arguments = {"--logdir", "x"}) const {
    msg::StartOrReuseRequestT request;
    request.arguments = std::move(arguments);
    request.environment = {"PATH=" + temporary_, "TMPDIR=" + temporary_, "PYTHONPATH=/gone"};
    request.working_directory = "/";
    return request;
  }
  // Starts a call and returns its number, the key of its answer in answers_.
  int Call(const msg::StartOrReuseRequestT& request, absl::Duration timeout = absl::Seconds(60)) {
    const int number = calls_++;
    ids_.push_back(0);
    ids_[static_cast<std::size_t>(number)] = starts_->Start(
        request,
        {.timeout = timeout,
         .trace = "trace",
         .progress = [this](msg::StartOrReuseReplyT part) { progress_.push_back(part.progress); },
         .done =
             [this, number](Reply reply) {
               answers_.emplace(number, std::move(reply));
               if (stops_on_answer_) loop_->Stop();
             }});
    return number;
  }
  // Returns the answer to call `number`.
  const msg::StartOrReuseReplyT& Answer(int number = 0) {
    static const msg::StartOrReuseReplyT kNone;
    const auto found = answers_.find(number);
    if (found == answers_.end()) {
      ADD_FAILURE() << "no answer";
      return kNone;
    }
    EXPECT_EQ(found->second.status(), absl::OkStatus());
    return found->second.ok() ? *found->second : kNone;
  }
  // Writes an info file like a tool with these arguments, and lets the tool run.
  void Serve(pid_t pid, int port, std::vector<std::string> arguments = {"--logdir", "x"}) {
    WriteInfo(pid, port, std::move(arguments));
    probe_.processes[pid] = {getuid(), kStarted};
    probe_.ports.insert(port);
  }
  void WriteInfo(pid_t pid, int port, std::vector<std::string> arguments = {"--logdir", "x"}) {
    const InstanceInfo info{.version = "2.21.0",
                            .start_time = kStarted,
                            .pid = pid,
                            .port = port,
                            .path_prefix = "",
                            .logdir = "x",
                            .db = "",
                            .cache_key = CacheKey("/", arguments).value_or("?")};
    ASSERT_EQ(directory_->Write(info, "2.21.0"), absl::OkStatus());
  }
  void Changed() { starts_->Changed(temporary_); }
  bool Exists(pid_t pid) const {
    return std::filesystem::exists(absl::StrCat(directory_->path(), "/pid-", pid, ".info"));
  }

  std::string temporary_;
  uid_t uid_ = getuid();
  runtime::FakeClock clock_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  FakeProbe probe_;
  FakeLauncher launcher_;
  bool launcher_is_there_ = true;
  std::unique_ptr<InfoDirectory> directory_;
  std::unique_ptr<InstanceView> view_;
  std::unique_ptr<StartOrReuse> starts_;
  int calls_ = 0;
  std::vector<StartOrReuse::CallerId> ids_;
  std::map<int, Reply> answers_;
  std::vector<std::string> progress_;
  bool stops_on_answer_ = false;
};

// ---- Reuse

TEST_F(StartOrReuseTest, ALiveToolWithTheSameKeyIsReused) {
  Serve(kPid, 6006);
  Call(Request());
  EXPECT_EQ(Answer().outcome, Outcome::Reused);
  EXPECT_EQ(Answer().instance->id, "tensorboard-6006");
  EXPECT_EQ(Answer().instance->url, "http://localhost:6006/");
  EXPECT_EQ(Answer().instance->info->pid, kPid);
  EXPECT_TRUE(launcher_.specs.empty());
}

TEST_F(StartOrReuseTest, TheLowestLivePortWins) {
  Serve(kPid, 6008);
  Serve(kPid + 1, 6007);
  Serve(kPid + 2, 6006);
  probe_.ports.erase(6006);
  Call(Request());
  EXPECT_EQ(Answer().instance->info->port, 6007);
}

TEST_F(StartOrReuseTest, OtherArgumentsOrAnotherDirectoryAreAnotherTool) {
  Serve(kPid, 6006);
  Call(Request({"--logdir=x"}));
  EXPECT_EQ(launcher_.specs.size(), 1u);
  msg::StartOrReuseRequestT elsewhere = Request();
  elsewhere.working_directory = "/tmp";
  Call(elsewhere);
  EXPECT_EQ(launcher_.specs.size(), 2u);
}

TEST_F(StartOrReuseTest, AToolWhoseProcessIsGoneIsNotReusedAndItsFileIsRemoved) {
  WriteInfo(kPid, 6006);
  probe_.ports.insert(6006);  // Another process listens on the port now.
  Call(Request());
  EXPECT_EQ(launcher_.specs.size(), 1u);
  EXPECT_FALSE(Exists(kPid));
}

TEST_F(StartOrReuseTest, OfTwoFilesWithOnePortTheOneWhoseProcessListensIsLive) {
  Serve(kPid, 6006);
  Serve(kPid + 1, 6006, {"--logdir", "y"});
  probe_.owners[6006] = kPid + 1;
  Call(Request({"--logdir", "y"}));
  EXPECT_EQ(Answer(0).outcome, Outcome::Reused);
  Call(Request());
  EXPECT_FALSE(answers_.contains(1)) << "answered with the page of the other";
  EXPECT_EQ(launcher_.specs.size(), 1u);
  EXPECT_TRUE(Exists(kPid));
}

TEST_F(StartOrReuseTest, AProcessThatBeganAfterTheToolIsAnotherOne) {
  Serve(kPid, 6006);
  probe_.processes[kPid].started = kStarted + 60;
  Call(Request());
  EXPECT_EQ(launcher_.specs.size(), 1u);
  EXPECT_TRUE(Exists(kPid));  // It may be the tool after all: the clock may have been set.
}

TEST_F(StartOrReuseTest, TheFileOfAnotherProcessIsRemovedWhenNobodyListens) {
  Serve(kPid, 6006);
  probe_.processes[kPid].started = kStarted + 60;
  probe_.ports.clear();
  Call(Request());
  EXPECT_FALSE(Exists(kPid));
}

TEST_F(StartOrReuseTest, AProcessOfAnotherUserIsAnotherOne) {
  Serve(kPid, 6006);
  probe_.processes[kPid].uid = getuid() + 1;
  Call(Request());
  EXPECT_EQ(launcher_.specs.size(), 1u);
}

TEST_F(StartOrReuseTest, AToolThatDoesNotListenIsNotReusedButKeepsItsFile) {
  Serve(kPid, 6006);
  probe_.ports.clear();
  Call(Request());
  EXPECT_EQ(launcher_.specs.size(), 1u);
  EXPECT_TRUE(Exists(kPid));
}

TEST_F(StartOrReuseTest, AFileOfAnotherUserIsNeverTrustedNorRemoved) {
  Serve(kPid, 6006);
  uid_ = getuid() + 1;  // The registry runs as another user.
  Call(Request());
  EXPECT_EQ(launcher_.specs.size(), 1u);
  EXPECT_TRUE(Exists(kPid));
}

// ---- Launch

TEST_F(StartOrReuseTest, LaunchesWhatWasAskedForInTheCallersDirectoryAndEnvironment) {
  Call(Request());
  ASSERT_EQ(launcher_.specs.size(), 1u);
  const msg::JobSpecT& spec = launcher_.specs[0];
  EXPECT_THAT(spec.argv, ElementsAre("tensorboard", "--logdir", "x"));
  EXPECT_THAT(spec.environment, ElementsAre("PATH=" + temporary_, "TMPDIR=" + temporary_));
  EXPECT_EQ(spec.working_directory, "/");
  EXPECT_EQ(spec.restart, msg::RestartPolicy::Never);
  EXPECT_GT(spec.log_limit_bytes, 0u);
  EXPECT_THAT(launcher_.traces, ElementsAre("trace"));
  launcher_.Run(kPid);
  probe_.processes[kPid] = {getuid(), kStarted};
  EXPECT_TRUE(answers_.empty());
  Serve(kPid, 6006);
  Changed();
  EXPECT_EQ(Answer().outcome, Outcome::Launched);
  EXPECT_EQ(Answer().pid, kPid);
  EXPECT_EQ(Answer().job, "j-1");
  EXPECT_EQ(Answer().instance->job, "j-1");
  EXPECT_EQ(starts_->flights(), 0u);
}

TEST_F(StartOrReuseTest, AToolMayServeFromAnotherProcessThanTheOneStarted) {
  Call(Request());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  Serve(kPid + 1, 6006);
  Changed();
  EXPECT_EQ(Answer().outcome, Outcome::Launched);
  EXPECT_EQ(Answer().pid, kPid);
  EXPECT_EQ(Answer().instance->info->pid, kPid + 1);
}

TEST_F(StartOrReuseTest, TellsHowFarItIs) {
  Call(Request());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  ASSERT_EQ(progress_.size(), 2u);
  EXPECT_EQ(progress_[0], "starting tensorboard");
  EXPECT_THAT(progress_[1], HasSubstr(absl::StrCat("process ", kPid, " of job j-1")));
  Call(Request());  // A later caller receives the progress so far.
  EXPECT_EQ(progress_.size(), 3u);
}

TEST_F(StartOrReuseTest, ThirtyTwoCallersStartOneProcess) {
  for (int i = 0; i < 32; ++i) Call(Request());
  EXPECT_EQ(launcher_.specs.size(), 1u);
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  Serve(kPid, 6006);
  Changed();
  for (int i = 0; i < 32; ++i) EXPECT_EQ(Answer(i).outcome, Outcome::Launched);
}

TEST_F(StartOrReuseTest, ACallerThatLeavesTakesNobodyAlong) {
  Call(Request());
  Call(Request());
  starts_->Leave(ids_[0]);
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  Serve(kPid, 6006);
  Changed();
  EXPECT_FALSE(answers_.contains(0));
  EXPECT_EQ(Answer(1).outcome, Outcome::Launched);
}

TEST_F(StartOrReuseTest, WhatAnEarlierRegistryHasStartedIsWaitedFor) {
  Call(Request());
  starts_->Leave(ids_[0]);
  MakeStarts();  // A new registry; the job continues.
  Call(Request());
  EXPECT_EQ(launcher_.followed.back(), launcher_.specs[0].name);
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  Serve(kPid, 6006);
  Changed();
  EXPECT_EQ(Answer(1).outcome, Outcome::Launched);
  EXPECT_EQ(Answer(1).job, "j-1");
}

TEST_F(StartOrReuseTest, TheJobOfWhatAnEarlierRegistryHasStartedIsLearned) {
  Call(Request());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  Serve(kPid, 6006);
  Changed();
  MakeStarts();
  launcher_is_there_ = false;
  starts_->LearnJobs(temporary_);
  launcher_is_there_ = true;
  EXPECT_EQ(starts_->JobOf(kPid), "");
  starts_->LearnJobs(temporary_);
  EXPECT_EQ(launcher_.followed.back(), launcher_.specs[0].name);
  launcher_.Run(kPid + 1);  // A report about another process does not apply to this tool.
  EXPECT_EQ(starts_->JobOf(kPid), "");
  launcher_.Run(kPid);
  EXPECT_EQ(starts_->JobOf(kPid), "j-1");
  const std::size_t asked = launcher_.followed.size();
  starts_->LearnJobs(temporary_);
  EXPECT_EQ(launcher_.followed.size(), asked);
}

TEST_F(StartOrReuseTest, AToolThatTheLauncherHasNotSeenEndIsStartedAnew) {
  Call(Request());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  Serve(kPid, 6006);
  Changed();
  probe_.processes.erase(kPid);  // Killed, and the launcher has not reported it yet.
  probe_.ports.clear();
  Call(Request());
  EXPECT_FALSE(answers_.contains(1));
  msg::AttemptT attempt;
  attempt.pid = kPid;
  attempt.signal = 9;
  launcher_.End(FakeLauncher::Job(attempt));
  EXPECT_FALSE(answers_.contains(1)) << "answered with the end of another start";
  probe_.processes[kPid + 1] = {getuid(), kStarted};
  launcher_.Run(kPid + 1, "j-2");
  Serve(kPid + 1, 6006);
  Changed();
  EXPECT_EQ(Answer(1).outcome, Outcome::Launched);
  EXPECT_EQ(Answer(1).job, "j-2");
}

TEST_F(StartOrReuseTest, AnotherToolWithTheSameKeyIsAnotherTool) {
  MakeTool("mlflow");
  Serve(kPid, 6006);
  msg::StartOrReuseRequestT request = Request();
  request.tool = "mlflow";
  Call(request);
  ASSERT_EQ(launcher_.specs.size(), 1u);
  EXPECT_EQ(launcher_.specs[0].argv[0], "mlflow");
}

TEST_F(StartOrReuseTest, TheSameKeyAlwaysHasTheSameJobName) {
  Call(Request());
  Call(Request({"--logdir", "y"}));
  ASSERT_EQ(launcher_.specs.size(), 2u);
  EXPECT_THAT(launcher_.specs[0].name, ::testing::MatchesRegex("tensorboard-[0-9a-f]{16}"));
  EXPECT_NE(launcher_.specs[0].name, launcher_.specs[1].name);
}

// ---- Failures

TEST_F(StartOrReuseTest, AToolThatEndsHasFailedWithItsCodeAndItsStreams) {
  Call(Request());
  launcher_.Run(kPid);
  msg::AttemptT attempt;
  attempt.pid = kPid;
  attempt.exit_code = 77;
  msg::JobT job = FakeLauncher::Job(attempt);
  job.tasks[0]->stdout_path = temporary_ + "/out";
  job.tasks[0]->stderr_path = temporary_ + "/gone";
  const std::string output = std::string(100'000, 'x') + "the end\n";
  ASSERT_EQ(runtime::WriteFileAtomically(temporary_ + "/out", output, 0600), absl::OkStatus());
  launcher_.End(job);
  EXPECT_EQ(Answer().outcome, Outcome::Failed);
  EXPECT_EQ(Answer().exit_code, 77);
  const std::string told(Answer().stdout.begin(), Answer().stdout.end());
  EXPECT_EQ(told, output.substr(output.size() - 65536));
  EXPECT_FALSE(Answer().stdout_unreadable);
  EXPECT_TRUE(Answer().stderr_unreadable);
}

TEST_F(StartOrReuseTest, AnEndWithCodeZeroIsAFailureToo) {
  Call(Request());
  msg::AttemptT attempt;
  attempt.pid = kPid;
  launcher_.End(FakeLauncher::Job(attempt));
  EXPECT_EQ(Answer().outcome, Outcome::Failed);
  EXPECT_EQ(Answer().exit_code, 0);
}

TEST_F(StartOrReuseTest, ASignalIsANegativeCode) {
  Call(Request());
  msg::AttemptT attempt;
  attempt.pid = kPid;
  attempt.signal = 9;
  launcher_.End(FakeLauncher::Job(attempt));
  EXPECT_EQ(Answer().exit_code, -9);
}

TEST_F(StartOrReuseTest, AnExitIsLookedAtBeforeAnInfoFile) {
  Call(Request());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  probe_.processes.erase(kPid);  // It has ended; the launcher's report is on its way.
  Serve(kPid + 1, 6006);         // Another process's file.
  Changed();
  EXPECT_TRUE(answers_.empty());
  msg::AttemptT attempt;
  attempt.pid = kPid;
  attempt.exit_code = 1;
  launcher_.End(FakeLauncher::Job(attempt));
  EXPECT_EQ(Answer().outcome, Outcome::Failed);
}

TEST_F(StartOrReuseTest, AnExplicitBinaryThatIsNotThereIsNamed) {
  msg::StartOrReuseRequestT request = Request();
  request.environment.push_back("TENSORBOARD_BINARY=./non/existent");
  Call(request);
  EXPECT_EQ(Answer().outcome, Outcome::ExecFailed);
  EXPECT_EQ(Answer().error_number, ENOENT);
  EXPECT_EQ(Answer().explicit_binary, "./non/existent");
  EXPECT_THAT(Answer().error, HasSubstr("$TENSORBOARD_BINARY"));
}

TEST_F(StartOrReuseTest, ABinaryThatIsNotOnThePathIsSaidWithThePath) {
  msg::StartOrReuseRequestT request = Request();
  request.environment[0] = "PATH=nope";
  Call(request);
  EXPECT_EQ(Answer().outcome, Outcome::ExecFailed);
  EXPECT_EQ(Answer().error_number, ENOENT);
  EXPECT_EQ(Answer().explicit_binary, "");
  EXPECT_THAT(Answer().error, HasSubstr("nope"));
}

TEST_F(StartOrReuseTest, ABinaryThatMayNotBeExecutedIsAnotherError) {
  MakeTool("plain", 0644);
  msg::StartOrReuseRequestT request = Request();
  request.environment.push_back("TENSORBOARD_BINARY=" + temporary_ + "/plain");
  Call(request);
  EXPECT_EQ(Answer().outcome, Outcome::ExecFailed);
  EXPECT_EQ(Answer().error_number, EACCES);
}

TEST_F(StartOrReuseTest, AFailureOfTheExecItselfIsAnExecFailureToo) {
  Call(Request());
  msg::AttemptT attempt;
  attempt.error_number = ENOEXEC;
  attempt.reason = "cannot execute";
  launcher_.End(FakeLauncher::Job(attempt));
  EXPECT_EQ(Answer().outcome, Outcome::ExecFailed);
  EXPECT_EQ(Answer().error_number, ENOEXEC);
  EXPECT_EQ(Answer().error, "cannot execute");
}

TEST_F(StartOrReuseTest, WithoutALauncherItSaysHowToGetOne) {
  launcher_is_there_ = false;
  Call(Request());
  ASSERT_TRUE(answers_.contains(0));
  EXPECT_EQ(answers_.at(0).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answers_.at(0).status().message()), HasSubstr("yard up"));
  Serve(kPid, 6006);  // A running tool needs no launcher.
  Call(Request());
  EXPECT_EQ(Answer(1).outcome, Outcome::Reused);
}

TEST_F(StartOrReuseTest, ALauncherThatRefusesIsQuoted) {
  launcher_.refusal = absl::ResourceExhaustedError("no room for jobs");
  Call(Request());
  EXPECT_THAT(std::string(answers_.at(0).status().message()), HasSubstr("no room"));
}

TEST_F(StartOrReuseTest, BadRequestsNameTheField) {
  const auto refused = [&](auto change, const char* field) {
    msg::StartOrReuseRequestT request = Request();
    change(request);
    const int number = Call(request);
    ASSERT_TRUE(answers_.contains(number));
    EXPECT_EQ(answers_.at(number).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(answers_.at(number).status().message()), HasSubstr(field));
  };
  refused([](auto& request) { request.tool = "../x"; }, "tool");
  refused([](auto& request) { request.tool = std::string(33, 'x'); }, "tool");
  refused([](auto& request) { request.working_directory = "x"; }, "working_directory");
  refused([](auto& request) { request.writes_info = false; }, "info");
  refused([](auto& request) { request.configure_kwargs = "[]"; }, "configure_kwargs");
}

// ---- Tools that write no info file

class QuietToolTest : public StartOrReuseTest {
 protected:
  QuietToolTest() { MakeTool("mlflow"); }
  msg::StartOrReuseRequestT QuietRequest() const {
    msg::StartOrReuseRequestT request = Request({"ui"});
    request.tool = "mlflow";
    request.writes_info = false;
    request.info = std::make_unique<msg::InstanceInfoT>();
    request.info->port = 5000;
    request.info->version = "3.1";
    request.info->logdir = "/runs";
    return request;
  }
};

TEST_F(QuietToolTest, ItsInfoFileIsWrittenOnceItListens) {
  Call(QuietRequest());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  EXPECT_FALSE(Exists(kPid));
  probe_.ports.insert(5000);
  Changed();
  EXPECT_TRUE(Exists(kPid));
  EXPECT_EQ(Answer().outcome, Outcome::Launched);
  EXPECT_EQ(Answer().instance->id, "mlflow-5000");
  EXPECT_EQ(Answer().instance->info->version, "3.1");
  EXPECT_EQ(Answer().instance->info->pid, kPid);
  EXPECT_EQ(Answer().instance->info->start_time, kStarted);
  Call(QuietRequest());
  EXPECT_EQ(Answer(1).outcome, Outcome::Reused);
  EXPECT_EQ(Answer(1).instance->id, "mlflow-5000");
}

TEST_F(QuietToolTest, OneThatListensAndHasLostItsFileIsFoundByItsJob) {
  Call(QuietRequest());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  starts_->Leave(ids_[0]);
  probe_.ports.insert(5000);
  MakeStarts();
  Call(QuietRequest());
  launcher_.Run(kPid);
  Changed();
  EXPECT_TRUE(Exists(kPid));
  EXPECT_EQ(Answer(1).outcome, Outcome::Launched);
}

TEST_F(QuietToolTest, WhatSomebodyElseServesOnItsPortIsNotItsOwn) {
  Call(QuietRequest());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  probe_.ports.insert(5000);
  probe_.owners[5000] = kPid + 1;
  Changed();
  EXPECT_FALSE(Exists(kPid));
  EXPECT_TRUE(answers_.empty());
}

TEST_F(QuietToolTest, WhereNoFileCanBeWrittenTheAnswerSaysSoOnce) {
  Call(QuietRequest());
  std::filesystem::remove_all(directory_->path());
  std::ofstream(directory_->path()) << "in the way";
  probe_.processes[kPid] = {getuid(), kStarted};
  probe_.ports.insert(5000);
  launcher_.Run(kPid);
  ASSERT_TRUE(answers_.contains(0));
  EXPECT_THAT(std::string(answers_.at(0).status().message()), HasSubstr("of job j-1"));
  EXPECT_EQ(starts_->flights(), 0u);
}

TEST_F(QuietToolTest, IsNotStartedWhereSomethingElseListens) {
  probe_.ports.insert(5000);
  Call(QuietRequest());
  EXPECT_EQ(answers_.at(0).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(answers_.at(0).status().message()), HasSubstr("port 5000"));
  EXPECT_TRUE(launcher_.specs.empty());
}

// ---- Time

class TimedStartTest : public StartOrReuseTest {
 protected:
  // Advances the clock and lets the loop run everything due.
  void Advance(absl::Duration time) {
    clock_.Advance(time);
    loop_->RunAfter(absl::ZeroDuration(), [this] { loop_->Stop(); });
    loop_->Run();
  }
};

TEST_F(TimedStartTest, ACallerWhoseTimeIsOverLeavesTheToolToTheOthers) {
  Call(Request(), absl::Seconds(1));
  Call(Request(), absl::Seconds(60));
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  Advance(absl::Seconds(2));
  EXPECT_EQ(Answer(0).outcome, Outcome::TimedOut);
  EXPECT_EQ(Answer(0).pid, kPid);
  EXPECT_EQ(Answer(0).job, "j-1");
  EXPECT_FALSE(answers_.contains(1));
  Call(Request(), absl::Seconds(60));  // Also for later callers.
  EXPECT_EQ(launcher_.specs.size(), 1u);
  Serve(kPid, 6006);
  Changed();
  EXPECT_EQ(Answer(1).outcome, Outcome::Launched);
  EXPECT_EQ(Answer(2).outcome, Outcome::Launched);
}

// A tool that was found once, and whose info file was deleted since.
class LostFileTest : public TimedStartTest {
 protected:
  LostFileTest() {
    Call(Request());
    Begin(kPid, 6006, "j-1");
    EXPECT_EQ(Answer(0).outcome, Outcome::Launched);
  }
  // Lets process `pid` of job `id` serve on its own port.
  void Begin(pid_t pid, int port, const std::string& id) {
    probe_.processes[pid] = {getuid(), kStarted};
    launcher_.Run(pid, id);
    Serve(pid, port);
    probe_.owners[port] = pid;
    Changed();
  }
  void LoseFile(pid_t pid) { ASSERT_EQ(directory_->Remove(pid), absl::OkStatus()); }
  void End(pid_t pid, const std::string& id) {
    probe_.processes.erase(pid);
    msg::AttemptT attempt;
    attempt.pid = pid;
    launcher_.End(FakeLauncher::Job(attempt, id));
  }
};

TEST_F(LostFileTest, AnotherOneIsStartedBesideIt) {
  LoseFile(kPid);
  Call(Request());
  launcher_.Run(kPid);
  Advance(absl::Seconds(1));
  ASSERT_EQ(launcher_.specs.size(), 3u);  // The launcher refused the second: its name is taken.
  EXPECT_EQ(launcher_.specs[2].name, launcher_.specs[0].name + "-2");
  Begin(kPid + 1, 6007, "j-2");
  EXPECT_EQ(Answer(1).outcome, Outcome::Launched);
  EXPECT_EQ(Answer(1).job, "j-2");
  Call(Request());
  EXPECT_EQ(Answer(2).outcome, Outcome::Reused);
  EXPECT_EQ(Answer(2).instance->job, "j-2");
}

TEST_F(LostFileTest, TheJobOfTheOneBesideItIsLearnedByTheNextRegistry) {
  LoseFile(kPid);
  Call(Request());
  launcher_.Run(kPid);
  Advance(absl::Seconds(1));
  Begin(kPid + 1, 6007, "j-2");
  MakeStarts();
  starts_->LearnJobs(temporary_);
  launcher_.Run(kPid, "j-1");
  launcher_.Run(kPid + 1, "j-2");
  EXPECT_EQ(starts_->JobOf(kPid + 1), "j-2");
}

TEST_F(LostFileTest, OneThatOnlyBeginsToServeIsWaitedFor) {
  probe_.ports.clear();
  LoseFile(kPid);
  MakeStarts();
  Call(Request());
  launcher_.Run(kPid);
  Advance(absl::Seconds(30));
  EXPECT_EQ(launcher_.specs.size(), 2u);
  Serve(kPid, 6006);
  Changed();
  EXPECT_EQ(Answer(1).outcome, Outcome::Launched);
  EXPECT_EQ(Answer(1).job, "j-1");
}

TEST_F(LostFileTest, NothingIsStartedWhenItEndsAndNobodyWaits) {
  probe_.ports.clear();
  LoseFile(kPid);
  Call(Request(), absl::Seconds(1));
  launcher_.Run(kPid);
  Advance(absl::Seconds(2));
  EXPECT_EQ(Answer(1).outcome, Outcome::TimedOut);
  const std::size_t asked = launcher_.specs.size();
  End(kPid, "j-1");
  EXPECT_EQ(launcher_.specs.size(), asked);
  EXPECT_EQ(starts_->flights(), 0u);
}

TEST_F(TimedStartTest, ALauncherThatDoesNotStartItIsSaid) {
  Call(Request(), absl::Seconds(1));
  Advance(absl::Seconds(2));
  ASSERT_TRUE(answers_.contains(0));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answers_.at(0).status()));
  EXPECT_THAT(std::string(answers_.at(0).status().message()), HasSubstr("has not started"));
}

TEST_F(TimedStartTest, NoTimeNeedsToPassUntilAnInfoFileIsSeen) {
  stops_on_answer_ = true;
  Call(Request());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  loop_->Post([this] { Serve(kPid, 6006); });
  loop_->Run();  // The clock does not advance: only the file itself can wake the loop.
  EXPECT_EQ(Answer().outcome, Outcome::Launched);
}

TEST_F(TimedStartTest, APortThatIsOpenedAfterTheFileIsSeen) {
  Call(Request());
  probe_.processes[kPid] = {getuid(), kStarted};
  launcher_.Run(kPid);
  WriteInfo(kPid, 6006);
  Changed();
  EXPECT_TRUE(answers_.empty());
  probe_.ports.insert(6006);
  Advance(absl::Seconds(2));
  EXPECT_EQ(Answer().outcome, Outcome::Launched);
}

}  // namespace
}  // namespace registry
