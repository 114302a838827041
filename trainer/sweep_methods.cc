#include "trainer/sweep_methods.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bus/call/loop_methods.h"
#include "bus/call/reply_stream.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/text/random_id.h"
#include "trainer/sweep/sweep_message.h"

namespace trainer {
namespace {

using rpc::Trainer;

std::string RequestId(const bus::CallContext& context) {
  return context.request_id.empty() ? runtime::RandomHex128() : context.request_id;
}

template <typename Reply>
absl::StatusOr<Reply> WithSweep(absl::StatusOr<msg::SweepT> sweep) {
  if (!sweep.ok()) return sweep.status();
  Reply reply;
  reply.sweep = std::make_unique<msg::SweepT>(*std::move(sweep));
  return reply;
}

absl::StatusOr<msg::RunSweepReplyT> RunSweep(Sweeps* sweeps, const bus::CallContext& context,
                                             const msg::RunSweepRequestT& request) {
  const bool has_own =
      request.trial != nullptr && (!request.trial->name.empty() || !request.trial->config.empty());
  if (has_own) {
    return absl::InvalidArgumentError(
        "trial.name and trial.config are set: each trial of a sweep has its own");
  }
  return WithSweep<msg::RunSweepReplyT>(sweeps->Run(RequestId(context), request, context.trace));
}

absl::StatusOr<msg::SweepsReplyT> List(Sweeps* sweeps, const bus::CallContext&,
                                       const msg::SweepsRequestT& request) {
  msg::SweepsReplyT reply;
  if (request.sweep.empty()) {
    for (msg::SweepT& sweep : sweeps->List(request.live_only)) {
      reply.sweeps.push_back(std::make_unique<msg::SweepT>(std::move(sweep)));
    }
    return reply;
  }
  const auto id = sweeps->Find(request.sweep);
  if (!id.ok()) return id.status();
  auto sweep = sweeps->Get(*id);
  if (!sweep.ok()) return sweep.status();
  reply.sweeps.push_back(std::make_unique<msg::SweepT>(*std::move(sweep)));
  return reply;
}

absl::StatusOr<msg::SweepDetailsReplyT> Details(Sweeps* sweeps, const bus::CallContext&,
                                                const msg::SweepDetailsRequestT& request) {
  const auto id = sweeps->Find(request.sweep);
  if (!id.ok()) return id.status();
  return sweeps->Details(*id);
}

void Change(Sweeps* sweeps, const msg::ChangeSweepRequestT& request,
            const std::shared_ptr<bus::ReplyWriter<Trainer::ChangeSweep>>& writer) {
  const std::string request_id = RequestId(writer->context());
  const auto id = sweeps->Find(request.sweep);
  const bool removes = request.order == msg::SweepOrder::Remove;
  // When a removal is retried, the sweep may be gone already.
  if (!id.ok() && !removes) return writer->Finish(id.status());
  if (removes) {
    return sweeps->Remove(id.value_or(request.sweep), request_id,
                          [writer](absl::StatusOr<msg::SweepT> sweep) {
                            writer->Finish(WithSweep<msg::ChangeSweepReplyT>(std::move(sweep)));
                          });
  }
  writer->Finish(WithSweep<msg::ChangeSweepReplyT>(
      sweeps->Change(*id, request, request_id, writer->context().trace)));
}

bool HasEnded(msg::SweepState state) { return state >= msg::SweepState::Done; }

// Streams a sweep and its trials. Keeps itself alive until it is finished or cancelled.
class FollowSweepCall : public std::enable_shared_from_this<FollowSweepCall> {
 public:
  FollowSweepCall(Sweeps* sweeps, runtime::EventLoop* loop, std::string sweep,
                  const msg::FollowSweepRequestT& request,
                  std::shared_ptr<bus::ReplyStream<msg::FollowSweepReplyT>> writer)
      : sweeps_(sweeps),
        loop_(loop),
        sweep_(std::move(sweep)),
        follow_(request.follow),
        event_(request.from_event),
        writer_(std::move(writer)) {}

  void Start() {
    // The observer keeps the call alive; Leave() ends both.
    observer_ = sweeps_->Observe(sweep_, [self = shared_from_this()] { self->Send(); });
    writer_->OnCancel([weak = weak_from_this(), loop = loop_] {
      loop->Post([weak] {
        if (auto self = weak.lock()) self->Leave();
      });
    });
    Send();
  }

