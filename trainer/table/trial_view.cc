#include "trainer/table/trial_view.h"

#include <algorithm>
#include <set>
#include <string>

#include "glog/logging.h"
#include "trainer/store/trial_record.h"
#include "trainer/trial/trial_message.h"
#include "trainer/trial/trial_queue.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxListedMetrics = 4096;

}  // namespace

msg::TrialT TrialView::Whole(const Trial& trial) const {
  const TrialReports::Progress& progress = trial.reports->progress();
  return WithRoom(trial, WholeMessage(trial.record, progress.last_row, progress.newest_checkpoint));
}

msg::TrialT TrialView::Brief(const Trial& trial) const {
  const TrialReports::Progress& progress = trial.reports->progress();
  return WithRoom(trial, BriefMessage(trial.record, progress.last_row, progress.newest_checkpoint));
}

// A wait for room replaces any other reason, except for a trial that has ended or is paused: only
// its late reports may wait for room.
msg::TrialT TrialView::WithRoom(const Trial& trial, msg::TrialT message) const {
  const bool rests = HasEnded(trial.record) || trial.record.state == msg::TrialState::Paused;
  auto why = rests ? "" : options_.room_waits->WhyOf(trial.record.number);
  if (!why.empty()) message.reason = std::move(why);
  if (!rests) message.node = trial.node;
  return message;
}

msg::TrialT TrialView::Shown(const Trial& trial) const {
  Places places;
  if (WaitsForTurn(trial) && trial.record.reason.empty()) {
    std::size_t& before = places[trial.record.number];
    for (const auto& [number, other] : options_.table->at_hand()) {
      if (!WaitsForTurn(other) || !StartsBefore(InQueue(other), InQueue(trial))) continue;
      if (WhyAfter(other).empty()) ++before;
    }
  }
  return Shown(trial, places, places.empty() ? AwaitedResources() : Awaited());
}

msg::TrialT TrialView::Shown(const Trial& trial, const Places& places,
                             const AwaitedResources& awaited) const {
  msg::TrialT message = Whole(trial);
  const auto place = places.find(trial.record.number);
  if (message.reason.empty() && trial.reports->waits_for_start()) {
    message.reason = "the checkpoint that it starts from is being read";
  }
  if (message.reason.empty() && WaitsForTurn(trial)) message.reason = WhyAfter(trial);
  if (message.reason.empty() && place != places.end()) {
    message.reason = options_.holds->WhyHeld(trial.record);
  }
  if (message.reason.empty() && place != places.end()) {
    message.reason = WhyBehind(trial.record.spec.options, awaited);
  }
  if (message.reason.empty() && place != places.end()) {
    message.reason = WhyItWaits(options_.used_slots(), options_.slots(), place->second);
  }
  return message;
}

std::vector<msg::TrialT> TrialView::List(bool live_only, std::size_t newest_ended) const {
  const TrialTable& table = *options_.table;
  std::map<std::int64_t, msg::TrialT> list;
  const Places places = AllPlaces();
  const AwaitedResources awaited = Awaited();
  std::set<std::int64_t> wanted;
  if (!live_only) wanted = table.LastEnded(newest_ended);
  for (const auto& [number, trial] : table.at_hand()) {
    if (HasEnded(trial.record) && !wanted.contains(number)) continue;
    list[number] = Shown(trial, places, awaited);
  }
  for (const std::int64_t number : wanted) {
    const EndedTrial* const trial = table.ended().ByNumber(number);
    if (trial == nullptr) continue;  // It is at hand, so it is in the list already.
    auto message = table.MessageOf(*trial);
    LOG_IF(ERROR, !message.ok()) << "trial " << trial->id() << ": " << message.status();
    if (message.ok()) list[number] = *std::move(message);
  }
  std::vector<msg::TrialT> trials;
  for (auto& [number, message] : list) {
    if (message.last_metrics.size() > kMaxListedMetrics) message.last_metrics.clear();
    trials.push_back(std::move(message));
  }
  return trials;
}

AwaitedResources TrialView::Awaited() const {
  AwaitedResources awaited;
  for (const auto& [number, trial] : options_.table->at_hand()) {
    if (!WaitsForResources(trial.record)) continue;
    for (const std::string& name : AwaitedBy(trial.record.spec.options)) {
      awaited.emplace(name, trial.record.id());
    }
  }
  return awaited;
}

std::string TrialView::WhyAfter(const Trial& trial) const {
  return options_.why_after ? options_.why_after(trial) : "";
}

TrialView::Places TrialView::AllPlaces() const {
  std::vector<WaitingTrial> queue;
  for (const auto& [number, trial] : options_.table->at_hand()) {
    if (WaitsForTurn(trial) && WhyAfter(trial).empty()) queue.push_back(InQueue(trial));
  }
  std::sort(queue.begin(), queue.end(), StartsBefore);
  Places places;
  for (std::size_t i = 0; i < queue.size(); ++i) places[queue[i].number] = i;
  return places;
}

}  // namespace trainer
