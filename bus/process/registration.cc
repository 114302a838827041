#include "bus/process/registration.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/registry_methods.h"
#include "glog/logging.h"

namespace bus {
namespace {

using rpc::Registry;

constexpr absl::Duration kPause = absl::Milliseconds(50);  // Between attempts to reach a registry.
// Pause after a registry has refused the lease.
constexpr absl::Duration kRefusedPause = absl::Seconds(1);
constexpr absl::Duration kCallTimeout = absl::Seconds(1);
constexpr absl::Duration kDefaultTtl = absl::Seconds(6);

}  // namespace

// Invariant: callbacks of the client and the loop hold a weak reference, and act only if their
// `round` is the newest; each attempt to register starts a new round.
struct Registration::State : std::enable_shared_from_this<Registration::State> {
  runtime::EventLoop* loop;
  Client* client;
  Options options;
  std::uint64_t round = 0;
  std::uint64_t watch_call = 0;
  std::uint64_t lease_id = 0;   // 0: no lease.
  bool renewing_again = false;  // The last renewal failed, and its retry is scheduled or under way.
  bool said_waiting = false;
  bool registered_before = false;
  bool ended = false;

  // Runs `step` on the loop if the registration still exists and `of_round` is the newest.
  template <typename Step>
  void OnLoop(std::uint64_t of_round, Step step) {
    loop->Post([weak = weak_from_this(), of_round, step = std::move(step)] {
      const auto self = weak.lock();
      if (self != nullptr && self->round == of_round && !self->ended) step(*self);
    });
  }
  template <typename Step>
  void Later(absl::Duration delay, Step step) {
    loop->RunAfter(delay, [weak = weak_from_this(), of_round = round, step = std::move(step)] {
      const auto self = weak.lock();
      if (self != nullptr && self->round == of_round && !self->ended) step(*self);
    });
  }

  void Register();
  void OnRegistered(const absl::StatusOr<msg::RegisterReplyT>& reply);
  void WatchOwnEntry(const msg::RegisterReplyT& reply);
  void RenewEvery(absl::Duration third);
  void Renew(absl::Duration third);
  void OnRenewed(const absl::Status& status, absl::Duration third);
  void Again(absl::Duration pause);
};

void Registration::State::Register() {
  ++round;
  lease_id = 0;
  renewing_again = false;
  msg::RegisterRequestT request;
  request.lease = std::make_unique<msg::LeaseT>(options.lease);
  client->Start<Registry::Register>(
      request, nullptr,
      [self = weak_from_this(), of_round = round](absl::StatusOr<msg::RegisterReplyT> reply) {
        const auto state = self.lock();
        if (state == nullptr) return;
        state->OnLoop(of_round, [reply = std::move(reply)](State& s) { s.OnRegistered(reply); });
      },
      {.timeout = kCallTimeout});
}

void Registration::State::Again(absl::Duration pause) {
  client->Cancel(watch_call);
  ++round;
  Later(pause, [](State& s) { s.Register(); });
}

void Registration::State::OnRegistered(const absl::StatusOr<msg::RegisterReplyT>& reply) {
  if (!reply.ok()) {
    if (!std::exchange(said_waiting, true) && options.on_waiting) {
      options.on_waiting(reply.status());
    }
    const bool away = absl::IsUnavailable(reply.status()) ||
                      absl::IsDeadlineExceeded(reply.status()) || absl::IsCancelled(reply.status());
    return Again(away ? kPause : kRefusedPause);
  }
  said_waiting = false;
  lease_id = reply->lease_id;
  WatchOwnEntry(*reply);
  RenewEvery((reply->ttl_ms == 0 ? kDefaultTtl : absl::Milliseconds(reply->ttl_ms)) / 3);
  const bool first = !std::exchange(registered_before, true);
  if (options.on_registered) options.on_registered(first);
}

void Registration::State::WatchOwnEntry(const msg::RegisterReplyT& reply) {
  msg::WatchRequestT request;
  request.prefix = absl::StrCat(options.lease.name, "/", options.lease.instance);
  // Watches changes from this revision on, without a snapshot.
  request.from_revision = reply.revision;
  request.epoch = reply.hub == nullptr ? 0 : reply.hub->epoch;
  watch_call = client->Start<Registry::Watch>(
      request, nullptr,
      [self = weak_from_this(), of_round = round](absl::StatusOr<msg::WatchReplyT> end) {
        const auto state = self.lock();
        if (state == nullptr) return;
        const bool refused =
            absl::IsUnimplemented(end.status()) || absl::IsResourceExhausted(end.status());
        state->OnLoop(of_round, [pause = refused ? kRefusedPause : absl::ZeroDuration()](State& s) {
          s.Again(pause);
        });
      });
}

// Renews at a fixed rate, independent of how long the answers take.
void Registration::State::RenewEvery(absl::Duration third) {
  Later(third, [third](State& s) {
    s.RenewEvery(third);
    if (!s.renewing_again) s.Renew(third);
  });
}

void Registration::State::Renew(absl::Duration third) {
  msg::RenewRequestT request;
  request.lease_id = lease_id;
  client->Start<Registry::Renew>(
      request, nullptr,
      [self = weak_from_this(), of_round = round, third](absl::StatusOr<msg::RenewReplyT> r) {
        const auto state = self.lock();
        if (state == nullptr) return;
        state->OnLoop(of_round,
                      [status = r.status(), third](State& s) { s.OnRenewed(status, third); });
      },
      {.timeout = std::min(kCallTimeout, third)});
}

void Registration::State::OnRenewed(const absl::Status& status, absl::Duration third) {
  renewing_again = false;
  if (status.ok()) return;
  // The registry has forgotten the lease or does not run.
  if (absl::IsNotFound(status) || absl::IsUnavailable(status)) return Again(absl::ZeroDuration());
  // The registry is slow: retry at once, because without an answer the lease becomes suspect after
  // another third of its time.
  renewing_again = true;
  Later(kPause, [third](State& s) { s.Renew(third); });
}

void Registration::End(std::function<void()> done) {
  State& state = *state_;
  const std::uint64_t lease = std::exchange(state.lease_id, 0);
  state.ended = true;
  state.client->Cancel(state.watch_call);
  if (lease == 0) return done();
  msg::RevokeRequestT request;
  request.lease_id = lease;
  state.client->Start<Registry::Revoke>(
      request, nullptr,
      [loop = state.loop, done = std::move(done)](absl::StatusOr<msg::RevokeReplyT>) {
        loop->Post(done);
      },
      {.timeout = absl::Milliseconds(200)});
}

Registration::Registration(runtime::EventLoop* loop, Client* client, Options options)
    : state_(std::make_shared<State>()) {
  state_->loop = loop;
  state_->client = client;
  state_->options = std::move(options);
  state_->Register();
}

Registration::~Registration() {
  state_->ended = true;
  state_->client->Cancel(state_->watch_call);
}

}  // namespace bus
