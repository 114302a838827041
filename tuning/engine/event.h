#ifndef TUNING_ENGINE_EVENT_H_
#define TUNING_ENGINE_EVENT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuning/engine/plan.h"
#include "tuning/stop/stopping_rule.h"

namespace tuning {

enum class End { kDone, kStopped, kPaused, kFailed };

// Something that happened to a sweep. The fields that a kind uses stand behind it; other fields
// have their defaults. Storing the fields is storing the event.
struct EngineEvent {
  enum class Kind {
    kBegin,      // The first.
    kSuggested,  // trial, number (Action::number of the question), text (the configuration)
    kExhausted,  // trial, number, text (why): there is nothing more to suggest.
    kStarted,    // trial, number (the attempt), resource (what it goes on from; 0: from nothing)
    // trial, resource, value, others, whether (it has a checkpoint that another can begin with).
    // Once it is stored: decided; of a trial that is taken over also number (1 + the donor's; 0:
    // the first version with populations stored it), text (the configuration of the trial that
    // takes over).
    kReported,
    kEnded,     // trial, end, text (why)
    kPause,     // whether
    kResume,    // whether
    kStop,      // text (why)
    kChange,    // plan
    kEnqueue,   // text (a configuration that is tried next)
    kLearn,     // text (a configuration), value, others: known from somewhere else
    kSpent,     // text (what is spent): no more trials begin
    kFail,      // text (why): it cannot go on
    kRefused,   // trial, number, text (why): what an external optimiser suggests is not taken
    kMeasured,  // trial, others: a report without the metric
  };
  Kind kind = Kind::kBegin;
  std::uint64_t trial = 0;
  std::uint64_t number = 0;
  double resource = 0;
  double value = std::numeric_limits<double>::quiet_NaN();  // As it was reported.
  // Values of the metrics of OtherMetrics(), in its order; nothing: the report does not have it.
  // Empty: the report has none of them.
  std::vector<std::optional<double>> others = {};
  // With kPause, running trials go on to their end; with kResume, failed trials run again.
  // kReported: as above.
  bool whether = false;
  End end = End::kDone;
  // The answer to the report. The trainer sets it, with what goes with it, from Outcome when it
  // stores the event, so that what was said stays said in every later version.
  std::optional<TrialDecision> decided = std::nullopt;
  std::string text = {};
  std::shared_ptr<const Plan> plan = nullptr;
};

// An action has to be done. All but kAnswer can be done twice, and is done after the event is
// stored.
struct Action {
  enum class Kind {
    kAnswer,  // trial, answer, text (why it does not go on)
    kAsk,  // trial, number: Engine::OpenQuestion() has to be answered, by kSuggested or kExhausted
    kStart,   // trial, number (the attempt: 1), text (the configuration), from
    kResume,  // trial, number (the attempt)
    kPause,   // trial: after its end its checkpoint is kept
    kDrop,    // trial, which has ended: nobody needs its checkpoints any more
    kStop,    // trial, text (why). It may be paused.
    kFinish,  // text (why)
    kNotice,  // text: to be shown to whoever looks
  };
  Kind kind = Kind::kNotice;
  std::uint64_t trial = 0;
  std::uint64_t number = 0;
  TrialDecision answer = TrialDecision::kContinue;
  std::string text = {};
  std::optional<std::uint64_t> from =
      std::nullopt;  // It begins with this trial's newest checkpoint.

  friend bool operator==(const Action&, const Action&) = default;
};

}  // namespace tuning

#endif  // TUNING_ENGINE_EVENT_H_
