// Random histories of one trial, with kills between any two actions. Simple models replace the
// disk, the launcher and the program: the test checks that the decisions of life.h keep the
// invariants in its first lines, whatever the order of events.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_generated.h"
#include "gtest/gtest.h"
#include "trainer/attempt/program_runner.h"
#include "trainer/store/trial_record.h"
#include "trainer/trial/life.h"
#include "trainer/trial/report_judge.h"

namespace trainer {
namespace {

using msg::TrialState;

std::string Words(const TrialRecord& r) {
  return absl::StrCat(msg::EnumNameTrialState(r.state), " attempt ", r.attempt, " nonce ", r.nonce,
                      r.launching ? " launching" : "", " job '", r.job, "'",
                      r.stop_requested ? " stops" : "", r.pause_requested ? " pauses" : "", " '",
                      r.reason, "' ", r.failures, " failures, ended ", r.ended_us, ", ran ",
                      r.earlier_attempts_us);
}

enum class Answer { kJob, kNoRoom, kNoRoomInDoubt, kRefused };

// One trial in a trainer that may be killed, with its environment.
class World {
 public:
  struct Job {
    bool stopping = false;
    bool ended = false;
    bool success = false;
  };
  explicit World(std::uint32_t max_restarts, bool asks = false) {
    record.number = 1;
    record.run.trial_id = "t-1";
    record.spec.max_restarts = max_restarts;
    record.spec.stop_grace_ms = 1000;
    if (asks) record.spec.options.pool = "gpus";
    record.nonce = NewId();
    record.job_request_id = NewId();
    stored = record;
  }

  // The action, counted from 1 over all events, instead of which the trainer is killed; 0: none.
  std::size_t kill_at = 0;
  std::size_t actions = 0;
  bool was_killed = false;

  TrialRecord stored, record;
  bool disk_is_full = false;
  AttemptStatus attempt;
  AttemptFacts facts;
  std::set<TrialTimer> timers;
  bool is_watched = false, takes_stacks = false, to_stop = false;
  std::map<std::string, Job> jobs;                       // By request id.
  std::map<std::string, bool> under_way;                 // Requests; true: the trainer awaits it.
  std::optional<std::pair<Answer, std::string>> answer;  // In flight to this trainer.
  std::set<std::string> refused;                         // Permanently.
  std::set<int> failed_attempts;                         // As listed in error.txt.
  std::vector<std::string> broken;                       // Broken invariants.

  std::string NewId() { return absl::StrCat("id-", ++ids_); }
  void Expect(bool holds, const std::string& what) {
    if (!holds) broken.push_back(what);
  }
  std::size_t LiveJobs() const {
    return static_cast<std::size_t>(std::count_if(
        jobs.begin(), jobs.end(), [](const auto& entry) { return !entry.second.ended; }));
  }
  // Returns the running job of the attempt; null if it does not run.
  Job* LiveJob() {
    const auto found = jobs.find(record.job_request_id);
    return found == jobs.end() || found->second.ended ? nullptr : &found->second;
  }
  bool HasItsTurn() const {
    return record.state == TrialState::Pending && !attempt.has_runner && !attempt.held_back;
  }

  // Returns false if the order was refused or could not be stored, or if the trainer was killed.
  bool Feed(const LifeEvent& event) {
    const std::string before = Words(record);
    const bool had_ended = HasEnded(record);
    const LifeDecision decision = Decide(
        record, attempt, facts, event,
        {static_cast<std::int64_t>(++now_), absl::Microseconds(now_), [this] { return NewId(); }});
    if (!decision.refusal.ok()) return false;
    if (had_ended && !std::holds_alternative<event::ResumeAsked>(event)) {
      Expect(Words(decision.record) == before, "an ended one has changed: " + before);
    }
    const auto is_store = [](const LifeAction& action) {
      return std::holds_alternative<action::StoreTrial>(action);
    };
    bool is_stored = std::none_of(decision.actions.begin(), decision.actions.end(), is_store);
    if (is_stored) {
      record = decision.record;
      attempt = decision.attempt;
    }
    for (const LifeAction& action : decision.actions) {
      if (++actions == kill_at) {
        Kill();
        return false;
      }
      const auto* const store = std::get_if<action::StoreTrial>(&action);
      if (store == nullptr) {
        const bool may_be_repeated = std::holds_alternative<action::UpdateFiles>(action) ||
                                     std::holds_alternative<action::RecordFailure>(action);
        Expect(is_stored || may_be_repeated, "it acts before it stores");
        std::visit([this](const auto& known) { Carry(known); }, action);
        continue;
      }
      if (disk_is_full && store->how == Keep::kNow) return false;
      record = decision.record;
      attempt = decision.attempt;
      if (!disk_is_full) stored = record;
      is_stored = true;
    }
    CheckPromises(Words(record));
    return true;
  }

