#include "bus/process/service_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bus/process/prometheus_text.h"
#include "bus/process/registration.h"
#include "bus/process/stats_source.h"
#include "bus/schema/common_methods.h"
#include "bus/wire/version.h"
#include "glog/logging.h"
#include "runtime/file/file.h"
#include "runtime/mutex.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/init.h"
#include "runtime/process/process_identity.h"
#include "runtime/process/stop_signal.h"
#include "runtime/process/supervisor_notice.h"
#include "runtime/text/random_id.h"
#include "runtime/thread.h"

namespace bus {
namespace {

constexpr absl::Duration kRevokeTimeout = absl::Milliseconds(300);
constexpr absl::Duration kReplyTime = absl::Milliseconds(20);
constexpr int kInterrupted = 130;

// How often a service checks that its files exist, and after how many checks it touches them, so
// that cleaners of temporary files see that they are used. (inotify would cost each service one of
// a user's few instances, and could not trigger the touch anyway.)
constexpr absl::Duration kLookAtFiles = absl::Seconds(1);
constexpr int kLooksUntilTouch = 1800;

absl::Status CheckListen(const std::string& endpoint) {
  if (endpoint.empty() || absl::StartsWith(endpoint, "ipc://")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot listen on ", endpoint,
                   ": only ipc:// is served; the network has the yard's gate alone, which "
                   "knows its clients by their keys (yard gate)"));
}

void TellSupervisor(const char* state) {
  const absl::Status told = runtime::NotifySupervisor(state);
  LOG_IF(WARNING, !told.ok()) << told.message();
}

bool IsGone(const std::string& path) {
  struct stat about {};
  return lstat(path.c_str(), &about) != 0 && errno == ENOENT;
}

// True if the lock's file was removed or replaced.
bool IsLost(const runtime::UniqueFd& lock, const std::string& path) {
  struct stat held {
  }, named{};
  if (fstat(lock.get(), &held) != 0) return false;
  if (lstat(path.c_str(), &named) != 0) return errno == ENOENT;
  return held.st_ino != named.st_ino || held.st_dev != named.st_dev;
}

}  // namespace

ServiceProcess::ServiceProcess(Options options) : options_(std::move(options)) {}

void ServiceProcess::AddCounter(std::string name, std::function<std::uint64_t()> value) {
  stats_->AddCounter(std::move(name), std::move(value));
}

void ServiceProcess::AddGauge(std::string name, std::function<std::uint64_t()> value) {
  stats_->AddGauge(std::move(name), std::move(value));
}

void ServiceProcess::OnStop(std::function<void()> stop) { on_stop_.push_back(std::move(stop)); }

void ServiceProcess::KeepSocket(std::string endpoint, std::function<absl::Status()> bind_again) {
  sockets_.push_back({std::move(endpoint), std::move(bind_again)});
}

std::string ServiceProcess::StateLockPath() const {
  return absl::StrCat(locations_.state_directory, "/", options_.name, ".lock");
}

std::string ServiceProcess::ReadyPath() const {
  return absl::StrCat(locations_.runtime_directory, "/", options_.name, ".ready");
}

std::string ServiceProcess::LastReadyPath() const { return ReadyPath() + ".last"; }

void ServiceProcess::RemoveReadyFiles() const {
  unlink(ReadyPath().c_str());
  unlink(LastReadyPath().c_str());
}

absl::Status ServiceProcess::Init() {
  if (absl::Status status = runtime::EnterCallersDirectory(); !status.ok()) return status;
  if (absl::Status status = runtime::StopSignal::BlockInThisThread(); !status.ok()) return status;
  auto locations = runtime::Locations::FromEnvironment();
  if (!locations.ok()) return locations.status();
  locations_ = std::move(*locations);
  endpoint_ = options_.name == "registry" ? locations_.registry_address
                                          : locations_.ServiceAddress(options_.name);
  if (!options_.listen.empty()) endpoint_ = options_.listen;
  if (absl::Status good = CheckListen(endpoint_); !good.ok()) return good;
  for (const std::string& directory : {locations_.runtime_directory, locations_.state_directory}) {
    if (absl::Status made = runtime::MakePrivateDirectory(directory); !made.ok()) return made;
  }
  if (absl::Status alone = TakeLocks(); !alone.ok()) return alone;
  if (absl::Status logging = runtime::InitLogging(options_.name, locations_); !logging.ok()) {
    return logging;
  }
  // Renamed rather than removed, so that even on a full disk the new file has room.
  (void)rename(ReadyPath().c_str(), LastReadyPath().c_str());
  return Open();
}

