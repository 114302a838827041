#include "bus/json/state_names.h"

#include <cstddef>
#include <span>

namespace bus {
namespace {

// Indexed by the enums' values.
constexpr const char* kTrialStates[] = {"pending", "running", "stopping", "done",
                                        "stopped", "failed",  "paused"};
constexpr const char* kTaskStates[] = {"pending", "starting", "running", "stopping",
                                       "done",    "failed",   "lost"};
constexpr const char* kSweepStates[] = {"running", "paused",  "stopping",
                                        "done",    "stopped", "failed"};
constexpr const char* kSweepStages[] = {"waiting",       "running", "paused", "done",
                                        "stopped early", "stopped", "failed"};
constexpr const char* kLeaseStates[] = {"up", "suspect", "gone"};
constexpr const char* kNodeStates[] = {"away", "connected", "draining"};

struct Words {
  std::string_view type;
  std::span<const char* const> words;
};
constexpr Words kWords[] = {{"TrialState", kTrialStates}, {"TaskState", kTaskStates},
                            {"SweepState", kSweepStates}, {"SweepStage", kSweepStages},
                            {"LeaseState", kLeaseStates}, {"NodeState", kNodeStates}};

static_assert(std::size(kTrialStates) == static_cast<std::size_t>(msg::TrialState::MAX) + 1);
static_assert(std::size(kTaskStates) == static_cast<std::size_t>(msg::TaskState::MAX) + 1);
static_assert(std::size(kSweepStates) == static_cast<std::size_t>(msg::SweepState::MAX) + 1);
static_assert(std::size(kSweepStages) == static_cast<std::size_t>(msg::SweepStage::MAX) + 1);
static_assert(std::size(kLeaseStates) == static_cast<std::size_t>(msg::LeaseState::MAX) + 1);
static_assert(std::size(kNodeStates) == static_cast<std::size_t>(msg::NodeState::MAX) + 1);

template <typename State>
const char* WordFor(std::span<const char* const> words, State state) {
  const auto at = static_cast<std::size_t>(state);
  return at < words.size() ? words[at] : "unknown";
}

}  // namespace

const char* StateName(msg::TrialState state) { return WordFor(kTrialStates, state); }
const char* StateName(msg::NodeState state) { return WordFor(kNodeStates, state); }
const char* StateName(msg::TaskState state) { return WordFor(kTaskStates, state); }
const char* StateName(msg::SweepState state) { return WordFor(kSweepStates, state); }
const char* StateName(msg::SweepStage stage) { return WordFor(kSweepStages, stage); }
const char* StateName(msg::LeaseState state) { return WordFor(kLeaseStates, state); }

const char* StateNameOf(std::string_view type, std::int64_t value) {
  for (const Words& words : kWords) {
    if (words.type != type) continue;
    return value >= 0 && static_cast<std::size_t>(value) < words.words.size()
               ? words.words[static_cast<std::size_t>(value)]
               : nullptr;
  }
  return nullptr;
}

}  // namespace bus
