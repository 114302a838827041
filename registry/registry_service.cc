#include "registry/registry_service.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/topic.h"
#include "glog/logging.h"
#include "runtime/process_identity.h"
#include "runtime/unique_fd.h"

namespace registry {
namespace {

using rpc::Registry;

constexpr absl::Duration kLook = absl::Milliseconds(500);  // For leases that are over.

template <typename M>
using Writer = std::shared_ptr<bus::ReplyWriter<M>>;

runtime::ProcessIdentity IdentityOf(const msg::ProcessIdentityT& process) {
  return {.pid_namespace = process.pid_namespace,
          .boot_id = process.boot_id,
          .pid = process.pid,
          .start_ticks = process.start_ticks};
}

// Everything but the statistics belongs to the loop's thread.
class RealRegistryService : public RegistryService {
 public:
  RealRegistryService(Options options, bus::Service* service);
  ~RealRegistryService() override;
  bool IsThere(std::string_view name) const override { return !leases_.Lookup(name, "").empty(); }
  Stats GetStats() const override;

 private:
  struct Watcher {
    Writer<Registry::Watch> writer;
    std::string prefix;
    std::uint64_t revision = 0;  // What it has been told.
    bool blocked = false;
  };
  struct WatchedProcess {
    runtime::UniqueFd pidfd;
    runtime::EventLoop::WatchId watch = 0;
  };

  // Adds a method whose handler runs on the loop's thread.
  template <typename M>
  void Add(bus::Service* service,
           absl::StatusOr<typename M::ReplyT> (RealRegistryService::*handler)(
               const bus::CallContext&, const typename M::RequestT&));
  absl::Duration Now() const { return options_.node->clock()->Monotonic(); }

  absl::StatusOr<msg::RegisterReplyT> Register(const bus::CallContext& context,
                                               const msg::RegisterRequestT& request);
  absl::StatusOr<msg::RenewReplyT> Renew(const bus::CallContext&, const msg::RenewRequestT&);
  absl::StatusOr<msg::RevokeReplyT> Revoke(const bus::CallContext&, const msg::RevokeRequestT&);
  absl::StatusOr<msg::LookupReplyT> Lookup(const bus::CallContext&, const msg::LookupRequestT&);
  absl::StatusOr<msg::ListReplyT> List(const bus::CallContext&, const msg::ListRequestT&);
  void Watch(Writer<Registry::Watch> writer, const msg::WatchRequestT& request);
  absl::StatusOr<msg::PublishReplyT> Publish(const bus::CallContext& context,
                                             const msg::PublishRequestT& request);

  void Look();
  void WatchProcess(const msg::LeaseT& lease);
  void UnwatchProcess(std::uint64_t lease);
  void TellChanges();
  void Tell(std::uint64_t id);
  std::unique_ptr<msg::HubInfoT> HubInfo() const {
    return std::make_unique<msg::HubInfoT>(options_.hub_info);
  }

  const Options options_;
  const std::uint64_t epoch_;
  // Functions on their way to the loop hold it weakly and do nothing when it has gone.
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
  LeaseTable leases_;
  std::map<std::uint64_t, WatchedProcess> processes_;  // By lease.
  std::map<std::uint64_t, Watcher> watchers_;
  std::uint64_t last_watcher_ = 0;
  std::uint64_t published_revision_ = 0;
  runtime::EventLoop::TimerId look_timer_ = 0;

