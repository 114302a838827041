#ifndef TUNING_ENGINE_ENGINE_EVENT_H_
#define TUNING_ENGINE_ENGINE_EVENT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuning/engine/plan.h"
#include "tuning/stop/stopping_rule.h"

namespace tuning {

// How a trial ended.
enum class End { kDone, kStopped, kPaused, kFailed };

// An event of a sweep. The comment of each kind lists the fields that it uses; other fields have
// their defaults. Storing the fields stores the event.
struct EngineEvent {
  enum class Kind {
    kBegin,      // The first event.
    kSuggested,  // trial, number (Action::number of the question), text (the configuration)
    kExhausted,  // trial, number, text (why): nothing more to suggest.
    kStarted,    // trial, number (the attempt), resource (that it starts from; 0: afresh)
    // trial, resource, value, others, whether (it has a checkpoint that another trial can start
    // from). When stored also decided and, for a trial that is taken over, number (1 + the donor's;
    // 0: stored by the first version with populations) and text (the configuration of the trial
    // that takes over).
    kReported,
    kEnded,     // trial, end, text (why)
    kPause,     // whether
    kResume,    // whether
    kStop,      // text (why)
    kChange,    // plan
    kEnqueue,   // text (a configuration to try next)
    kLearn,     // text (a configuration), value, others: a known result
    kSpent,     // text (what is used up): no more trials start
    kFail,      // text (why): the sweep cannot continue
    kRefused,   // trial, number, text (why): an external suggestion was refused
    kMeasured,  // trial, others: a report without the metric
  };
  Kind kind = Kind::kBegin;
  std::uint64_t trial = 0;
  std::uint64_t number = 0;
  double resource = 0;
  double value = std::numeric_limits<double>::quiet_NaN();  // As reported.
  // Values of the metrics of OtherMetrics(), in the same order; nullopt where the report lacks one.
  // Empty if it lacks all.
  std::vector<std::optional<double>> others = {};
  // kPause: running trials continue to their end. kResume: failed trials run again. kReported: as
  // above.
  bool whether = false;
  End end = End::kDone;
  // The answer to the report. The trainer copies it, and the fields that belong to it, from Outcome
  // when it stores the event, so that every later version repeats the same answer.
  std::optional<TrialDecision> decided = std::nullopt;
  std::string text = {};
  std::shared_ptr<const Plan> plan = nullptr;
};

// An action to execute. All but kAnswer are idempotent, and run after the event is stored.
struct Action {
  enum class Kind {
    kAnswer,  // trial, answer, text (why it does not continue)
    kAsk,  // trial, number: Engine::OpenQuestion() has to be answered, by kSuggested or kExhausted
    kStart,   // trial, number (the attempt: 1), text (the configuration), from
    kResume,  // trial, number (the attempt)
    kPause,   // trial: its checkpoint is kept after its end
    kDrop,    // trial, which has ended: its checkpoints are no longer needed
    kStop,    // trial, text (why). The trial may be paused.
    kFinish,  // text (why)
    kNotice,  // text: shown to users
  };
  Kind kind = Kind::kNotice;
  std::uint64_t trial = 0;
  std::uint64_t number = 0;
  TrialDecision answer = TrialDecision::kContinue;
  std::string text = {};
  std::optional<std::uint64_t> from = std::nullopt;  // Starts from this trial's newest checkpoint.

  friend bool operator==(const Action&, const Action&) = default;
};

}  // namespace tuning

#endif  // TUNING_ENGINE_ENGINE_EVENT_H_
