#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/registry_generated.h"
#include "bus/schema/trainer_methods.h"
#include "bus/wire/version.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/process/process_identity.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/health/health.h"
#include "tools/yard/health/health_facts.h"
#include "tools/yard/health/info_health.h"
#include "tools/yard/health/machine_health.h"
#include "tools/yard/health/shared_gpus_health.h"
#include "tools/yard/health/stuck_things.h"
#include "tools/yard/health/tensorboard_health.h"
#include "tools/yard/job/flag_check.h"
#include "tools/yard/services/leases.h"
#include "tools/yard/services/outdated.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/services/service_stats.h"
#include "tools/yard/services/tensorboard_environment.h"
#include "tools/yard/state/processes.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(1);
constexpr std::size_t kMostStrays = 8;

// Returns true if the process runs in another PID namespace, for example in a container.
bool IsElsewhere(const msg::ProcessIdentityT& process) {
  return !runtime::InOurNamespace({.pid_namespace = process.pid_namespace,
                                   .boot_id = process.boot_id,
                                   .pid = process.pid,
                                   .start_ticks = process.start_ticks});
}

ServiceFacts::Lease FactsOf(const msg::LeaseT& lease) {
  ServiceFacts::Lease facts;
  facts.elsewhere = lease.process != nullptr && IsElsewhere(*lease.process);
  facts.suspect = lease.state == msg::LeaseState::Suspect;
  facts.registered_us = lease.registered_us;
  for (const auto& label : lease.labels) {
    facts.external |= label->key == "supervisor" && label->value == "external";
  }
  return facts;
}

ServiceFacts::Stats FactsOf(const absl::StatusOr<msg::StatsReplyT>& reply) {
  ServiceFacts::Stats facts;
  facts.status = reply.status();
  if (!reply.ok()) return facts;
  facts.version = reply->version;
  for (const auto& counter : reply->counters) {
    facts.counters.emplace_back(counter->name, counter->value);
  }
  return facts;
}

class Doctor : public Verb {
 public:
  void Declare(OptionSet&) override {}

  int Run(Context& context) override {
    // Leftovers are collected before the launcher is asked: shims that it starts meanwhile are not
    // leftovers.
    const LeftoverFacts leftovers = LookForLeftovers(context.locations);
    const DoctorFacts yard = LookAtYard(context, leftovers);
    Findings findings;
    const auto add = [&](Findings more) {
      for (Finding& finding : more) findings.push_back(std::move(finding));
    };
    add(CheckPlaces(context, yard));
    add({CheckFileLimit(HardFileLimit()), CheckProcessLimit(ProcessLimit()),
         CheckWatches(LookAtWatches()), CheckClock(yard.now, context.zone())});
    add(CheckMemory(LookAtMemory()));
    add(CheckProxy(ProxyHidesLocalhost(context.environment)));
    for (const LibraryFacts& library : LoadedLibraries()) add({CheckLibrary(library)});
    add({CheckPrograms(MissingPrograms())});
    add(CheckLeftovers(leftovers));
    add(CheckStrayShims(strays_));
    add(CheckUnreachableShims(leftovers.unreachable_shims));
    const InfoFacts infos = LookAtInfos(context.environment);
    add(CheckInfos(infos));
    add(CheckFallbacks(LookForFallbacks(infos.tools)));
    // Services that this shell cannot reach cannot answer, so their silence is not a finding.
    if (reached_) add(CheckYard(yard));
    if (trials_) add({CheckTrials(*trials_)});
    add(CheckStuck(stuck_));
    add(CheckSharedGpus(shared_gpus_));
    add(CheckKillModes(modes_, chosen_mode_));
    Print(context, findings);
    return AnyBad(findings) ? kFailed : kDone;
  }

 private:
  // Finds services that use our state directory but hold no lock in our runtime directory.
  static void LookForServicesElsewhere(const runtime::Locations& locations, DirectoryFacts* facts) {
    for (const std::string_view service : kAllServices) {
      const auto holder = runtime::LockHolder(
          absl::StrCat(locations.state_directory, "/", std::string(service), ".lock"));
      if (!holder.ok() || HolderOf(locations, service) != 0) continue;
      const auto place = PlaceOf(*holder, service, locations.state_directory);
      if (!place.ok() || place->directory == locations.runtime_directory) continue;
      const std::string socket = absl::StrCat(place->directory, "/", std::string(service));
      if (place->lock_is_gone && Probe(socket, SOCK_STREAM) == Listening::kNo) {
        facts->unreachable.push_back(*holder);
      } else {
        facts->elsewhere = place->directory;
      }
    }
  }

