#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/file.h"
#include "tools/yard/shared_resources.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"
#include "tools/yard/yard_state.h"

namespace yard {
namespace {

std::string Absolute(const Context& context, const std::string& path) {
  const std::filesystem::path full = std::filesystem::path(context.working_directory) / path;
  std::string text = full.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

class Up : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("--logdir", logdir_, "Where runs are (default: ./runs).");
    options.Add("--trainer", trainer_, "A program with functions of its own as the trainer.");
    options.Add("--slots", slots_, "Trials that run at once (default: one for each core).");
    options.Add("--resources", resources_,
                "What tasks share: gpu=0,1 or slots=4; may be repeated.");
    options.Add("--timeout", timeout_, "Seconds until it must be ready (default: 10).");
  }

  int Run(Context& context) override {
    if (absl::Status good = CheckSharedResources(resources_); !good.ok()) {
      return Fail(context, "up", good);
    }
    int slots = 0;
    if (!slots_.empty() && (!absl::SimpleAtoi(slots_, &slots) || slots < 1 || slots > kMostSlots)) {
      return Fail(context, "up",
                  absl::InvalidArgumentError(
                      absl::StrCat("--slots ", slots_, " is no number from 1 to ", kMostSlots)));
    }
    auto running = ReadWanted(context.locations);
    if (!running.ok()) return Fail(context, "up", running.status());
    Wanted wanted = running->value_or(Wanted{.logdir = Absolute(context, "runs")});
    if (const int refused = Refuse(context, *running, slots); refused != kDone) return refused;
    if (slots > 0) wanted.slots = slots;
    if (!logdir_.empty()) wanted.logdir = Absolute(context, logdir_);
    if (!trainer_.empty()) wanted.trainer = TrainerPath(context);
    if (!resources_.empty()) wanted.resources = resources_;
    const bool was_up = running->has_value() && HolderOf(context.locations, "launcher") != 0 &&
                        HolderOf(context.locations, "registry") != 0;
    // Before the yard is noted as wanted.
    if (absl::Status may = MayStartServices(context); !was_up && !may.ok()) {
      return Fail(context, "up", may);
    }
    return Start(context, wanted, was_up);
  }

 private:
  std::string TrainerPath(const Context& context) const { return Absolute(context, trainer_); }

  // A program that can be started, and that of the yard if it is up.
  absl::Status CheckTrainer(const Context& context, const std::optional<Wanted>& running) const {
    if (trainer_.empty()) return absl::OkStatus();
    const std::string path = TrainerPath(context);
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      return absl::NotFoundError(absl::StrCat("--trainer: there is no program ", path));
    }
    if (access(path.c_str(), X_OK) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--trainer: ", path,
                       " cannot be executed; build a program that links "
                       "//trainer:trainer_main"));
    }
    if (!running.has_value() || running->trainer == path) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat(
        "the yard is up with ",
        running->trainer.empty() ? "its own trainer" : "the trainer " + running->trainer, ", not ",
        path, "; `yard down --keep` first, or leave --trainer out"));
  }

  // A running yard keeps its run directory, its resources, its slots and its trainer.
  int Refuse(Context& context, const std::optional<Wanted>& running, int slots) {
    if (absl::Status good = CheckTrainer(context, running); !good.ok()) {
      return Fail(context, "up", good);
    }
    if (!running.has_value()) return kDone;
    if (slots > 0 && slots != running->slots) {
      const std::string has = running->slots > 0 ? absl::StrCat(running->slots, " slots")
                                                 : std::string("a slot for each core");
      return Fail(context, "up",
                  absl::AlreadyExistsError(
                      absl::StrCat("the yard is up with ", has, ", not with ", slots,
                                   "; `yard down --keep` first, or leave --slots out")));
    }
    if (!resources_.empty() && resources_ != running->resources) {
      return Fail(context, "up",
                  absl::AlreadyExistsError(absl::StrCat(
                      "the yard is up with ", NameOf(running->resources), ", not with ",
                      NameOf(resources_), "; `yard down --keep` first, or leave --resources out")));
    }
    if (logdir_.empty()) return kDone;
    const std::string asked = Absolute(context, logdir_);
    if (asked == running->logdir) return kDone;
    return Fail(context, "up",
                absl::AlreadyExistsError(
                    absl::StrCat("the yard is up with its runs in ", running->logdir, ", not in ",
                                 asked, "; `yard down` first, or leave --logdir out")));
  }

  static std::string NameOf(const std::vector<std::string>& resources) {
    return resources.empty() ? "the GPUs of this machine"
                             : "--resources " + absl::StrJoin(resources, " --resources ");
  }

  int Start(Context& context, const Wanted& wanted, bool was_up) {
    const absl::Duration begin = context.clock->Monotonic();
    if (absl::Status made = runtime::MakeDirectories(wanted.logdir); !made.ok()) {
      return Fail(context, "up", made);
    }
    if (absl::Status written = WriteWanted(context.locations, wanted); !written.ok()) {
      return Fail(context, "up", written);
    }
    for (const char* service : {"registry", "launcher"}) {
      if (HolderOf(context.locations, service) != 0) continue;
      const absl::Status started = StartService(context, service, wanted);
      if (!started.ok()) return Fail(context, "up", started);
      // Else the launcher would see no registry yet and start one itself.
      (void)WaitUntilHeld(context, service, absl::Seconds(2));
    }
    const absl::Status ready =
        WaitUntilReady(context, {"registry", "launcher", "datamanager", "trainer"},
                       absl::Seconds(timeout_), [&](const std::string& service) {
                         const absl::Duration took = context.clock->Monotonic() - begin;
                         Say(context, service, took, was_up);
                       });
    if (!ready.ok()) return Fail(context, "up", ready);
    if (context.json) return kDone;
    *context.out << (was_up ? "already up" : "up") << ", runs in " << wanted.logdir << "\n";
    if (context.out_is_terminal) *context.out << "next: yard run -- PROGRAM ...\n";
    return kDone;
  }

  static void Say(Context& context, const std::string& service, absl::Duration took, bool was_up) {
    const pid_t pid = HolderOf(context.locations, service);
    if (context.json) {
      return PrintJson(context, {{"service", service},
                                 {"state", "up"},
                                 {"pid", pid},
                                 {"ready_ms", absl::ToDoubleMilliseconds(took)}});
    }
    if (was_up) return;
    *context.out << absl::StreamFormat("%-12s ready in %3d ms  (pid %d)\n", service,
                                       absl::ToInt64Milliseconds(took), pid);
    context.out->flush();
  }

  std::string logdir_;
  std::string trainer_;
  std::string slots_;
  std::vector<std::string> resources_;
  double timeout_ = 10;
};

}  // namespace

std::unique_ptr<Verb> MakeUp() { return std::make_unique<Up>(); }

}  // namespace yard