  void Kill() {
    was_killed = true;
    record = stored;
    attempt = {};
    timers.clear();
    is_watched = takes_stacks = to_stop = false;
    answer.reset();
    for (auto& [request, is_awaited] : under_way) is_awaited = false;
    (void)Feed(event::TakenUp{});
  }

  // The launcher receives a request; its answer arrives later. A request never gets two jobs, and
  // never a job after a permanent refusal; even so, the answer may be that there is no room.
  void Arrive(std::string request, Answer wish) {
    const bool is_awaited = under_way.extract(request).mapped();
    if (refused.contains(request)) wish = Answer::kRefused;
    if (wish == Answer::kRefused && jobs.contains(request)) wish = Answer::kJob;
    // (In doubt it has started the job: the worst case.)
    if (wish == Answer::kJob || wish == Answer::kNoRoomInDoubt) jobs[request];
    if (wish == Answer::kRefused) refused.insert(request);
    if (is_awaited && attempt.has_runner) answer = {wish, request};
  }
  void BringAnswer() {
    const auto [kind, request] = *std::exchange(answer, std::nullopt);
    switch (kind) {
      case Answer::kJob:
        (void)Feed(event::LaunchAnswered{request});
        if (to_stop) jobs[request].stopping = true;
        break;
      case Answer::kNoRoom:
      case Answer::kNoRoomInDoubt:
        (void)Feed(event::LaunchRefused{"full", kind == Answer::kNoRoomInDoubt});
        break;
      case Answer::kRefused: {
        ProgramEnd end = {false, "no such pool", {}};
        end.was_refused = true;
        (void)Feed(event::AttemptEnded{end});
      }
    }
  }
  // Delivers the end of the followed job.
  bool BringEnd() {
    const auto found = jobs.find(record.job);
    if (!attempt.has_runner || found == jobs.end() || !found->second.ended) return false;
    (void)Feed(event::AttemptEnded{{found->second.success, "exit code 1", {}}});
    return true;
  }
  void End(Job* job, bool success) {
    job->ended = true;
    job->success = success && !job->stopping;
  }
  void Speak() {
    facts.has_spoken = true;
    (void)Feed(event::ResourcesGranted{now_});
  }

 private:
  void CheckPromises(const std::string& now) {
    const bool runs = record.state == TrialState::Running || record.state == TrialState::Stopping;
    const bool waits = record.state == TrialState::Pending;
    Expect(LiveJobs() <= 1, "two live attempts: " + now);
    Expect(LiveJobs() == 0 || !(HasEnded(record) || record.state == TrialState::Paused),
           "a live attempt of one that rests: " + now);
    Expect(!attempt.has_runner || runs || (waits && record.launching), "holds a slot: " + now);
    Expect(attempt.has_runner || !(runs || (waits && !record.job.empty())),
           "holds no slot: " + now);
    Expect(!attempt.held_back || (waits && timers.contains(TrialTimer::kRestart)),
           "held back for ever: " + now);
    Expect(!HasEnded(record) || (timers.empty() && !is_watched), "ended, and watched: " + now);
  }

  void Carry(const action::Launch&) {
    to_stop = false;
    under_way[record.job_request_id] = true;
  }
  void Carry(const action::Follow&) { to_stop = false; }
  void Carry(const action::SendStop&) {
    to_stop = true;
    if (Job* const job = LiveJob(); job != nullptr && !record.job.empty()) job->stopping = true;
  }
  void Carry(const action::RecordFailure&) { failed_attempts.insert(record.attempt); }
  void Carry(const action::TakeStacks&) { takes_stacks = true; }
  void Carry(const action::SetTrialTimer& set) { timers.insert(set.timer); }
  void Carry(const action::CancelTrialTimer& cancel) { timers.erase(cancel.timer); }
  void Carry(const action::Watch&) { is_watched = true; }
  void Carry(const action::EndWatch&) { is_watched = false; }
  void Carry(const action::FreeSlot&) { answer.reset(); }
  void Carry(const action::BeginAttempt&) { facts = {}; }
  void Carry(const action::Retire&) {
    answer.reset();
    timers.clear();
    is_watched = takes_stacks = false;
  }
  template <class Other>
  void Carry(const Other&) {}

