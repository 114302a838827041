#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "runtime/mutex.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/top/fact_reader.h"
#include "tools/yard/top/facts.h"
#include "tools/yard/top/facts_json.h"
#include "tools/yard/top/model.h"
#include "tools/yard/top/screen.h"
#include "tools/yard/top/session.h"
#include "tools/yard/top/view.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

// Time between two measurements, needed to compute the tasks' processor usage: the launcher
// measures at most every half second.
constexpr absl::Duration kApart = absl::Milliseconds(600);

class Top : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("-m,--metric", metric_, "Draw this metric (default: loss, else the first).");
    options.Flag("--once", once_, "Print one frame as text; no keys.");
    options.Footer(
        "Keys: / filter, l logs, m metric, s stop, r restart, ? help, q quit.\n"
        "Quitting stops nothing.");
  }

  int Run(Context& context) override {
    if (once_ || context.json) return Once(context);
    const char* const terminal = getenv("TERM");
    const bool is_dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
    if (!context.out_is_terminal || isatty(context.in) != 1 || is_dumb) {
      return Fail(
          context, "top",
          absl::InvalidArgumentError("there is no terminal that can show a full screen; one "
                                     "frame: yard top --once; lists: yard ps, yard status"));
    }
    const absl::Status ended = top::RunSession(context, metric_);
    if (absl::IsCancelled(ended)) return kInterrupted;
    return ended.ok() ? kDone : Fail(context, "top", ended);
  }

 private:
  int Once(Context& context) const {
    top::FactReader reader(context);
    top::Model model(metric_);
    auto facts = std::make_shared<top::Facts>(reader.Read({}));
    model.Take(facts);
    if (!facts->usage.tasks.empty()) Pause(context);
    if (facts->why.ok() && facts->trials.size() + facts->jobs.size() > 0) {
      facts = std::make_shared<top::Facts>(reader.Read(model.subject()));
      model.Take(facts);
    }
    if (!facts->why.ok()) return Fail(context, "top", facts->why);
    if (context.json) {
      PrintJson(context, ToJson(*facts));
    } else {
      const top::ViewOptions options = {.width = context.width,
                                        .height = top::HeightOfAll(model),
                                        .zone = context.zone(),
                                        .keys = false};
      *context.out << Draw(model, options).ToString();
    }
    return kDone;
  }

  static void Pause(Context& context) {
    runtime::Mutex mutex;
    runtime::CondVar never;
    runtime::MutexLock lock(mutex);
    context.clock->WaitUntil(never, mutex, context.clock->Monotonic() + kApart);
  }

  std::string metric_;
  bool once_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeTop() { return std::make_unique<Top>(); }

}  // namespace yard
