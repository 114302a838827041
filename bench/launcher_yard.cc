#include "bench/launcher_yard.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "bench/stamps.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"

namespace bench {
namespace {

using rpc::Launcher;

constexpr absl::Duration kLong = absl::Seconds(60);
constexpr absl::Duration kLook = absl::Milliseconds(2);
constexpr absl::Duration kCloseLook = absl::Microseconds(200);
constexpr absl::Duration kLeave = absl::Seconds(10);

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

// The text after `key`: "... 200 tasks ... in 12.5 ms".
struct TakeUpLine {
  int tasks = 0;
  double ms = 0;
};
bool FindTakeUpLine(const std::string& path, TakeUpLine* found) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const auto at = line.find("took up ");
    if (at == std::string::npos) continue;
    const std::vector<std::string> words = absl::StrSplit(line.substr(at), ' ');
    return words.size() > 6 && absl::SimpleAtoi(words[2], &found->tasks) &&
           absl::SimpleAtod(words[words.size() - 2], &found->ms);
  }
  return false;
}

}  // namespace

LauncherYard::LauncherYard(std::string directory)
    : directory_(std::move(directory)),
      locations_({.runtime_directory = directory_ + "/yard",
                  .state_directory = directory_ + "/state",
                  .registry_address = "ipc://" + directory_ + "/yard/registry"}) {}

absl::StatusOr<std::unique_ptr<LauncherYard>> LauncherYard::Start() {
  std::unique_ptr<LauncherYard> yard(new LauncherYard(NewFolder()));
  if (absl::Status started = yard->StartAll(); !started.ok()) return started;
  return yard;
}

absl::StatusOr<std::unique_ptr<runtime::Subprocess>> LauncherYard::Run(
    const std::string& label_path, std::vector<std::string> arguments) {
  const auto program = runtime::FindBinary(label_path);
  if (!program.ok()) return absl::InternalError(program.status().message());
  const std::string log_path = directory_ + "/output";
  const runtime::UniqueFd log(
      open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  arguments.insert(arguments.begin(), *program);
  auto process = runtime::Subprocess::Start(
      {.argv = std::move(arguments),
       .program = *program,
       .environment = {"XDG_RUNTIME_DIR=" + directory_, "YARD_STATE=" + directory_ + "/state",
                       "TMPDIR=" + directory_, "PATH=/usr/bin:/bin"},
       .working_directory = directory_,
       .fds = {{log.get(), 1}, {log.get(), 2}}});
  if (!process.ok()) return process.status();
  return std::make_unique<runtime::Subprocess>(std::move(*process));
}

absl::Status LauncherYard::StartAll() {
  for (auto& [process, path] :
       {std::pair(&registry_, "registry/registry"), std::pair(&launcher_, "launcher/launcher")}) {
    auto started = Run(path, {"--supervisor=external"});
    if (!started.ok()) return started.status();
    *process = std::move(*started);
  }
  auto node = bus::Node::Create({.name = "bench", .locations = locations_});
  if (!node.ok()) return node.status();
  node_ = std::move(*node);
  client_ = std::make_unique<bus::Client>(node_.get());
  return client_->Call<Launcher::Jobs>({}, {.timeout = kLong, .wait_for_service = true}).status();
}

absl::StatusOr<pid_t> LauncherYard::StartService(const std::string& label_path,
                                                 std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--supervisor=external");
  auto started = Run(label_path, std::move(arguments));
  if (!started.ok()) return started.status();
  others_.push_back(*std::move(started));
  return others_.back()->pid();
}

absl::Status LauncherYard::KillService(pid_t pid) {
  const auto service = std::find_if(others_.begin(), others_.end(),
                                    [pid](const auto& process) { return process->pid() == pid; });
  if (service == others_.end()) return absl::NotFoundError("no such service");
  if (auto killed = (*service)->Signal(SIGKILL); !killed.ok()) return killed;
  auto ended = (*service)->Wait(kLong);
  others_.erase(service);
  return ended.status();
}

std::vector<pid_t> LauncherYard::Services() const {
  std::vector<pid_t> pids = {registry_->pid(), launcher_->pid()};
  for (const auto& process : others_) pids.push_back(process->pid());
  return pids;
}

std::vector<pid_t> LauncherYard::Shims() const {
  std::vector<pid_t> shims;
  std::error_code error;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk at(locations_.state_directory + "/jobs", error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().filename() != "lock") continue;
    const auto shim = runtime::LockHolder(at->path());
    if (shim.ok()) shims.push_back(*shim);
  }
  return shims;
}

