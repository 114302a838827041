#ifndef TUNING_ENGINE_ENGINE_H_
#define TUNING_ENGINE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tuning/engine/engine_event.h"
#include "tuning/engine/metric_values.h"
#include "tuning/engine/plan.h"
#include "tuning/engine/population.h"
#include "tuning/engine/question.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/space.h"
#include "tuning/stop/stopping_rule.h"

namespace tuning {

// The state machine of a sweep: events come in, actions come out, and the same events give the same
// actions. A caller that stores each event that changed something can therefore restore the sweep
// after a restart by applying the stored events to a new engine. It then executes Open(), the
// actions that may not have been done.
//
// A trial's number counts suggestions from 0 and is used once. At most one question is open at a
// time, and only while there is room for its trial. A trial takes up room until its kEnded. A value
// type: a copy is another sweep in the same state. Not thread-safe.
class Engine {
 public:
  // InvalidArgument says what is wrong with the plan.
  static absl::StatusOr<Engine> Create(std::shared_ptr<const Plan> plan);
  Engine(const Engine& other);
  Engine& operator=(const Engine& other);
  Engine(Engine&&) = default;
  Engine& operator=(Engine&&) = default;
  ~Engine() = default;

  struct Outcome {
    // True if the event must be stored: without it later events would have other effects.
    bool changed = false;
    std::vector<Action> actions = {};
    // The answer to kReported, to be stored as EngineEvent::decided.
    std::optional<TrialDecision> decided = std::nullopt;
    // Set if another trial takes over from the reporting one: to be stored as EngineEvent::number
    // and EngineEvent::text.
    std::uint64_t donor = 0;  // 1 + its number; 0: none.
    std::string config = {};
  };
  // Applies an event. An impossible one, such as the end of a trial that does not run, changes
  // nothing.
  Outcome Apply(const EngineEvent& event);
  // Returns the ordered actions that are not known to be done.
  std::vector<Action> Open() const;
  // Returns the question of the last kAsk; nullopt if it was answered. Not for Method::kExternal,
  // whose program is asked in a Conversation.
  std::optional<Question> OpenQuestion() const;

  enum class State { kNew, kRunning, kPaused, kStopping, kDone, kStopped, kFailed };
  State state() const { return state_; }
  const std::string& reason() const { return reason_; }
  const Plan& plan() const { return *plan_; }

