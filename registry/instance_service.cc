#include "registry/instance_service.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/call/loop_methods.h"
#include "bus/launcher_client/launcher_jobs.h"
#include "bus/schema/registry_methods.h"
#include "glog/logging.h"
#include "registry/info/cache_key.h"
#include "registry/info/info_directory.h"
#include "registry/tool/instance_view.h"
#include "registry/tool/start_or_reuse.h"
#include "runtime/timer.h"

namespace registry {
namespace {

using rpc::Registry;

constexpr std::size_t kMaxViews = 64;
constexpr absl::Duration kStartTimeout = absl::Seconds(60);
constexpr absl::Duration kStopTimeout = absl::Seconds(10);
// Reserved so that the answer "timed out" arrives before the call's own deadline.
constexpr absl::Duration kAnswerTime = absl::Milliseconds(100);

template <typename M>
using Writer = std::shared_ptr<bus::ReplyWriter<M>>;

}  // namespace

// Everything but the statistics belongs to the loop's thread.
class InstanceService::Impl {
 public:
  Impl(Options options, bus::Service* service);
  void ListNames(bus::NameList& names);
  Stats GetStats() const;

 private:
  struct Found {
    InstanceView* view;
    const InstanceView::Entry* entry;
  };
  struct Stopping {
    pid_t pid;
    msg::InstanceT instance;
    Writer<Registry::StopInstance> writer;
    runtime::Timer timer;
  };

  void Start(Writer<Registry::StartOrReuse> writer, const msg::StartOrReuseRequestT& request);
  void Stop(Writer<Registry::StopInstance> writer, const msg::StopInstanceRequestT& request);
  absl::StatusOr<msg::InstancesReplyT> Instances(const bus::CallContext&,
                                                 const msg::InstancesRequestT& request);
  absl::StatusOr<msg::CacheKeyReplyT> Key(const bus::CallContext&,
                                          const msg::CacheKeyRequestT& request);
  absl::StatusOr<msg::AnnounceInstanceReplyT> Announce(
      const bus::CallContext&, const msg::AnnounceInstanceRequestT& request);
  absl::StatusOr<msg::WithdrawInstanceReplyT> Withdraw(
      const bus::CallContext&, const msg::WithdrawInstanceRequestT& request);

  // Returns the caller's temporary directory; the registry's own if `environment` is empty.
  absl::StatusOr<std::string> TemporaryFor(const std::vector<std::string>& environment,
                                           const std::string& working_directory) const;
  bool MayForget(const std::string& temporary_directory, InstanceView* view) const;
  InstanceView* ViewOf(const std::string& temporary_directory);
  std::vector<Found> Find(const std::string& id);
  msg::InstanceT Message(const InstanceView::Entry& entry) const;
  absl::Duration Budget(const bus::CallContext& context, absl::Duration wanted) const;
  void Changed(const std::string& temporary_directory);
  void EndStops();
  void Count(const absl::StatusOr<msg::StartOrReuseReplyT>& reply);

  const Options options_;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  const absl::StatusOr<std::string> own_temporary_;
  const std::unique_ptr<bus::JobControl> jobs_;
  std::map<std::string, std::unique_ptr<InstanceView>> views_;  // By temporary directory.
  std::unique_ptr<StartOrReuse> starts_;
  std::map<std::uint64_t, Stopping> stopping_;
  std::uint64_t last_stop_ = 0;

