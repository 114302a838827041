#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/callers_environment.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/follow/live_screen.h"
#include "tools/yard/follow/request_room.h"
#include "tools/yard/job/callers_process.h"
#include "tools/yard/pool/pool_check.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/slurm/engine_choice.h"
#include "tools/yard/slurm/slurm_pools.h"
#include "tools/yard/slurm/slurm_trials.h"
#include "tools/yard/state/yard_command.h"
#include "tools/yard/sweep/sweep_check.h"
#include "tools/yard/sweep/sweep_file.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/sweep/sweep_view.h"
#include "tools/yard/sweep/warm_start.h"
#include "tools/yard/trial/provenance.h"
#include "tools/yard/trial/provenance_request.h"
#include "tools/yard/trial/trial_flags.h"
#include "tools/yard/verbs/verbs.h"
#include "tuning/space/config.h"

namespace yard {
namespace {

constexpr std::size_t kErrorLines = 10;
constexpr char kOthers[] =
    "For each trial, as of yard run (docs/sweeps.md): --output --label --resources --memory "
    "--max_restarts ...";

class SweepVerb : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("file", file_, "The sweep file, YAML or JSON; - is standard input.");
    options.Add("program", program_, "Instead of the file's command; write -- before it.");
    options.Flag("--check", check_, "Show what it would try; start nothing.");
    options.Flag("--detach", detach_, "Print the id and return at once.");
    options.Add("--name", name_, "Its trials are called NAME-0000 ... (default: its id).");
    options.Add("--parallel", parallel_, "So many trials at once (default: the yard's slots).");
    options.Add("--run_cap", run_cap_, "So many trials at most.");
    options.Add("--set", set_, "KEY=VALUE of the file: seed=7, parameters.lr.max=0.1.");
    options.Add("--change", change_, "Give this sweep the file's space, method and limits.");
    options.Add("--enqueue", enqueue_, "Let this sweep try a configuration next: a JSON object.");
    options.Add("--replay", replay_,
                "Follow the schedule of this sweep's best trial (yard show NAME --schedule).");
    options.Hidden("--seed", seed_);
    options.Hidden("--logdir", logdir_);
    options.Hidden("--max_restarts", max_restarts_);
    flags_.DeclareForSweep(options);
    options.Footer(kOthers);
  }

  int Run(Context& context) override {
    program_.insert(program_.end(), context.rest.begin(), context.rest.end());
    if (!enqueue_.empty()) return Done(context, Enqueue(context));
    if (file_.empty()) {
      return Fail(context, "sweep",
                  absl::InvalidArgumentError("no sweep file; for example: yard sweep sweep.yaml"));
    }
    if (absl::Status taken = TakeSchedule(context); !taken.ok()) {
      return Fail(context, "sweep", taken);
    }
    auto draft = ReadDraft(context);
    if (!draft.ok()) return Fail(context, "sweep", draft.status());
    if (check_) return Check(context, *draft);
    for (const std::string& notice : draft->notices) *context.err << notice << "\n";
    if (absl::Status there = EnsureYard(context); !there.ok()) return Fail(context, "sweep", there);
    if (!change_.empty()) return Done(context, Change(context, *draft));
    const auto sweep = Start(context, *draft);
    if (!sweep.ok()) return Fail(context, "sweep", sweep.status());
    if (!detach_) return Attach(context, *sweep);
    if (context.json) {
      PrintJson(context, ToJson(*sweep));
    } else {
      *context.out << sweep->id << "\n";
    }
    return kDone;
  }

 private:
  static int Done(Context& context, const absl::Status& status) {
    return status.ok() ? kDone : Fail(context, "sweep", status);
  }

  // With --replay, the method is "replay" and its schedule comes from the other sweep.
  absl::Status TakeSchedule(Context& context) {
    if (replay_.empty()) return absl::OkStatus();
    if (!change_.empty()) {
      return absl::InvalidArgumentError("--replay begins another sweep, and --change none");
    }
    if (absl::Status there = EnsureYard(context); !there.ok()) return there;
    const auto sweep = FindSweep(context, replay_);
    if (!sweep.ok()) return sweep.status();
    const auto details = SweepDetails(context, sweep->id);
    if (!details.ok()) return details.status();
    if (ScheduleOf(*details).empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot replay sweep ", replay_, ": no trial of it is the best yet"));
    }
    set_.push_back("method=replay");
    set_.push_back(absl::StrCat("schedule=", SweepSchedulePlan(*details)));
    return absl::OkStatus();
  }

