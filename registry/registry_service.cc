#include "registry/registry_service.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/call/loop_methods.h"
#include "bus/event/hub_service.h"
#include "bus/schema/registry_methods.h"
#include "bus/wire/topic.h"
#include "glog/logging.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/process_identity.h"
#include "runtime/text/text_hash.h"
#include "runtime/timer.h"

namespace registry {
namespace {

using rpc::Registry;

// This many leases of maximal content fit into one message, which has at most 10,000 tables.
constexpr std::size_t kLeasesInPart = 128;
constexpr int kLinesAtOnce = 10;  // Limit of log lines when many leases end together.

template <typename M>
using Writer = std::shared_ptr<bus::ReplyWriter<M>>;

runtime::ProcessIdentity IdentityOf(const msg::ProcessIdentityT& process) {
  return {.pid_namespace = process.pid_namespace,
          .boot_id = process.boot_id,
          .pid = process.pid,
          .start_ticks = process.start_ticks};
}

std::unique_ptr<msg::LeaseT> BriefOf(const msg::LeaseT& lease) {
  auto brief = std::make_unique<msg::LeaseT>();
  brief->id = lease.id;
  brief->name = lease.name;
  brief->instance = lease.instance;
  brief->state = lease.state;
  return brief;
}

}  // namespace

// Everything but the statistics belongs to the loop's thread.
//
// A watcher has received every change that it wants up to `published_revision_`, unless it is
// `behind`: it then has those up to its own `told`, and continues when its caller has read the
// earlier messages.
class RegistryService::Impl {
 public:
  Impl(Options options, bus::Service* service);
  ~Impl();
  bool IsThere(std::string_view name) const { return !leases_.Lookup(name, "").empty(); }
  void ListNames(bus::NameList& names) const {
    for (const msg::LeaseT* const lease : leases_.List({.prefix = names.prefix()}).leases) {
      if (!names.Add("service", lease->name, lease->instance)) break;
    }
  }
  Stats GetStats() const;

 private:
  struct Watcher {
    Writer<Registry::Watch> writer = nullptr;
    std::string prefix = {};
    std::uint64_t told = 0;
    bool behind = true;
    bool waits = false;  // For its caller to read.
    // Set while it receives a snapshot of the state at `told`: the last lease id that was sent.
    std::optional<std::uint64_t> snapshot_after = std::nullopt;
  };
  struct WatchedProcess {
    runtime::UniqueFd pidfd;
    runtime::EventLoop::WatchId watch = 0;
  };

  absl::Duration Now() const { return options_.node->clock()->Monotonic(); }

  absl::StatusOr<msg::RegisterReplyT> Register(const bus::CallContext& context,
                                               const msg::RegisterRequestT& request);
  absl::StatusOr<msg::RenewReplyT> Renew(const bus::CallContext&, const msg::RenewRequestT&);
  absl::StatusOr<msg::RevokeReplyT> Revoke(const bus::CallContext&, const msg::RevokeRequestT&);
  absl::StatusOr<msg::LookupReplyT> Lookup(const bus::CallContext&, const msg::LookupRequestT&);
  absl::StatusOr<msg::ListReplyT> List(const bus::CallContext&, const msg::ListRequestT&);
  void Watch(Writer<Registry::Watch> writer, const msg::WatchRequestT& request);

  void Look();
  bool WatchProcess(const msg::LeaseT& lease);
  void OnProcessEnded(std::uint64_t lease);
  void UnwatchProcess(std::uint64_t lease);

  using Changes = std::vector<const msg::LeaseEventT*>;
  void TellChanges();
  void LogChanges(const Changes& changes) const;
  void TellHub(const msg::LeaseEventT& change);
  void TellWatchers(const Changes& changes);
  void EndWatch(std::uint64_t id);
  void CatchUp(std::uint64_t id);
  // Returns the next message for a watcher that is behind, and updates the watcher; null if it has
  // received everything.
  std::optional<msg::WatchReplyT> NextPart(Watcher& watcher) const;
  msg::WatchReplyT SnapshotPart(Watcher& watcher) const;
  void WaitUntilRead(std::uint64_t id, Watcher& watcher);
  std::unique_ptr<msg::HubInfoT> HubInfo() const {
    return std::make_unique<msg::HubInfoT>(options_.hub_info);
  }

  const Options options_;
  const std::uint64_t epoch_;
  // Functions posted to the loop hold it weakly, and do nothing once it has expired.
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  LeaseTable leases_;
  std::map<std::uint64_t, WatchedProcess> processes_;  // By lease.
  std::map<std::uint64_t, Watcher> watchers_;
  std::unordered_map<std::string, std::set<std::uint64_t>, runtime::TextHash, std::equal_to<>>
      by_prefix_;
  std::uint64_t last_watcher_ = 0;
  std::uint64_t published_revision_ = 0;
  runtime::Timer look_timer_;

