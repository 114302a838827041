#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/page/browser.h"
#include "tools/yard/page/page_client.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Ui : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("run", run_, "A run to open: its name, a unique prefix, or its trial. Or a sweep.");
    options.Flag("--print", print_, "Print the address only; else a browser opens it, too.");
  }

  int Run(Context& context) override {
    if (absl::Status there = EnsureYard(context); !there.ok()) return Fail(context, "ui", there);
    if (absl::Status there = AwaitAnswers(context, {"web"}); !there.ok()) {
      return Fail(context, "ui", there);
    }
    std::string path;
    if (!run_.empty()) {
      // The name of a sweep is also the beginning of its runs' names, so sweeps are tried first.
      const auto sweep = FindSweep(context, run_);
      if (sweep.ok() && (sweep->name == run_ || sweep->id == run_)) {
        path = absl::StrCat("sweep/", sweep->id);
      } else {
        auto run = RunReader(context, "ui").Run(run_);
        if (!run.ok()) return Fail(context, "ui", AsLookup(run.status()));
        path = PathOfRun(run->name);
      }
    }
    const auto address = AddressWithKey(context.locations, path);
    if (!address.ok()) return Fail(context, "ui", address.status());
    if (context.json) {
      PrintJson(context, {{"address", *address}});
    } else {
      *context.out << *address << "\n";
      context.out->flush();
    }
    const bool opens =
        !print_ && !context.json && context.out_is_terminal && HasScreen(context.environment);
    if (opens &&
        OpenInBrowser(context.locations.runtime_directory, context.environment, *address)) {
      return kDone;
    }
    if (!context.json) {
      *context.err << "opens once, within a minute"
                   << (opens ? "; no browser could be started here" : "") << "\n";
    }
    return kDone;
  }

 private:
  std::string run_;
  bool print_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeUi() { return std::make_unique<Ui>(); }

}  // namespace yard
