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
#include "tuning/engine/event.h"
#include "tuning/engine/metric_values.h"
#include "tuning/engine/plan.h"
#include "tuning/engine/population.h"
#include "tuning/engine/question.h"
#include "tuning/sample/sampler.h"
#include "tuning/space/config.h"
#include "tuning/space/space.h"
#include "tuning/stop/stopping_rule.h"

namespace tuning {

// A sweep's life. Events come in, actions come out, and
// the same events give the same actions: so whoever stores each event that changed something, and
// applies them to a new engine after a restart, has the same sweep as before. Then it carries out
// Open(): what may not have been done.
//
// A trial's number counts from 0, is its place among the suggestions, and is used once. One
// question is open at a time, and none unless there is room for the trial. A trial takes its room
// until its kEnded. A value: a copy is another sweep in the same state. One thread at a time.
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
    // Whether it has to be stored: without it later events would lead elsewhere.
    bool changed = false;
    std::vector<Action> actions = {};
    // The answer to kReported, to be stored as EngineEvent::decided.
    std::optional<TrialDecision> decided = std::nullopt;
    // Another trial takes over from the one that has reported: to be stored as EngineEvent::number
    // and EngineEvent::text.
    std::uint64_t donor = 0;  // 1 + its number; 0: none does.
    std::string config = {};
  };
  // An event that cannot be, such as the end of a trial that does not run, changes nothing.
  Outcome Apply(const EngineEvent& event);
  // The actions that have been ordered and are not known to be done.
  std::vector<Action> Open() const;
  // The question of the last kAsk; nothing if it has been answered. Not of Method::kExternal: its
  // program is asked in a Conversation.
  std::optional<Question> OpenQuestion() const;

  enum class State { kNew, kRunning, kPaused, kStopping, kDone, kStopped, kFailed };
  State state() const { return state_; }
  const std::string& reason() const { return reason_; }
  const Plan& plan() const { return *plan_; }

  enum class Stage {
    kWaiting,  // To be started, or resumed.
    kRunning,  // Ordered to, at least.
    kPaused,   // By the rule, by the sweep's pause, or by somebody.
    kDone,
    kStoppedEarly,  // By the rule.
    kStopped,       // By somebody, or with the sweep.
    kFailed,
  };
  // How a trial stood since the event of this number.
  struct Standing {
    std::uint64_t since = 0;
    TrialState state = TrialState::kRunning;
    double value = std::numeric_limits<double>::quiet_NaN();   // Smaller is better.
    double second = std::numeric_limits<double>::quiet_NaN();  // The same of the second objective.
    double resource = 0;
    std::vector<double> excesses = {};  // As in an Observation.
  };
  struct Trial {
    Config config = {};
    Stage stage = Stage::kWaiting;
    std::uint64_t attempt = 0;
    bool is_started = false;  // The attempt is known to have begun.
    double resource = 0;      // Its last report that changed something was there.
    std::optional<double> value = std::nullopt;  // Its best or last one, as it was reported.
    // The same of OtherMetrics(), in its order.
    std::vector<std::optional<double>> others = {};
    TrialDecision answer = TrialDecision::kContinue;  // To its last report.
    std::string reason = {};
    std::vector<Standing> standings = {};
    std::uint64_t suggested = 0;                // The event.
    std::optional<Point> point = std::nullopt;  // In the space; nothing: it does not fit any more.
    std::uint64_t member = 0;                   // A population has it under this number.
    std::uint64_t generation = 0;
    std::optional<std::uint64_t> from = std::nullopt;
    double from_resource = 0;       // Where `from` was then.
    bool saves = false;             // It has a checkpoint that another trial can begin with.
    bool waits_to_save = false;     // The next of its schedule begins once it does. It was said.
    bool has_reported = false;      // So it has begun, with whatever it was to begin with.
    bool is_dropped = false;        // Its checkpoints are.
    bool is_told_to_pause = false;  // With the sweep.
    bool is_asked_for = false;      // An external optimiser waits for its result.
    // The rule's word on it while it was on its way to its pause: whether it goes on.
    std::optional<bool> fate = std::nullopt;
  };
  const std::deque<Trial>& trials() const { return trials_; }
  // How many trials take room now, with the one that is asked for.
  std::size_t Active() const { return active_ + (question_ ? 1 : 0); }
  std::uint64_t failed() const { return failed_; }
  // The best trial that has a value and meets the constraints of metrics, done or not; nothing:
  // none does. With a second objective the first one of the front.
  std::optional<std::uint64_t> Best() const;
  // With a second objective: those such trials that no other one is better than in both, the best
  // of the first objective first.
  std::vector<std::uint64_t> Front() const;
  // The constraints of metrics that the trial breaks, in words; empty: none that can be judged.
  std::string Breaks(const Trial& trial) const;
  std::vector<StoppingRule::Level> Levels() const;
  // How trial `number` came to where it is: configurations, each from its resource on.
  std::vector<std::pair<double, Config>> Schedule(std::uint64_t number) const;
  // A question to an external optimiser, and what came of it, for a Conversation.
  struct Asked {
    std::uint64_t trial = 0;
    std::uint64_t number = 0;   // The question's: the event that it was asked at.
    Config config = {};         // The suggestion.
    std::string refused = {};   // Why it was not taken.
    bool is_exhausted = false;  // There was nothing more to suggest.
  };
  // A result.
  struct Told {
    std::uint64_t since = 0;    // The event.
    std::uint64_t trial = 0;    // Its number, if it was asked for.
    bool is_asked_for = false;  // Else it was enqueued, or is known from somewhere else.
    Config config = {};
    TrialState state = TrialState::kDone;
    std::optional<double> value = std::nullopt;  // As it was reported, as the next.
    std::optional<double> second = std::nullopt;
    double resource = 0;
    std::vector<double> excesses = {};
  };
  // Oldest first, since the plan was last changed.
  const std::vector<Asked>& asked() const { return asked_; }
  const std::vector<Told>& told() const { return told_; }
  // How often the plan was changed.
  std::uint64_t changes() const { return changes_; }
  // The open question: its trial and its number.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> AskedNow() const;
  // The whole configuration that a suggestion stands for. InvalidArgument says why it cannot be
  // tried; AlreadyExists names the trial that has tried it.
  absl::StatusOr<Config> Check(std::string_view suggestion) const;
  // The history that a sampler is told at event `basis`.
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

  // Orders what there is room for, and ends what has nothing more to do.
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
  std::uint64_t founders_ = 0;  // Trials that have taken over from no other.
  // Trials that were taken over and have ended, whose checkpoints may still be needed.
  std::set<std::uint64_t> left_;

  std::uint64_t events_ = 0;  // That have changed something.
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
  std::string exhausted_;  // Why nothing more is suggested.
  std::uint64_t failed_ = 0;
  std::uint64_t failed_before_ = 0;  // When it was last resumed: they count no more.
  std::uint64_t in_a_row_ = 0;
  std::optional<std::uint64_t> first_in_a_row_;
  std::size_t first_open_ = 0;  // Trials before it have ended.
  std::vector<Asked> asked_;
  std::vector<Told> told_;
  std::uint64_t changes_ = 0;
  std::uint64_t refused_in_a_row_ = 0;
};

}  // namespace tuning

#endif  // TUNING_ENGINE_ENGINE_H_