  std::atomic<std::uint64_t> lease_count_{0}, revision_{0}, watcher_count_{0}, expired_{0},
      processes_ended_{0};
};

template <typename M>
void RealRegistryService::Add(bus::Service* service,
                              absl::StatusOr<typename M::ReplyT> (RealRegistryService::*handler)(
                                  const bus::CallContext&, const typename M::RequestT&)) {
  service->HandleAsync<M>([this, handler, weak = std::weak_ptr<char>(alive_)](
                              Writer<M> writer, const typename M::RequestT& request) {
    options_.loop->Post([this, handler, weak, writer, request] {
      if (weak.expired()) return;
      writer->Finish((this->*handler)(writer->context(), request));
    });
  });
}

RealRegistryService::RealRegistryService(Options options, bus::Service* service)
    : options_(std::move(options)), epoch_(options_.node->epoch()), leases_(options_.leases) {
  Add<Registry::Register>(service, &RealRegistryService::Register);
  Add<Registry::Renew>(service, &RealRegistryService::Renew);
  Add<Registry::Revoke>(service, &RealRegistryService::Revoke);
  Add<Registry::Lookup>(service, &RealRegistryService::Lookup);
  Add<Registry::List>(service, &RealRegistryService::List);
  service->HandleAsync<Registry::Watch>(
      [this, weak = std::weak_ptr<char>(alive_)](Writer<Registry::Watch> writer,
                                                 const msg::WatchRequestT& request) {
        options_.loop->Post([this, weak, writer, request] {
          if (!weak.expired()) Watch(writer, request);
        });
      });
  // These lock themselves, and wait for the bus thread: on the pool.
  service->Handle<Registry::Publish>(
      [this](const bus::CallContext& context, const msg::PublishRequestT& request) {
        return Publish(context, request);
      });
  service->Handle<rpc::Common::Ends>(
      [this](const bus::CallContext&, const msg::EndsRequestT& request) {
        return options_.hub->Ends(request);
      });
  service->Handle<rpc::Common::Since>(
      [this](const bus::CallContext&, const msg::SinceRequestT& request) {
        return options_.hub->Since(request);
      });
  look_timer_ = options_.loop->RunAfter(kLook, [this] { Look(); });
}

RealRegistryService::~RealRegistryService() {
  options_.loop->Cancel(look_timer_);
  for (const auto& [id, process] : processes_) options_.loop->Unwatch(process.watch);
}

RegistryService::Stats RealRegistryService::GetStats() const {
  return {lease_count_, revision_, watcher_count_, expired_, processes_ended_};
}

absl::StatusOr<msg::RegisterReplyT> RealRegistryService::Register(
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
  if (!ourselves) WatchProcess(lease);
  TellChanges();
  reply.revision = leases_.revision();
  return reply;
}

absl::StatusOr<msg::RenewReplyT> RealRegistryService::Renew(const bus::CallContext&,
                                                            const msg::RenewRequestT& request) {
  if (absl::Status renewed = leases_.Renew(request.lease_id, Now()); !renewed.ok()) return renewed;
  msg::RenewReplyT reply;
  reply.revision = leases_.revision();
  return reply;
}

absl::StatusOr<msg::RevokeReplyT> RealRegistryService::Revoke(const bus::CallContext&,
                                                              const msg::RevokeRequestT& request) {
  const absl::Status revoked = leases_.Revoke(request.lease_id, "revoked");
  if (!revoked.ok()) return revoked;
  TellChanges();
  msg::RevokeReplyT reply;
  reply.revision = leases_.revision();
  return reply;
}

absl::StatusOr<msg::LookupReplyT> RealRegistryService::Lookup(const bus::CallContext&,
                                                              const msg::LookupRequestT& request) {
  msg::LookupReplyT reply;
  for (const msg::LeaseT* lease : leases_.Lookup(request.name, request.instance)) {
    reply.leases.push_back(std::make_unique<msg::LeaseT>(*lease));
  }
  reply.revision = leases_.revision();
  reply.hub = HubInfo();
  return reply;
}

absl::StatusOr<msg::ListReplyT> RealRegistryService::List(const bus::CallContext&,
                                                          const msg::ListRequestT& request) {
  msg::ListReplyT reply;
  for (const msg::LeaseT* lease : leases_.List(request.prefix)) {
    reply.leases.push_back(std::make_unique<msg::LeaseT>(*lease));
  }
  reply.revision = leases_.revision();
  reply.epoch = epoch_;
  reply.hub = HubInfo();
  return reply;
}

absl::StatusOr<msg::PublishReplyT> RealRegistryService::Publish(
    const bus::CallContext& context, const msg::PublishRequestT& request) {
  if (absl::Status checked = bus::CheckTopic(request.topic); !checked.ok()) return checked;
  if (!request.topic.starts_with("e/")) {
    return absl::PermissionDeniedError(absl::StrCat(
        "topic \"", request.topic, "\": users publish under \"e/\"; other topics have owners"));
  }
  msg::EnvelopeT event;
  event.trace = context.trace;
  event.request_id = context.request_id;
  event.payload = request.payload;
  event.payload_type = request.payload_type;
  msg::PublishReplyT reply;
  reply.subscribers = options_.hub->CountSubscriptions(request.topic);
  const auto seq = options_.hub->Publish(request.topic, std::move(event));
  if (!seq.ok()) return seq.status();
  reply.seq = *seq;
  return reply;
}

// ---- Ends of leases

void RealRegistryService::Look() {
  look_timer_ = options_.loop->RunAfter(kLook, [this] { Look(); });
  expired_ += leases_.Expire(Now());
  TellChanges();
}

void RealRegistryService::WatchProcess(const msg::LeaseT& lease) {
  if (processes_.contains(lease.id) || lease.process == nullptr) return;
  const runtime::ProcessIdentity identity = IdentityOf(*lease.process);
  // In another pid namespace the number means somebody else: there the lease alone decides.
  if (!runtime::InOurNamespace(identity)) return;
  runtime::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, identity.pid, 0)));
  // (Asked after opening: the descriptor can only be that process's if it still runs.)
  if (!pidfd.valid() || !runtime::IsAlive(identity)) return;
  const std::uint64_t id = lease.id;
  WatchedProcess& process = processes_[id];
  process.watch =
      options_.loop->Watch(pidfd.get(), runtime::EventLoop::Readiness::kReadable, [this, id] {
        ++processes_ended_;
        (void)leases_.Revoke(id, "process ended");
        TellChanges();
      });
  process.pidfd = std::move(pidfd);
}

