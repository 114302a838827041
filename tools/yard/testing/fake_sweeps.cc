#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/trainer_methods.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/testing/fake_yard.h"
#include "tools/yard/testing/lookup.h"

namespace yard {
namespace {

using runtime::MutexLock;

constexpr char kNoSweep[] = "there is no sweep ";
const auto kSweepOf = [](const msg::SweepDetailsReplyT& held) -> const msg::SweepT& {
  return *held.sweep;
};

// Returns the state after an order.
msg::SweepState StateAfter(msg::SweepOrder order, msg::SweepState before) {
  switch (order) {
    case msg::SweepOrder::Stop:
      return msg::SweepState::Stopping;
    case msg::SweepOrder::Pause:
      return msg::SweepState::Paused;
    case msg::SweepOrder::Resume:
      return msg::SweepState::Running;
    default:
      return before;
  }
}

}  // namespace

void FakeYard::AddSweep(msg::SweepDetailsReplyT details) {
  MutexLock lock(mutex_);
  sweeps_.push_back(std::move(details));
}

msg::RunSweepRequestT FakeYard::last_sweep() {
  MutexLock lock(mutex_);
  return last_sweep_;
}

msg::ChangeSweepRequestT FakeYard::last_change() {
  MutexLock lock(mutex_);
  return last_change_;
}

void FakeYard::ServeSweeps(bus::Service* service) {
  using rpc::Trainer;
  service->Handle<Trainer::RunSweep>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::RunSweepReplyT> {
        if (absl::Status broken = Check("trainer"); !broken.ok()) return broken;
        MutexLock lock(mutex_);
        last_sweep_ = request;
        if (sweeps_.empty()) return absl::InternalError("the test has no sweep to run");
        msg::RunSweepReplyT reply;
        reply.sweep = std::make_unique<msg::SweepT>(*sweeps_.front().sweep);
        return reply;
      });
  service->Handle<Trainer::Sweeps>(
      [this](const bus::CallContext&, const auto& request) -> absl::StatusOr<msg::SweepsReplyT> {
        if (absl::Status broken = Check("trainer"); !broken.ok()) return broken;
        MutexLock lock(mutex_);
        msg::SweepsReplyT reply;
        if (!request.sweep.empty()) {
          const auto found = FindThingIn(sweeps_, request.sweep, kSweepOf, kNoSweep);
          if (!found.ok()) return found.status();
          reply.sweeps.push_back(std::make_unique<msg::SweepT>(*sweeps_[*found].sweep));
          return reply;
        }
        for (const auto& held : sweeps_) {
          reply.sweeps.push_back(std::make_unique<msg::SweepT>(*held.sweep));
        }
        return reply;
      });
  service->Handle<Trainer::SweepDetails>(
      [this](const bus::CallContext&,
             const auto& request) -> absl::StatusOr<msg::SweepDetailsReplyT> {
        MutexLock lock(mutex_);
        const auto found = FindThingIn(sweeps_, request.sweep, kSweepOf, kNoSweep);
        if (!found.ok()) return found.status();
        return sweeps_[*found];
      });
  service->Handle<Trainer::ChangeSweep>(
      [this](const bus::CallContext&,
             const auto& request) -> absl::StatusOr<msg::ChangeSweepReplyT> {
        MutexLock lock(mutex_);
        const auto found = FindThingIn(sweeps_, request.sweep, kSweepOf, kNoSweep);
        if (!found.ok()) return found.status();
        msg::SweepT& sweep = *sweeps_[*found].sweep;
        last_change_ = request;
        asked_.push_back(absl::StrCat(msg::EnumNameSweepOrder(request.order),
                                      request.whether ? " whether " : " ", sweep.id));
        sweep.state = StateAfter(request.order, sweep.state);
        msg::ChangeSweepReplyT reply;
        reply.sweep = std::make_unique<msg::SweepT>(sweep);
        if (request.order == msg::SweepOrder::Remove) sweeps_.erase(sweeps_.begin() + *found);
        return reply;
      });
  service->HandleAsync<Trainer::FollowSweep>([this](auto writer, const auto& request) {
    MutexLock lock(mutex_);
    const auto found = FindThingIn(sweeps_, request.sweep, kSweepOf, kNoSweep);
    if (!found.ok()) return writer->Finish(found.status());
    msg::SweepDetailsReplyT& held = sweeps_[*found];
    // Each trial counts as one event here.
    for (std::size_t i = request.from_event; i < held.trials.size(); ++i) {
      msg::FollowSweepReplyT part;
      part.sweep = std::make_unique<msg::SweepT>(*held.sweep);
      part.sweep->events = i + 1;
      part.trials.push_back(std::make_unique<msg::SweepTrialT>(*held.trials[i]));
      (void)writer->SendPart(std::move(part));
    }
    if (request.follow && !HasEnded(held.sweep->state)) {
      held.sweep->state = held.sweep->state == msg::SweepState::Stopping ? msg::SweepState::Stopped
                                                                         : msg::SweepState::Done;
    }
    msg::FollowSweepReplyT end;
    end.sweep = std::make_unique<msg::SweepT>(*held.sweep);
    writer->Finish(std::move(end));
  });
}

}  // namespace yard
