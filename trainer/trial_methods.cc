#include "trainer/trial_methods.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/call/loop_methods.h"
#include "bus/call/name_list.h"
#include "bus/call/reply_stream.h"
#include "bus/json/annotations.h"
#include "bus/process/environment_view.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/text/random_id.h"
#include "trainer/follow_call.h"
#include "trainer/trial/trial_queue.h"
#include "trainer/trial_topics.h"

namespace trainer {
namespace {

using rpc::Common;
using rpc::Trainer;

template <typename Reply>
absl::StatusOr<Reply> WithTrial(absl::StatusOr<msg::TrialT> trial) {
  if (!trial.ok()) return trial.status();
  Reply reply;
  reply.trial = std::make_unique<msg::TrialT>(*std::move(trial));
  return reply;
}

constexpr std::uint32_t kMostSlots = 10'000;

std::string RequestId(const bus::CallContext& context) {
  return context.request_id.empty() ? runtime::RandomHex128() : context.request_id;
}

absl::StatusOr<msg::RunTrialReplyT> RunTrial(Trials* trials, const bus::CallContext& context,
                                             const msg::RunTrialRequestT& request) {
  if (request.options != nullptr && !request.options->sweep.empty()) {
    return absl::InvalidArgumentError("options.sweep is set by the trainer alone: use RunSweep");
  }
  return WithTrial<msg::RunTrialReplyT>(trials->Run(RequestId(context), request, context.trace));
}

absl::StatusOr<msg::TrialsReplyT> List(Trials* trials, const bus::CallContext&,
                                       const msg::TrialsRequestT& request) {
  msg::TrialsReplyT reply;
  if (request.trial.empty()) {
    for (msg::TrialT& trial :
         trials->List({.live_only = request.live_only, .newest_ended = request.newest_ended})) {
      reply.trials.push_back(std::make_unique<msg::TrialT>(std::move(trial)));
    }
    return reply;
  }
  auto id = trials->Find(request.trial);
  if (!id.ok()) return id.status();
  auto trial = trials->Get(*id);
  if (!trial.ok()) return trial.status();
  reply.trials.push_back(std::make_unique<msg::TrialT>(*std::move(trial)));
  return reply;
}

absl::StatusOr<msg::StopTrialReplyT> StopTrial(Trials* trials, const bus::CallContext& context,
                                               const msg::StopTrialRequestT& request) {
  auto id = trials->Find(request.trial);
  if (!id.ok()) return id.status();
  return WithTrial<msg::StopTrialReplyT>(
      trials->Stop(*id, absl::Milliseconds(request.grace_ms), context.trace));
}

absl::StatusOr<msg::PauseTrialReplyT> PauseTrial(Trials* trials, const bus::CallContext& context,
                                                 const msg::PauseTrialRequestT& request) {
  auto id = trials->Find(request.trial);
  if (!id.ok()) return id.status();
  return WithTrial<msg::PauseTrialReplyT>(trials->PauseTrial(*id, context.trace));
}

absl::StatusOr<msg::ResumeTrialReplyT> ResumeTrial(Trials* trials, const bus::CallContext&,
                                                   const msg::ResumeTrialRequestT& request) {
  auto id = trials->Find(request.trial);
  if (!id.ok()) return id.status();
  return WithTrial<msg::ResumeTrialReplyT>(trials->ResumeTrial(*id));
}

absl::StatusOr<msg::RemoveTrialReplyT> RemoveTrial(Trials* trials, const bus::CallContext& context,
                                                   const msg::RemoveTrialRequestT& request) {
  return WithTrial<msg::RemoveTrialReplyT>(trials->RemoveTrial(request.trial, RequestId(context)));
}

absl::StatusOr<msg::TellTrialReplyT> TellTrial(Trials* trials, const bus::CallContext& context,
                                               const msg::TellTrialRequestT& request) {
  auto id = trials->Find(request.trial);
  if (!id.ok()) return id.status();
  auto number = trials->Tell(*id, request.event, RequestId(context));
  if (!number.ok()) return number.status();
  auto reply = WithTrial<msg::TellTrialReplyT>(trials->Get(*id));
  if (reply.ok()) reply->number = static_cast<std::uint64_t>(*number);
  return reply;
}

absl::StatusOr<msg::AnnotateReplyT> Annotate(Trials* trials, const bus::CallContext&,
                                             const msg::AnnotateRequestT& request) {
  auto id = trials->Find(request.run);
  if (!id.ok()) return id.status();
  const auto trial = trials->Annotate(*id, request);
  if (!trial.ok()) return trial.status();
  msg::AnnotateReplyT reply = bus::AnnotateReply(
      trial->name,
      {.labels = trial->labels, .note = trial->note, .display_name = trial->display_name});
  reply.priority = trial->priority;
  return reply;
}

absl::StatusOr<msg::SetSlotsReplyT> SetSlots(Trials* trials, const bus::CallContext&,
                                             const msg::SetSlotsRequestT& request) {
  if (request.slots > kMostSlots) {
    return absl::InvalidArgumentError(
        absl::StrCat("slots is ", request.slots, ": the most is ", kMostSlots));
  }
  msg::SetSlotsReplyT reply;
  reply.before = static_cast<std::uint32_t>(trials->slots());
  trials->SetSlots(SlotsOf(static_cast<int>(request.slots)));
  reply.slots = static_cast<std::uint32_t>(trials->slots());
  return reply;
}

msg::NamesReplyT Names(const Trials& trials, const Sweeps& sweeps,
                       const msg::NamesRequestT& request) {
  bus::NameList names(request);
  if (names.Wants("sweep")) {
    for (const msg::SweepT& sweep : sweeps.List(false)) {
      const std::string word = absl::AsciiStrToLower(msg::EnumNameSweepState(sweep.state));
      names.Add("sweep", sweep.name, word);
      if (sweep.id != sweep.name && !names.prefix().empty()) {
        names.Add("sweep", sweep.id, sweep.name);
      }
    }
  }
  trials.VisitNames([&](std::string_view id, std::string_view name, msg::TrialState state) {
    const std::string word = absl::AsciiStrToLower(msg::EnumNameTrialState(state));
    names.Add("trial", name, word);
    // Also lists the id of a named trial once the prefix is not empty: it may be the start of an
    // id.
    if (id != name && !names.prefix().empty()) names.Add("trial", id, name);
  });
  return names.Take();
}

// Adds method M, answered by a function that takes the Trials.
template <typename M>
void Add(const bus::LoopMethods& methods, Trials* trials,
         absl::StatusOr<typename M::ReplyT> (*handler)(Trials*, const bus::CallContext&,
                                                       const typename M::RequestT&)) {
  methods.Answer<M>([=](const bus::CallContext& context, const typename M::RequestT& request) {
    return handler(trials, context, request);
  });
}

// Adds the parts of the details that are sent only on request.
absl::Status AddOnRequest(const Trials& trials, const msg::TrialDetailsRequestT& request,
                          msg::TrialDetailsReplyT& details) {
  const std::string& id = details.trial->id;
  if (request.environment != msg::EnvironmentView::None) {
    auto environment = trials.EnvironmentOf(id);
    if (!environment.ok()) return environment.status();
    details.environment = bus::ViewOf(*std::move(environment), request.environment);
  }
  if (request.log_lines == 0) return absl::OkStatus();
  auto log = trials.LogOf(id, request.log_lines);
  if (!log.ok()) return log.status();
  for (StoreBatch::Log& said : *log) {
    auto line = std::make_unique<msg::TrialLogLineT>();
    line->time_us = said.wall_time_us;
    line->text = std::move(said.text);
    details.log.push_back(std::move(line));
  }
  return absl::OkStatus();
}

void MarkUnseen(const TrialAlerts* alerts, msg::TrialT* trial) {
  trial->unseen = alerts != nullptr && alerts->IsUnseen(trial->id);
}

void Details(Trials* trials, const TrialAlerts* alerts, const msg::TrialDetailsRequestT& request,
             std::shared_ptr<bus::ReplyWriter<Trainer::TrialDetails>> writer) {
  auto id = trials->Find(request.trial);
  if (!id.ok()) return writer->Finish(id.status());
  trials->Details(*id, [=](absl::StatusOr<msg::TrialDetailsReplyT> details) {
    if (!details.ok()) return writer->Finish(std::move(details));
    const absl::Status added = AddOnRequest(*trials, request, *details);
    if (!added.ok()) return writer->Finish(added);
    MarkUnseen(alerts, details->trial.get());
    writer->Finish(std::move(details));
  });
}

void Follow(Trials* trials, runtime::EventLoop* loop, const msg::FollowTrialRequestT& request,
            std::shared_ptr<bus::ReplyWriter<Trainer::FollowTrial>> writer) {
  auto id = trials->Find(request.trial);
  if (!id.ok()) return writer->Finish(id.status());
  StartFollowCall(trials, loop, *id, request.from_row, request.follow,
                  bus::StreamOf<Trainer::FollowTrial>(std::move(writer)));
}

}  // namespace

void AddMethods(bus::Service* service, runtime::EventLoop* loop, Trials* trials, Sweeps* sweeps,
                TrialAlerts* alerts, bus::AlertStore* alert_store) {
  const bus::LoopMethods methods(service, loop);
  Add<Trainer::RunTrial>(methods, trials, RunTrial);
  methods.Answer<Trainer::Trials>([=](const bus::CallContext& context, const auto& request) {
    auto reply = List(trials, context, request);
    if (!reply.ok()) return reply;
    for (const auto& trial : reply->trials) MarkUnseen(alerts, trial.get());
    return reply;
  });
  Add<Trainer::StopTrial>(methods, trials, StopTrial);
  Add<Trainer::PauseTrial>(methods, trials, PauseTrial);
  // A person who resumes or removes a trial has seen its alerts.
  methods.Answer<Trainer::ResumeTrial>([=](const bus::CallContext& context, const auto& request) {
    auto reply = ResumeTrial(trials, context, request);
    if (reply.ok() && alerts != nullptr) alerts->Acknowledge(reply->trial->id);
    return reply;
  });
  methods.Answer<Trainer::RemoveTrial>([=](const bus::CallContext& context, const auto& request) {
    auto reply = RemoveTrial(trials, context, request);
    if (reply.ok() && alerts != nullptr) alerts->Acknowledge(reply->trial->id);
    return reply;
  });
  Add<Trainer::TellTrial>(methods, trials, TellTrial);
  Add<Common::Annotate>(methods, trials, Annotate);
  Add<Trainer::SetSlots>(methods, trials, SetSlots);
  methods.Answer<Common::Names>([=](const bus::CallContext&, const msg::NamesRequestT& request) {
    return absl::StatusOr<msg::NamesReplyT>(Names(*trials, *sweeps, request));
  });
  methods.Answer<Common::Ends>([=](const bus::CallContext&, const msg::EndsRequestT& request) {
    if (alert_store != nullptr && bus::IsForAlerts(request)) return alert_store->Ends(request);
    return absl::StatusOr<msg::EndsReplyT>(EndsOfTrials(*trials, *sweeps, request));
  });
  methods.Answer<Common::Since>([=](const bus::CallContext&, const msg::SinceRequestT& request) {
    if (alert_store != nullptr && bus::IsForAlerts(request)) return alert_store->Since(request);
    return TrialsSince(*trials, *sweeps, request);
  });
  methods.Serve<Trainer::TrialDetails>([=](auto writer, const auto& request) {
    Details(trials, alerts, request, std::move(writer));
  });
  methods.Serve<Trainer::FollowTrial>(
      [=](auto writer, const auto& request) { Follow(trials, loop, request, std::move(writer)); });
}

}  // namespace trainer
