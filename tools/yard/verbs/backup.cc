#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bus/json/trial_and_job_json.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/backup/yard_backup.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Backup : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("directory", directory_, "Where the back-up is, or is to be.",
                OptionSet::Need::kRequired);
    options.Flag("--runs", runs_, "Copy the runs, too: all files in the run directory.");
    options.Flag("--restore", restore_, "Put a back-up into the state directory.");
    options.Add("--logdir", logdir_, "With --restore: where runs are from now on.");
    options.Flag("--replace", replace_, "With --restore: move a state that is there aside.");
    options.Footer(
        "A back-up has the trials with their reports, the jobs with their output, the settings of\n"
        "`yard up` and the saved views. It is made while the yard runs, and replaces an earlier\n"
        "one in one step. It is put back while no yard runs, also on another machine.");
  }

  int Run(Context& context) override {
    auto directory = CallersPath("directory", directory_, context.working_directory);
    if (!directory.ok()) return Fail(context, "backup", directory.status());
    directory_ = *std::move(directory);
    if (!restore_ && (replace_ || !logdir_.empty())) {
      return Fail(context, "backup",
                  absl::InvalidArgumentError("--logdir and --replace go with --restore"));
    }
    if (restore_ && runs_) {
      return Fail(context, "backup",
                  absl::InvalidArgumentError(
                      "--runs goes without --restore: a back-up that has runs brings them back"));
    }
    return restore_ ? PutBack(context) : Make(context);
  }

 private:
  int Make(Context& context) const {
    std::string logdir;
    const auto wanted = ReadWanted(context.locations);
    if (wanted.ok() && wanted->has_value()) {
      logdir = (*wanted)->logdir;
    } else if (const auto last = ReadLastWanted(context.locations)) {
      logdir = last->wanted.logdir;
    }
    if (runs_ && logdir.empty()) {
      return Fail(context, "backup",
                  absl::FailedPreconditionError(
                      "nothing says where the runs are, as no yard was up here; leave out --runs"));
    }
    const auto copied = BackUp(context.locations, {.directory = directory_,
                                                   .logdir = logdir,
                                                   .with_runs = runs_,
                                                   .now = context.clock->Now()});
    if (!copied.ok()) return Fail(context, "backup", copied.status());
    Say(context, *copied, runs_, "copied to " + directory_, "", "");
    return kDone;
  }

  int PutBack(Context& context) {
    if (!logdir_.empty()) {
      auto logdir = CallersPath("--logdir", logdir_, context.working_directory);
      if (!logdir.ok()) return Fail(context, "backup", logdir.status());
      logdir_ = *std::move(logdir);
    }
    const auto restored = Restore(context.locations, {.directory = directory_,
                                                      .logdir = logdir_,
                                                      .replace = replace_,
                                                      .now = context.clock->Now()});
    if (!restored.ok()) return Fail(context, "backup", restored.status());
    Say(context, restored->copied, restored->with_runs,
        absl::StrCat("put into ", context.locations.state_directory), restored->logdir,
        restored->aside);
    return kDone;
  }

  void Say(Context& context, const CopiedFiles& copied, bool with_runs, const std::string& where,
           const std::string& logdir, const std::string& aside) const {
    if (context.json) {
      return PrintJson(context, {{"directory", directory_},
                                 {"restored", restore_},
                                 {"files", copied.files},
                                 {"bytes", copied.bytes},
                                 {"runs", with_runs},
                                 {"logdir", bus::TextOrNull(logdir)},
                                 {"aside", bus::TextOrNull(aside)}});
    }
    *context.out << runtime::Counted(copied.files, "file") << ", " << ShortBytes(copied.bytes)
                 << ", " << runtime::Printable(where) << "\n";
    if (!aside.empty()) {
      *context.err << "yard backup: the state that was there is in " << runtime::Printable(aside)
                   << "\n";
    }
    if (restore_) {
      *context.err << "yard backup: runs are in " << runtime::Printable(logdir)
                   << "; next: yard up\n";
    }
  }

  std::string directory_, logdir_;
  bool runs_ = false, restore_ = false, replace_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeBackup() { return std::make_unique<Backup>(); }

}  // namespace yard