  std::atomic<std::uint64_t> instances_{0}, launched_{0}, reused_{0}, failed_{0};
};

InstanceService::Impl::Impl(Options options, bus::Service* service)
    : options_(std::move(options)),
      own_temporary_(TemporaryOf(options_.environment, options_.working_directory)),
      jobs_(bus::MakeLauncherJobs(options_.client, options_.loop, options_.clock)) {
  starts_ = std::make_unique<StartOrReuse>(
      StartOrReuse::Options{.loop = options_.loop,
                            .clock = options_.clock,
                            .jobs = jobs_.get(),
                            .probe = options_.probe,
                            .uid = options_.uid,
                            .view = [this](const std::string& path) { return ViewOf(path); },
                            .launcher_is_there = options_.launcher_is_there});
  const bus::LoopMethods methods(service, options_.loop, alive_);
  methods.Serve<Registry::StartOrReuse>(std::bind_front(&InstanceService::Impl::Start, this));
  methods.Serve<Registry::StopInstance>(std::bind_front(&InstanceService::Impl::Stop, this));
  methods.Answer<Registry::Instances>(std::bind_front(&InstanceService::Impl::Instances, this));
  methods.Answer<Registry::CacheKey>(std::bind_front(&InstanceService::Impl::Key, this));
  methods.Answer<Registry::AnnounceInstance>(
      std::bind_front(&InstanceService::Impl::Announce, this));
  methods.Answer<Registry::WithdrawInstance>(
      std::bind_front(&InstanceService::Impl::Withdraw, this));
}

InstanceService::Stats InstanceService::Impl::GetStats() const {
  return {instances_, launched_, reused_, failed_};
}

// ---- Views

absl::StatusOr<std::string> InstanceService::Impl::TemporaryFor(
    const std::vector<std::string>& environment, const std::string& working_directory) const {
  if (environment.empty()) return own_temporary_;
  return TemporaryOf(environment,
                     working_directory.empty() ? options_.working_directory : working_directory);
}

InstanceView* InstanceService::Impl::ViewOf(const std::string& temporary_directory) {
  const auto known = views_.find(temporary_directory);
  if (known != views_.end()) return known->second.get();
  if (views_.size() >= kMaxViews) {
    const auto idle = std::find_if(views_.begin(), views_.end(), [&](const auto& view) {
      return MayForget(view.first, view.second.get());
    });
    if (idle != views_.end()) views_.erase(idle);
  }
  auto view = std::make_unique<InstanceView>(InstanceView::Options{
      .loop = options_.loop,
      .probe = options_.probe,
      .temporary_directory = temporary_directory,
      .uid = options_.uid,
      .changed = [this, temporary_directory] { Changed(temporary_directory); }});
  return (views_[temporary_directory] = std::move(view)).get();
}

// True if no call waits for the directory and it has no live tool: it can be forgotten, and read
// again later.
bool InstanceService::Impl::MayForget(const std::string& temporary_directory,
                                      InstanceView* view) const {
  if (own_temporary_.ok() && temporary_directory == *own_temporary_) return false;
  if (starts_->Uses(temporary_directory)) return false;
  const auto& entries = view->Entries();
  return std::none_of(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.second.state == InstanceView::State::kLive;
  });
}

void InstanceService::Impl::Changed(const std::string& temporary_directory) {
  std::size_t entries = 0;
  for (const auto& [name, view] : views_) entries += view->Entries().size();
  instances_ = entries;
  starts_->Changed(temporary_directory);
  EndStops();
}

msg::InstanceT InstanceService::Impl::Message(const InstanceView::Entry& entry) const {
  return MessageOf(entry, starts_->JobOf(static_cast<pid_t>(entry.file.info.pid)));
}

absl::StatusOr<msg::InstancesReplyT> InstanceService::Impl::Instances(
    const bus::CallContext&, const msg::InstancesRequestT& request) {
  const auto asked = TemporaryFor(request.environment, request.working_directory);
  if (!asked.ok()) return asked.status();
  std::set<std::string> paths = {*asked};
  if (request.environment.empty()) {
    for (const auto& [path, view] : views_) paths.insert(path);
  }
  msg::InstancesReplyT reply;
  for (const std::string& path : paths) {
    InstanceView* const view = ViewOf(path);
    view->Check();
    starts_->LearnJobs(path);
    for (const auto& [name, entry] : view->Entries()) {
      if (!request.all && entry.state != InstanceView::State::kLive) continue;
      reply.instances.push_back(std::make_unique<msg::InstanceT>(Message(entry)));
    }
  }
  std::stable_sort(reply.instances.begin(), reply.instances.end(),
                   [](const auto& a, const auto& b) { return a->info->port < b->info->port; });
  return reply;
}