void RealRegistryService::UnwatchProcess(std::uint64_t lease) {
  const auto process = processes_.find(lease);
  if (process == processes_.end()) return;
  options_.loop->Unwatch(process->second.watch);
  processes_.erase(process);
}

// ---- Telling

void RealRegistryService::TellChanges() {
  lease_count_ = leases_.size();
  revision_ = leases_.revision();
  const auto changes = leases_.ChangesSince(published_revision_);
  published_revision_ = leases_.revision();
  if (!changes.has_value()) return;
  for (const msg::LeaseEventT* change : *changes) {
    const msg::LeaseT& lease = *change->lease;
    if (lease.state == msg::LeaseState::Gone) {
      UnwatchProcess(lease.id);
      LOG(INFO) << PathOf(lease) << " (lease " << lease.id << ") is gone: " << change->reason;
    }
    msg::EnvelopeT event;
    event.body.Set(msg::LeaseEventT(*change));
    const auto sent = options_.hub->Publish(
        bus::TopicOf({"$sys", "reg", lease.name, lease.instance}), std::move(event));
    LOG_IF(ERROR, !sent.ok()) << sent.status().message();
  }
  if (changes->empty()) return;
  std::vector<std::uint64_t> all;
  for (const auto& [id, watcher] : watchers_) all.push_back(id);
  for (const std::uint64_t id : all) Tell(id);
}

void RealRegistryService::Watch(Writer<Registry::Watch> writer, const msg::WatchRequestT& request) {
  const std::uint64_t id = ++last_watcher_;
  const bool known = request.epoch == epoch_ && leases_.ChangesSince(request.from_revision);
  if (!known) {
    msg::WatchReplyT snapshot;
    snapshot.snapshot = true;
    snapshot.revision = leases_.revision();
    snapshot.epoch = epoch_;
    for (const msg::LeaseT* lease : leases_.List(request.prefix)) {
      auto event = std::make_unique<msg::LeaseEventT>();
      event->revision = lease->revision;
      event->epoch = epoch_;
      event->lease = std::make_unique<msg::LeaseT>(*lease);
      snapshot.events.push_back(std::move(event));
    }
    if (!writer->SendPart(std::move(snapshot)).ok()) return;
  }
  watchers_[id] = {writer, request.prefix, known ? request.from_revision : leases_.revision()};
  watcher_count_ = watchers_.size();
  writer->OnCancel([this, id, weak = std::weak_ptr<char>(alive_)] {
    options_.loop->Post([this, id, weak] {
      if (weak.expired()) return;
      watchers_.erase(id);
      watcher_count_ = watchers_.size();
    });
  });
  Tell(id);
}

// Sends a watcher what it has not been told.
void RealRegistryService::Tell(std::uint64_t id) {
  const auto found = watchers_.find(id);
  if (found == watchers_.end() || found->second.blocked) return;
  Watcher& watcher = found->second;
  const auto changes = leases_.ChangesSince(watcher.revision);
  if (!changes.has_value()) {
    watcher.writer->Finish(absl::OutOfRangeError("too far behind: watch again"));
    watchers_.erase(found);
    watcher_count_ = watchers_.size();
    return;
  }
  msg::WatchReplyT part;
  part.revision = leases_.revision();
  part.epoch = epoch_;
  for (const msg::LeaseEventT* change : *changes) {
    if (!PathOf(*change->lease).starts_with(watcher.prefix)) continue;
    part.events.push_back(std::make_unique<msg::LeaseEventT>(*change));
  }
  if (part.events.empty()) return (void)(watcher.revision = leases_.revision());
  if (watcher.writer->SendPart(std::move(part)).ok()) {
    watcher.revision = leases_.revision();
    return;
  }
  // It reads too slowly, or has gone and OnCancel is on its way.
  watcher.blocked = true;
  watcher.writer->WhenWritable([this, id, weak = std::weak_ptr<char>(alive_)] {
    options_.loop->Post([this, id, weak] {
      if (weak.expired()) return;
      const auto again = watchers_.find(id);
      if (again == watchers_.end() || again->second.writer->cancelled()) return;
      again->second.blocked = false;
      Tell(id);
    });
  });
}

}  // namespace

std::unique_ptr<RegistryService> RegistryService::Create(Options options, bus::Service* service) {
  return std::make_unique<RealRegistryService>(std::move(options), service);
}

}  // namespace registry
