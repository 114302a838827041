#include "launcher/service_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "launcher/job/supervisor.h"
#include "launcher/wanted_services.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/string_view.h"
#include "runtime/timer.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxSmallFile = 64 * 1024;
constexpr absl::Duration kFirstDelay = absl::Milliseconds(100);
constexpr absl::Duration kLongestDelay = absl::Seconds(5);
constexpr absl::Duration kStableAfter = absl::Seconds(10);
constexpr std::string_view kGate = "gate";
// Exit code of a service that finds another instance running.
constexpr int kRefused = 6;

struct Kept {
  std::string name;
  std::optional<runtime::Subprocess> child;  // Set if the keeper started it.
  runtime::UniqueFd pidfd;                   // Valid if the keeper adopted it.
  pid_t pid = 0;                             // 0 if it does not run.
  runtime::EventLoop::WatchId watch = 0;
  runtime::Timer timer;
  bool tried = false;
  int quick_failures = 0;
  std::uint32_t restarts = 0;
  absl::Duration since = absl::ZeroDuration();
  std::int64_t started_us = 0;
  msg::TaskState state = msg::TaskState::Pending;
  std::string reason;
};

}  // namespace

class ServiceKeeper::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {
    services_[0].name = "registry";
    services_[1].name = "datamanager";
    services_[2].name = "trainer";
    services_[3].name = "web";
    services_[4].name = std::string(kGate);
    stop_next_ = services_.size();
  }
  ~Impl() {
    if (inotify_watch_ != 0) options_.loop->Unwatch(inotify_watch_);
    for (const Kept& service : services_) {
      if (service.watch != 0) options_.loop->Unwatch(service.watch);
    }
  }

  absl::Status Prepare() {
    inotify_ = runtime::UniqueFd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!inotify_.valid()) {
      return absl::UnavailableError(absl::StrCat(
          "cannot watch files by inotify: ", strerror(errno),
          errno == EMFILE ? ": this user has no instance of it left; end other programs that watch "
                            "files, or raise the limit; next: sudo sysctl "
                            "fs.inotify.max_user_instances=1024 && yard up"
                          : ""));
    }
    if (absl::Status watching = WatchDirectories(); !watching.ok()) return watching;
    inotify_watch_ = options_.loop->Watch(inotify_.get(), runtime::EventLoop::Readiness::kReadable,
                                          [this] { OnDirectory(); });
    Look();
    return absl::OkStatus();
  }

  std::vector<msg::SupervisedServiceT> Services() const {
    std::vector<msg::SupervisedServiceT> result;
    for (const Kept& service : services_) {
      if (service.pid != 0 || IsToRun(service.name)) result.push_back(Message(service));
    }
    return result;
  }

  std::string LogDirectory() const { return wanted_ ? wanted_->logdir : ""; }

  void Stop(std::function<void()> done) {
    stopping_ = true;
    done_ = std::move(done);
    StopNext();
  }

 private:
  // Watches the directories by inotify; creates them if they are missing.
  absl::Status WatchDirectories() {
    const std::string& directory = options_.locations.state_directory;
    if (auto made = runtime::MakeDirectories(directory, 0700); !made.ok()) return made;
    if (auto made = runtime::MakeDirectories(options_.locations.LogDirectory(), 0700); !made.ok()) {
      return made;
    }
    const std::string& locks = options_.locations.runtime_directory;
    if (auto made = runtime::MakeDirectories(locks, 0700); !made.ok()) return made;
    for (const auto& [path, mask] :
         {std::pair(directory, IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE),
          // (A service that takes its lock writes its pid into the file.)
          std::pair(locks, IN_MODIFY)}) {
      if (inotify_add_watch(inotify_.get(), path.c_str(), mask | IN_MASK_ADD) < 0) {
        return absl::UnavailableError(
            absl::StrCat("cannot watch ", path, " by inotify: ", strerror(errno)));
      }
    }
    return absl::OkStatus();
  }

  std::string WantedPath() const { return options_.locations.state_directory + "/wanted"; }
  bool Keeping() const { return wanted_.has_value() && !options_.external && !stopping_; }

  bool MattersToUs(std::string_view name) const {
    if (name == "wanted") return true;
    return std::any_of(services_.begin(), services_.end(), [&](const Kept& service) {
      return service.pid == 0 && name == service.name + ".lock";
    });
  }

  void OnDirectory() {
    alignas(inotify_event) char buffer[4096];
    bool ours = false, removed = false, asked = false;
    for (ssize_t got; (got = read(inotify_.get(), buffer, sizeof buffer)) > 0;) {
      for (ssize_t at = 0; at < got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        removed = removed || (event->mask & IN_IGNORED) != 0;
        ours = ours || (event->mask & IN_Q_OVERFLOW) != 0 ||
               (event->len > 0 && MattersToUs(event->name));
        asked = asked || (event->len > 0 && std::string_view(event->name) == "wanted");
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    if (removed) {
      const absl::Status again = WatchDirectories();
      LOG(WARNING) << "a directory of the yard was removed"
                   << (again.ok() ? "" : absl::StrCat(": ", again.message()));
    }
    if (asked) EndPauses();
    if (ours || removed) Look();
  }

  // Called when a user requests the yard, perhaps after fixing what kept a service from starting:
  // the next try is immediate.
  void EndPauses() {
    for (Kept& service : services_) {
      service.timer.Cancel();
      service.quick_failures = 0;
    }
  }

  void Look() {
    wanted_ = ReadWantedServices(WantedPath());
    for (Kept& service : services_) Ensure(service);
  }

  // Starts a wanted service that does not run; adopts a running one, wanted or not.
  void Ensure(Kept& service) {
    if (service.pid != 0 || service.timer.is_set()) return;
    const auto holder = runtime::LockHolder(options_.locations.LockPath(service.name));
    if (holder.ok() && Adopt(service, *holder)) return;
    if (!Keeping() || !IsToRun(service.name)) return;
    if (service.tried && IsExternal(service.name)) {
      return Become(service, msg::TaskState::Exited, "somebody else starts it");
    }
    StartService(service);
  }

  // Returns whether a service is to run: the gate only once it has a key. (`yard gate` rewrites the
  // file `wanted` after it has made the key.)
  bool IsToRun(std::string_view name) const {
    if (name != kGate) return true;
    const std::string key = options_.locations.state_directory + "/gate/server.key";
    return access(key.c_str(), F_OK) == 0;
  }

  // Returns the path of a service's ready file, which names its supervisor and remains when the
  // service is killed.
  std::string ReadyPath(const std::string& name) const {
    return absl::StrCat(options_.locations.runtime_directory, "/", name, ".ready");
  }
  bool HasReadyFile(const std::string& name) const {
    return access(ReadyPath(name).c_str(), F_OK) == 0;
  }
  bool IsExternal(const std::string& name) const {
    const auto ready = runtime::ReadFile(ReadyPath(name), kMaxSmallFile);
    return ready.ok() && absl::StrContains(*ready, "supervisor=external");
  }

  bool Adopt(Kept& service, pid_t pid) {
    runtime::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd.valid()) return false;
    // The pid may have been reused before the pidfd was opened.
    const auto holder = runtime::LockHolder(options_.locations.LockPath(service.name));
    if (!holder.ok() || *holder != pid) return false;
    service.pidfd = std::move(pidfd);
    service.child.reset();
    service.tried = true;
    OnStarted(service, pid, service.pidfd.get());
    return true;
  }

  void StartService(Kept& service) {
    const auto child = Spawn(service);
    if (!child.ok()) {
      Become(service, msg::TaskState::Failed, std::string(child.status().message()));
      return RetryLater(service);
    }
  }

  absl::StatusOr<pid_t> Spawn(Kept& service) {
    service.tried = true;
    // Uses the present flags, even if the notification of their change has not arrived yet.
    if (auto wanted = ReadWantedServices(WantedPath())) wanted_ = *std::move(wanted);
    runtime::Subprocess::Options start;
    if (service.name == "trainer" && !wanted_->trainer.empty()) {
      start.program = wanted_->trainer;
    } else {
      auto path = options_.find_binary(absl::StrCat(service.name, "/", service.name));
      if (!path.ok()) return path.status();
      start.program = *path;
    }
    const std::string log_path =
        absl::StrCat(options_.locations.LogDirectory(), "/", service.name, ".out");
    const runtime::UniqueFd log(
        open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!log.valid()) {
      return absl::UnavailableError(absl::StrCat("cannot open ", log_path, ": ", strerror(errno)));
    }
    start.argv = {start.program};
    if (service.name == "datamanager" || service.name == "trainer") {
      start.argv.push_back("--logdir=" + wanted_->logdir);
    }
    if (service.name == "trainer" && wanted_->slots > 0) {
      start.argv.push_back(absl::StrCat("--slots=", wanted_->slots));
    }
    for (const std::string& flag : wanted_->flags[service.name]) start.argv.push_back("--" + flag);
    start.environment = options_.environment;
    start.fds = {{log.get(), 1}, {log.get(), 2}};
    start.new_session = true;
    auto child = runtime::Subprocess::Start(start);
    if (!child.ok()) return child.status();
    service.child = std::move(*child);
    service.pidfd.reset();
    OnStarted(service, service.child->pid(), service.child->pidfd());
    return service.pid;
  }

  void OnStarted(Kept& service, pid_t pid, int pidfd) {
    service.pid = pid;
    service.since = options_.clock->Monotonic();
    service.started_us = absl::ToUnixMicros(options_.clock->Now());
    Kept* const entry = &service;  // The pointer stays valid, since the array does not change.
    service.watch = options_.loop->Watch(pidfd, runtime::EventLoop::Readiness::kReadable,
                                         [this, entry] { OnEnded(*entry); });
    Become(service, msg::TaskState::Running, "");
  }

  void OnEnded(Kept& service) {
    options_.loop->Unwatch(std::exchange(service.watch, 0));
    service.pid = 0;
    std::string how = "ended";
    bool refused = false;
    std::optional<bool> ended_well;  // Unknown for a service that the keeper did not start.
    if (service.child) {
      if (const auto status = service.child->Wait(absl::ZeroDuration()); status.ok()) {
        how = status->ToString();
        ended_well = status->signal == 0 && status->code == 0;
        refused = status->signal == 0 && status->code == kRefused;
      }
    }
    service.child.reset();
    service.pidfd.reset();
    Become(service, msg::TaskState::Exited, how);
    if (stopping_) return StopNext();
    if (!Keeping()) return Ensure(service);
    LOG(WARNING) << service.name << " has ended (" << how << ")"
                 << (refused ? ": another one runs" : ": starting it again");
    const bool was_unasked = ended_well ? !*ended_well : HasReadyFile(service.name);
    if (options_.on_restart && !refused && was_unasked) {
      options_.on_restart(service.name, how, service.started_us);
    }
    if (options_.clock->Monotonic() - service.since >= kStableAfter) service.quick_failures = 0;
    ++service.restarts;
    RetryLater(service);
  }

  void RetryLater(Kept& service) {
    const absl::Duration delay =
        RestartDelay(++service.quick_failures, kFirstDelay, kLongestDelay, options_.random());
    Kept* const entry = &service;
    if (delay == absl::ZeroDuration()) return Ensure(service);
    service.timer.Start(options_.loop, delay, [this, entry] { Ensure(*entry); });
  }

  // Stops the services from last to first, one after the other, except the registry.
  void StopNext() {
    while (stop_next_ > 1) {
      Kept& service = services_[stop_next_ - 1];
      if (asked_ && service.pid != 0) return;  // The service is still stopping.
      if (!asked_ && service.pid != 0 && MayStop()) {
        asked_ = true;
        service.child
            ? (void)service.child->Signal(SIGTERM)
            : (void)syscall(SYS_pidfd_send_signal, service.pidfd.get(), SIGTERM, nullptr, 0);
        return;
      }
      asked_ = false;
      --stop_next_;
    }
    if (done_) std::exchange(done_, nullptr)();
  }

  bool MayStop() {
    if (!may_stop_) may_stop_ = !options_.external && access(WantedPath().c_str(), F_OK) != 0;
    return *may_stop_;
  }

  void Become(Kept& service, msg::TaskState state, std::string reason) {
    service.state = state;
    service.reason = std::move(reason);
    if (options_.on_change) options_.on_change(Message(service));
  }

  static msg::SupervisedServiceT Message(const Kept& service) {
    msg::SupervisedServiceT message;
    message.name = service.name;
    message.state = service.state;
    message.pid = service.pid;
    message.restarts = service.restarts;
    message.started_us = service.started_us;
    message.reason = service.reason;
    return message;
  }

  const Options options_;
  std::array<Kept, 5> services_;  // In the order in which they are started.
  std::optional<WantedServices> wanted_;
  runtime::UniqueFd inotify_;
  runtime::EventLoop::WatchId inotify_watch_ = 0;

  bool stopping_ = false;
  std::optional<bool> may_stop_;
  bool asked_ = false;
  std::size_t stop_next_ = 0;
  std::function<void()> done_;
};

absl::StatusOr<std::unique_ptr<ServiceKeeper>> ServiceKeeper::Create(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto status = impl->Prepare(); !status.ok()) return status;
  return std::unique_ptr<ServiceKeeper>(new ServiceKeeper(std::move(impl)));
}

ServiceKeeper::ServiceKeeper(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServiceKeeper::~ServiceKeeper() = default;

std::vector<msg::SupervisedServiceT> ServiceKeeper::Services() const { return impl_->Services(); }
std::string ServiceKeeper::LogDirectory() const { return impl_->LogDirectory(); }
void ServiceKeeper::Stop(std::function<void()> done) { impl_->Stop(std::move(done)); }

}  // namespace launcher
