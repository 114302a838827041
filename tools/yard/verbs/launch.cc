#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_methods.h"
#include "runtime/counted.h"
#include "runtime/mutex.h"
#include "runtime/text/printable.h"
#include "tools/yard/along/along_flags.h"
#include "tools/yard/cli/callers_environment.h"
#include "tools/yard/event/timely_lines.h"
#include "tools/yard/follow/failure_block.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/job/callers_process.h"
#include "tools/yard/job/job_draft.h"
#include "tools/yard/job/job_file.h"
#include "tools/yard/job/job_flags.h"
#include "tools/yard/job/job_json.h"
#include "tools/yard/pool/pool_check.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/slurm/engine_choice.h"
#include "tools/yard/slurm/engine_flags.h"
#include "tools/yard/slurm/slurm_pools.h"
#include "tools/yard/text/line_printer.h"
#include "tools/yard/text/table.h"
#include "tools/yard/text/task_names.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

using runtime::Mutex;
using runtime::MutexLock;

// Returns "j-abcde first", or the id alone if the job has no other name.
std::string Title(const msg::JobT& job) {
  return job.name.empty() || job.name == job.id
             ? job.id
             : absl::StrCat(job.id, " ", runtime::Printable(job.name));
}

// Prints the output of an attached job: each task's two streams, line by line.
class TaskScreen {
 public:
  explicit TaskScreen(Context& context)
      : context_(context),
        // With --json, stdout is for JSON alone.
        out_({.out = context.json ? context.err : context.out,
              .prefix = true,
              .printable = context.json ? context.err_is_terminal : context.out_is_terminal}),
        err_({.out = context.err, .prefix = true, .printable = context.err_is_terminal}),
        lines_([this](const std::string& task, bool is_error,
                      std::string_view line) { PrintLine(task, is_error, line); },
               [this] { Flush(); }, context.clock) {}

  // Returns false once the reader of stdout is gone.
  bool Print(const msg::LogsReplyT& part) {
    lines_.Add(part);
    MutexLock lock(mutex_);
    return context_.out->good();
  }
  void Finish() { lines_.Finish(); }
  // Prints a message of this command, not of a task.
  void Say(const std::string& text) {
    MutexLock lock(mutex_);
    *context_.err << text << "\n" << std::flush;
  }

 private:
  void PrintLine(const std::string& task, bool is_error, std::string_view line) {
    MutexLock lock(mutex_);
    (is_error ? err_ : out_).Print(TaskName(task), line);
  }
  void Flush() {
    MutexLock lock(mutex_);
    out_.Flush();
    err_.Flush();
  }

  Context& context_;
  Mutex mutex_;  // Acquired after the mutex inside lines_.
  LinePrinter out_ ABSL_GUARDED_BY(mutex_);
  LinePrinter err_ ABSL_GUARDED_BY(mutex_);
  TimelyLines lines_;
};