  int ids_ = 0;
  std::int64_t now_ = 0;
};

// Performs the first pending step of any party. Returns true if there was one.
bool TakeFairStep(World& world) {
  if (world.HasItsTurn()) return world.Feed(event::LaunchDue{}), true;
  if (!world.under_way.empty()) {
    return world.Arrive(world.under_way.begin()->first, Answer::kJob), true;
  }
  if (world.answer) return world.BringAnswer(), true;
  if (world.BringEnd()) return true;
  if (WaitsForResources(world.record)) return world.Speak(), true;
  if (World::Job* const job = world.LiveJob(); job != nullptr && job->stopping) {
    return world.End(job, false), true;
  }
  if (std::exchange(world.takes_stacks, false)) return world.Feed(event::StopDue{}), true;
  if (world.timers.empty()) return false;
  const TrialTimer due = *world.timers.begin();
  world.timers.erase(due);
  return world.Feed(due == TrialTimer::kStop ? LifeEvent(event::StopDue{}) : event::RestartDue{}),
         true;
}
void Settle(World& world) {
  for (int i = 0; i < 100 && TakeFairStep(world); ++i) {
  }
}

// A world with random events, and the orders given to the trial.
class RandomHistory {
 public:
  explicit RandomHistory(std::uint32_t seed) : random_(seed), world_(NewWorld()) {}

  void TakeStep() {
    const bool could_be_lost = world_.disk_is_full;
    switch (Below(16)) {
      case 0:
        if (world_.Feed(event::TrialStopAsked{absl::Seconds(1)})) stop_is_due_ = true;
        break;
      case 1:
        if (world_.Feed(event::PauseAsked{"asked"})) pause_is_due_ = true;
        break;
      case 2:
        world_.was_killed = false;
        if (world_.Feed(event::ResumeAsked{}) || world_.was_killed) Forget();
        break;
      case 3:
        if (Below(4) != 0) break;
        world_.Kill();
        // If the disk is full an order takes effect at once, and is lost with the trainer.
        if (could_be_lost) Forget();
        break;
      case 4:
        if (Below(4) == 0) world_.disk_is_full = !world_.disk_is_full;
        if (!world_.disk_is_full) world_.stored = world_.record;
        world_.kill_at = 0;
        break;
      case 5:
        if (world_.is_watched) (void)world_.Feed(event::Silent{});
        break;
      case 6:
        if (world_.is_watched) (void)world_.Feed(event::BudgetUsedUp{"its time is over"});
        break;
      case 7:
        if (auto* const job = world_.LiveJob()) world_.End(job, Below(2) == 0);
        break;
      case 8:
        if (world_.attempt.has_runner && world_.LiveJob() != nullptr) world_.Speak();
        break;
      case 9:
        if (world_.LiveJob() == nullptr || !world_.facts.has_spoken) break;
        world_.facts.done = true;
        (void)world_.Feed(event::LinesStored{.was_to_end = world_.record.is_to_end()});
        break;
      case 10:
        if (!world_.under_way.empty()) {
          world_.Arrive(world_.under_way.begin()->first, static_cast<Answer>(Below(4)));
        }
        break;
      case 11:
        if (Below(8) == 0 && world_.HasItsTurn()) (void)world_.Feed(event::CannotStart{"no"});
        break;
      case 12:
        world_.kill_at = Below(4) == 0 && !could_be_lost ? world_.actions + 1 + Below(8) : 0;
        break;
      default:
        (void)TakeFairStep(world_);
    }
  }
  // Checks that every order is eventually carried out.
  void ExpectOrdersDone() {
    world_.kill_at = 0;
    world_.disk_is_full = false;
    world_.stored = world_.record;
    Settle(world_);
    const std::string now = Words(world_.record);
    if (stop_is_due_) world_.Expect(HasEnded(world_.record), "a stop is not done: " + now);
    const bool rests = HasEnded(world_.record) || world_.record.state == TrialState::Paused;
    if (pause_is_due_) world_.Expect(rests, "a pause is not done: " + now);
    Forget();
  }
  const std::vector<std::string>& broken() const { return world_.broken; }
  std::string now() const { return Words(world_.record); }
  // A trial that is done never runs again, so another one begins.
  void BeginAnewIfDone() {
    if (world_.record.state != TrialState::Done) return;
    attempts_ += world_.record.attempt;
    world_ = NewWorld();
    Forget();
  }
  int attempts() const { return attempts_ + world_.record.attempt; }

 private:
  World NewWorld() { return World(Below(4), Below(2) == 0); }
  std::uint32_t Below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  void Forget() { stop_is_due_ = pause_is_due_ = false; }

  std::mt19937 random_;
  World world_;
  int attempts_ = 0;  // Total of the trials that are done.
  bool stop_is_due_ = false, pause_is_due_ = false;
};

TEST(LifeHistoryTest, RandomHistoriesKeepEveryPromise) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomHistory history(seed);
    for (int step = 1; step <= 10'000; ++step) {
      history.TakeStep();
      if (step % 50 == 0) history.ExpectOrdersDone();
      ASSERT_TRUE(history.broken().empty())
          << "step " << step << ": " << history.broken().front() << "; now " << history.now();
      history.BeginAnewIfDone();
    }
    EXPECT_GT(history.attempts(), 100) << "it has come to rest: nothing was tried";
  }
}