void LauncherYard::StopAll() {
  const absl::Duration deadline = MonotonicNow() + kLeave;
  msg::JobsRequestT live;
  live.live_only = true;
  const auto jobs = client_->Call<Launcher::Jobs>(live, {.timeout = kLeave});
  if (jobs.ok()) {
    for (const auto& job : jobs->jobs) (void)Stop(job->id);
  }
  while (MonotonicNow() < deadline && !Shims().empty()) absl::SleepFor(10 * kLook);
}

LauncherYard::~LauncherYard() {
  if (client_ != nullptr) StopAll();
  client_.reset();
  node_.reset();
  const auto end = [](runtime::Subprocess* process) {
    if (process == nullptr) return;
    (void)process->Signal(SIGKILL);
    (void)process->Wait(kLong);
  };
  for (const auto& process : others_) end(process.get());
  for (const auto& process : {launcher_.get(), registry_.get()}) end(process);
  // Their tasks die with them.
  for (const pid_t shim : Shims()) kill(shim, SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

msg::LaunchRequestT LauncherYard::JobOf(const std::vector<std::string>& argv, int count) {
  msg::LaunchRequestT request;
  request.spec = std::make_unique<msg::JobSpecT>();
  msg::JobSpecT& spec = *request.spec;
  spec.argv = argv;
  spec.environment = OwnEnvironment();
  spec.working_directory = "/";
  if (count > 1) {
    spec.groups.push_back(std::make_unique<msg::TaskGroupT>());
    spec.groups.back()->type = "worker";
    spec.groups.back()->count = static_cast<std::uint32_t>(count);
  } else {
    spec.task_type = "worker";
  }
  return request;
}

absl::StatusOr<std::string> LauncherYard::Launch(const msg::LaunchRequestT& request) {
  const auto reply = client_->Call<Launcher::Launch>(request, {.timeout = kLong});
  if (!reply.ok()) return reply.status();
  return reply->job->id;
}

absl::StatusOr<std::vector<absl::Duration>> LauncherYard::LaunchTogether(
    const msg::LaunchRequestT& request, int count) {
  runtime::Mutex mutex;
  runtime::CondVar answered;
  std::vector<absl::Duration> took;
  absl::Status failed;
  std::size_t left = static_cast<std::size_t>(count);
  for (int i = 0; i < count; ++i) {
    const absl::Duration begin = MonotonicNow();
    client_->Start<Launcher::Launch>(request, {},
                                     [&, begin](const absl::StatusOr<msg::LaunchReplyT>& reply) {
                                       runtime::MutexLock lock(mutex);
                                       took.push_back(MonotonicNow() - begin);
                                       if (!reply.ok()) failed = reply.status();
                                       if (--left == 0) answered.SignalAll();
                                     },
                                     {.timeout = kLong});
  }
  runtime::MutexLock lock(mutex);
  while (left > 0) answered.Wait(mutex);
  if (!failed.ok()) return failed;
  return took;
}

absl::Status LauncherYard::Stop(const std::string& job) {
  msg::StopJobRequestT request;
  request.job = job;
  request.grace_ms = 10'000;
  return client_->Call<Launcher::StopJob>(request, {.timeout = kLong}).status();
}

absl::Status LauncherYard::AwaitTasks(int count, msg::TaskState state) {
  const absl::Duration deadline = MonotonicNow() + kLong;
  for (;;) {
    const auto reply =
        client_->Call<Launcher::Jobs>({}, {.timeout = kLong, .wait_for_service = true});
    if (!reply.ok()) return reply.status();
    int there = 0;
    for (const auto& job : reply->jobs) {
      for (const auto& task : job->tasks) there += task->state == state ? 1 : 0;
    }
    if (there == count) return absl::OkStatus();
    if (MonotonicNow() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          there, " of ", count, " tasks are in the state ", msg::EnumNameTaskState(state)));
    }
    absl::SleepFor(10 * kLook);
  }
}

absl::StatusOr<LauncherYard::TakenUp> LauncherYard::ReplaceLauncher(int tasks) {
  if (auto killed = launcher_->Signal(SIGKILL); !killed.ok()) return killed;
  (void)launcher_->Wait(kLong);
  const absl::Duration begin = MonotonicNow();
  auto next = Run("launcher/launcher", {"--supervisor=external"});
  if (!next.ok()) return next.status();
  launcher_ = std::move(*next);
  TakeUpLine line;
  while (!FindTakeUpLine(directory_ + "/output", &line)) {
    if (MonotonicNow() > begin + kLong) {
      return absl::DeadlineExceededError("the new launcher has not taken up the tasks");
    }
    absl::SleepFor(kCloseLook);
  }
  const absl::Duration since_exec = MonotonicNow() - begin;
  if (line.tasks != tasks) {
    return absl::InternalError(absl::StrCat(line.tasks, " of ", tasks, " tasks were taken up"));
  }
  return TakenUp{since_exec, absl::Milliseconds(line.ms)};
}

}  // namespace bench