  std::atomic<std::uint64_t> lease_count_{0}, revision_{0}, watcher_count_{0}, expired_{0},
      processes_ended_{0};
};

RegistryService::Impl::Impl(Options options, bus::Service* service)
    : options_(std::move(options)), epoch_(options_.node->epoch()), leases_(options_.leases) {
  const bus::LoopMethods methods(service, options_.loop, alive_);
  methods.Answer<Registry::Register>(std::bind_front(&RegistryService::Impl::Register, this));
  methods.Answer<Registry::Renew>(std::bind_front(&RegistryService::Impl::Renew, this));
  methods.Answer<Registry::Revoke>(std::bind_front(&RegistryService::Impl::Revoke, this));
  methods.Answer<Registry::Lookup>(std::bind_front(&RegistryService::Impl::Lookup, this));
  methods.Answer<Registry::List>(std::bind_front(&RegistryService::Impl::List, this));
  methods.Serve<Registry::Watch>(std::bind_front(&RegistryService::Impl::Watch, this));
  bus::AddHubMethods(service, options_.hub, options_.node->clock());
  look_timer_.Start(options_.loop, options_.leases.look_every, [this] { Look(); });
}

RegistryService::Impl::~Impl() {
  for (const auto& [id, process] : processes_) options_.loop->Unwatch(process.watch);
}

RegistryService::Stats RegistryService::Impl::GetStats() const {
  return {lease_count_, revision_, watcher_count_, expired_, processes_ended_};
}

absl::StatusOr<msg::RegisterReplyT> RegistryService::Impl::Register(
    const bus::CallContext& context, const msg::RegisterRequestT& request) {
  if (request.lease == nullptr) return absl::InvalidArgumentError("Register without a lease");
  const bool ourselves = context.source == options_.node->source();
  const auto id = leases_.Register(*request.lease, Now(),
                                   absl::ToUnixMicros(options_.node->clock()->Now()), ourselves);
  if (!id.ok()) return id.status();
  const msg::LeaseT& lease = *leases_.Find(*id);
  msg::RegisterReplyT reply;
  reply.lease_id = *id;
  reply.ttl_ms = lease.ttl_ms;
  reply.hub = HubInfo();
  const bool alive = ourselves || WatchProcess(lease);
  TellChanges();
  if (!alive) OnProcessEnded(*id);
  reply.revision = leases_.revision();
  return reply;
}

absl::StatusOr<msg::RenewReplyT> RegistryService::Impl::Renew(const bus::CallContext&,
                                                              const msg::RenewRequestT& request) {
  if (absl::Status renewed = leases_.Renew(request.lease_id, Now()); !renewed.ok()) return renewed;
  TellChanges();
  msg::RenewReplyT reply;
  reply.revision = leases_.revision();
  return reply;
}

absl::StatusOr<msg::RevokeReplyT> RegistryService::Impl::Revoke(
    const bus::CallContext&, const msg::RevokeRequestT& request) {
  const absl::Status revoked = leases_.Revoke(request.lease_id, "revoked");
  if (!revoked.ok()) return revoked;
  TellChanges();
  msg::RevokeReplyT reply;
  reply.revision = leases_.revision();
  return reply;
}

absl::StatusOr<msg::LookupReplyT> RegistryService::Impl::Lookup(
    const bus::CallContext&, const msg::LookupRequestT& request) {
  msg::LookupReplyT reply;
  for (const msg::LeaseT* lease : leases_.Lookup(request.name, request.instance)) {
    reply.leases.push_back(std::make_unique<msg::LeaseT>(*lease));
  }
  reply.revision = leases_.revision();
  reply.hub = HubInfo();
  return reply;
}

absl::StatusOr<msg::ListReplyT> RegistryService::Impl::List(const bus::CallContext&,
                                                            const msg::ListRequestT& request) {
  const LeaseTable::Found found =
      leases_.List({.prefix = request.prefix, .after = request.after, .limit = request.limit});
  msg::ListReplyT reply;
  reply.leases.reserve(found.leases.size());
  for (const msg::LeaseT* lease : found.leases) {
    reply.leases.push_back(request.brief ? BriefOf(*lease) : std::make_unique<msg::LeaseT>(*lease));
  }
  reply.more = found.more;
  reply.revision = leases_.revision();
  reply.epoch = epoch_;
  reply.hub = HubInfo();
  return reply;
}

// ---- Ends of leases

void RegistryService::Impl::Look() {
  const LeaseTable::Looked looked = leases_.Look(Now());
  expired_ += looked.expired;
  TellChanges();
  look_timer_.Start(options_.loop, looked.more ? absl::ZeroDuration() : options_.leases.look_every,
                    [this] { Look(); });
}

// Returns false if the process has ended already.
bool RegistryService::Impl::WatchProcess(const msg::LeaseT& lease) {
  if (processes_.contains(lease.id) || lease.process == nullptr) return true;
  const runtime::ProcessIdentity identity = IdentityOf(*lease.process);
  // In another pid namespace the pid means another process: there only the lease decides.
  if (!runtime::InOurNamespace(identity)) return true;
  runtime::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, identity.pid, 0)));
  // (Checked after opening: if the process is alive now, the descriptor is certainly its own.)
  if (!runtime::IsAlive(identity)) return false;
  if (!pidfd.valid()) return true;
  const std::uint64_t id = lease.id;
  WatchedProcess& process = processes_[id];
  process.watch = options_.loop->Watch(pidfd.get(), runtime::EventLoop::Readiness::kReadable,
                                       [this, id] { OnProcessEnded(id); });
  process.pidfd = std::move(pidfd);
  return true;
}

