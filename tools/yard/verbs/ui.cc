#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/file/file.h"
#include "runtime/process/subprocess.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/things_json.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/page_client.h"
#include "tools/yard/services/yard_state.h"
#include "tools/yard/sweep/sweep_orders.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kToOpen = absl::Seconds(5);

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
      // (The names of a sweep's runs begin with its own.)
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
    const bool opens = !print_ && !context.json && context.out_is_terminal && HasScreen(context);
    if (opens && Open(context, *address)) return kDone;
    if (!context.json) {
      *context.err << "opens once, within a minute"
                   << (opens ? "; no browser could be started here" : "") << "\n";
    }
    return kDone;
  }

 private:
  static bool HasScreen(const Context& context) {
    for (const std::string& entry : context.environment) {
      if (absl::StartsWith(entry, "DISPLAY=") || absl::StartsWith(entry, "WAYLAND_DISPLAY=")) {
        return true;
      }
    }
    return false;
  }

  // By a file that leads there: everybody may read the words of a process.
  static bool Open(const Context& context, const std::string& address) {
    const std::string file = context.locations.runtime_directory + "/page.html";
    const std::string text =
        absl::StrCat("<!doctype html><meta http-equiv=refresh content=\"0;url=", address,
                     "\"><a href=\"", address, "\">yard</a>\n");
    if (!runtime::WriteFileAtomically(file, text, 0600).ok()) return false;
    auto browser = runtime::Subprocess::Start(
        {.argv = {"xdg-open", file}, .environment = context.environment, .new_session = true});
    if (!browser.ok()) return false;
    const auto ended = browser->Wait(kToOpen);
    return !ended.ok() || (ended->signal == 0 && ended->code == 0);
  }

  std::string run_;
  bool print_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeUi() { return std::make_unique<Ui>(); }

}  // namespace yard