  enum class Stage {
    kWaiting,  // To be started, or resumed.
    kRunning,  // At least ordered to run.
    kPaused,   // By the rule, by a pause of the sweep, or by a user.
    kDone,
    kStoppedEarly,  // By the rule.
    kStopped,       // By a user, or with the sweep.
    kFailed,
  };
  // The state of a trial since the event of this number.
  struct Standing {
    std::uint64_t since = 0;
    TrialState state = TrialState::kRunning;
    double value = std::numeric_limits<double>::quiet_NaN();   // Smaller is better.
    double second = std::numeric_limits<double>::quiet_NaN();  // Second objective; likewise.
    double resource = 0;
    std::vector<double> excesses = {};  // As in Observation.
  };
  struct Trial {
    Config config = {};
    Stage stage = Stage::kWaiting;
    std::uint64_t attempt = 0;
    bool is_started = false;  // The attempt is known to have started.
    double resource = 0;      // Resource of its last report that changed something.
    std::optional<double> value = std::nullopt;  // Its best or last value, as reported.
    // The values of OtherMetrics(), in the same order.
    std::vector<std::optional<double>> others = {};
    TrialDecision answer = TrialDecision::kContinue;  // The answer to its last report.
    std::string reason = {};
    std::vector<Standing> standings = {};
    std::uint64_t suggested = 0;                // Number of its event.
    std::optional<Point> point = std::nullopt;  // Unset if it no longer fits into the space.
    std::uint64_t member = 0;                   // Its number in a population.
    std::uint64_t generation = 0;
    std::optional<std::uint64_t> from = std::nullopt;
    double from_resource = 0;       // Resource of `from` at that time.
    bool saves = false;             // It has a checkpoint that another trial can start from.
    bool waits_to_save = false;     // Its successor in the schedule waits for its checkpoint.
    bool has_reported = false;      // It has started, so its starting checkpoint is loaded.
    bool is_dropped = false;        // Its checkpoints were dropped.
    bool is_told_to_pause = false;  // Because the sweep was paused.
    bool is_asked_for = false;      // An external optimiser waits for its result.
    // Decision of the rule while the trial was still pausing: whether it continues.
    std::optional<bool> fate = std::nullopt;
  };
  const std::deque<Trial>& trials() const { return trials_; }
  // Returns how many trials take up room now, including the one of the open question.
  std::size_t Active() const { return active_ + (question_ ? 1 : 0); }
  std::uint64_t failed() const { return failed_; }
  // Returns the best trial that has a value and meets the constraints on metrics, whether done or
  // not; nullopt if none does. With a second objective, the first trial of the front.
  std::optional<std::uint64_t> Best() const;
  // With a second objective: returns those such trials that no other one dominates, in order of the
  // first objective, best first.
  std::vector<std::uint64_t> Front() const;
  // Returns the metric constraints that the trial violates, as text; empty if none can be judged.
  std::string Breaks(const Trial& trial) const;
  std::vector<StoppingRule::Level> Levels() const;
  // Returns how trial `number` came about: configurations, each with the resource from which it
  // applied.
  std::vector<std::pair<double, Config>> Schedule(std::uint64_t number) const;
  // A question to an external optimiser, and its outcome, for a Conversation.
  struct Asked {
    std::uint64_t trial = 0;
    std::uint64_t number = 0;   // Number of the question: of its event.
    Config config = {};         // The suggestion.
    std::string refused = {};   // Why the suggestion was refused.
    bool is_exhausted = false;  // There was nothing more to suggest.
  };
  // A result.
  struct Told {
    std::uint64_t since = 0;    // Number of the event.
    std::uint64_t trial = 0;    // Its number, if it was asked for.
    bool is_asked_for = false;  // Otherwise it was enqueued, or known before.
    Config config = {};
    TrialState state = TrialState::kDone;
    std::optional<double> value = std::nullopt;  // As reported, like the next.
    std::optional<double> second = std::nullopt;
    double resource = 0;
    std::vector<double> excesses = {};
  };
  // Since the plan was last changed, oldest first.
  const std::vector<Asked>& asked() const { return asked_; }
  const std::vector<Told>& told() const { return told_; }
  // Returns how often the plan was changed.
  std::uint64_t changes() const { return changes_; }
  // Returns the trial and the number of the open question.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> AskedNow() const;
  // Returns the complete configuration for a suggestion. InvalidArgument says why it is invalid;
  // AlreadyExists names the trial that has tried it.
  absl::StatusOr<Config> Check(std::string_view suggestion) const;
  // Returns the history that a sampler receives for a question at event `basis`.
  std::vector<Observation> History(std::uint64_t basis) const;