// Takes two locks: one in the runtime directory, for its sockets, and one in the state directory,
// which a process with another runtime directory ($XDG_RUNTIME_DIR of another shell) may share.
absl::Status ServiceProcess::TakeLocks() {
  auto alone = runtime::LockFile(locations_.LockPath(options_.name));
  if (!alone.ok()) {
    return absl::Status(alone.status().code(),
                        absl::StrCat(options_.name, " runs already: ", alone.status().message()));
  }
  auto state = runtime::LockFile(StateLockPath());
  if (!state.ok()) {
    return absl::Status(
        state.status().code(),
        absl::StrCat(options_.name, " of another yard keeps its state in ",
                     locations_.state_directory, ": ", state.status().message(),
                     "; next step: set XDG_RUNTIME_DIR to that yard's, this one's sockets are in ",
                     locations_.runtime_directory, ", or YARD_STATE to a directory of its own"));
  }
  lock_ = *std::move(alone);
  state_lock_ = *std::move(state);
  return absl::OkStatus();
}

absl::Status ServiceProcess::Open() {
  loop_ = runtime::EventLoop::Create(clock_);
  pool_ = runtime::ThreadPool::Create(&coordinator_, {.threads = options_.pool_threads});
  auto node = Node::Create({.name = options_.name, .locations = locations_, .clock = clock_});
  if (!node.ok()) return node.status();
  node_ = std::move(*node);
  service_ = std::make_unique<Service>(
      node_.get(),
      Service::Options{.name = options_.name, .endpoint = endpoint_, .pool = pool_.get()});
  client_ = std::make_unique<Client>(node_.get());
  publisher_ = std::make_unique<Publisher>(node_.get());
  {
    runtime::MutexLock lock(mutex_);
    hold_ =
        std::shared_ptr<void>(nullptr, [this](void*) { loop_->Post([this] { HoldsEnded(); }); });
  }
  auto signals = runtime::StopSignal::Create(
      loop_.get(), [this](int signal) { BeginStop(absl::StrCat("signal ", signal)); },
      [this](int) {
        LOG(WARNING) << "a second signal: stopping now";
        RemoveReadyFiles();
        _exit(kInterrupted);
      });
  if (!signals.ok()) return signals.status();
  stop_signal_ = std::move(*signals);
  stats_ = std::make_unique<StatsSource>(StatsSource::Options{.service = options_.name,
                                                              .clock = clock_,
                                                              .coordinator = &coordinator_,
                                                              .pool = pool_.get(),
                                                              .node = node_.get(),
                                                              .methods = service_.get()});
  HandleCommonMethods();
  return absl::OkStatus();
}

void ServiceProcess::HandleCommonMethods() {
  service_->Handle<rpc::Common::Stats>(
      [this](const CallContext&, const msg::StatsRequestT&) { return stats_->Gather(); });
  service_->Handle<rpc::Common::Metrics>([this](const CallContext&, const msg::MetricsRequestT&) {
    msg::MetricsReplyT reply;
    reply.text = PrometheusText(stats_->Gather());
    return reply;
  });
  service_->Handle<rpc::Common::SetLogLevel>(
      [](const CallContext&,
         const msg::SetLogLevelRequestT& request) -> absl::StatusOr<msg::SetLogLevelReplyT> {
        auto before = runtime::SetLogLevel(request.level);
        if (!before.ok()) return before.status();
        msg::SetLogLevelReplyT reply;
        reply.before = *std::move(before);
        return reply;
      });
  service_->Handle<rpc::Common::Shutdown>(
      [this](const CallContext& context, const msg::ShutdownRequestT& request) {
        const std::string why = absl::StrCat("asked by pid ", context.pid,
                                             request.reason.empty() ? "" : ": ", request.reason);
        // Stops later, so that the answer is sent first.
        loop_->RunAfter(kReplyTime, [this, why] { BeginStop(why); });
        return msg::ShutdownReplyT();
      });
}

