#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/file/file.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"
#include "tools/yard/cli/callers_environment.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/follow/live_screen.h"
#include "tools/yard/follow/output_follower.h"
#include "tools/yard/follow/request_room.h"
#include "tools/yard/job/callers_process.h"
#include "tools/yard/pool/pool_check.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/slurm/engine_choice.h"
#include "tools/yard/slurm/slurm_pools.h"
#include "tools/yard/slurm/slurm_trials.h"
#include "tools/yard/state/yard_command.h"
#include "tools/yard/text/table.h"
#include "tools/yard/trial/config_text.h"
#include "tools/yard/trial/provenance.h"
#include "tools/yard/trial/provenance_request.h"
#include "tools/yard/trial/trial_batch.h"
#include "tools/yard/trial/trial_expansion.h"
#include "tools/yard/trial/trial_flags.h"
#include "tools/yard/trial/trial_template.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::size_t kErrorLines = 10;
constexpr std::size_t kMaxConfigs = 64 << 20;  // Bytes of a file of --configs.

// Returns "t-abcde first", or the id alone if it is also the name.
std::string Title(const msg::TrialT& trial) {
  return trial.name == trial.id ? trial.id
                                : absl::StrCat(trial.id, " ", runtime::Printable(trial.name));
}

class RunVerb : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("program", program_, "Program and arguments; write -- before them.");
    options.Add("--name", name_, "The run's name and directory (default: the trial's id).");
    options.Flag("--detach", detach_, "Print the id and return at once.");
    options.Add("--config", config_, "A JSON object, or a file of one; params.json has it.");
    options.Add("--max_restarts", max_restarts_, "New attempts after a failure (default: 0).");
    options.Add("--seed", seed_, "YARD_SEED for the program (default: 0).");
    options.Add("--logdir", logdir_, "Where the run's directory is made (default: the yard's).");
    flags_.Declare(options);
  }

  int Run(Context& context) override {
    program_.insert(program_.end(), context.rest.begin(), context.rest.end());
    if (program_.empty() && flags_.from().empty() && flags_.function().empty()) {
      return Fail(
          context, "run",
          absl::InvalidArgumentError("no program; for example: yard run -- python3 train.py"));
    }
    if (!program_.empty() && !flags_.function().empty()) {
      return Fail(context, "run",
                  absl::InvalidArgumentError(absl::StrCat("--function ", flags_.function(),
                                                          " and a program (", program_[0],
                                                          "): a trial runs one of them")));
    }
    const auto wish = flags_.engine().Wish();
    if (!wish.ok()) return Fail(context, "run", wish.status());
    const auto engine = ChooseEngine(context, *wish, flags_.pool());
    if (!engine.ok()) return Fail(context, "run", engine.status());
    if (engine->is_slurm) flags_.RunInPool();
    auto options = flags_.Options(context.working_directory);
    if (!options.ok()) return Fail(context, "run", options.status());
    const auto grace = flags_.GraceMs();
    if (!grace.ok()) return Fail(context, "run", grace.status());
    grace_ms_ = *grace;
    if (!logdir_.empty()) {
      auto logdir = CallersPath("--logdir", logdir_, context.working_directory);
      if (!logdir.ok()) return Fail(context, "run", logdir.status());
      logdir_ = *std::move(logdir);
    }
    auto config = ConfigText(config_, context.working_directory);
    if (!config.ok()) return Fail(context, "run", config.status());
    config_ = *std::move(config);
    working_directory_ = context.working_directory;
    if (!flags_.from().empty()) {
      const auto cloned = Clone(context, &*options);
      if (!cloned.ok()) return Fail(context, "run", cloned);
      if (wish->engine == "local") options->pool.clear();
    }
    is_cluster_ = !options->tasks.empty();
    if (function_.empty()) function_ = flags_.function();
    options->function = function_;
    const auto drafts = Drafts();
    if (!drafts.ok()) return Fail(context, "run", drafts.status());
    const absl::Status room = CheckRoom(CallersEnvironment(context.environment),
                                        drafts->front().argv, drafts->front().config);
    if (!room.ok()) return Fail(context, "run", room);
    auto client = context.client();
    if (!client.ok()) return Fail(context, "run", client.status());
    if (!options->pool.empty() && !engine->is_slurm) {
      const absl::Status known = CheckPool(context, options->pool);
      if (!known.ok()) return Fail(context, "run", known);
      auto work = flags_.along().Archive(context, working_directory_);
      if (!work.ok()) return Fail(context, "run", work.status());
      options->work = *std::move(work);
    }
    if (engine->is_slurm) {
      const absl::Status made =
          MakeTrialPool(context, engine->slurm, flags_.along(), working_directory_, &*options);
      if (!made.ok()) return Fail(context, "run", made);
      once_pool_ = options->pool;
    }
    if (IsMany() || options->fail_fast) options->group = runtime::RandomHex128();
    const Provenance provenance =
        ReadProvenance(function_.empty() ? drafts->front().argv[0] : "", working_directory_,
                       CallersEnvironment(context.environment));
    if (IsMany()) return RunMany(context, **client, *drafts, *options, provenance);
    auto reply = (*client)->Call<rpc::Trainer::RunTrial>(
        Request(context, drafts->front(), *options, provenance), Patient());
    if (!reply.ok()) {
      if (engine->is_slurm) (void)RemoveSlurmPool(context, options->pool);
      return Fail(context, "run", reply.status());
    }
    if (reply->trial == nullptr) {
      return Fail(context, "run", absl::InternalError("the trainer sent no trial"));
    }
    if (detach_) {
      if (context.json) {
        PrintJson(context, ToJson(*reply->trial));
      } else {
        *context.out << reply->trial->id << "\n";
      }
      return kDone;
    }
    return Attach(context, **client, *reply->trial);
  }

 private:
  bool IsMany() const { return !flags_.grid().empty() || !flags_.configs().empty(); }

  // Sets the trial to start from. Everything that the flags leave open is copied from it: the
  // program and its directory, its tasks with their resources, and the configuration.
  absl::Status Clone(Context& context, msg::TrialOptionsT* options) {
    const auto id = FindTrial(context, flags_.from(), "is a place to start from");
    if (!id.ok()) return id.status();
    auto client = context.client();
    if (!client.ok()) return client.status();
    msg::TrialDetailsRequestT request;
    request.trial = *id;
    const auto details = (*client)->Call<rpc::Trainer::TrialDetails>(request, Patient());
    if (!details.ok()) return details.status();
    if (details->trial == nullptr) return absl::InternalError("the trainer sent no trial");
    if (program_.empty() && flags_.function().empty()) {
      is_clone_ = true;
      program_ = details->trial->argv;
      if (details->options != nullptr) function_ = details->options->function;
      working_directory_ = details->trial->working_directory;
      if (program_.empty() && function_.empty()) {
        return absl::InternalError("the trainer sent no program");
      }
      if (details->options != nullptr) TakeTasksFrom(*details->options, options);
    }
    if (config_.empty()) config_ = details->config;
    options->from = *id;
    return absl::OkStatus();
  }

  // Returns one draft, or one for each configuration of --configs and --grid.
  absl::StatusOr<std::vector<TrialDraft>> Drafts() const {
    const TrialDraft pattern = {name_, program_, config_, logdir_};
    if (!IsMany() && is_clone_) return std::vector<TrialDraft>{pattern};
    if (!IsMany()) {
      auto draft = DraftTrial(pattern);
      if (!draft.ok()) return draft.status();
      return std::vector<TrialDraft>{*std::move(draft)};
    }
    TrialExpansion expansion;
    expansion.config = config_;
    expansion.grid = flags_.grid();
    if (!flags_.configs().empty()) {
      auto lines = runtime::ReadFile(flags_.configs(), kMaxConfigs);
      if (!lines.ok()) return lines.status();
      expansion.lines = *std::move(lines);
      expansion.lines_name = flags_.configs();
    }
    const auto configs = ExpandTrials(expansion);
    if (!configs.ok()) return configs.status();
    return DraftTrials(pattern, *configs);
  }

  msg::RunTrialRequestT Request(const Context& context, const TrialDraft& draft,
                                const msg::TrialOptionsT& options,
                                const Provenance& provenance) const {
    msg::RunTrialRequestT request;
    request.name = draft.name;
    request.again = flags_.again();
    request.argv = draft.argv;
    request.environment = CallersEnvironment(context.environment);
    request.working_directory = working_directory_;
    request.logdir = draft.logdir;
    request.config = draft.config;
    request.max_restarts = max_restarts_;
    request.seed = seed_;
    request.stop_grace_ms = grace_ms_;
    request.options = std::make_unique<msg::TrialOptionsT>(options);
    request.options->caller = std::make_unique<msg::CallersProcessT>(CallersProcess());
    AddProvenance(provenance, first_, &request);
    return request;
  }

  int RunMany(Context& context, bus::Client& client, const std::vector<TrialDraft>& drafts,
              const msg::TrialOptionsT& options, const Provenance& provenance) {
    TrialBatch batch(&context, &client);
    std::size_t started = 0;
    for (const TrialDraft& draft : drafts) {
      const auto trial = batch.Start(Request(context, draft, options, provenance));
      if (absl::IsCancelled(trial.status())) break;
      if (!trial.ok()) {
        return Fail(context, "run",
                    absl::Status(trial.status().code(),
                                 absl::StrCat("trial ", started + 1, " of ", drafts.size(), ": ",
                                              trial.status().message(),
                                              "; those before it were started (yard ps)")));
      }
      ++started;
      if (first_.empty()) first_ = trial->id;
      if (detach_ && context.json) PrintJson(context, ToJson(*trial));
    }
    return detach_ && !batch.interrupted() ? kDone : batch.Await();
  }

  int Attach(Context& context, bus::Client& client, const msg::TrialT& trial) {
    if (!context.json) *context.err << Title(trial) << " started\n";
    LiveScreen screen(context);
    HandleInterrupt(context, client, trial.id, &screen);
    OutputFollower output(context, &screen, is_cluster_);
    const absl::Duration begin = context.clock->Monotonic();
    auto ended = FollowTrial(
        context, trial.id, 0, absl::InfiniteDuration(),
        [&](const msg::FollowTrialReplyT& part) {
          if (part.trial != nullptr && !part.trial->job.empty()) {
            output.SetJob(part.trial->job);
          }
          const std::string paused = pause_note_.Take(part);
          if (!paused.empty()) screen.Say(paused + " (Ctrl-C stops it)");
          if (part.trial != nullptr) SayWhyItWaits(screen, *part.trial);
          Show(context, screen, part, context.clock->Monotonic() - begin);
          return true;
        },
        [&](const std::string& line) { screen.Say(line); });
    const bool whole = output.Finish();
    screen.Close();
    context.interrupt->Handle(nullptr);
    if (ended.ok()) EndOncePool(context, once_pool_);
    const int code = ended.ok() ? Summarize(context, *ended, context.clock->Monotonic() - begin)
                                : Fail(context, "run", ended.status());
    context.out->flush();
    context.err->flush();
    if (!whole) {
      *context.err << "yard run: the end of the output is missing here; yard logs " << trial.id
                   << std::endl;
      _exit(code);
    }
    return code;
  }

  // The first Ctrl-C asks the trial to stop, the second leaves it running.
  void HandleInterrupt(Context& context, bus::Client& client, const std::string& trial,
                       LiveScreen* screen) {
    context.interrupt->Handle([this, &client, trial, screen] {
      if (interrupted_.exchange(true)) {
        screen->Say(absl::StrCat("\nleft running: yard logs ", trial, " -f   yard stop ", trial));
        _exit(kInterrupted);
      }
      screen->Say(absl::StrCat("\nstopping ", trial, " (Ctrl-C again leaves it running)"));
      msg::StopTrialRequestT request;
      request.trial = trial;
      const auto stopped = client.Call<rpc::Trainer::StopTrial>(request, Patient());
      if (!stopped.ok()) {
        screen->Say(absl::StrCat("yard run: ",
                                 runtime::Printable(std::string(stopped.status().message()))));
      }
    });
  }

  // Prints why the trial waits, as `yard ps` does, once for each reason.
  void SayWhyItWaits(LiveScreen& screen, const msg::TrialT& trial) {
    const bool may_wait =
        trial.state == msg::TrialState::Pending || trial.state == msg::TrialState::Running;
    std::string why = may_wait ? trial.reason : "";
    if (!why.empty() && why != why_it_waits_) {
      screen.Say(absl::StrCat(trial.id, ": ", runtime::Printable(why)));
    }
    why_it_waits_ = std::move(why);
  }

  void Show(Context& context, LiveScreen& screen, const msg::FollowTrialReplyT& part,
            absl::Duration elapsed) {
    for (const auto& row : part.rows) {
      ++rows_;
      if (context.json) {
        screen.Object({{"row", row->row},
                       {"step", row->step},
                       {"time", TimeToJson(row->wall_time_us)},
                       {"metrics", MetricsToJson(row->metrics)}});
      }
    }
    if (part.rows.empty()) return;
    const msg::ResultRowT& last = *part.rows.back();
    const double rate = static_cast<double>(rows_) / std::max(absl::ToDoubleSeconds(elapsed), 1e-3);
    screen.SetLine(absl::StrCat("step ", last.step, "  ", MetricsLine(last.metrics), "  ",
                                absl::StrFormat("%.1f", rate), " reports/s  ",
                                ShortDuration(elapsed)));
  }

  int Summarize(Context& context, const msg::TrialT& trial, absl::Duration elapsed) const {
    if (context.json) {
      PrintJson(context, ToJson(trial));
    } else if (trial.state == msg::TrialState::Failed) {
      PrintFailure(context, trial);
    } else {
      *context.err << trial.id << " " << StateName(trial.state) << " in " << ShortDuration(elapsed)
                   << ", " << ReportCount(trial) << "  " << MetricsLine(trial.last_metrics)
                   << "\nfiles in " << runtime::Printable(trial.log_directory)
                   << "   next: " << YardCommand("plot", trial.name) << "\n";
    }
    if (trial.state == msg::TrialState::Failed) return kFailed;
    return trial.state == msg::TrialState::Stopped && interrupted_ ? kInterrupted : kDone;
  }

  static std::string ReportCount(const msg::TrialT& trial) {
    return absl::StrCat(trial.reports, trial.reports == 1 ? " report" : " reports");
  }

  // Prints the failure last, with everything needed to find its cause.
  void PrintFailure(Context& context, const msg::TrialT& trial) const {
    std::ostream& err = *context.err;
    err << "\n" << Title(trial) << " FAILED: " << runtime::Printable(trial.reason) << "\n";
    const auto& lines = trial.error_lines;
    for (std::size_t i = lines.size() - std::min(lines.size(), kErrorLines); i < lines.size();
         ++i) {
      err << "  | " << runtime::Printable(lines[i]) << "\n";
    }
    err << (function_.empty() ? "  program   " : "  function  ") << runtime::Printable(function_);
    for (const std::string& word : trial.argv) err << runtime::Printable(word) << " ";
    err << "\n  attempt   " << trial.attempt << ", after " << ReportCount(trial) << "\n  files     "
        << runtime::Printable(trial.log_directory) << "\n  next      yard logs " << trial.id
        << "\n";
  }

  std::vector<std::string> program_;
  std::string name_, config_, logdir_;
  std::uint32_t max_restarts_ = 0;
  std::uint32_t grace_ms_ = 0;  // Grace of the trainer, in milliseconds.
  std::uint64_t seed_ = 0;
  bool detach_ = false;
  bool is_cluster_ = false;
  bool is_clone_ = false;  // The program's words come from the trial of --from.
  std::atomic<bool> interrupted_ = false;
  std::uint64_t rows_ = 0;
  TrialFlags flags_;
  std::string working_directory_;  // Directory of the program.
  std::string function_;           // Function to run, if no program was given.
  std::string first_;              // Id of the first of many trials, once it has started.
  std::string once_pool_;          // Name of the pool made for this command; empty if none.
  PauseNote pause_note_;
  std::string why_it_waits_;  // The reason printed last.
};

}  // namespace

std::unique_ptr<Verb> MakeRun() { return std::make_unique<RunVerb>(); }

}  // namespace yard