  absl::StatusOr<SweepDraft> ReadDraft(const Context& context) {
    SweepFileOptions options;
    options.set = set_;
    for (const auto& [key, value] : {std::pair("parallel", &parallel_), {"run_cap", &run_cap_}}) {
      if (value->has_value()) options.set.push_back(absl::StrCat(key, "=", **value));
    }
    if (!seed_.empty()) options.set.push_back(absl::StrCat("seed=", seed_));
    options.command = program_;
    options.needs_command = change_.empty() && flags_.function().empty();
    options.working_directory = context.working_directory;
    options.environment = CallersEnvironment(context.environment);
    auto draft = ReadSweep(file_, options);
    if (!draft.ok()) return draft.status();
    // The replayed sweep already has the name in the file.
    if (!replay_.empty() && !draft->name.empty()) draft->name += "-replay";
    if (!name_.empty()) draft->name = name_;
    for (const auto& [flag, values] : draft->trial_flags) flags_.SetDefault(flag, values);
    if (!flags_.function().empty() && !program_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("--function ", flags_.function(),
                                                     " and a program (", program_[0],
                                                     "): a trial runs one of them"));
    }
    if (!flags_.function().empty()) draft->command.clear();
    return draft;
  }

  static int Check(Context& context, const SweepDraft& draft) {
    const auto preview = PreviewSweep(draft, context.out_width());
    if (!preview.ok()) return Fail(context, "sweep", preview.status());
    if (context.json) {
      PrintJson(context, preview->json);
      return kDone;
    }
    *context.out << preview->text;
    for (const std::string& notice : draft.notices) *context.err << notice << "\n";
    return kDone;
  }

  // Changes the space or limits of a sweep. Trials keep the configuration they were started with.
  absl::Status Change(Context& context, const SweepDraft& draft) const {
    const auto sweep = FindSweep(context, change_);
    if (!sweep.ok()) return sweep.status();
    const auto before = SweepDetails(context, sweep->id);
    if (!before.ok()) return before.status();
    msg::ChangeSweepRequestT request;
    request.sweep = sweep->id;
    request.order = msg::SweepOrder::Change;
    request.plan = draft.plan_json;
    request.source = draft.source;
    const auto changed = ChangeSweep(context, request);
    if (!changed.ok()) return changed.status();
    std::size_t fit = 0;
    for (const auto& trial : before->trials) {
      const auto config = tuning::ParseConfig(trial->config);
      if (config.ok() && tuning::PointOf(*draft.plan.space, *config).ok()) ++fit;
    }
    if (context.json) {
      nlohmann::json json = ToJson(*changed);
      json["fitting_trials"] = fit;
      PrintJson(context, json);
    } else {
      *context.out << SweepLine(*changed) << "\n"
                   << fit << " of its " << runtime::Counted(before->trials.size(), "trial")
                   << " fit the new space, and count\n";
    }
    return absl::OkStatus();
  }

  // Adds a configuration to a sweep. The flag's value is the sweep, and the configuration stands in
  // the place of the file.
  absl::Status Enqueue(Context& context) const {
    if (file_.empty()) {
      return absl::InvalidArgumentError(
          "--enqueue: no configuration; for example: yard sweep --enqueue digits '{\"lr\": 0.1}'");
    }
    const auto config = tuning::ParseConfig(file_);
    if (!config.ok()) return config.status();
    if (absl::Status there = EnsureYard(context); !there.ok()) return there;
    const auto sweep = FindSweep(context, enqueue_);
    if (!sweep.ok()) return sweep.status();
    msg::ChangeSweepRequestT request;
    request.sweep = sweep->id;
    request.order = msg::SweepOrder::Enqueue;
    request.config = tuning::ConfigText(*config);
    const auto changed = ChangeSweep(context, request);
    if (!changed.ok()) return changed.status();
    if (context.json) {
      PrintJson(context, ToJson(*changed));
    } else {
      *context.out << SweepLine(*changed) << "\n";
    }
    return absl::OkStatus();
  }

  absl::StatusOr<msg::SweepT> Start(Context& context, const SweepDraft& draft) {
    auto request = Request(context, draft);
    if (!request.ok()) return request.status();
    auto client = context.client();
    if (!client.ok()) return client.status();
    auto reply = (*client)->Call<rpc::Trainer::RunSweep>(*request, Patient());
    if (!reply.ok()) {
      if (!once_pool_.empty()) (void)RemoveSlurmPool(context, once_pool_);
      return reply.status();
    }
    if (reply->sweep == nullptr) return absl::InternalError("the trainer sent no sweep");
    KeepOncePool(context, once_pool_, reply->sweep->id);
    return std::move(*reply->sweep);
  }

  absl::StatusOr<msg::RunSweepRequestT> Request(Context& context, const SweepDraft& draft) {
    const auto wish = flags_.engine().Wish();
    if (!wish.ok()) return wish.status();
    const auto engine = ChooseEngine(context, *wish, flags_.pool());
    if (!engine.ok()) return engine.status();
    if (engine->is_slurm) flags_.RunInPool();
    auto trial_options = flags_.Options(context.working_directory);
    if (!trial_options.ok()) return trial_options.status();
    const auto grace = flags_.GraceMs();
    if (!grace.ok()) return grace.status();
    msg::RunSweepRequestT request;
    request.name = draft.name;
    auto plan = PlanWithWarmStart(context, draft);
    if (!plan.ok()) return plan.status();
    request.plan = *std::move(plan);
    request.source = draft.source;
    request.python_args = draft.python_args;
    request.time_budget_ms = draft.time_budget_ms;
    request.trial = std::make_unique<msg::RunTrialRequestT>();
    msg::RunTrialRequestT& trial = *request.trial;
    trial.argv = draft.command;
    trial.environment = CallersEnvironment(context.environment);
    trial.working_directory = context.working_directory;
    trial.max_restarts = max_restarts_.empty() ? draft.max_restarts : 0;
    if (!max_restarts_.empty() && !absl::SimpleAtoi(max_restarts_, &trial.max_restarts)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--max_restarts: expected a whole number, not \"",
                       runtime::Printable(max_restarts_), "\""));
    }
    if (!logdir_.empty()) {
      auto logdir = CallersPath("--logdir", logdir_, context.working_directory);
      if (!logdir.ok()) return logdir.status();
      trial.logdir = *std::move(logdir);
    }
    trial.stop_grace_ms = *grace;
    trial.options = std::make_unique<msg::TrialOptionsT>(*std::move(trial_options));
    trial.options->caller = std::make_unique<msg::CallersProcessT>(CallersProcess());
    if (!trial.options->pool.empty()) {
      const absl::Status known = CheckPool(context, trial.options->pool);
      if (!known.ok()) return known;
      auto work = flags_.along().Archive(context, context.working_directory);
      if (!work.ok()) return work.status();
      trial.options->work = *std::move(work);
    }
    // The plan and its source share the size limit with the provenance.
    trial.config = request.plan + request.source;
    if (auto room = CheckRoom(trial.environment, trial.argv, trial.config); !room.ok()) return room;
    if (engine->is_slurm) {
      const absl::Status made = MakeTrialPool(context, engine->slurm, flags_.along(),
                                              context.working_directory, trial.options.get());
      if (!made.ok()) return made;
      once_pool_ = trial.options->pool;
    }
    AddProvenance(ReadProvenance(ProgramOf(trial.argv), trial.working_directory, trial.environment),
                  "", &trial);
    trial.config.clear();
    return request;
  }

  static std::string ProgramOf(const std::vector<std::string>& argv) {
    if (argv.empty()) return "";
    return argv[0] == "/usr/bin/env" && argv.size() > 1 ? argv[1] : argv[0];
  }

  int Attach(Context& context, const msg::SweepT& sweep) {
    LiveScreen screen(context);
    if (!context.json) {
      screen.Say(absl::StrCat(sweep.id,
                              sweep.name == sweep.id ? "" : " " + runtime::Printable(sweep.name),
                              " started"));
    }
    HandleInterrupt(context, sweep, &screen);
    const auto ended = FollowSweep(
        context, sweep.id, 0, absl::InfiniteDuration(),
        [&](const msg::FollowSweepReplyT& part) {
          if (part.sweep != nullptr) Show(context, screen, part);
          return true;
        },
        [&](const std::string& line) { screen.Say(line); });
    screen.Close();
    context.interrupt->Handle(nullptr);
    if (!ended.ok()) return Fail(context, "sweep", ended.status());
    EndOncePool(context, once_pool_);
    return Summarize(context, *ended);
  }

  // The first Ctrl-C asks the sweep to stop, the second leaves it running.
  void HandleInterrupt(Context& context, const msg::SweepT& sweep, LiveScreen* screen) {
    const std::string id = sweep.id;
    context.interrupt->Handle([this, &context, id, screen] {
      if (interrupted_.exchange(true)) {
        screen->Say(absl::StrCat("\nleft running: yard watch ", id, "   yard stop ", id));
        _exit(kInterrupted);
      }
      screen->Say(absl::StrCat("\nstopping ", id, " (Ctrl-C again leaves it running)"));
      const auto stopped = OrderSweep(context, id, msg::SweepOrder::Stop);
      if (!stopped.ok()) {
        screen->Say(absl::StrCat("yard sweep: ",
                                 runtime::Printable(std::string(stopped.status().message()))));
      }
    });
  }

  void Show(Context& context, LiveScreen& screen, const msg::FollowSweepReplyT& part) {
    const msg::SweepT& sweep = *part.sweep;
    for (const auto& trial : part.trials) {
      if (!HasEnded(trial->stage)) continue;
      // A restarted trainer may send some trials again.
      if (!shown_.insert({trial->number, trial->attempt, trial->stage}).second) continue;
      const bool is_best = sweep.best != nullptr && sweep.best->number == trial->number;
      const bool is_in_front =
          std::find(sweep.front.begin(), sweep.front.end(), trial->number) != sweep.front.end();
      if (context.json) {
        screen.Object(ToJson(*trial));
      } else {
        screen.Output(msg::LogStream::Stdout, absl::StrCat(SweepTrialLine(sweep, *trial),
                                                           is_in_front ? "  (in the front so far)"
                                                           : is_best   ? "  (best so far)"
                                                                       : "",
                                                           "\n"));
      }
      if (trial->stage == msg::SweepStage::Failed && !has_failed_) {
        has_failed_ = true;
        ShowFailure(context, screen, *trial);
      }
    }
    const bool is_paused = sweep.state == msg::SweepState::Paused;
    if (is_paused && !was_paused_) {
      screen.Say(absl::StrCat(sweep.id, " is paused; yard resume ", sweep.id, " lets it go on"));
    }
    was_paused_ = is_paused;
    screen.SetLine(SweepLine(sweep));
  }

  // Shows the last lines of the first trial that fails, since usually all fail alike.
  static void ShowFailure(Context& context, LiveScreen& screen, const msg::SweepTrialT& trial) {
    auto client = context.client();
    if (!client.ok() || trial.trial.empty()) return;
    msg::TrialsRequestT request;
    request.trial = trial.trial;
    const auto reply = (*client)->Call<rpc::Trainer::Trials>(request, Patient(absl::Seconds(5)));
    if (!reply.ok() || reply->trials.empty()) return;
    const auto& lines = reply->trials.front()->error_lines;
    for (std::size_t i = lines.size() - std::min(lines.size(), kErrorLines); i < lines.size();
         ++i) {
      screen.Say(absl::StrCat("  | ", runtime::Printable(lines[i])));
    }
    screen.Say(absl::StrCat("  next      yard logs ", trial.trial));
  }

  int Summarize(Context& context, const msg::SweepT& sweep) const {
    const bool some_good = sweep.done + sweep.stopped_early > 0;
    if (context.json) {
      PrintJson(context, ToJson(sweep));
    } else {
      *context.err << SweepLine(sweep) << "\n";
      if (sweep.best != nullptr) {
        const bool has_front = !sweep.objectives.empty();
        *context.out << "best " << SweepBest(sweep)
                     << (has_front ? "" : "  " + ConfigLine(sweep.best->config)) << "\n";
      }
      *context.err << "next: " << YardCommand("show", sweep.name) << "   "
                   << YardCommand("plot", sweep.name) << "\n";
    }
    if (sweep.state == msg::SweepState::Stopped && interrupted_) return kInterrupted;
    return sweep.state == msg::SweepState::Failed || !some_good ? kFailed : kDone;
  }

  std::string file_, name_, change_, enqueue_, replay_, seed_, logdir_, max_restarts_;
  std::vector<std::string> program_, set_;
  bool check_ = false, detach_ = false;
  std::optional<std::string> parallel_, run_cap_;
  TrialFlags flags_;
  std::string once_pool_;  // Name of the pool made for this sweep alone; empty if none.
  std::atomic<bool> interrupted_ = false;
  struct Shown {
    std::uint64_t number;
    std::uint32_t attempt;
    msg::SweepStage stage;
    auto operator<=>(const Shown&) const = default;
  };
  std::set<Shown> shown_;
  bool has_failed_ = false, was_paused_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeSweep() { return std::make_unique<SweepVerb>(); }

}  // namespace yard