  Findings CheckPlaces(const Context& context, const DoctorFacts& yard) {
    const runtime::Locations& locations = context.locations;
    const bool named = std::any_of(
        context.environment.begin(), context.environment.end(),
        [](const std::string& entry) { return absl::StartsWith(entry, "YARD_REGISTRY="); });
    Findings findings = {CheckSocketPaths(locations.runtime_directory),
                         CheckLogs(LookAtLogs(locations.LogDirectory()))};
    for (DirectoryFacts facts :
         {LookAtDirectory("runtime directory", locations.runtime_directory,
                          named ? "YARD_REGISTRY" : "XDG_RUNTIME_DIR"),
          LookAtDirectory("state directory", locations.state_directory, "YARD_STATE")}) {
      for (const ServiceFacts& service : yard.services) facts.in_use |= service.holder != 0;
      if (facts.path == locations.runtime_directory) {
        LookForServicesElsewhere(locations, &facts);
        reached_ = facts.in_use || (facts.elsewhere.empty() && facts.unreachable.empty());
      }
      findings.push_back(CheckDirectory(facts));
    }
    std::vector<std::pair<std::string, std::string>> places = {{"state", locations.state_directory},
                                                               {"logs", locations.LogDirectory()}};
    if (!yard.logdir.empty()) places.emplace_back("runs", yard.logdir);
    for (const SpaceFacts& space : LookAtSpace(places)) {
      for (Finding& finding : CheckSpace(space)) findings.push_back(std::move(finding));
    }
    return findings;
  }

  DoctorFacts LookAtYard(Context& context, const LeftoverFacts& leftovers) {
    DoctorFacts yard;
    yard.version = std::string(bus::kVersion);
    yard.now = context.clock->Now();
    const auto wanted = ReadWanted(context.locations);
    yard.wanted_status = wanted.status();
    yard.wanted = wanted.ok() && wanted->has_value();
    if (yard.wanted) {
      yard.logdir = (*wanted)->logdir;
      for (const std::string& resource : (*wanted)->resources) {
        shared_gpus_.has_gpus |= absl::StartsWith(resource, "gpu=");
      }
    }
    // A service that is being restarted is ready shortly, or reports why not.
    if (yard.wanted && HolderOf(context.locations, "launcher") != 0) {
      (void)AwaitAnswers(context, ServicesOf(context.locations));
    }
    bool any = false;
    for (const std::string& service : ServicesOf(context.locations)) {
      yard.services.push_back(LookAtService(context.locations, service));
      any |= yard.services.back().holder != 0;
    }
    if (yard.wanted && HolderOf(context.locations, "launcher") == 0) {
      yard.flags = CheckServiceFlags(context, **wanted);
    }
    const auto outdated =
        OutdatedServices(context.locations, wanted.ok() ? wanted->value_or(Wanted{}) : Wanted{});
    for (ServiceFacts& service : yard.services) {
      service.outdated = std::count(outdated.begin(), outdated.end(), service.name) > 0;
    }
    // If no service runs, there is nobody to ask, and no bus node is needed.
    if (any) Ask(context, leftovers, &yard);
    return yard;
  }

  // Asks the registry for the services' leases, then each service for its statistics.
  void Ask(Context& context, const LeftoverFacts& leftovers, DoctorFacts* yard) {
    // A suspended registry is not called, because the call would only time out.
    yard->registry = Suspended(*yard, "registry");
    if (!yard->registry.ok()) return;
    auto client = context.client();
    if (!client.ok()) {
      yard->registry = client.status();
      return;
    }
    const auto list = ServiceLeases(**client, kPatience);
    yard->registry = list.status();
    if (!list.ok()) return;
    std::vector<std::string> registered;
    for (ServiceFacts& service : yard->services) {
      for (const auto& lease : *list) {
        if (lease->name != service.name) continue;
        service.lease = FactsOf(*lease);
        // With a lease from elsewhere, the local process with this pid is a different one.
        if (service.lease->elsewhere) service.suspended = false;
        if (!service.suspended) registered.push_back(service.name);
        break;
      }
    }
    const auto answers = AskForStats(**client, registered, kPatience);
    for (ServiceFacts& service : yard->services) {
      if (const auto found = answers.find(service.name); found != answers.end()) {
        service.stats = FactsOf(found->second);
      }
    }
    if (MayAnswer(*yard, "trainer")) AskTrainer(**client);
    if (!MayAnswer(*yard, "launcher")) return;
    AskLauncher(**client, yard);
    AskForJobs(**client, leftovers.shims);
  }

  static absl::Status Suspended(const DoctorFacts& yard, std::string_view name) {
    for (const ServiceFacts& service : yard.services) {
      if (service.name != name || !service.suspended) continue;
      return absl::UnavailableError(absl::StrCat("process ", service.holder, " is suspended"));
    }
    return absl::OkStatus();
  }