void RegistryService::Impl::OnProcessEnded(std::uint64_t lease) {
  ++processes_ended_;
  (void)leases_.Revoke(lease, "process ended");
  TellChanges();
}

void RegistryService::Impl::UnwatchProcess(std::uint64_t lease) {
  const auto process = processes_.find(lease);
  if (process == processes_.end()) return;
  options_.loop->Unwatch(process->second.watch);
  processes_.erase(process);
}

// ---- Notifications

void RegistryService::Impl::TellChanges() {
  lease_count_ = leases_.size();
  revision_ = leases_.revision();
  // (Never more than the history keeps, because every change of the table calls this at once.)
  const auto changes = leases_.ChangesSince(published_revision_);
  published_revision_ = leases_.revision();
  if (!changes.has_value()) return (void)(LOG(DFATAL) << "changes of leases were not told");
  if (changes->empty()) return;
  for (const msg::LeaseEventT* change : *changes) {
    if (change->lease->state == msg::LeaseState::Gone) UnwatchProcess(change->lease->id);
    TellHub(*change);
  }
  LogChanges(*changes);
  TellWatchers(*changes);
}

void RegistryService::Impl::LogChanges(const Changes& changes) const {
  int lines = 0;
  for (const msg::LeaseEventT* change : changes) {
    const msg::LeaseT& lease = *change->lease;
    const char* const is = lease.state == msg::LeaseState::Gone      ? "gone"
                           : lease.state == msg::LeaseState::Suspect ? "suspect"
                           : change->reason == "renewed"             ? "up again"
                                                                     : nullptr;
    if (is == nullptr || ++lines > kLinesAtOnce) continue;
    LOG(INFO) << PathOf(lease) << " (lease " << lease.id << ") is " << is << ": " << change->reason;
  }
  LOG_IF(INFO, lines > kLinesAtOnce) << "and " << lines - kLinesAtOnce << " leases more";
}

void RegistryService::Impl::TellHub(const msg::LeaseEventT& change) {
  msg::EnvelopeT event;
  event.body.Set(msg::LeaseEventT(change));
  const auto sent = options_.hub->Publish(
      bus::TopicOf({"$sys", "reg", change.lease->name, change.lease->instance}), std::move(event));
  LOG_IF(ERROR, !sent.ok()) << sent.status().message();
}

// Notifies the watchers whose prefix matches one of the changed paths.
void RegistryService::Impl::TellWatchers(const Changes& changes) {
  std::set<std::uint64_t> concerned;
  for (const msg::LeaseEventT* change : changes) {
    const std::string path = PathOf(*change->lease);
    for (std::size_t length = 0; length <= path.size(); ++length) {
      const auto found = by_prefix_.find(std::string_view(path).substr(0, length));
      if (found != by_prefix_.end()) concerned.insert(found->second.begin(), found->second.end());
    }
  }
  for (const std::uint64_t id : concerned) {
    Watcher& watcher = watchers_.at(id);
    if (watcher.behind) continue;
    watcher.behind = true;
    watcher.told = changes.front()->revision - 1;
    CatchUp(id);
  }
}