ServiceProcess::~ServiceProcess() {
  (void)coordinator_.RequestStop();
  if (service_ != nullptr) service_->Stop();
  {
    runtime::MutexLock lock(mutex_);
    // Ensures that nothing is posted to a loop that is being destroyed.
    stopping_ = left_ = true;
  }
  pool_.reset();
  registration_.reset();
  service_.reset();
  publisher_.reset();
  client_.reset();
  {
    std::shared_ptr<void> last;
    runtime::MutexLock lock(mutex_);
    last.swap(hold_);
  }
  stop_signal_.reset();
  if (stop_watch_ != nullptr) stop_watch_->Join();
  if (lock_.valid()) RemoveReadyFiles();
}

std::shared_ptr<void> ServiceProcess::HoldStop() {
  runtime::MutexLock lock(mutex_);
  return hold_;
}

void ServiceProcess::Register() {
  msg::LeaseT lease;
  lease.name = options_.name;
  lease.instance = "0";
  lease.endpoints = {endpoint_};
  lease.nonce = node_->source();
  lease.version = std::string(kVersion);
  if (auto self = runtime::SelfIdentity(); self.ok()) {
    lease.process = std::make_unique<msg::ProcessIdentityT>();
    lease.process->pid_namespace = self->pid_namespace;
    lease.process->boot_id = self->boot_id;
    lease.process->pid = self->pid;
    lease.process->start_ticks = self->start_ticks;
  }
  if (!options_.supervisor.empty()) {
    auto label = std::make_unique<msg::KeyValueT>();
    label->key = "supervisor";
    label->value = options_.supervisor;
    lease.labels.push_back(std::move(label));
  }
  registration_ = std::make_unique<Registration>(
      loop_.get(), client_.get(),
      Registration::Options{.lease = std::move(lease),
                            .on_waiting =
                                [this](const absl::Status& why) {
                                  LOG(WARNING) << options_.name << " waits for the registry at "
                                               << locations_.registry_address << " ("
                                               << why.message() << ")";
                                },
                            .on_registered =
                                [this](bool first) {
                                  if (first) {
                                    SayReady();
                                  } else {
                                    LOG(INFO) << options_.name << " is registered again";
                                  }
                                }});
}

void ServiceProcess::WriteReadyFile() {
  std::string content = absl::StrCat(getpid(), "\n");
  // Tells a launcher that finds this service dead which process must restart it.
  if (!options_.supervisor.empty()) {
    absl::StrAppend(&content, "supervisor=", options_.supervisor, "\n");
  }
  if (!options_.listen.empty()) absl::StrAppend(&content, "listen=", options_.listen, "\n");
  unlink(LastReadyPath().c_str());
  const absl::Status written = runtime::WriteFileAtomically(ReadyPath(), content, 0600);
  LOG_IF(ERROR, !written.ok()) << written.message();
}

void ServiceProcess::LookAtFiles() {
  loop_->RunAfter(kLookAtFiles, [this] { LookAtFiles(); });
  if (stopping_) return;
  const absl::Status made = MakeFilesAnew();
  // Logs each trouble once, not once a second.
  if (std::string trouble(made.message()); trouble != file_trouble_) {
    file_trouble_ = std::move(trouble);
    LOG_IF(ERROR, !made.ok()) << "cannot make anew what was removed: " << file_trouble_;
  }
  if (++looks_ % kLooksUntilTouch == 0) Touch();
}

absl::Status ServiceProcess::MakeFilesAnew() {
  for (const auto& [lock, path] :
       {std::pair(&lock_, locations_.LockPath(options_.name)), {&state_lock_, StateLockPath()}}) {
    if (!IsLost(*lock, path)) continue;
    for (const std::string& directory :
         {locations_.runtime_directory, locations_.state_directory}) {
      if (absl::Status there = runtime::MakePrivateDirectory(directory); !there.ok()) return there;
    }
    auto anew = runtime::LockFile(path);
    if (!anew.ok()) return anew.status();
    *lock = *std::move(anew);
    LOG(WARNING) << path << " was removed: made anew";
  }
  if (ready_ && IsGone(ReadyPath())) WriteReadyFile();
  for (const KeptSocket& socket : sockets_) {
    if (!IsGone(socket.endpoint.substr(std::string_view("ipc://").size()))) continue;
    if (absl::Status bound = socket.bind_again(); !bound.ok()) return bound;
    LOG(WARNING) << socket.endpoint << " was removed: made anew";
  }
  return absl::OkStatus();
}

