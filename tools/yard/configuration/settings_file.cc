#include "tools/yard/configuration/settings_file.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"
#include "runtime/text/string_view.h"
#include "tools/yard/cli/configuration_directory.h"
#include "tools/yard/cli/node_reader.h"
#include "tools/yard/cli/typed_file.h"
#include "tools/yard/configuration/settings.h"
#include "tools/yard/job/flag_check.h"
#include "tools/yard/slurm/engine_nodes.h"
#include "tools/yard/state/service_names.h"
#include "tools/yard/state/shared_resources.h"
#include "tools/yard/text/quantities.h"
#include "tools/yard/text/yaml.h"

namespace yard {
namespace {

using Kind = YamlNode::Kind;

constexpr std::uint64_t kMostKept = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kLongestTime = 100ULL * 365 * 86400 * 1000;
constexpr std::uint64_t kLastPort = 65'535;
constexpr std::uint64_t kMostFiles = 10'000;

// The settings read so far. In wanted.flags, those from `services` follow those for all services,
// so that they win.
struct Draft {
  Wanted wanted;
  EngineWish engine = {};
  std::map<std::string, std::string> places;
};

std::string PlaceOf(const YamlNode& node) { return absl::StrCat(node.line, ":", node.column); }

void Note(const YamlNode& node, std::string_view key, Draft* draft) {
  draft->places[std::string(key)] = PlaceOf(node);
}

// Adds the flag that the table of settings assigns to `key`, for its service or for all.
void SetFlag(const YamlNode& node, std::string_view key, const std::string& value, Draft* draft) {
  for (const FlagKey& one : FlagKeys()) {
    if (one.key != key) continue;
    for (const std::string_view service : kAllServices) {
      if (!one.service.empty() && one.service != service) continue;
      draft->wanted.flags[std::string(service)].push_back(
          absl::StrCat(runtime::Absl(key), "=", value));
    }
  }
  Note(node, key, draft);
}

void ReadLogdir(NodeReader& in, const YamlNode& node, Draft* draft) {
  if (!in.Path(node, &draft->wanted.logdir)) return;
  draft->wanted.logdir_was_given = true;
  Note(node, "logdir", draft);
}

void ReadTrainer(NodeReader& in, const YamlNode& node, Draft* draft) {
  if (in.Path(node, &draft->wanted.trainer)) Note(node, "trainer", draft);
}

void ReadSlots(NodeReader& in, const YamlNode& node, Draft* draft) {
  if (in.Whole(node, 1, kMostSlots, &draft->wanted.slots)) Note(node, "slots", draft);
}

// Returns "gpu=0,1", the form of `yard up --resources`; empty after an error, which is reported.
std::string ResourceText(NodeReader& in, const std::string& name, const YamlNode& node) {
  if (node.kind != Kind::kList) {
    std::uint32_t amount = 0;
    if (name == "gpu") {
      in.Wrong(node, "expected the numbers of the GPUs in a list: [0, 1]");
      return "";
    }
    if (!in.Whole(node, 1, 1'000'000'000, &amount)) return "";
    return absl::StrCat(name, "=", amount);
  }
  std::vector<std::string> members;
  if (!in.Texts(node, &members)) return "";
  if (members.empty()) {
    in.Wrong(node, "expected at least one member");
    return "";
  }
  if (std::any_of(members.begin(), members.end(), [](const std::string& member) {
        return member.empty() || member.find(',') != std::string::npos;
      })) {
    in.Wrong(node, "a member is a word without a comma");
    return "";
  }
  // A set with one member gets a comma, to differ from an amount.
  return absl::StrCat(name, "=", absl::StrJoin(members, ","), members.size() == 1 ? "," : "");
}

void ReadResources(NodeReader& in, const YamlNode& node, Draft* draft) {
  if (!in.IsMap(node, "a map from resources to numbers or lists: {gpu: [0, 1], slots: 4}")) return;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string& name = node.keys[i].text;
    in.Under(name, [&] {
      const std::string text = ResourceText(in, name, node.items[i]);
      if (text.empty()) return;
      if (const absl::Status good = CheckSharedResources({text}); !good.ok()) {
        const std::string what(good.message());
        return in.Wrong(node.keys[i], what.substr(what.find("\": ") + 3));
      }
      draft->wanted.resources.push_back(text);
    });
  }
  Note(node, "resources", draft);
}

void ReadEngine(NodeReader& in, const YamlNode& node, Draft* draft) {
  ReadEngineName(in, node, &draft->engine.engine);
}

void ReadSlurm(NodeReader& in, const YamlNode& node, Draft* draft) {
  ReadSlurmValues(in, node, &draft->engine.slurm);
}

template <std::uint64_t least, std::uint64_t most>
std::string NumberText(NodeReader& in, const YamlNode& node) {
  std::uint64_t number = 0;
  return in.Whole(node, least, most, &number) ? absl::StrCat(number) : "";
}

void ReadKeepTrials(NodeReader& in, const YamlNode& node, Draft* draft) {
  const std::string text = NumberText<1, kMostKept>(in, node);
  if (!text.empty()) SetFlag(node, "keep_trials", text, draft);
}

void ReadMinFree(NodeReader& in, const YamlNode& node, Draft* draft) {
  std::string text;
  if (in.Text(node, &text)) SetFlag(node, "min_free", text, draft);
}

void ReadKeepJobs(NodeReader& in, const YamlNode& node, Draft* draft) {
  const std::string text = NumberText<0, kMostKept>(in, node);
  if (!text.empty()) SetFlag(node, "keep_jobs", text, draft);
}

void ReadKeepJobsFor(NodeReader& in, const YamlNode& node, Draft* draft) {
  std::uint64_t time = 0;
  if (!in.Time(node, kLongestTime, &time)) return;
  SetFlag(node, "keep_jobs_for",
          time % 1000 == 0 ? absl::StrCat(time / 1000, "s") : absl::StrCat(time, "ms"), draft);
}

void ReadPage(NodeReader& in, const YamlNode& node, Draft* draft) {
  constexpr std::string_view kWords[] = {"on", "off", "true", "false"};
  std::size_t word = 0;
  if (!in.OneOf(node, kWords, &word)) return;
  SetFlag(node, "page", word % 2 == 0 ? "on" : "off", draft);
}

void ReadMetricsPort(NodeReader& in, const YamlNode& node, Draft* draft) {
  const std::string text = NumberText<1, kLastPort>(in, node);
  if (!text.empty()) SetFlag(node, "metrics_port", text, draft);
}

void ReadGatePort(NodeReader& in, const YamlNode& node, Draft* draft) {
  const std::string text = NumberText<1, kLastPort>(in, node);
  if (!text.empty()) SetFlag(node, "gate_port", text, draft);
}

void ReadGateAddress(NodeReader& in, const YamlNode& node, Draft* draft) {
  std::string text;
  if (in.Text(node, &text)) SetFlag(node, "gate_address", text, draft);
}

void ReadLogLevel(NodeReader& in, const YamlNode& node, Draft* draft) {
  constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error"};
  std::size_t level = 0;
  if (in.OneOf(node, kLevels, &level)) {
    SetFlag(node, "log_level", std::string(kLevels[level]), draft);
  }
}

void ReadLogFileMb(NodeReader& in, const YamlNode& node, Draft* draft) {
  const std::string text = NumberText<1, kMostKept>(in, node);
  if (!text.empty()) SetFlag(node, "log_file_mb", text, draft);
}

void ReadLogFiles(NodeReader& in, const YamlNode& node, Draft* draft) {
  const std::string text = NumberText<0, kMostFiles>(in, node);
  if (!text.empty()) SetFlag(node, "log_files", text, draft);
}

// Reads a shell command: text is taken unchanged, a list becomes quoted words.
void ReadNotifyCommand(NodeReader& in, const YamlNode& node, Draft* draft) {
  std::vector<std::string> words;
  std::string line;
  if (node.kind == Kind::kText) {
    line = node.text;
  } else if (!in.IsList(node, "a command line, or a list: [notify-send, Trainyard]") ||
             !in.Texts(node, &words)) {
    return;
  }
  for (const std::string& word : words) {
    absl::StrAppend(&line, line.empty() ? "" : " ", runtime::ShellWord(word));
  }
  if (line.empty() || (!words.empty() && words.front().empty())) {
    return in.Wrong(node, "expected a program first");
  }
  if (line.find_first_of("\n\r") != std::string::npos) {
    return in.Wrong(node, "expected a command of one line");
  }
  SetFlag(node, "notify", line, draft);
}

void ReadNotifyKinds(NodeReader& in, const YamlNode& node, Draft* draft) {
  std::vector<std::string> kinds;
  if (in.Texts(node, &kinds)) SetFlag(node, "notify_kinds", absl::StrJoin(kinds, ","), draft);
}

constexpr NodeKey<Draft> kNotifyKeys[] = {
    {"command", "text or list of texts", "none", "", ReadNotifyCommand},
    {"kinds", "list of texts", "all but trial_ended", "", ReadNotifyKinds},
};

void ReadNotify(NodeReader& in, const YamlNode& node, Draft* draft) {
  if (node.kind != Kind::kMap) return ReadNotifyCommand(in, node, draft);
  in.Keys<Draft>(node, kNotifyKeys, draft);
}

void ReadAlerts(NodeReader& in, const YamlNode& node, Draft* draft) {
  std::vector<std::string> rules;
  if (in.Texts(node, &rules)) SetFlag(node, "alerts", absl::StrJoin(rules, ","), draft);
}

void ReadDiskFloor(NodeReader& in, const YamlNode& node, Draft* draft) {
  std::uint64_t size = 0;
  if (in.Size(node, &size)) SetFlag(node, "disk_floor", FormatSize(size), draft);
}

// Reads a flag's value in the service's format. Returns false after an error, which is reported.
bool FlagText(NodeReader& in, const YamlNode& node, std::string* text) {
  if (node.kind != Kind::kList) return in.Text(node, text);
  std::vector<std::string> texts;
  if (!in.Texts(node, &texts)) return false;
  *text = absl::StrJoin(texts, ",");
  return true;
}

bool IsFlagName(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

// Returns why a flag may not stand under `services`; empty if it may.
std::string NotBelowServices(std::string_view service, const std::string& name) {
  if (name == "listen" || name == "supervisor" || name == "check_flags" || name == "flagfile") {
    return "the yard itself decides about this flag";
  }
  if (name == "logdir" || (service == "trainer" && name == "slots") ||
      (service == "launcher" && name == "resources")) {
    return absl::StrCat("write `", name, ":` at the top of the file");
  }
  if (KeyOfFlag(service, name) == name) {
    return absl::StrCat("write `", name, ":` at the top of the file");
  }
  return IsFlagName(name) ? "" : "a flag has lower-case letters, digits and underscores";
}

void ReadService(NodeReader& in, const YamlNode& node, const std::string& service, Draft* draft) {
  if (!in.IsMap(node, "a map of flags of that service: {cache_mb: 512}")) return;
  auto& flags = service == "datamanager" ? draft->wanted.datamanager : draft->wanted.flags[service];
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string& name = node.keys[i].text;
    in.Under(name, [&] {
      if (const std::string why = NotBelowServices(service, name); !why.empty()) {
        return in.Wrong(node.keys[i], why);
      }
      std::string text;
      if (!FlagText(in, node.items[i], &text)) return;
      if (text.find_first_of("\n\r") != std::string::npos) {
        return in.Wrong(node.items[i], "expected a text of one line");
      }
      flags.push_back(absl::StrCat(name, "=", text));
      Note(node.items[i], KeyOfFlag(service, name), draft);
    });
  }
}

// Read after all other keys, because it overrides them for single services.
void ReadServices(NodeReader& in, const YamlNode& node, Draft* draft) {
  if (!in.IsMap(node, "a map from services to their flags: {datamanager: {cache_mb: 512}}")) return;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string& service = node.keys[i].text;
    if (std::find(std::begin(kAllServices), std::end(kAllServices), service) ==
        std::end(kAllServices)) {
      in.Wrong(node.keys[i],
               absl::StrCat(
                   "there is no service \"", runtime::Printable(service), "\"; there are: ",
                   absl::StrJoin(kAllServices, ", ", [](std::string* out, std::string_view name) {
                     out->append(name);
                   })));
      continue;
    }
    in.Under(service, [&] { ReadService(in, node.items[i], service, draft); });
  }
}

void ReadLater(NodeReader&, const YamlNode&, Draft*) {}

constexpr NodeKey<Draft> kKeys[] = {
    {"logdir", "path", "`./runs` at `yard up`", "Where runs are.", ReadLogdir},
    {"trainer", "path", "the yard's own",
     "A program with functions of its own as the trainer ([trainables.md](trainables.md)).",
     ReadTrainer},
    {"slots", "number", "one for each core", "Trials that run at once, at most.", ReadSlots},
    {"resources", "map", "the GPUs of the machine",
     "Resources that tasks share: a number is an amount, a list the members of a set.",
     ReadResources},
    {"keep_trials", "number", "10000", "Ended trials that are known; their directories stay.",
     ReadKeepTrials},
    {"min_free", "size or percent", "`1GiB`",
     "Room on the disk of the runs that has to be free before a trial begins: `5GiB`, `2%`.",
     ReadMinFree},
    {"keep_jobs", "number", "10000", "Ended jobs that are known, with their logs.", ReadKeepJobs},
    {"keep_jobs_for", "time", "`7d`", "Ended jobs that are older are forgotten.", ReadKeepJobsFor},
    {"page", "on, off", "`on`", "The page in a browser ([page.md](page.md)).", ReadPage},
    {"metrics_port", "number", "none", "A port on 127.0.0.1 for Prometheus, for the whole yard.",
     ReadMetricsPort},
    {"gate_port", "number", "7711", "Port of the gate ([gate.md](gate.md)).", ReadGatePort},
    {"gate_address", "text", "`127.0.0.1`",
     "Addresses of this machine to serve the gate on, `0.0.0.0` for all.", ReadGateAddress},
    {"notify", "text, list or map", "none",
     "A command that is told of alerts: a line for a shell, or its words; or `{command: ..., "
     "kinds: [...]}`.",
     ReadNotify},
    {"alerts", "list of texts", "none", "Rules for all trials, such as `loss>10`.", ReadAlerts},
    {"disk_floor", "size", "`1GiB`", "Less room than that on the disk of the runs is an alert.",
     ReadDiskFloor},
    {"log_level", "word", "`info`",
     "The lowest level that every service logs: `debug`, `info`, `warning` or `error`.",
     ReadLogLevel},
    {"log_file_mb", "number", "16", "Size of a service's log file, in MiB.", ReadLogFileMb},
    {"log_files", "number", "4", "Full log files of each service that are kept.", ReadLogFiles},
    {"engine", "word", "`local`",
     "Where `run`, `launch` and `sweep` run jobs that say nothing: `local` or `slurm` "
     "([slurm.md](slurm.md)). Verbs read this key and the next one each time.",
     ReadEngine},
    {"slurm", "map", "none",
     "What Slurm is asked for, by the keys of [slurm.md](slurm.md#keys): `{partition: gpu, time: "
     "8h}`.",
     ReadSlurm},
    {"services", "map", "none",
     "From a service (`registry`, `launcher`, `datamanager`, `trainer`, `web`, `gate`) to "
     "more of its flags; `yard config flags SERVICE` prints all that it gets.",
     ReadLater},
};

// Returns the origins of the settings, in the format of Wanted.
std::map<std::string, std::string> OriginsOf(const SettingsFile& file) {
  std::map<std::string, std::string> origins;
  for (const auto& [key, value] : SettingsOf(file.wanted)) {
    const auto place = file.places.find(key);
    if (place == file.places.end()) continue;
    origins[key] = absl::StrCat(file.path, ":", place->second.substr(0, place->second.find(':')));
  }
  return origins;
}

// Returns the key of the flag that a service's error is about; empty if none is recognised.
std::string KeyInError(const std::string& error, const SettingsFile& file) {
  for (const std::string_view name : kAllServices) {
    const std::string service(name);
    if (!absl::StartsWith(error, absl::StrCat("the ", service))) continue;
    std::string found;
    for (const std::string& flag : FlagsOf(service, file.wanted)) {
      const std::string dashed = flag.substr(0, flag.find('='));
      const std::size_t at = error.find(dashed);
      const bool is_whole =
          at != std::string::npos &&
          (at + dashed.size() == error.size() || !IsFlagName(error.substr(at + dashed.size(), 1)));
      if (is_whole && dashed.size() > found.size()) found = dashed;
    }
    if (found.empty()) return "";
    const std::string flag = found.substr(2);
    if (flag == "slots" || flag == "resources") return flag;
    const std::string own = absl::StrCat("services.", service, ".", flag);
    if (file.places.contains(own)) return own;
    return flag;
  }
  return "";
}

absl::Status At(const SettingsFile& file, const std::string& key, std::string_view what) {
  const auto place = file.places.find(key);
  return absl::InvalidArgumentError(
      absl::StrCat(file.path, ":", place == file.places.end() ? "" : place->second + ": ",
                   key.empty() ? "" : key + ": ", runtime::Absl(what)));
}

}  // namespace

std::vector<SettingKey> SettingKeys() {
  std::vector<SettingKey> keys;
  for (const auto& key : kKeys) keys.push_back({key.name, key.type, key.fallback, key.meaning});
  return keys;
}

absl::StatusOr<SettingsFile> ParseSettings(std::string_view text, const std::string& file,
                                           const std::string& directory) {
  // A file with comments only is valid and sets nothing.
  const bool is_empty = text.size() <= kMaxYamlBytes && HasNoYaml(text);
  auto root = is_empty ? YamlNode() : ParseYaml(text, file);
  if (!root.ok()) return root.status();
  NodeReader in(file, directory);
  Draft draft;
  if (!is_empty && in.IsMap(*root, "a map of settings, like \"slots: 4\"")) {
    in.Keys<Draft>(*root, kKeys, &draft);
    if (const YamlNode* const services = root->Find("services"); services != nullptr) {
      in.Under("services", [&] { ReadServices(in, *services, &draft); });
    }
  }
  if (absl::Status status = in.status(); !status.ok()) return status;
  for (auto& [service, flags] : draft.wanted.flags) flags = LastOfEach(flags);
  // If a flag common to all services is also in the data manager's own list, the latter wins.
  auto& shared = draft.wanted.flags["datamanager"];
  std::erase_if(shared, [&](const std::string& flag) {
    const std::string name = flag.substr(0, flag.find('=') + 1);
    return std::any_of(draft.wanted.datamanager.begin(), draft.wanted.datamanager.end(),
                       [&](const std::string& own) { return own.starts_with(name); });
  });
  std::erase_if(draft.wanted.flags, [](const auto& one) { return one.second.empty(); });
  SettingsFile read{.path = file,
                    .wanted = std::move(draft.wanted),
                    .engine = std::move(draft.engine),
                    .places = std::move(draft.places)};
  read.wanted.file = file;
  read.wanted.origins = OriginsOf(read);
  return read;
}

absl::StatusOr<SettingsFile> ReadSettings(const Context& context, const std::string& file) {
  const auto read = ReadTypedFile(file, context.working_directory, kMaxYamlBytes);
  if (!read.ok()) return read.status();
  const bool is_input = file == "-";
  const std::filesystem::path place = std::filesystem::path(context.working_directory) / file;
  const std::string path = is_input ? read->name : place.lexically_normal().string();
  return ParseSettings(read->text, path, read->directory);
}

std::string StandardSettingsPath(const std::vector<std::string>& environment) {
  const std::string directory = ConfigurationDirectory(environment);
  return directory.empty() ? "" : directory + "/yard.yaml";
}

absl::StatusOr<std::optional<SettingsFile>> FindSettings(const Context& context,
                                                         const std::string& file) {
  if (!file.empty()) {
    auto read = ReadSettings(context, file);
    if (!read.ok()) return read.status();
    return std::optional<SettingsFile>(*std::move(read));
  }
  const std::string standard = StandardSettingsPath(context.environment);
  std::error_code error;
  if (standard.empty() || !std::filesystem::exists(standard, error)) {
    return std::optional<SettingsFile>();
  }
  return FindSettings(context, standard);
}

absl::Status CheckSettings(const Context& context, const SettingsFile& file) {
  if (const std::string& trainer = file.wanted.trainer; !trainer.empty()) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(trainer, error)) {
      return At(file, "trainer", absl::StrCat("there is no program ", trainer));
    }
    if (access(trainer.c_str(), X_OK) != 0) {
      return At(file, "trainer", trainer + " cannot be executed");
    }
  }
  const absl::Status good = CheckServiceFlags(context, file.wanted);
  return good.ok() ? good : AtItsPlace(file, good);
}

absl::Status AtItsPlace(const SettingsFile& file, const absl::Status& wrong) {
  const std::string error(wrong.message());
  const std::string key = KeyInError(error, file);
  return key.empty() ? wrong : At(file, key, error);
}

}  // namespace yard