// ---- Start or reuse

absl::Duration InstanceService::Impl::Budget(const bus::CallContext& context,
                                             absl::Duration wanted) const {
  const absl::Duration left = context.deadline - options_.clock->Monotonic() - kAnswerTime;
  return std::max(std::min(wanted, left), absl::ZeroDuration());
}

void InstanceService::Impl::Start(Writer<Registry::StartOrReuse> writer,
                                  const msg::StartOrReuseRequestT& request) {
  StartOrReuse::Caller caller;
  caller.timeout =
      Budget(writer->context(),
             request.timeout_ms == 0 ? kStartTimeout : absl::Milliseconds(request.timeout_ms));
  caller.trace = writer->context().trace;
  // A caller that reads too slowly loses a line of progress, nothing else.
  caller.progress = [writer](msg::StartOrReuseReplyT part) {
    (void)writer->SendPart(std::move(part));
  };
  caller.done = [this, writer](absl::StatusOr<msg::StartOrReuseReplyT> reply) {
    Count(reply);
    writer->Finish(std::move(reply));
  };
  const StartOrReuse::CallerId id = starts_->Start(request, std::move(caller));
  writer->OnCancel([this, id, weak = std::weak_ptr<char>(alive_)] {
    options_.loop->Post([this, id, weak] {
      if (!weak.expired()) starts_->Leave(id);
    });
  });
}

void InstanceService::Impl::Count(const absl::StatusOr<msg::StartOrReuseReplyT>& reply) {
  const auto outcome = reply.ok() ? reply->outcome : msg::StartOutcome::Failed;
  ++(outcome == msg::StartOutcome::Launched ? launched_
     : outcome == msg::StartOutcome::Reused ? reused_
                                            : failed_);
}

// ---- Stop

void InstanceService::Impl::ListNames(bus::NameList& names) {
  if (own_temporary_.ok()) (void)ViewOf(*own_temporary_);
  for (const auto& [path, view] : views_) {
    view->Check();
    for (const auto& [name, entry] : view->Entries()) {
      if (entry.state != InstanceView::State::kLive) continue;
      const msg::InstanceT tool = Message(entry);
      names.Add("tool", tool.id, tool.url);
    }
  }
}

std::vector<InstanceService::Impl::Found> InstanceService::Impl::Find(const std::string& id) {
  std::vector<Found> found;
  int pid = 0;
  if (!absl::SimpleAtoi(id, &pid)) pid = 0;
  if (own_temporary_.ok()) (void)ViewOf(*own_temporary_);
  std::set<std::int64_t> pids;
  for (const auto& [path, view] : views_) {
    view->Check();
    for (const auto& [name, entry] : view->Entries()) {
      if (entry.state != InstanceView::State::kLive) continue;
      const bool named = entry.file.info.pid == pid || Message(entry).id == id;
      if (named && pids.insert(entry.file.info.pid).second) found.push_back({view.get(), &entry});
    }
  }
  return found;
}

void InstanceService::Impl::Stop(Writer<Registry::StopInstance> writer,
                                 const msg::StopInstanceRequestT& request) {
  const std::vector<Found> found = Find(request.id);
  if (found.empty()) {
    return writer->Finish(
        absl::NotFoundError(absl::StrCat("no running tool \"", request.id, "\"")));
  }
  if (found.size() > 1) {
    return writer->Finish(absl::FailedPreconditionError(
        absl::StrCat("\"", request.id, "\" is more than one tool: say its process id")));
  }
  const absl::Status sent = found[0].view->Signal(*found[0].entry, SIGTERM);
  if (!sent.ok()) return writer->Finish(sent);
  const std::uint64_t stop = ++last_stop_;
  Stopping& stopping = stopping_[stop];
  stopping.pid = static_cast<pid_t>(found[0].entry->file.info.pid);
  stopping.instance = Message(*found[0].entry);
  stopping.writer = std::move(writer);
  LOG(INFO) << stopping.instance.id << " (process " << stopping.pid << ") is asked to end";
  stopping.timer.Start(
      options_.loop, Budget(stopping.writer->context(), kStopTimeout), [this, stop] {
        const auto over = stopping_.extract(stop);
        if (over.empty()) return;
        over.mapped().writer->Finish(absl::DeadlineExceededError(absl::StrCat(
            over.mapped().instance.id, " (process ", over.mapped().pid,
            ") was asked to end and still runs; kill -9 ", over.mapped().pid, " ends it at once")));
      });
}