 private:
  struct Ask {
    std::uint64_t trial = 0, number = 0;
  };
  struct Known {
    Config config = {};
    double value = 0;  // Smaller is better.
    std::vector<std::optional<double>> others = {};
    std::optional<Point> point = std::nullopt;
  };
  explicit Engine(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  absl::Status Prepare();

  void Begin(Outcome& outcome);
  void TakeSuggested(const EngineEvent& event, Outcome& outcome);
  void TakeExhausted(const EngineEvent& event, Outcome& outcome);
  void TakeStarted(const EngineEvent& event, Outcome& outcome);
  void TakeReported(const EngineEvent& event, Outcome& outcome);
  void CheckTarget(std::uint64_t number, Outcome& outcome);
  void TakeMeasured(const EngineEvent& event, Outcome& outcome);
  bool TakeOthers(const EngineEvent& event, Trial& trial);
  void TakeEnded(const EngineEvent& event, Outcome& outcome);
  void TakePause(const EngineEvent& event, Outcome& outcome);
  void TakeResume(const EngineEvent& event, Outcome& outcome);
  void TakeStop(const EngineEvent& event, Outcome& outcome);
  void TakeChange(const EngineEvent& event, Outcome& outcome);
  void TakeEnqueue(const EngineEvent& event, Outcome& outcome);
  void TakeLearn(const EngineEvent& event, Outcome& outcome);
  void TakeSpent(const EngineEvent& event, Outcome& outcome);
  void TakeFail(const EngineEvent& event, Outcome& outcome);
  void TakeRefused(const EngineEvent& event, Outcome& outcome);

  // Orders trials while there is room, and ends the sweep when nothing is left to do.
  void Fill(std::vector<Action>& actions);
  bool OrderOne(std::vector<Action>& actions);
  void FollowRule(std::vector<Action>& actions);
  bool MoreCome() const;
  bool MayAsk() const;
  void Order(std::uint64_t number, std::vector<Action>& actions);
  std::uint64_t Add(Config config);
  void Conclude(State state, std::string reason, std::vector<Action>& actions);
  void FinishIfIdle(std::vector<Action>& actions);
  void Meet(std::uint64_t number, bool goes_on, std::vector<Action>& actions);
  void DropPaused(std::uint64_t number, std::string reason, std::vector<Action>& actions);
  void CountFailure(std::uint64_t number, std::vector<Action>& actions);
  void AddStanding(Trial& trial, TrialState state);
  void Tell(std::uint64_t number);
  void TellAgain();
  Judgement Judge(Trial& trial, const EngineEvent& event, double value, Outcome& outcome);
  TrialDecision TakeOver(std::uint64_t number, const EngineEvent& event, double value,
                         Outcome& outcome);
  TrialDecision FollowSchedule(std::uint64_t number, const EngineEvent& event, Outcome& outcome);
  TrialDecision GoOnIn(std::uint64_t number, std::uint64_t donor, absl::StatusOr<Config> config,
                       Outcome& outcome);
  std::optional<std::uint64_t> DonorOf(std::uint64_t member) const;
  Config Explored(std::uint64_t donor) const;
  absl::StatusOr<Config> ConfigOfClone(const EngineEvent& event, std::uint64_t donor) const;
  bool IsNeeded(std::uint64_t number) const;
  void Drop(std::vector<Action>& actions);
  void SetFurtherValues(Trial& trial) const;
  bool MeetsAll(const Trial& trial) const;
  double Signed(double value) const { return tuning::Signed(*plan_, value); }
  // Trials take over from each other.
  bool HasChains() const {
    return plan_->method == Method::kPbt || plan_->method == Method::kReplay;
  }
  bool IsOpenEnded() const { return state_ == State::kRunning || state_ == State::kPaused; }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const Sampler> sampler_;
  std::unique_ptr<StoppingRule> rule_;
  Members members_;
  std::uint64_t founders_ = 0;  // Trials that took over from no other.
  // Ended trials that were taken over, whose checkpoints may still be needed.
  std::set<std::uint64_t> left_;

  std::uint64_t events_ = 0;  // Number of events that changed something.
  State state_ = State::kNew;
  bool drains_ = false;        // A kPaused sweep waits for the end of its trials.
  State goal_ = State::kDone;  // The state after kStopping.
  std::string reason_;
  std::deque<Trial> trials_;
  std::size_t active_ = 0;
  std::optional<Ask> question_;
  std::deque<std::uint64_t> waiting_;  // Trials in kWaiting, next first.
  std::deque<Config> enqueued_;
  std::vector<Known> known_;
  std::string exhausted_;  // Why no more is suggested.
  std::uint64_t failed_ = 0;
  std::uint64_t failed_before_ = 0;  // At the last resume; no longer counted.
  std::uint64_t in_a_row_ = 0;
  std::optional<std::uint64_t> first_in_a_row_;
  std::size_t first_open_ = 0;  // All earlier trials have ended.
  std::vector<Asked> asked_;
  std::vector<Told> told_;
  std::uint64_t changes_ = 0;
  std::uint64_t refused_in_a_row_ = 0;
};

}  // namespace tuning

#endif  // TUNING_ENGINE_ENGINE_H_
