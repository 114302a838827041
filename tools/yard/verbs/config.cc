#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bus/schema/common_methods.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/text/nearest_word.h"
#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"
#include "tools/yard/configuration/settings.h"
#include "tools/yard/configuration/settings_file.h"
#include "tools/yard/configuration/user_unit.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/job/flag_check.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/upgrade.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::string_view kActions[] = {"check", "show", "flags", "reload", "enable"};
// Settings that cannot change while the yard runs: running tasks write into `logdir`, and a running
// `trainer` program manages the trials.
constexpr std::string_view kFixed[] = {"logdir", "trainer"};
constexpr char kLogLevel[] = "--log_level=";
constexpr std::size_t kLongestLine = 1 << 20;  // Limit of a process's command line, in bytes.

// Returns the origin of a setting; "an earlier yard up" if none is recorded.
std::string OriginOf(const Wanted& wanted, const std::string& key) {
  const auto origin = wanted.origins.find(key);
  return origin == wanted.origins.end() ? "an earlier yard up" : origin->second;
}

class Config : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("action", words_, "check, show, reload or enable [FILE]; flags SERVICE [FILE].",
                OptionSet::Need::kRequired);
    options.Flag("--dry_run", dry_run_,
                 "reload, enable: print what would be done, and do nothing.");
    options.Flag("--keys", keys_, "check: print what a file may say, and check nothing.");
    options.Add("--timeout", timeout_, "reload: seconds until a service is ready (default: 10).");
  }

  int Run(Context& context) override {
    const std::string action = words_.front();
    const std::size_t most = action == "flags" ? 3 : 2;
    if (words_.size() > most) {
      return Wrong(context, absl::StrCat("one word too many: ", words_[most]));
    }
    if (action == "flags") return Flags(context);
    file_ = words_.size() > 1 ? words_[1] : "";
    if (action == "check") return keys_ ? PrintKeys(context) : Check(context);
    if (action == "show") return Show(context);
    if (action == "reload") return Reload(context);
    if (action == "enable") return Enable(context);
    const std::string_view nearest =
        runtime::NearestWord(action, {std::begin(kActions), std::end(kActions)});
    return Wrong(
        context,
        absl::StrCat("there is no \"", action, "\"; ",
                     nearest.empty() ? "there are: check, show, flags, reload and enable"
                                     : absl::StrCat("do you mean ", std::string(nearest), "?")));
  }

 private:
  static int Wrong(Context& context, const std::string& what) {
    return Fail(context, "config", absl::InvalidArgumentError(what));
  }

  // Prints the errors of a settings file, each on a line that begins with its position.
  static int FailFile(Context& context, const absl::Status& status) {
    if (!absl::IsInvalidArgument(status)) return Fail(context, "config", status);
    return Wrong(context, absl::StrCat("this is no configuration:\n", status.message()));
  }

  static absl::Status NoFile(const Context& context) {
    return absl::NotFoundError(
        absl::StrCat("there is no configuration file ", StandardSettingsPath(context.environment),
                     "; next: name another file, or write this one (yard config check --keys "
                     "prints its keys)"));
  }

  // Reads and checks the named file, else the file that the yard was started with, else the
  // standard one.
  absl::StatusOr<SettingsFile> GoodFile(const Context& context, const std::string& named,
                                        const std::optional<Wanted>& noted = std::nullopt) const {
    auto file = FindSettings(context, named.empty() && noted.has_value() ? noted->file : named);
    if (!file.ok()) return file.status();
    if (!file->has_value()) return NoFile(context);
    if (absl::Status good = CheckSettings(context, **file); !good.ok()) return good;
    return **std::move(file);
  }

  static int PrintKeys(Context& context) {
    Table table({"KEY", "TYPE", "DEFAULT", "MEANING"});
    for (const SettingKey& key : SettingKeys()) {
      table.AddRow({std::string(key.name), std::string(key.type), std::string(key.fallback),
                    std::string(key.meaning)});
      if (!context.json) continue;
      PrintJson(context, {{"key", key.name},
                          {"type", key.type},
                          {"default", key.fallback},
                          {"meaning", key.meaning}});
    }
    if (!context.json) *context.out << table.ToString();
    return kDone;
  }

  // ---- check

  int Check(Context& context) const {
    const auto file = GoodFile(context, file_);
    if (!file.ok()) return FailFile(context, file.status());
    if (context.json) {
      PrintJson(context, {{"file", file->path}, {"good", true}});
    } else {
      *context.out << runtime::Printable(file->path) << " is right\n";
    }
    return kDone;
  }

  // ---- show

  struct Shown {
    std::string heading;
    Wanted wanted;
  };

  // Returns the settings of the running yard, else those that `yard up` would use.
  absl::StatusOr<Shown> WhatHolds(const Context& context) const {
    const auto noted = ReadWanted(context.locations);
    if (!noted.ok()) return noted.status();
    if (file_.empty() && noted->has_value()) return Shown{"the yard has", **noted};
    auto file = FindSettings(context, file_);
    if (!file.ok()) return file.status();
    if (file->has_value()) return Shown{"yard up would take", (*file)->wanted};
    auto last = ReadLastWanted(context.locations);
    if (!last) return Shown{"yard up would take", Wanted()};
    if (!last->wanted.logdir_was_given) last->wanted.logdir.clear();
    return Shown{"yard up would take", std::move(last->wanted)};
  }

  int Show(Context& context) const {
    const auto shown = WhatHolds(context);
    if (!shown.ok()) return FailFile(context, shown.status());
    const Wanted& wanted = shown->wanted;
    auto settings = SettingsOf(wanted);
    Table table({"SETTING", "VALUE", "FROM"});
    const auto print = [&](const std::string& key, const std::string& value,
                           const std::string& from) {
      table.AddRow({key, value, from});
      if (!context.json) return;
      PrintJson(context, {{"setting", key}, {"value", TextOrNull(value)}, {"from", from}});
    };
    for (const SettingKey& known : SettingKeys()) {
      const std::string key(known.name);
      if (key == "services") continue;
      const auto found = settings.find(key);
      if (found != settings.end()) {
        print(key, found->second, OriginOf(wanted, key));
        settings.erase(found);
      } else if (key == "logdir" && !wanted.logdir.empty()) {
        print(key, wanted.logdir, "default");
      } else {
        std::string fallback(known.fallback);
        std::erase(fallback, '`');
        print(key, fallback, "default");
      }
    }
    for (const auto& [key, value] : settings) print(key, value, OriginOf(wanted, key));
    if (context.json) return kDone;
    *context.out << shown->heading << ":\n" << table.ToString(context.out_width());
    return kDone;
  }

  // ---- flags

  int Flags(Context& context) const {
    const std::string service = words_.size() > 1 ? words_[1] : "";
    if (std::find(std::begin(kAllServices), std::end(kAllServices), service) ==
        std::end(kAllServices)) {
      return Wrong(context, absl::StrCat(service.empty()
                                             ? "flags of which service? There are: "
                                             : "there is no service " + service + "; there are: ",
                                         absl::StrJoin(kAllServices, ", ",
                                                       [](std::string* out, std::string_view name) {
                                                         out->append(name);
                                                       })));
    }
    const auto file = FindSettings(context, words_.size() > 2 ? words_[2] : "");
    if (!file.ok()) return FailFile(context, file.status());
    std::vector<std::string> flags;
    if (file->has_value()) {
      // A systemd unit with a wrong flag would be restarted endlessly.
      if (absl::Status good = CheckSettings(context, **file); !good.ok()) {
        return FailFile(context, good);
      }
      const Wanted& wanted = (*file)->wanted;
      flags = FlagsOf(service, wanted);
      const bool has_runs = service == "trainer" || service == "datamanager";
      if (has_runs && wanted.logdir_was_given) {
        flags.insert(flags.begin(), "--logdir=" + wanted.logdir);
      }
    }
    if (context.json) {
      PrintJson(context, {{"service", service}, {"flags", flags}});
      return kDone;
    }
    for (std::string& flag : flags) flag = runtime::ShellWord(flag);
    // The output is for `eval`, so pipes get the exact bytes; only terminals get escaped text.
    const std::string line = absl::StrJoin(flags, " ");
    *context.out << (context.out_is_terminal ? runtime::Printable(line) : line) << "\n";
    return kDone;
  }

  // ---- reload

  struct Change {
    std::string key, before, after, what;
  };

  static void Say(Context& context, const Change& change) {
    if (context.json) {
      return PrintJson(context, {{"setting", change.key},
                                 {"before", TextOrNull(change.before)},
                                 {"after", TextOrNull(change.after)},
                                 {"what", change.what}});
    }
    const auto words = [](const std::string& value) {
      return value.empty() ? "(default)" : runtime::Printable(value);
    };
    *context.out << runtime::Printable(change.key) << ": " << words(change.before) << " -> "
                 << words(change.after) << "  (" << runtime::Printable(change.what) << ")\n";
    context.out->flush();
  }

  static std::string ValueIn(const std::map<std::string, std::string>& settings,
                             const std::string& key) {
    const auto found = settings.find(key);
    return found == settings.end() ? "" : found->second;
  }

  // Returns the settings after a reload: those of the file, overridden by the flags given to `yard
  // up`. Settings that cannot change keep their value and are added to `fixed`.
  static Wanted Next(const Wanted& running, const SettingsFile& file, std::vector<Change>* fixed) {
    Wanted next = file.wanted;
    const auto before = SettingsOf(running), in_file = SettingsOf(file.wanted);
    for (const std::string_view name : kFixed) {
      const std::string key(name);
      const std::string is = ValueIn(before, key), asked = ValueIn(in_file, key);
      const bool from_flag = ValueIn(running.origins, key) == kFromFlag;
      if (is == asked || from_flag || (key == "logdir" && asked == running.logdir)) continue;
      // A file without a logdir keeps the current one.
      if (key == "logdir" && asked.empty()) continue;
      fixed->push_back({key, key == "logdir" ? running.logdir : is, asked,
                        "not while the yard runs; next: yard down && yard up"});
    }
    next.logdir = running.logdir;
    next.logdir_was_given = running.logdir_was_given;
    next.trainer = running.trainer;
    next.visible_gpus = running.visible_gpus;
    for (const auto& [key, origin] : running.origins) {
      if (origin != kFromFlag) continue;
      TakeFlag(running, key, &next);
      next.origins[key] = origin;
    }
    for (const std::string_view name : kFixed) {
      const std::string key(name);
      next.origins.erase(key);
      const auto origin = running.origins.find(key);
      if (origin != running.origins.end()) next.origins.insert(*origin);
    }
    return next;
  }

  // Copies the setting `key` from `running` to `next`.
  static void TakeFlag(const Wanted& running, const std::string& key, Wanted* next) {
    if (key == "slots") next->slots = running.slots;
    if (key == "resources") next->resources = running.resources;
    Wanted over;
    for (const std::string_view name : kAllServices) {
      const std::string service(name);
      for (const std::string& flag : FlagsOf(service, running)) {
        const std::string bare = flag.substr(2);
        const std::string flag_name = bare.substr(0, bare.find('='));
        if (flag_name == "slots" || flag_name == "resources") continue;
        const bool of_all = flag_name == key;
        if (of_all || KeyOfFlag(service, flag_name) == key) over.flags[service].push_back(bare);
      }
    }
    *next = Over(std::move(*next), over);
  }

  int Reload(Context& context) {
    const auto noted = ReadWanted(context.locations);
    if (!noted.ok()) return Fail(context, "config", noted.status());
    if (!noted->has_value() || HolderOf(context.locations, "launcher") == 0) {
      return Fail(context, "config",
                  absl::UnavailableError("the yard is not up, so nothing is to be changed; next: "
                                         "yard up"));
    }
    const Wanted& running = **noted;
    const auto file = GoodFile(context, file_, running);
    if (!file.ok()) return FailFile(context, file.status());
    std::vector<Change> fixed;
    const Wanted next = Next(running, *file, &fixed);
    const std::set<std::string> keys = DifferentSettings(running, next);
    const auto before = SettingsOf(running), after = SettingsOf(next);
    if (!dry_run_ && (!keys.empty() || next.origins != running.origins)) {
      if (absl::Status written = WriteWanted(context.locations, next); !written.ok()) {
        return Fail(context, "config", written);
      }
    }
    for (const std::string& key : keys) {
      Say(context,
          {key, ValueIn(before, key), ValueIn(after, key), dry_run_ ? "would change" : "changed"});
    }
    int code = kDone;
    for (const char* service : {"launcher", "registry", "datamanager", "trainer", "web"}) {
      if (dry_run_) continue;
      const int one = RunsWithOtherFlags(context, service, running, next)
                          ? Restart(context, next, service)
                          : SetLogLevel(context, service, running, next);
      if (one != kDone) code = one;
    }
    for (const Change& change : fixed) Say(context, change);
    if (keys.empty() && fixed.empty() && !context.json) {
      *context.out << "the yard has what " << runtime::Printable(file->path) << " says\n";
    }
    if (code != kDone) return code;
    return fixed.empty() ? kDone : kFailed;
  }

  static bool IsLogLevel(const std::string& flag) { return flag.starts_with(kLogLevel); }

  // Returns true if the service's process was started with other flags than `next` has for it,
  // apart from the log level. This happens if an earlier reload was killed half-way.
  static bool RunsWithOtherFlags(const Context& context, const std::string& service,
                                 const Wanted& running, const Wanted& next) {
    std::vector<std::string> has = FlagsOf(service, running), wants = FlagsOf(service, next);
    const auto line = runtime::ReadFile(
        absl::StrCat("/proc/", HolderOf(context.locations, service), "/cmdline"), kLongestLine);
    if (line.ok() && !line->empty()) {
      has = absl::StrSplit(*line, '\0', absl::SkipEmpty());
      has.erase(has.begin());
    }
    for (auto* const flags : {&has, &wants}) {
      std::erase_if(*flags, [](const std::string& flag) {
        return IsLogLevel(flag) || flag.starts_with("--logdir=");
      });
      std::sort(flags->begin(), flags->end());
    }
    return has != wants;
  }

  // Changes the log level of the running service; a new level needs no restart.
  static int SetLogLevel(Context& context, const std::string& service, const Wanted& running,
                         const Wanted& next) {
    const auto level = [&](const Wanted& wanted) {
      const auto flags = FlagsOf(service, wanted);
      const auto found = std::find_if(flags.begin(), flags.end(), IsLogLevel);
      return found == flags.end() ? std::string("info")
                                  : found->substr(std::string_view(kLogLevel).size());
    };
    if (level(running) == level(next)) return kDone;
    auto client = context.client();
    if (!client.ok()) return Fail(context, "config", client.status());
    msg::SetLogLevelRequestT request;
    request.level = level(next);
    bus::CallOptions options = Patient();
    options.service = service;
    const auto reply = (*client)->Call<rpc::Common::SetLogLevel>(request, options);
    return reply.ok() ? kDone : Fail(context, "config", reply.status());
  }

  int Restart(Context& context, const Wanted& next, const std::string& service) const {
    if (IsExternal(context.locations, service)) {
      return Fail(context, "config",
                  absl::FailedPreconditionError(absl::StrCat(
                      "somebody else starts the ", service,
                      ": end it there, and start it with: yard config flags ", service)));
    }
    const pid_t before = HolderOf(context.locations, service);
    const absl::Status done =
        RestartService(context, next, service, absl::Seconds(timeout_), "yard config reload");
    if (!done.ok()) return Fail(context, "config", done);
    if (!context.json) {
      *context.out << service << " restarted  (pid " << HolderOf(context.locations, service)
                   << ", before " << before << ")\n";
      context.out->flush();
    }
    return kDone;
  }

  // ---- enable

  int Enable(Context& context) const {
    const auto file = GoodFile(context, file_);
    if (!file.ok()) return FailFile(context, file.status());
    if (!file->path.starts_with('/'))
      return Wrong(context, "a unit needs a file that stays: name one");
    const auto program = runtime::FindBinary("tools/yard/yard");
    if (!program.ok()) return Fail(context, "config", program.status());
    const auto unit = MakeUserUnit(*program, file->path, context.environment);
    if (!unit.ok()) return Fail(context, "config", unit.status());
    if (dry_run_) {
      if (context.json) {
        PrintJson(context, {{"unit", unit->path}, {"link", unit->link}, {"text", unit->text}});
      } else {
        *context.out << "# " << runtime::Printable(unit->path) << "\n"
                     << runtime::PrintableLines(unit->text);
      }
      return kDone;
    }
    if (absl::Status done = InstallUserUnit(*unit); !done.ok()) {
      return Fail(context, "config", done);
    }
    if (context.json) {
      PrintJson(context, {{"unit", unit->path}, {"link", unit->link}, {"text", unit->text}});
      return kDone;
    }
    *context.out << "wrote " << runtime::Printable(unit->path) << "\n"
                 << "systemd starts the yard with your session from now on. To start it at once:\n"
                 << "  systemctl --user daemon-reload && systemctl --user start trainyard\n"
                 << "And to start it when the machine starts, before you log in:\n"
                 << "  loginctl enable-linger\n";
    return kDone;
  }

  std::vector<std::string> words_;
  std::string file_;
  bool dry_run_ = false, keys_ = false;
  double timeout_ = 10;
};

}  // namespace

std::unique_ptr<Verb> MakeConfig() { return std::make_unique<Config>(); }

}  // namespace yard