// Answers the callers whose tool has ended.
void InstanceService::Impl::EndStops() {
  for (auto stop = stopping_.begin(); stop != stopping_.end();) {
    Stopping& stopping = stop->second;
    if (options_.probe->Look(stopping.pid).has_value()) {
      ++stop;
      continue;
    }
    stopping.timer.Cancel();
    msg::StopInstanceReplyT reply;
    stopping.instance.state = msg::InstanceState::Dead;
    reply.instance = std::make_unique<msg::InstanceT>(stopping.instance);
    stopping.writer->Finish(std::move(reply));
    stop = stopping_.erase(stop);
  }
}

// ---- Info files

absl::StatusOr<msg::CacheKeyReplyT> InstanceService::Impl::Key(
    const bus::CallContext&, const msg::CacheKeyRequestT& request) {
  auto key = CacheKey(request.working_directory, request.arguments,
                      request.configure_kwargs.empty() ? "{}" : request.configure_kwargs);
  if (!key.ok()) return key.status();
  msg::CacheKeyReplyT reply;
  reply.cache_key = *std::move(key);
  return reply;
}

absl::StatusOr<msg::AnnounceInstanceReplyT> InstanceService::Impl::Announce(
    const bus::CallContext&, const msg::AnnounceInstanceRequestT& request) {
  if (request.info == nullptr) return absl::InvalidArgumentError("info is missing");
  const msg::InstanceInfoT& told = *request.info;
  const InstanceInfo info{.version = told.version,
                          .start_time = told.start_time != 0
                                            ? told.start_time
                                            : absl::ToUnixSeconds(options_.clock->Now()),
                          .pid = told.pid,
                          .port = told.port,
                          .path_prefix = told.path_prefix,
                          .logdir = told.logdir,
                          .db = told.db,
                          .cache_key = told.cache_key};
  const auto temporary = TemporaryFor(request.environment, request.working_directory);
  if (!temporary.ok()) return temporary.status();
  const InfoDirectory directory(*temporary);
  if (absl::Status made = directory.Create(); !made.ok()) return made;
  if (absl::Status written = directory.Write(info, request.tool_version); !written.ok()) {
    return written;
  }
  InstanceView* const view = ViewOf(*temporary);
  msg::AnnounceInstanceReplyT reply;
  for (const auto& [name, entry] : view->Entries()) {
    if (entry.file.info == info) {
      reply.instance = std::make_unique<msg::InstanceT>(Message(entry));
    }
  }
  return reply;
}

absl::StatusOr<msg::WithdrawInstanceReplyT> InstanceService::Impl::Withdraw(
    const bus::CallContext&, const msg::WithdrawInstanceRequestT& request) {
  const auto temporary = TemporaryFor(request.environment, request.working_directory);
  if (!temporary.ok()) return temporary.status();
  if (absl::Status removed = InfoDirectory(*temporary).Remove(request.pid); !removed.ok())
    return removed;
  return msg::WithdrawInstanceReplyT();
}

InstanceService::InstanceService(Options options, bus::Service* service)
    : impl_(std::make_unique<Impl>(std::move(options), service)) {}
InstanceService::~InstanceService() = default;
void InstanceService::ListNames(bus::NameList& names) { impl_->ListNames(names); }
InstanceService::Stats InstanceService::GetStats() const { return impl_->GetStats(); }

}  // namespace registry