class Launch : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("file", file_, "A job file in YAML or JSON; - is standard input.");
    flags_.Declare(options);
    along_.Declare(options);
    engine_.Declare(options);
    options.Flag("--detach", detach_, "Print the job's id and return at once.");
    options.Flag("--dry_run", dry_run_, "Print the job as JSON and start nothing.");
    options.Flag("--keys", keys_, "Print what a job file may say, and start nothing.");
  }

  int Run(Context& context) override {
    if (keys_) return PrintKeys(context);
    auto spec = Spec(context);
    if (!spec.ok()) return Fail(context, "launch", spec.status());
    if (dry_run_) return PrintSpec(context, *spec);
    // The yard is looked for last, so that a wrong job is reported even without one.
    if (absl::Status up = EnsureYard(context); !up.ok()) return Fail(context, "launch", up);
    auto client = context.client();
    if (!client.ok()) return Fail(context, "launch", client.status());
    msg::LaunchRequestT request;
    request.spec = std::make_unique<msg::JobSpecT>(*std::move(spec));
    request.spec->caller = std::make_unique<msg::CallersProcessT>(CallersProcess());
    if (!request.spec->pool.empty()) {
      const absl::Status known = CheckPool(context, request.spec->pool);
      if (!known.ok()) return Fail(context, "launch", known);
      auto work = along_.Archive(context, request.spec->working_directory);
      if (!work.ok()) return Fail(context, "launch", work.status());
      request.spec->work = *std::move(work);
    }
    if (choice_.is_slurm) {
      const absl::Status made = MakePool(context, request.spec.get());
      if (!made.ok()) return Fail(context, "launch", made);
    }
    auto reply = (*client)->Call<rpc::Launcher::Launch>(request, Patient());
    if (!reply.ok()) {
      if (choice_.is_slurm) (void)RemoveSlurmPool(context, request.spec->pool);
      return Fail(context, "launch", reply.status());
    }
    if (reply->job == nullptr) {
      return Fail(context, "launch", absl::InternalError("the launcher sent no job"));
    }
    if (!detach_) return Attach(context, **client, *reply->job);
    if (context.json) {
      PrintJson(context, ToJson(*reply->job));
    } else {
      *context.out << reply->job->id << "\n";
    }
    return kDone;
  }

 private:
  // Builds the spec from the file, the flags over it, the words behind --, and the caller's
  // environment.
  absl::StatusOr<msg::JobSpecT> Spec(const Context& context) {
    JobDraft draft;
    if (!file_.empty()) {
      auto read = ReadJob(file_, context.working_directory);
      if (absl::IsInvalidArgument(read.status())) return WrongFile(read.status());
      if (!read.ok()) return read.status();
      draft = *std::move(read);
    }
    const absl::Status applied = flags_.Apply(context.working_directory, &draft);
    if (!applied.ok()) return applied;
    const auto wish = engine_.Wish();
    if (!wish.ok()) return wish.status();
    draft.engine.Merge(*wish);
    auto choice = ChooseEngine(context, draft.engine, draft.spec.pool);
    if (!choice.ok()) return choice.status();
    choice_ = *std::move(choice);
    if (!choice_.is_slurm) {
      if (absl::Status along = along_.Check(draft.spec.pool); !along.ok()) return along;
    }
    if (!context.rest.empty()) {
      if (!UsesProgram(draft.spec)) {
        return absl::InvalidArgumentError(
            "every task type of the file has a command of its own: nobody would run the program "
            "behind the --");
      }
      draft.spec.argv = context.rest;
    }
    return CompleteJob(std::move(draft), CallersEnvironment(context.environment),
                       context.working_directory);
  }

  // Submits a Slurm allocation as a pool for this job alone.
  absl::Status MakePool(Context& context, msg::JobSpecT* spec) {
    std::size_t tasks = spec->groups.empty() ? 1 : 0;
    for (const auto& group : spec->groups) {
      tasks += group->count;
      for (const auto& wish : group->resources) {
        if (absl::Status good = CheckSlurmResource(wish->name); !good.ok()) return good;
      }
    }
    auto work = along_.Archive(context, spec->working_directory);
    if (!work.ok()) return work.status();
    spec->work = *std::move(work);
    auto pool = MakeOncePool(context, choice_.slurm, tasks, [&](const std::string& line) {
      if (!context.json) *context.err << line << std::endl;
    });
    if (!pool.ok()) return pool.status();
    spec->pool = once_pool_ = *std::move(pool);
    return absl::OkStatus();
  }

  static bool UsesProgram(const msg::JobSpecT& spec) {
    if (spec.groups.empty()) return true;
    for (const auto& group : spec.groups) {
      if (group->argv.empty()) return true;
    }
    return false;
  }

  // Prefixes each error with its position on a line of its own, which editors can follow.
  absl::Status WrongFile(const absl::Status& status) const {
    const bool looks_right = absl::EndsWith(file_, ".yaml") || absl::EndsWith(file_, ".yml") ||
                             absl::EndsWith(file_, ".json") || file_ == "-";
    return absl::InvalidArgumentError(absl::StrCat(
        "this is no job:\n", status.message(),
        looks_right ? "" : "\nA program and its words go behind --: yard launch -- PROGRAM"));
  }

  static int PrintKeys(Context& context) {
    Table table({"KEY", "OF", "TYPE", "DEFAULT", "MEANING"});
    for (const JobKey& key : JobKeys()) {
      const std::string of = key.of_task_type ? "task type" : "job";
      if (!context.json) {
        table.AddRow({std::string(key.name), of, std::string(key.type), std::string(key.fallback),
                      std::string(key.meaning)});
        continue;
      }
      PrintJson(context, {{"key", key.name},
                          {"of", of},
                          {"type", key.type},
                          {"default", key.fallback},
                          {"meaning", key.meaning}});
    }
    if (!context.json) *context.out << table.ToString();
    return kDone;
  }

  int PrintSpec(const Context& context, const msg::JobSpecT& spec) const {
    const bool ascii = context.out_is_terminal;
    auto json = JobToJson(spec, Secrets::kHidden);
    if (choice_.is_slurm) {
      json["engine"] = "slurm";
      json["slurm"] = choice_.slurm;
    }
    *context.out << json.dump(context.json ? -1 : 2, ' ', ascii,
                              nlohmann::json::error_handler_t::replace)
                 << std::endl;
    return kDone;
  }

  int Attach(Context& context, bus::Client& client, const msg::JobT& job) {
    TaskScreen screen(context);
    if (!context.json) {
      const std::size_t tasks = job.tasks.size();
      screen.Say(absl::StrCat(Title(job), " started",
                              tasks > 1 ? absl::StrCat(": ", tasks, " tasks") : ""));
    }
    HandleInterrupt(context, client, job.id, &screen);
    const absl::Duration begin = context.clock->Monotonic();
    if (!context.json) SayWhyItWaits(context, job, &screen);
    msg::LogsRequestT request;
    request.job = job.id;
    request.follow = true;
    const Say say = [&](const std::string& line) { screen.Say(line); };
    const absl::Status output = FollowLogs(
        context, std::move(request), [&](const auto& part) { return screen.Print(part); }, say);
    screen.Finish();
    if (!output.ok() && !absl::IsCancelled(output)) {
      screen.Say(absl::StrCat("yard launch: the output is missing from here on: ",
                              runtime::Printable(std::string(output.message()))));
    }
    const auto ended = FollowJob(context, job.id, absl::InfiniteDuration(), say);
    context.interrupt->Handle(nullptr);
    if (!ended.ok()) return Fail(context, "launch", ended.status());
    EndOncePool(context, once_pool_);
    return Summarize(context, *ended, context.clock->Monotonic() - begin);
  }

  // Blocks until the job has begun; prints each new reason for its waiting, in the words of `yard
  // ps`.
  static void SayWhyItWaits(Context& context, const msg::JobT& job, TaskScreen* screen) {
    std::string said;
    const auto waits = [&](const msg::JobT& now) {
      if (now.state != msg::TaskState::Pending) return false;
      if (!now.reason.empty() && now.reason != said) {
        screen->Say(absl::StrCat("it ", runtime::Printable(now.reason)));
        said = now.reason;
      }
      return true;
    };
    if (!waits(job)) return;
    // An error is ignored, because the later call for the output fails the same way and reports it.
    (void)FollowJob(
        context, job.id, absl::InfiniteDuration(),
        [&](const std::string& line) { screen->Say(line); }, waits);
  }

  // The first Ctrl-C asks the job to stop, the second kills it, the third detaches from it.
  void HandleInterrupt(Context& context, bus::Client& client, const std::string& job,
                       TaskScreen* screen) {
    context.interrupt->Handle([this, &client, job, screen] {
      const int count = ++interrupts_;
      if (count > 2) {
        screen->Say(absl::StrCat("left alone: yard logs ", job, " -f   yard stop ", job));
        _exit(kInterrupted);
      }
      screen->Say(count == 1 ? absl::StrCat("stopping ", job, " (Ctrl-C again kills it)")
                             : absl::StrCat("killing ", job, " (Ctrl-C again leaves it alone)"));
      msg::StopJobRequestT request;
      request.job = job;
      request.grace_ms = count == 1 ? 0 : 1;
      request.reason = "interrupted";
      const auto stopped = client.Call<rpc::Launcher::StopJob>(request, Patient());
      if (!stopped.ok()) {
        screen->Say(absl::StrCat("yard launch: ",
                                 runtime::Printable(std::string(stopped.status().message()))));
      }
    });
  }

  int Summarize(Context& context, const msg::JobT& job, absl::Duration elapsed) const {
    if (context.json) PrintJson(context, ToJson(job));
    context.out->flush();
    if (HasFailed(job)) {
      *context.err << FailureBlock(job) << std::flush;
      return JobExitCode(job);
    }
    *context.err << Title(job) << " " << (job.stop_requested ? "stopped" : StateName(job.state))
                 << " in " << ShortDuration(elapsed);
    if (job.restarts > 0) *context.err << ", " << runtime::Counted(job.restarts, "restart");
    *context.err << std::endl;
    return job.stop_requested && interrupts_ > 0 ? kInterrupted : kDone;
  }

  std::string file_;
  JobFlags flags_;
  AlongFlags along_;
  EngineFlags engine_;
  EngineChoice choice_;
  std::string once_pool_;  // Name of the pool made for this job alone; empty if none.
  bool detach_ = false, dry_run_ = false, keys_ = false;
  std::atomic<int> interrupts_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeLaunch() { return std::make_unique<Launch>(); }

}  // namespace yard