// A user who repeats an order until it is answered, and jobs with given ends.
struct Scenario {
  const char* name;
  std::uint32_t max_restarts = 0;
  bool asks_for_resources = false;
  std::vector<bool> exits = {};  // Results of the jobs, in order; later ones keep running.
  struct Order {
    std::function<bool(const World&)> when;
    LifeEvent event;
  };
  std::vector<Order> orders = {};
};

bool Runs(const World& world) { return world.record.state == TrialState::Running; }
bool IsPaused(const World& world) { return world.record.state == TrialState::Paused; }
bool IsOver(const World& world) { return HasEnded(world.record); }
bool IsLaunched(const World& world) { return world.record.launching; }

std::string EndOf(const Scenario& scenario, World& world) {
  std::size_t order = 0;
  for (int i = 0; i < 200; ++i) {
    const auto* const next = order < scenario.orders.size() ? &scenario.orders[order] : nullptr;
    if (next != nullptr && next->when(world)) {
      world.was_killed = false;
      (void)world.Feed(next->event);
      if (!world.was_killed) ++order;  // Otherwise the user repeats the order.
      continue;
    }
    if (TakeFairStep(world)) continue;
    World::Job* const job = world.LiveJob();
    const std::size_t ended = world.jobs.size() - world.LiveJobs();
    if (job == nullptr || ended >= scenario.exits.size()) break;
    world.End(job, scenario.exits[ended]);
  }
  std::string end =
      absl::StrCat(msg::EnumNameTrialState(world.record.state), ", attempt ", world.record.attempt,
                   ", ", world.record.failures, " failures, ", world.jobs.size(), " jobs, failed:");
  for (const int attempt : world.failed_attempts) absl::StrAppend(&end, " ", attempt);
  return end;
}

TEST(LifeHistoryTest, AKillBetweenAnyTwoActionsChangesNoEnd) {
  const event::TrialStopAsked stop{absl::Seconds(1)};
  const event::PauseAsked pause{"asked"};
  const event::ResumeAsked resume;
  const std::vector<std::pair<Scenario, std::string>> kScenarios = {
      {{.name = "ends well", .exits = {true}}, "Done, attempt 1, 0 failures, 1 jobs, failed:"},
      {{.name = "waits for resources", .asks_for_resources = true, .exits = {true}},
       "Done, attempt 1, 0 failures, 1 jobs, failed:"},
      {{.name = "fails", .max_restarts = 2, .exits = {false, false, false}},
       "Failed, attempt 3, 2 failures, 3 jobs, failed: 1 2 3"},
      {{.name = "fails, then ends well", .max_restarts = 2, .exits = {false, true}},
       "Done, attempt 2, 1 failures, 2 jobs, failed: 1"},
      {{.name = "stops", .max_restarts = 2, .orders = {{Runs, stop}}},
       "Stopped, attempt 1, 0 failures, 1 jobs, failed:"},
      {{.name = "stops while it is launched", .orders = {{IsLaunched, stop}}},
       "Stopped, attempt 1, 0 failures, 1 jobs, failed:"},
      {{.name = "pauses and goes on",
        .exits = {false, true},
        .orders = {{Runs, pause}, {IsPaused, resume}}},
       "Done, attempt 2, 0 failures, 2 jobs, failed:"},
      {{.name = "pauses and stops", .orders = {{Runs, pause}, {IsPaused, stop}}},
       "Stopped, attempt 1, 0 failures, 1 jobs, failed:"},
      {{.name = "fails and goes on", .exits = {false, true}, .orders = {{IsOver, resume}}},
       "Done, attempt 2, 0 failures, 2 jobs, failed: 1"},
      {{.name = "is silent", .orders = {{Runs, event::Silent{}}}},
       "Failed, attempt 1, 0 failures, 1 jobs, failed: 1"},
  };
  for (const auto& [scenario, end] : kScenarios) {
    World undisturbed(scenario.max_restarts, scenario.asks_for_resources);
    EXPECT_EQ(EndOf(scenario, undisturbed), end) << scenario.name;
    ASSERT_GT(undisturbed.actions, 5u);
    for (std::size_t kill_at = 1; kill_at <= undisturbed.actions; ++kill_at) {
      World world(scenario.max_restarts, scenario.asks_for_resources);
      world.kill_at = kill_at;
      EXPECT_EQ(EndOf(scenario, world), end)
          << scenario.name << ", killed before action " << kill_at << " of " << undisturbed.actions;
      EXPECT_TRUE(world.broken.empty()) << scenario.name << ": " << world.broken.front();
    }
  }
}

}  // namespace
}  // namespace trainer
