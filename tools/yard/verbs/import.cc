#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/file/locations.h"
#include "runtime/process/subprocess.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

// Finds the program that reads other trackers' files: installed by tools/install, else in the
// checkout.
absl::StatusOr<std::string> Importer() {
  if (auto installed = runtime::FindDataFile("python/yard/import_runs.py"); installed.ok()) {
    return installed;
  }
  return runtime::FindDataFile("sdk/python/yard/import_runs.py");
}

class Import : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("source", sources_,
                "A directory of W&B (wandb/) or MLflow (mlruns/), a run in it, or a CSV file.",
                OptionSet::Need::kRequired);
    options.Add("--logdir", logdir_,
                "Where runs go (default: the yard's; without a yard, ./runs).");
    options.Add("--prefix", prefix_, "Begins the name of each run.");
    options.Footer(
        "Each run becomes a directory with its values, configuration, labels and times, and what\n"
        "was left out is said. A run that is there already stays as it is. It needs Python 3.8,\n"
        "and no yard. docs/from_other_trackers.md says what is read of each tracker.");
  }

  int Run(Context& context) override {
    auto words = Words(context);
    if (!words.ok()) return Fail(context, "import", words.status());
    context.out->flush();
    context.err->flush();
    auto importer = runtime::Subprocess::Start({.argv = *std::move(words),
                                                .environment = context.environment,
                                                .working_directory = context.working_directory,
                                                .fds = {{1, 1}, {2, 2}}});
    if (absl::IsNotFound(importer.status())) {
      return Fail(context, "import",
                  absl::NotFoundError("cannot start python3, which reads the files: it is not on "
                                      "PATH; next: install Python 3.8 or later"));
    }
    if (!importer.ok()) return Fail(context, "import", importer.status());
    const auto ended = importer->Wait();
    if (!ended.ok()) return Fail(context, "import", ended.status());
    return ended->signal != 0 ? kFailed : ended->code;
  }

 private:
  absl::StatusOr<std::vector<std::string>> Words(const Context& context) const {
    const auto program = Importer();
    if (!program.ok()) return program.status();
    // With -I, Python imports no modules from the working directory.
    std::vector<std::string> words = {"python3", "-I", *program};
    if (context.json) words.emplace_back("--json");
    auto logdir = Logdir(context);
    if (!logdir.ok()) return logdir.status();
    words.push_back(absl::StrCat("--logdir=", *logdir));
    words.push_back(absl::StrCat("--prefix=", prefix_));
    words.emplace_back("--");
    words.insert(words.end(), sources_.begin(), sources_.end());
    return words;
  }

  absl::StatusOr<std::string> Logdir(const Context& context) const {
    if (!logdir_.empty()) return logdir_;
    const auto wanted = ReadWanted(context.locations);
    if (!wanted.ok()) return wanted.status();
    return wanted->has_value() ? (*wanted)->logdir : "runs";
  }

  std::vector<std::string> sources_;
  std::string logdir_, prefix_;
};

}  // namespace

std::unique_ptr<Verb> MakeImport() { return std::make_unique<Import>(); }

}  // namespace yard
