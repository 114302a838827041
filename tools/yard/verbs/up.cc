#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/file/file.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/callers_path.h"
#include "tools/yard/configuration/settings.h"
#include "tools/yard/configuration/settings_file.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/job/flag_check.h"
#include "tools/yard/page/page_client.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/outdated.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/services/upgrade.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/service_output.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/state/shared_resources.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/state/yard_command.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr int kLastPort = 65'535;

class Up : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("file", file_,
                "Settings (default: ~/.config/trainyard/yard.yaml, if it is there).");
    options.Add("--logdir", logdir_, "Where runs are (default: ./runs).");
    options.Add("--trainer", trainer_, "A program with functions of its own as the trainer.");
    options.Add("--slots", slots_, "Trials that run at once (default: one for each core).");
    options.Add("--resources", resources_,
                "Resources that tasks share: gpu=0,1 or slots=4; may be repeated.");
    options.Add("--service", service_,
                "A flag of every service: log_level=debug; of one: web.port=80; may be repeated.");
    options.Add("--notify", notify_,
                "A command that tells you of alerts: it reads one as JSON (docs/alerts.md).");
    options.Add("--metrics_port", metrics_port_,
                "A port for Prometheus, for the whole yard: /metrics.");
    options.Add("--page", page_, "on or off: the page in a browser (default: on; see: yard ui).");
    // These options are hidden because the file has keys for them and the help must fit on a
    // screen.
    options.Hidden("--keep_trials", keep_trials_);
    options.Hidden("--min_free", min_free_);
    options.Hidden("--datamanager", datamanager_);
    options.Hidden("--gate_port", gate_port_);
    options.Hidden("--gate_address", gate_address_);
    options.Flag("--defaults", defaults_, "Forget what the last `yard up` was told, and the file.");
    options.Flag("--upgrade", upgrade_,
                 "Restart services whose program was replaced; what runs goes on.");
    options.Add("--timeout", timeout_, "Seconds until it must be ready (default: 10).");
  }

  int Run(Context& context) override {
    if (absl::Status good = CheckSharedResources(resources_); !good.ok()) {
      return Fail(context, "up", good);
    }
    if (absl::Status good = CheckFlags("--datamanager", datamanager_); !good.ok()) {
      return Fail(context, "up", good);
    }
    auto flags = SharedFlags();
    if (!flags.ok()) return Fail(context, "up", flags.status());
    flags_ = *std::move(flags);
    int slots = 0;
    if (!slots_.empty() && (!absl::SimpleAtoi(slots_, &slots) || slots < 1 || slots > kMostSlots)) {
      return Fail(context, "up",
                  absl::InvalidArgumentError(
                      absl::StrCat("--slots ", slots_, " is no number from 1 to ", kMostSlots)));
    }
    if (absl::Status good = ResolvePaths(context); !good.ok()) return Fail(context, "up", good);
    if (absl::Status here = CheckNotElsewhere(context); !here.ok()) {
      return Fail(context, "up", here);
    }
    if (absl::Status good = ReadFile(context); !good.ok()) return FailFile(context, good);
    auto before = ReadWanted(context.locations);
    if (!before.ok() && !defaults_) return Fail(context, "up", before.status());
    const std::optional<Wanted> noted = before.ok() ? *std::move(before) : std::nullopt;
    // Settings of the running yard; nothing if no service runs.
    const std::optional<Wanted> running = AnyRuns(context) ? noted : std::nullopt;
    if (const int refused = Refuse(context, running, slots); refused != kDone) return refused;
    auto base = Base(context, noted);
    if (!base.ok()) return Fail(context, "up", base.status());
    Wanted wanted = Apply(*std::move(base), slots);
    if (!noted) wanted.visible_gpus = VisibleGpus(context);
    if (running) wanted.visible_gpus = running->visible_gpus;
    NoteFlags(slots, &wanted);
    if (running && settings_) wanted = Keep(context, *running, wanted);
    if (running && defaults_ && wanted != *running) {
      return Fail(context, "up",
                  absl::AlreadyExistsError(absl::StrCat("the yard is up with ", WordsOf(*running),
                                                        "; next: yard down --keep && yard up "
                                                        "--defaults")));
    }
    const bool was_up = running.has_value() && LiveHolderOf(context, "launcher") != 0 &&
                        HolderOf(context.locations, "registry") != 0;
    // This is checked before the yard is recorded as wanted.
    if (absl::Status may = MayStartServices(context); !was_up && !may.ok()) {
      return Fail(context, "up", may);
    }
    if (absl::Status good = was_up ? absl::OkStatus() : CheckServiceFlags(context, wanted);
        !good.ok()) {
      return FailFile(context, Explain(good));
    }
    return Start(context, wanted, noted, was_up);
  }

 private:
  // Reads the named file, else the standard one; none with --defaults.
  absl::Status ReadFile(const Context& context) {
    if (file_.empty() && defaults_) return absl::OkStatus();
    auto found = FindSettings(context, file_);
    if (!found.ok()) return found.status();
    settings_ = *std::move(found);
    return absl::OkStatus();
  }

  // Prints the errors of a file, each on a line that begins with its position.
  int FailFile(Context& context, const absl::Status& status) const {
    const bool is_of_file = absl::StartsWith(status.message(), "/");
    if (!absl::IsInvalidArgument(status) || !is_of_file) return Fail(context, "up", status);
    return Fail(
        context, "up",
        absl::InvalidArgumentError(absl::StrCat("this is no configuration:\n", status.message())));
  }

  // Records settings given as flags, so that they still override the file after a reload.
  void NoteFlags(int slots, Wanted* wanted) const {
    for (const auto& [key, value] : SettingsOf(Apply({}, slots))) wanted->origins[key] = kFromFlag;
    const auto settings = SettingsOf(*wanted);
    std::erase_if(wanted->origins, [&](const auto& one) { return !settings.contains(one.first); });
  }

  // Returns the settings of the running yard unchanged; reports those in which the file differs.
  Wanted Keep(Context& context, const Wanted& running, const Wanted& asked) const {
    std::set<std::string> other = DifferentSettings(running, asked);
    if (asked.logdir == running.logdir) other.erase("logdir");
    if (!other.empty()) {
      *context.err << "yard: the yard is up with other settings than "
                   << runtime::Printable(settings_->path) << " says (" << absl::StrJoin(other, ", ")
                   << "); next: " << YardCommand("config reload", settings_->path) << "\n";
    }
    return running;
  }

  static bool AnyRuns(const Context& context) {
    return std::any_of(std::begin(kAllServices), std::end(kAllServices),
                       [&](auto service) { return HolderOf(context.locations, service) != 0; });
  }

  static bool AllRun(const Context& context) {
    const std::vector<std::string> services = ServicesOf(context.locations);
    return std::all_of(services.begin(), services.end(), [&](const std::string& service) {
      return HolderOf(context.locations, service) != 0;
    });
  }

  // Returns the settings where this command gives none: those of the running yard, else of the last
  // one.
  absl::StatusOr<Wanted> Base(const Context& context, const std::optional<Wanted>& noted) {
    auto standard = CallersPath("--logdir", "runs", context.working_directory);
    if (!standard.ok()) return standard.status();
    const Wanted defaults{.logdir = *std::move(standard)};
    if (settings_) return FromFile(context, noted, defaults.logdir);
    if (defaults_) return defaults;
    if (noted) {
      earlier_ = !WordsOf(*noted).empty();
      return *noted;
    }
    auto last = ReadLastWanted(context.locations);
    if (!last) return defaults;
    Wanted base = std::move(last->wanted);
    // Tasks that were kept running still write into the old logdir.
    base.logdir_was_given = base.logdir_was_given || (last->kept && base.logdir != defaults.logdir);
    if (!base.logdir_was_given) base.logdir = defaults.logdir;
    const std::string words = WordsOf(base);
    earlier_ = !words.empty();
    if (earlier_) taken_up_ = words;
    return base;
  }

  // The file replaces all settings. Without a logdir in it, a yard with kept tasks keeps its own.
  Wanted FromFile(const Context& context, const std::optional<Wanted>& noted,
                  const std::string& standard) const {
    Wanted base = settings_->wanted;
    if (noted) base.visible_gpus = noted->visible_gpus;
    if (base.logdir_was_given) return base;
    base.logdir = noted ? noted->logdir : standard;
    if (const auto last = ReadLastWanted(context.locations); !noted && last && last->kept) {
      base.logdir = last->wanted.logdir;
    }
    base.logdir_was_given = base.logdir != standard;
    return base;
  }

  Wanted Apply(Wanted wanted, int slots) const {
    if (settings_) return Over(std::move(wanted), Apply(Wanted(), slots, flags_));
    return Apply(std::move(wanted), slots, flags_);
  }

  Wanted Apply(Wanted wanted, int slots,
               const std::map<std::string, std::vector<std::string>>& flags) const {
    if (slots > 0) wanted.slots = slots;
    if (!logdir_.empty()) {
      wanted.logdir = logdir_;
      wanted.logdir_was_given = true;
    }
    if (!trainer_.empty()) wanted.trainer = trainer_;
    if (!resources_.empty()) wanted.resources = resources_;
    if (!datamanager_.empty()) wanted.datamanager = datamanager_;
    if (!flags.empty()) wanted.flags = flags;
    return wanted;
  }

  // If no flag was given now, the wrong flag comes from an earlier `yard up`, whose version did not
  // check it.
  absl::Status Explain(const absl::Status& wrong) const {
    if (settings_ && absl::StartsWith(wrong.message(), "the ")) {
      return AtItsPlace(*settings_, wrong);
    }
    const bool gives = !datamanager_.empty() || !flags_.empty() || !trainer_.empty();
    if (!earlier_ || gives) return wrong;
    return absl::Status(wrong.code(), absl::StrCat(wrong.message(),
                                                   " (as an earlier `yard up` was told); next: "
                                                   "yard down --keep && yard up --defaults"));
  }

  // Checks the form NAME=VALUE; only the service knows whether the flag exists.
  static absl::Status CheckFlags(const char* option, const std::vector<std::string>& flags) {
    for (const std::string& flag : flags) {
      std::string name = flag.substr(0, flag.find('='));
      const std::string service = ServiceOf(flag);
      if (!service.empty()) name.erase(0, service.size() + 1);
      const bool is_name =
          !name.empty() && flag.find('=') != std::string::npos &&
          name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
      if (!is_name) {
        return absl::InvalidArgumentError(
            absl::StrCat(option, " ", flag, " is not NAME=VALUE, such as log_level=debug"));
      }
      if (name == "logdir" || name == "listen" || name == "supervisor") {
        return absl::InvalidArgumentError(
            absl::StrCat(option, " ", flag, ": the yard itself decides about ", name));
      }
    }
    return absl::OkStatus();
  }

  // Returns "web" for "web.port=80"; empty if the flag is for every service.
  static std::string ServiceOf(const std::string& flag) {
    for (const std::string_view service : kAllServices) {
      const std::string name(service);
      if (absl::StartsWith(flag, name + ".")) return name;
    }
    return "";
  }

  // Returns the flags, by service, that --service, --notify, --metrics_port, --keep_trials,
  // --min_free, --page, --gate_port and --gate_address set.
  absl::StatusOr<std::map<std::string, std::vector<std::string>>> SharedFlags() const {
    if (absl::Status good = CheckFlags("--service", service_); !good.ok()) return good;
    std::map<std::string, std::vector<std::string>> flags;
    int port = 0;
    if (!metrics_port_.empty() &&
        (!absl::SimpleAtoi(metrics_port_, &port) || port < 1 || port > kLastPort)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--metrics_port ", metrics_port_, " is no number from 1 to ", kLastPort));
    }
    int keep_trials = 0;
    if (!keep_trials_.empty() &&
        (!absl::SimpleAtoi(keep_trials_, &keep_trials) || keep_trials < 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--keep_trials ", keep_trials_, " is no number from 1 on"));
    }
    for (const std::string& flag : service_) {
      const std::string its = ServiceOf(flag);
      for (const std::string_view service : kAllServices) {
        if (its.empty()) flags[std::string(service)].push_back(flag);
      }
      if (!its.empty()) flags[its].push_back(flag.substr(its.size() + 1));
    }
    if (port != 0) flags["web"].push_back(absl::StrCat("metrics_port=", port));
    if (!min_free_.empty()) flags["trainer"].push_back("min_free=" + min_free_);
    if (!notify_.empty()) flags["launcher"].push_back("notify=" + notify_);
    if (keep_trials != 0) flags["trainer"].push_back(absl::StrCat("keep_trials=", keep_trials));
    if (!page_.empty() && page_ != "on" && page_ != "off") {
      return absl::InvalidArgumentError(absl::StrCat("--page ", page_, " is neither on nor off"));
    }
    if (!page_.empty()) flags["web"].push_back("page=" + page_);
    // Only the gate can check the values of these.
    if (!gate_port_.empty()) flags["gate"].push_back("gate_port=" + gate_port_);
    if (!gate_address_.empty()) flags["gate"].push_back("gate_address=" + gate_address_);
    return flags;
  }

  // Makes the paths absolute, so that they are valid from every directory.
  absl::Status ResolvePaths(const Context& context) {
    for (const auto& [option, path] : {std::pair("--logdir", &logdir_), {"--trainer", &trainer_}}) {
      if (path->empty()) continue;
      auto resolved = CallersPath(option, *path, context.working_directory);
      if (!resolved.ok()) return resolved.status();
      *path = *std::move(resolved);
    }
    return absl::OkStatus();
  }

  // Checks that --trainer is an executable file and, if the yard is up, the one that it runs.
  absl::Status CheckTrainer(const std::optional<Wanted>& running) const {
    if (trainer_.empty()) return absl::OkStatus();
    std::error_code error;
    if (!std::filesystem::is_regular_file(trainer_, error)) {
      return absl::NotFoundError(absl::StrCat("--trainer: there is no program ", trainer_));
    }
    if (access(trainer_.c_str(), X_OK) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--trainer: ", trainer_,
                       " cannot be executed; build a program that links "
                       "//trainer:trainer_main"));
    }
    if (!running.has_value() || running->trainer == trainer_) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat(
        "the yard is up with ",
        running->trainer.empty() ? "its own trainer" : "the trainer " + running->trainer, ", not ",
        trainer_, "; `yard down --keep` first, or leave --trainer out"));
  }

  // Refuses to change the logdir, resources, slots or trainer of a running yard.
  int Refuse(Context& context, const std::optional<Wanted>& running, int slots) {
    if (absl::Status good = CheckTrainer(running); !good.ok()) {
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
    if (!datamanager_.empty() && datamanager_ != running->datamanager) {
      return Fail(
          context, "up",
          absl::AlreadyExistsError(absl::StrCat(
              "the yard is up with ",
              running->datamanager.empty()
                  ? "a data manager as it is by itself"
                  : "--datamanager " + absl::StrJoin(running->datamanager, " --datamanager "),
              ", not with --datamanager ", absl::StrJoin(datamanager_, " --datamanager "),
              "; `yard down --keep` first, or leave --datamanager out")));
    }
    if (!flags_.empty() && flags_ != running->flags) {
      return Fail(
          context, "up",
          absl::AlreadyExistsError(
              "the yard is up with other flags of its services; `yard down --keep` first, or "
              "leave --service, --notify, --metrics_port, --keep_trials, --min_free, --page, "
              "--gate_port and --gate_address out"));
    }
    if (logdir_.empty()) return kDone;
    if (logdir_ == running->logdir) return kDone;
    return Fail(context, "up",
                absl::AlreadyExistsError(
                    absl::StrCat("the yard is up with its runs in ", running->logdir, ", not in ",
                                 logdir_, "; `yard down` first, or leave --logdir out")));
  }

  static std::string NameOf(const std::vector<std::string>& resources) {
    return resources.empty() ? "the GPUs of this machine"
                             : "--resources " + absl::StrJoin(resources, " --resources ");
  }

  int Start(Context& context, const Wanted& wanted, const std::optional<Wanted>& noted,
            bool was_up) {
    const absl::Duration begin = context.clock->Monotonic();
    if (absl::Status made = runtime::MakeDirectories(wanted.logdir); !made.ok()) {
      return Fail(context, "up", made);
    }
    const absl::Status written =
        noted == wanted ? absl::OkStatus() : WriteWanted(context.locations, wanted);
    if (!written.ok()) return Fail(context, "up", WithNextStep(context, written));
    // Rewriting the file makes the launcher start missing services at once.
    if (noted == wanted && was_up && !AllRun(context)) (void)WriteWanted(context.locations, wanted);
    Awaited awaited{.services = ServicesOf(context.locations)};
    for (const std::string& service : awaited.services) {
      awaited.output_begins[service] = OutputEnd(context.locations, service);
    }
    absl::Status ready;
    for (const char* service : {"registry", "launcher"}) {
      if (!ready.ok() || HolderOf(context.locations, service) != 0) continue;
      auto started = StartService(context, service, wanted);
      if (!started.ok()) {
        ready = started.status();
        break;
      }
      awaited.started.emplace(service, *std::move(started));
      // Wait for the registry's lock: otherwise the launcher would start a second registry.
      (void)WaitUntilHeld(context, service, awaited.started.at(service), absl::Seconds(2));
    }
    if (ready.ok()) {
      ready = WaitUntilReady(context, awaited, absl::Seconds(timeout_),
                             [&](const std::string& service) {
                               const absl::Duration took = context.clock->Monotonic() - begin;
                               Tell(context);
                               Say(context, service, took, was_up);
                             });
    }
    if (!ready.ok()) {
      if (!was_up) TakeBack(context, ready, noted, &awaited);
      return Fail(context, "up", ready);
    }
    if (const int upgraded = Upgrade(context, wanted); upgraded != kDone) return upgraded;
    if (context.json) return kDone;
    *context.out << (was_up ? "already up" : "up") << ", runs in " << wanted.logdir << "\n";
    if (const std::string page = PageAddress(context.locations); !page.empty()) {
      *context.out << "page: " << page << "  (yard ui opens it)\n";
    }
    if (context.out_is_terminal) *context.out << "next: yard run -- PROGRAM ...\n";
    return kDone;
  }

  static absl::Status WithNextStep(const Context& context, const absl::Status& why) {
    return absl::Status(
        why.code(), yard::WithNextStep(std::string(why.message()), context.locations, "launcher"));
  }

  // Reports once the settings that come from the last `yard up`.
  void Tell(Context& context) {
    if (taken_up_.empty()) return;
    *context.err << "yard: with " << std::exchange(taken_up_, "")
                 << ", as the last `yard up` was told (yard up --defaults: without)\n";
  }

  // Undoes a start that cannot succeed, now or later, because a service has exited or has refused a
  // flag: restores the settings from before, and stops the processes that were started.
  static void TakeBack(Context& context, const absl::Status& why,
                       const std::optional<Wanted>& noted, Awaited* awaited) {
    const bool one_ended =
        std::any_of(awaited->started.begin(), awaited->started.end(),
                    [](auto& one) { return one.second.Wait(absl::ZeroDuration()).ok(); });
    if (!one_ended && !absl::StrContains(why.message(), " cannot start: --")) return;
    if (noted) {
      (void)WriteWanted(context.locations, *noted);
    } else {
      (void)RemoveWanted(context.locations);
    }
    for (auto& [service, process] : awaited->started) (void)process.Signal(SIGTERM);
    for (auto& [service, process] : awaited->started) {
      if (!process.Wait(absl::Seconds(5)).ok()) (void)process.Signal(SIGKILL);
    }
  }

  // Restarts services whose program was replaced since they started, if --upgrade is given;
  // otherwise only reports them.
  int Upgrade(Context& context, const Wanted& wanted) const {
    if (!upgrade_) {
      const auto outdated = OutdatedServices(context.locations, wanted);
      if (outdated.empty()) return kDone;
      *context.err << "yard: " << absl::StrJoin(outdated, ", ")
                   << (outdated.size() == 1 ? " runs" : " run")
                   << " another program than is installed now; what runs goes on over: yard up "
                      "--upgrade\n";
      return kDone;
    }
    const absl::Status done =
        RestartOutdated(context, wanted, absl::Seconds(timeout_),
                        [&](const std::string& service, pid_t before, pid_t now) {
                          if (context.json) {
                            return PrintJson(context, {{"service", service},
                                                       {"state", "restarted"},
                                                       {"before", PidToJson(before)},
                                                       {"pid", PidToJson(now)}});
                          }
                          *context.out << absl::StreamFormat(
                              "%-12s restarted  (pid %d, before %d)\n", service, now, before);
                          context.out->flush();
                        });
    return done.ok() ? kDone : Fail(context, "up", done);
  }

  static void Say(Context& context, const std::string& service, absl::Duration took, bool was_up) {
    const pid_t pid = HolderOf(context.locations, service);
    if (context.json) {
      return PrintJson(context, {{"service", service},
                                 {"state", "up"},
                                 {"pid", PidToJson(pid)},
                                 {"ready_ms", absl::ToDoubleMilliseconds(took)}});
    }
    if (was_up) return;
    *context.out << absl::StreamFormat("%-12s ready in %3d ms  (pid %d)\n", service,
                                       absl::ToInt64Milliseconds(took), pid);
    context.out->flush();
  }

  std::string file_;
  std::optional<SettingsFile> settings_;  // Content of the settings file.
  std::string logdir_;
  std::string trainer_;
  std::string slots_, keep_trials_, min_free_, metrics_port_, page_, notify_, gate_port_;
  std::string gate_address_;
  std::vector<std::string> resources_, datamanager_, service_;
  std::map<std::string, std::vector<std::string>> flags_;
  bool upgrade_ = false, defaults_ = false;
  std::string taken_up_;  // Settings of the last `yard up`, still to be reported.
  bool earlier_ = false;  // Some flags come from an earlier `yard up`.
  double timeout_ = 10;
};

}  // namespace

std::unique_ptr<Verb> MakeUp() { return std::make_unique<Up>(); }

}  // namespace yard