  // Returns true if the service has a lease and is not suspended, so that a call is worth its
  // timeout.
  static bool MayAnswer(const DoctorFacts& yard, std::string_view name) {
    return std::any_of(yard.services.begin(), yard.services.end(), [&](const ServiceFacts& one) {
      return one.name == name && one.lease.has_value() && !one.suspended;
    });
  }

  // Asks for the job of each shim. Stops after kMostStrays stray shims.
  void AskForJobs(bus::Client& client, const std::vector<LeftoverFacts::Shim>& shims) {
    msg::JobsRequestT live;
    live.live_only = true;
    const auto reply = client.Call<rpc::Launcher::Jobs>(live, {.timeout = kPatience});
    if (!reply.ok()) return;
    std::set<std::string> known;
    for (const auto& job : reply->jobs) known.insert(job->id);
    stuck_ = StuckThings(*reply);
    for (const LeftoverFacts::Shim& shim : shims) {
      msg::JobsRequestT one;
      one.job = shim.task.substr(0, shim.task.find('.'));
      if (known.contains(one.job) || strays_.size() >= kMostStrays) continue;
      // The shim's job may have ended since the list of live jobs was read.
      const auto ended = client.Call<rpc::Launcher::Jobs>(one, {.timeout = kPatience});
      if (absl::IsNotFound(ended.status())) strays_.push_back(shim);
    }
  }

  void AskTrainer(bus::Client& client) {
    msg::TrialsRequestT live;
    live.live_only = true;
    const auto reply = client.Call<rpc::Trainer::Trials>(live, {.timeout = kPatience});
    if (!reply.ok()) return;
    trials_.emplace();
    for (const auto& trial : reply->trials) {
      if (trial->state == msg::TrialState::Pending) {
        if (trials_->waiting++ > 0) continue;
        trials_->first = trial->id;
        trials_->reason = trial->reason;
      } else if (trial->state != msg::TrialState::Paused) {
        ++trials_->running;
      }
    }
  }

  void AskLauncher(bus::Client& client, DoctorFacts* yard) {
    // A launcher of another version may not know the method.
    auto modes = client.Call<rpc::Launcher::KillModes>({}, {.timeout = kPatience});
    if (modes.ok()) {
      for (const auto& mode : modes->modes) {
        modes_.push_back({mode->name, mode->offered, mode->detail});
      }
      chosen_mode_ = modes->chosen;
    }
    const auto usage = client.Call<rpc::Launcher::Usage>({}, {.timeout = kPatience});
    if (usage.ok()) {
      shared_gpus_.has_gpus |= !usage->gpus.empty();
      shared_gpus_.directory = usage->locks_directory;
      shared_gpus_.problem = usage->locks_problem;
      if (shared_gpus_.has_gpus) shared_gpus_.others = OthersWithAYard();
    }
    const auto kept = client.Call<rpc::Launcher::Services>({}, {.timeout = kPatience});
    if (!kept.ok()) return;
    for (const auto& one : kept->services) {
      for (ServiceFacts& service : yard->services) {
        if (service.name == one->name && one->pid == 0) service.why_not = one->reason;
      }
    }
  }

  static void Print(Context& context, const Findings& findings) {
    std::map<Level, int> counts;
    for (const Finding& finding : findings) {
      ++counts[finding.level];
      if (context.json) {
        PrintJson(context, {{"level", NameOf(finding.level)},
                            {"check", finding.check},
                            {"found", finding.found},
                            {"fix", finding.fix}});
        continue;
      }
      *context.out << absl::StreamFormat("%-4s  %-17s  %s\n", NameOf(finding.level),
                                         runtime::Printable(finding.check),
                                         runtime::Printable(finding.found));
      if (!finding.fix.empty()) {
        *context.out << absl::StreamFormat("%25s%s\n", "fix: ", runtime::Printable(finding.fix));
      }
    }
    if (context.json) return;
    context.out->flush();
    const int bad = counts[Level::kBad], warnings = counts[Level::kWarn];
    *context.err << "yard doctor: "
                 << (bad + warnings == 0 ? "nothing is wrong"
                                         : absl::StrCat(bad, " bad, ", warnings,
                                                        warnings == 1 ? " warning" : " warnings"))
                 << "\n";
  }

  // Answers of the launcher about this machine; empty without a launcher.
  std::vector<KillModeFacts> modes_;
  std::string chosen_mode_;
  bool reached_ = true;  // False if services run that this shell cannot reach.
  std::vector<LeftoverFacts::Shim> strays_;
  std::vector<StuckFacts> stuck_;
  SharedGpusFacts shared_gpus_;
  std::optional<TrialFacts> trials_;  // Empty without a trainer.
};

}  // namespace

std::unique_ptr<Verb> MakeDoctor() { return std::make_unique<Doctor>(); }

}  // namespace yard