 private:
  void Send() {
    const auto keep = shared_from_this();
    while (!left_ && !blocked_) {
      auto part = sweeps_->Since(sweep_, event_);
      if (!part.ok()) return Finish(part.status());
      if (next_trial_ == 0) round_ = part->sweep->events;
      const bool is_last = CutDown(*part);
      const bool is_whole = is_last && round_ == part->sweep->events;
      if (is_whole && (!follow_ || HasEnded(part->sweep->state))) return Finish(std::move(part));
      if (is_whole && has_sent_ && round_ == event_) return;
      part->sweep->events = is_last ? round_ : event_;
      const std::uint64_t next = is_last ? 0 : part->trials.back()->number + 1;
      const absl::Status sent = writer_->SendPart(*std::move(part));
      if (sent.ok()) {
        has_sent_ = true;
        next_trial_ = next;
        if (is_last) event_ = round_;
        if (is_whole) return;
        continue;
      }
      if (!absl::IsResourceExhausted(sent)) return Leave();
      WaitUntilWritable();
    }
  }

  // Keeps only those trials of the round that fit into this part; returns false if some are left
  // over.
  bool CutDown(msg::FollowSweepReplyT& part) const {
    auto& trials = part.trials;
    const auto first = std::find_if(trials.begin(), trials.end(), [this](const auto& trial) {
      return trial->number >= next_trial_;
    });
    trials.erase(trials.begin(), first);
    if (trials.size() <= kSweepTrialsOfAMessage) return true;
    trials.resize(kSweepTrialsOfAMessage);
    return false;
  }

  void WaitUntilWritable() {
    blocked_ = true;
    writer_->WhenWritable([weak = weak_from_this(), loop = loop_] {
      loop->Post([weak] {
        const auto self = weak.lock();
        if (self == nullptr) return;
        self->blocked_ = false;
        self->Send();
      });
    });
  }

  void Finish(absl::StatusOr<msg::FollowSweepReplyT> reply) {
    writer_->Finish(std::move(reply));
    Leave();
  }

  void Leave() {
    if (std::exchange(left_, true)) return;
    sweeps_->Forget(observer_);
  }

  Sweeps* const sweeps_;
  runtime::EventLoop* const loop_;
  const std::string sweep_;
  const bool follow_;
  std::uint64_t event_;  // Every earlier event was sent.
  // A round sends the trials that changed up to event `round_` when they do not fit into one part;
  // the trials before `next_trial_` were sent. Every part but the last names `event_` as the next
  // event, so a caller that reconnects in the middle misses nothing.
  std::uint64_t round_ = 0;
  std::uint64_t next_trial_ = 0;
  const std::shared_ptr<bus::ReplyStream<msg::FollowSweepReplyT>> writer_;
  Sweeps::ObserverId observer_ = 0;
  bool has_sent_ = false, blocked_ = false, left_ = false;
};

void Follow(Sweeps* sweeps, runtime::EventLoop* loop, const msg::FollowSweepRequestT& request,
            std::shared_ptr<bus::ReplyWriter<Trainer::FollowSweep>> writer) {
  auto id = sweeps->Find(request.sweep);
  if (!id.ok()) return writer->Finish(id.status());
  std::make_shared<FollowSweepCall>(sweeps, loop, *std::move(id), request,
                                    bus::StreamOf<Trainer::FollowSweep>(std::move(writer)))
      ->Start();
}

// Adds method M, answered by a function that takes the Sweeps.
template <typename M>
void Add(const bus::LoopMethods& methods, Sweeps* sweeps,
         absl::StatusOr<typename M::ReplyT> (*handler)(Sweeps*, const bus::CallContext&,
                                                       const typename M::RequestT&)) {
  methods.Answer<M>([=](const bus::CallContext& context, const typename M::RequestT& request) {
    return handler(sweeps, context, request);
  });
}

}  // namespace

void AddSweepMethods(bus::Service* service, runtime::EventLoop* loop, Sweeps* sweeps) {
  const bus::LoopMethods methods(service, loop);
  Add<Trainer::RunSweep>(methods, sweeps, RunSweep);
  Add<Trainer::Sweeps>(methods, sweeps, List);
  Add<Trainer::SweepDetails>(methods, sweeps, Details);
  methods.Serve<Trainer::ChangeSweep>(
      [=](auto writer, const auto& request) { Change(sweeps, request, writer); });
  methods.Serve<Trainer::FollowSweep>(
      [=](auto writer, const auto& request) { Follow(sweeps, loop, request, std::move(writer)); });
}

}  // namespace trainer
