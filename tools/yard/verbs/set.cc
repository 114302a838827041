#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bus/json/annotations.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/trainer_methods.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/follow/selection.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Set : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("run", names_, "Trials (ids, unique prefixes or names; label:night) and runs.");
    options.Add("--label", labels_, "+a,-b: adds a, removes b; a alone adds it, too.");
    options.Add("--note", note_, "Any text of at most 4 KiB; '': none.");
    options.Add("--name", name_, "Shown instead of its name, which stays; '': none.");
    options.Add("--priority", priority_, "Trials that wait with a higher one start first.");
    options.Add("--slots", slots_, "So many trials run at once from now on; 0: one for each core.");
  }

  int Run(Context& context) override {
    if (names_.empty() && !slots_.has_value()) {
      return Fail(context, "set",
                  absl::InvalidArgumentError("what is to be set? Name a trial or a run, or say "
                                             "--slots N for the yard"));
    }
    const auto change = Change();
    if (!change.ok()) return Fail(context, "set", change.status());
    if (slots_.has_value()) {
      if (const int code = SetSlots(context); code != kDone || names_.empty()) return code;
    }
    const auto names = ExpandSelections(
        context, names_,
        [&](const msg::TrialT& trial) { return !change->set_priority || !HasEnded(trial.state); },
        "no trial of which that can be said");
    if (!names.ok()) return Fail(context, "set", names.status());
    int code = kDone;
    for (const std::string& name : *names) {
      const auto reply = Annotate(context, name, *change);
      const int one = reply.ok() ? Show(context, *reply) : Fail(context, "set", reply.status());
      if (one != kDone) code = one;
    }
    return code;
  }

 private:
  // Builds the change, so that a wrong one is refused before anything is modified.
  absl::StatusOr<msg::AnnotateRequestT> Change() const {
    if (name_.has_value() && names_.size() > 1) {
      return absl::InvalidArgumentError("--name is of one run, and several are named");
    }
    msg::AnnotateRequestT change;
    for (const std::string& words : labels_) {
      for (const auto word : absl::StrSplit(words, ',', absl::SkipEmpty())) {
        std::string label(word);
        const bool is_signed = label[0] == '+' || label[0] == '-';
        auto& list = label[0] == '-' ? change.remove_labels : change.add_labels;
        if (is_signed) label.erase(0, 1);
        if (label.empty()) {
          return absl::InvalidArgumentError(absl::StrCat("--label ", words, ": a label is empty"));
        }
        list.push_back(std::move(label));
      }
    }
    change.set_note = note_.has_value();
    change.note = note_.value_or("");
    if (priority_.has_value()) {
      change.set_priority = true;
      if (!absl::SimpleAtoi(*priority_, &change.priority)) {
        return absl::InvalidArgumentError(
            absl::StrCat("--priority: expected a whole number, not \"", *priority_, "\""));
      }
    }
    change.set_display_name = name_.has_value();
    change.display_name = name_.value_or("");
    const auto good = bus::Annotated({}, change);
    if (!good.ok()) return good.status();
    return change;
  }

  // Sets the slots in the running trainer, and in the settings for the next one.
  int SetSlots(Context& context) const {
    int slots = 0;
    if (!absl::SimpleAtoi(*slots_, &slots) || slots < 0 || slots > kMostSlots) {
      return Fail(context, "set",
                  absl::InvalidArgumentError(
                      absl::StrCat("--slots ", *slots_, " is no number from 0 to ", kMostSlots)));
    }
    auto wanted = ReadWanted(context.locations);
    if (!wanted.ok()) return Fail(context, "set", wanted.status());
    if (wanted->has_value() && (*wanted)->slots != slots) {
      (*wanted)->slots = slots;
      const absl::Status written = WriteWanted(context.locations, **wanted);
      if (!written.ok()) return Fail(context, "set", written);
    }
    auto client = context.client();
    if (!client.ok()) return Fail(context, "set", client.status());
    msg::SetSlotsRequestT request;
    request.slots = static_cast<std::uint32_t>(slots);
    const auto reply = (*client)->Call<rpc::Trainer::SetSlots>(request, Patient());
    if (!reply.ok()) return Fail(context, "set", reply.status());
    if (context.json) {
      PrintJson(context, {{"slots", reply->slots}, {"before", reply->before}});
    } else {
      *context.out << runtime::Counted(reply->slots, "slot") << " (before: " << reply->before
                   << ")\n";
    }
    return kDone;
  }

  // A trial may not have a run yet, and a run may belong to no trial, so both are looked up.
  static absl::StatusOr<msg::AnnotateReplyT> Annotate(Context& context, const std::string& name,
                                                      msg::AnnotateRequestT change) {
    const auto thing = FindThing(context, name, Prefer::kTrial);
    if (thing.ok() && !thing->trial.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat(name, " is a ", thing->sweep ? "sweep" : "job",
                       ": only trials and runs have labels, a note and a name"));
    }
    if (!thing.ok() && !absl::IsNotFound(thing.status())) return thing.status();
    bus::CallOptions options = Patient();
    options.service = thing.ok() ? "trainer" : "datamanager";
    if (thing.ok()) {
      change.run = thing->id();
    } else {
      const auto run = RunReader(context, "set").Run(name);
      if (!run.ok()) return absl::IsNotFound(run.status()) ? thing.status() : run.status();
      change.run = run->name;
    }
    auto client = context.client();
    if (!client.ok()) return client.status();
    return (*client)->Call<rpc::Common::Annotate>(change, options);
  }

  static int Show(Context& context, const msg::AnnotateReplyT& run) {
    if (context.json) {
      PrintJson(context, {{"run", run.run},
                          {"labels", run.labels},
                          {"note", TextOrNull(run.note)},
                          {"display_name", TextOrNull(run.display_name)},
                          {"priority", run.priority}});
      return kDone;
    }
    std::string text = absl::StrCat(
        runtime::Printable(run.run), "  ",
        run.labels.empty() ? "no labels"
                           : "labels " + runtime::Printable(absl::StrJoin(run.labels, ", ")));
    if (!run.display_name.empty()) {
      absl::StrAppend(&text, "  called ", runtime::Printable(run.display_name));
    }
    if (run.priority != 0) absl::StrAppend(&text, "  priority ", run.priority);
    *context.out << text << (run.note.empty() ? "" : "  with a note") << "\n";
    return kDone;
  }

  std::vector<std::string> names_, labels_;
  std::optional<std::string> note_, name_, priority_, slots_;
};

}  // namespace

std::unique_ptr<Verb> MakeSet() { return std::make_unique<Set>(); }

}  // namespace yard