void ServiceProcess::Touch() const {
  (void)futimens(lock_.get(), nullptr);
  (void)utimensat(AT_FDCWD, ReadyPath().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void ServiceProcess::SayReady() {
  if (stopping_) return;
  ready_ = true;
  WriteReadyFile();
  const std::string line = absl::StrFormat(
      "%s ready in %d ms (pid %d, %s)\n", options_.name,
      absl::ToInt64Milliseconds(clock_->Monotonic() - started_), getpid(), endpoint_);
  (void)runtime::WriteAll(STDERR_FILENO, line);
  TellSupervisor("READY=1");
}

int ServiceProcess::Run() {
  if (absl::Status started = service_->Start(); !started.ok()) {
    return runtime::ReportAndExitCode(options_.name, started);
  }
  // An error of a task also stops the process.
  stop_watch_ = std::make_unique<runtime::Thread>("stop-watch", [this] {
    coordinator_.WaitForStop(absl::InfiniteDuration());
    loop_->Post([this] { BeginStop("a part of it asked for it"); });
  });
  KeepSocket(endpoint_, [this] { return service_->BindAgain(); });
  loop_->Post([this] { Register(); });
  loop_->RunAfter(kLookAtFiles, [this] { LookAtFiles(); });
  loop_->Run();
  return Join();
}

void ServiceProcess::BeginStop(const std::string& why) {
  if (std::exchange(stopping_, true)) return;
  LOG(INFO) << options_.name << " stops: " << why;
  TellSupervisor("STOPPING=1");
  stop_deadline_ = clock_->Monotonic() + options_.stop_grace;
  stats_->SetStopReason(why);
  unlink(ReadyPath().c_str());
  // If `hold` is the last reference to the stop, the stop ends here, after the callbacks.
  std::shared_ptr<void> hold;
  {
    runtime::MutexLock lock(mutex_);
    hold = hold_;
  }
  for (auto stop = on_stop_.rbegin(); stop != on_stop_.rend(); ++stop) (*stop)();
  loop_->RunAfter(options_.stop_grace, [this] {
    LOG(WARNING) << options_.name << ": the grace time of " << options_.stop_grace << " is over";
    Leave();
  });
  runtime::MutexLock lock(mutex_);
  hold_.reset();
}

void ServiceProcess::HoldsEnded() {
  if (stopping_) Leave();
}

// Revokes the lease, so that its clients need not wait for its expiry, and ends the loop.
void ServiceProcess::Leave() {
  if (std::exchange(left_, true)) return;
  if (registration_ == nullptr) return loop_->Stop();
  registration_->End([this] { loop_->Stop(); });
  loop_->RunAfter(kRevokeTimeout, [this] { loop_->Stop(); });
}

int ServiceProcess::Join() {
  const absl::Status why = coordinator_.RaiseRequested();
  service_->Stop();
  (void)coordinator_.RequestStop();
  const absl::Duration left =
      std::max(stop_deadline_ - clock_->Monotonic(), absl::Duration(absl::Seconds(1)));
  const absl::Status joined = coordinator_.Join({}, left);
  if (absl::IsDeadlineExceeded(joined)) {
    LOG(ERROR) << options_.name << ": " << joined.message();
    unlink(ReadyPath().c_str());
    google::FlushLogFiles(google::INFO);
    _exit(1);
  }
  return runtime::ReportAndExitCode(options_.name, why);
}

absl::Status ServiceProcess::CheckFlags(const Options& options) {
  if (absl::Status good = runtime::CheckLogFlags(); !good.ok()) return good;
  return CheckListen(options.listen);
}

absl::StatusOr<std::unique_ptr<ServiceProcess>> ServiceProcess::Create(Options options) {
  std::unique_ptr<ServiceProcess> process(new ServiceProcess(std::move(options)));
  if (absl::Status status = process->Init(); !status.ok()) return status;
  return process;
}

}  // namespace bus