void RegistryService::Impl::Watch(Writer<Registry::Watch> writer,
                                  const msg::WatchRequestT& request) {
  const std::uint64_t id = ++last_watcher_;
  Watcher& watcher = watchers_[id];
  watcher.writer = writer;
  watcher.prefix = request.prefix;
  watcher.told = request.from_revision;
  by_prefix_[request.prefix].insert(id);
  watcher_count_ = watchers_.size();
  if (request.epoch != epoch_ || !leases_.ChangesSince(request.from_revision).has_value()) {
    watcher.told = leases_.revision();
    watcher.snapshot_after = 0;
  }
  writer->OnCancel([this, id, weak = std::weak_ptr<char>(alive_)] {
    options_.loop->Post([this, id, weak] {
      if (!weak.expired()) EndWatch(id);
    });
  });
  CatchUp(id);
}

void RegistryService::Impl::EndWatch(std::uint64_t id) {
  const auto watcher = watchers_.find(id);
  if (watcher == watchers_.end()) return;
  const auto same = by_prefix_.find(watcher->second.prefix);
  same->second.erase(id);
  if (same->second.empty()) by_prefix_.erase(same);
  watchers_.erase(watcher);
  watcher_count_ = watchers_.size();
}

// Sends a watcher all that it has not received, as far as its caller keeps reading.
void RegistryService::Impl::CatchUp(std::uint64_t id) {
  const auto found = watchers_.find(id);
  if (found == watchers_.end() || found->second.waits) return;
  Watcher& watcher = found->second;
  for (;;) {
    Watcher next = watcher;
    auto part = NextPart(next);
    if (!part.has_value()) break;
    const absl::Status sent = watcher.writer->SendPart(*std::move(part));
    if (absl::IsResourceExhausted(sent)) return WaitUntilRead(id, watcher);
    if (!sent.ok()) {
      watcher.writer->Finish(sent);
      return EndWatch(id);
    }
    watcher = std::move(next);
  }
  watcher.behind = false;
}

void RegistryService::Impl::WaitUntilRead(std::uint64_t id, Watcher& watcher) {
  watcher.waits = true;
  watcher.writer->WhenWritable([this, id, weak = std::weak_ptr<char>(alive_)] {
    options_.loop->Post([this, id, weak] {
      if (weak.expired()) return;
      const auto again = watchers_.find(id);
      if (again == watchers_.end() || again->second.writer->cancelled()) return;
      again->second.waits = false;
      CatchUp(id);
    });
  });
}

std::optional<msg::WatchReplyT> RegistryService::Impl::NextPart(Watcher& watcher) const {
  if (watcher.snapshot_after.has_value()) return SnapshotPart(watcher);
  const auto changes = leases_.ChangesSince(watcher.told);
  if (!changes.has_value()) {
    // Some of the changes that it has missed are no longer kept.
    watcher.told = leases_.revision();
    watcher.snapshot_after = 0;
    return SnapshotPart(watcher);
  }
  msg::WatchReplyT part;
  part.epoch = epoch_;
  for (const msg::LeaseEventT* change : *changes) {
    if (part.events.size() == kLeasesInPart) break;
    watcher.told = change->revision;
    if (!PathOf(*change->lease).starts_with(watcher.prefix)) continue;
    part.events.push_back(std::make_unique<msg::LeaseEventT>(*change));
  }
  part.revision = watcher.told;
  return part.events.empty() ? std::nullopt : std::make_optional(std::move(part));
}

// Skips a lease that has changed since the snapshot began; the changes that follow include it. Only
// the last part has the revision, because a watch cannot resume from half a snapshot.
msg::WatchReplyT RegistryService::Impl::SnapshotPart(Watcher& watcher) const {
  const LeaseTable::Found page = leases_.List(
      {.prefix = watcher.prefix, .after = *watcher.snapshot_after, .limit = kLeasesInPart});
  msg::WatchReplyT part;
  part.snapshot = *watcher.snapshot_after == 0;
  part.epoch = epoch_;
  for (const msg::LeaseT* lease : page.leases) {
    watcher.snapshot_after = lease->id;
    if (lease->revision > watcher.told) continue;
    auto event = std::make_unique<msg::LeaseEventT>();
    event->revision = lease->revision;
    event->epoch = epoch_;
    event->lease = std::make_unique<msg::LeaseT>(*lease);
    part.events.push_back(std::move(event));
  }
  if (!page.more) {
    watcher.snapshot_after.reset();
    part.revision = watcher.told;
  }
  return part;
}

RegistryService::RegistryService(Options options, bus::Service* service)
    : impl_(std::make_unique<Impl>(std::move(options), service)) {}
RegistryService::~RegistryService() = default;
bool RegistryService::IsThere(std::string_view name) const { return impl_->IsThere(name); }
void RegistryService::ListNames(bus::NameList& names) const { impl_->ListNames(names); }
RegistryService::Stats RegistryService::GetStats() const { return impl_->GetStats(); }

}  // namespace registry
