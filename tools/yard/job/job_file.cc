#include "tools/yard/job/job_file.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/node_reader.h"
#include "tools/yard/cli/typed_file.h"
#include "tools/yard/job/probe_keys.h"
#include "tools/yard/job/task_keys.h"
#include "tools/yard/slurm/engine_nodes.h"
#include "tools/yard/text/quantities.h"
#include "tools/yard/text/yaml.h"

namespace yard {
namespace {

using Kind = YamlNode::Kind;
using Spec = msg::JobSpecT;

constexpr std::size_t kLongestName = 128;
constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
// A hundred years, in milliseconds.
constexpr std::uint64_t kLongestTime = 100ULL * 365 * 86400 * 1000;
constexpr std::uint64_t kLeastRotateSize = 64 * 1024;

void ReadName(NodeReader& in, const YamlNode& node, Spec* spec) {
  std::string name;
  if (!in.Text(node, &name)) return;
  if (name.empty() || name.size() > kLongestName || name.front() == '-' ||
      name.find('/') != std::string::npos || runtime::Printable(name) != name) {
    return in.Wrong(node, absl::StrCat("expected 1 to ", kLongestName,
                                       " printable characters without /, the first one not -"));
  }
  spec->name = std::move(name);
}

void ReadRestart(NodeReader& in, const YamlNode& node, Spec* spec) {
  constexpr std::string_view kWords[] = {"never", "on-failure", "always"};
  std::size_t word = 1;
  const bool other_spelling = node.kind == Kind::kText && node.text == "on_failure";
  if (!other_spelling && !in.OneOf(node, kWords, &word)) return;
  spec->restart = static_cast<msg::RestartPolicy>(word);
}

void ReadStopSignal(NodeReader& in, const YamlNode& node, Spec* spec) {
  std::string text;
  if (!in.Text(node, &text)) return;
  const auto signal = ParseSignal(text);
  if (!signal.has_value()) {
    return in.Wrong(
        node, absl::StrCat("expected ", kSignalForm, ", not \"", runtime::Printable(text), "\""));
  }
  spec->stop_signal = *signal;
}

// In the message, 0 means the default grace, so a grace of zero becomes 1 ms.
void ReadStopGrace(NodeReader& in, const YamlNode& node, Spec* spec) {
  if (in.Time(node, kMax32, &spec->stop_grace_ms) && spec->stop_grace_ms == 0) {
    spec->stop_grace_ms = 1;
  }
}

void ReadRotateSize(NodeReader& in, const YamlNode& node, Spec* spec) {
  std::uint64_t size = 0;
  if (!in.Size(node, &size)) return;
  if (size != 0 && size < kLeastRotateSize) {
    return in.Wrong(node, absl::StrCat("expected at least ", FormatSize(kLeastRotateSize),
                                       ", or 0 for never, not ", FormatSize(size)));
  }
  spec->log_rotate_bytes = size;
}

void ReadHoldPorts(NodeReader& in, const YamlNode& node, Spec* spec) {
  bool hold = true;
  if (in.Bool(node, &hold)) spec->release_ports = !hold;
}

void ReadEnvironment(NodeReader& in, const YamlNode& node, Spec* spec) {
  std::vector<std::string> added;
  if (in.Assignments(node, &added)) spec->environment = Overlay(spec->environment, added);
}

void ReadLabels(NodeReader& in, const YamlNode& node, Spec* spec) {
  std::vector<std::string> added, before;
  if (!in.Assignments(node, &added)) return;
  for (const auto& label : spec->labels) before.push_back(label->key + "=" + label->value);
  spec->labels.clear();
  for (const std::string& assignment : Overlay(before, added)) {
    const std::size_t equals = assignment.find('=');
    auto label = std::make_unique<msg::KeyValueT>();
    label->key = assignment.substr(0, equals);
    label->value = assignment.substr(equals + 1);
    spec->labels.push_back(std::move(label));
  }
}

// `program` with `args`, and `command`, are read together, after the other keys; so are keys that
// the job sets for all its task types.
void ReadLater(NodeReader&, const YamlNode&, Spec*) {}

constexpr std::string_view kOfEveryType[] = {"ready_pattern", "ready_fd", "resources", "limits",
                                             "memory",        "cpus",     "processes"};

// Without `tasks`, the job is a single task.
void AddOnlyTask(Spec* spec) {
  auto worker = std::make_unique<msg::TaskGroupT>();
  worker->type = "worker";
  worker->count = 1;
  spec->groups.push_back(std::move(worker));
  spec->task_type = "worker";
}

void ReadForEveryType(NodeReader& in, const YamlNode& root, Spec* spec) {
  const YamlNode* const tasks = root.Find("tasks");
  for (const std::string_view name : kOfEveryType) {
    const YamlNode* const value = root.Find(name);
    if (value == nullptr || !in.status().ok()) continue;
    if (spec->groups.empty()) AddOnlyTask(spec);
    for (const auto& group : spec->groups) {
      const YamlNode* const own = tasks == nullptr ? nullptr : tasks->Find(group->type);
      const bool is_ready_key = name == "ready_pattern" || name == "ready_fd";
      const bool says_ready = own != nullptr && (own->Find("ready_pattern") != nullptr ||
                                                 own->Find("ready_fd") != nullptr);
      if (own != nullptr && own->Find(name) != nullptr) continue;
      if (is_ready_key && says_ready) continue;
      for (const auto& key : TaskKeys()) {
        if (key.name != name) continue;
        in.Under(std::string(name), [&] { key.read(in, *value, group.get()); });
      }
      if (!in.status().ok()) break;  // Stop at the first error: all types would repeat it.
      if (group->ready_pattern.empty() || group->ready_fd == 0) continue;
      in.Wrong(*value, "a task is ready by ready_pattern or ready_fd, not both");
      break;
    }
  }
}

template <bool Spec::*field>
void ReadBool(NodeReader& in, const YamlNode& node, Spec* spec) {
  in.Bool(node, &(spec->*field));
}
template <std::string Spec::*field>
void ReadText(NodeReader& in, const YamlNode& node, Spec* spec) {
  in.Text(node, &(spec->*field));
}
template <std::string Spec::*field>
void ReadPath(NodeReader& in, const YamlNode& node, Spec* spec) {
  in.Path(node, &(spec->*field));
}
template <std::uint64_t Spec::*field>
void ReadTime(NodeReader& in, const YamlNode& node, Spec* spec) {
  in.Time(node, kLongestTime, &(spec->*field));
}
template <std::uint64_t Spec::*field>
void ReadSize(NodeReader& in, const YamlNode& node, Spec* spec) {
  in.Size(node, &(spec->*field));
}
template <std::uint32_t Spec::*field>
void ReadNumber(NodeReader& in, const YamlNode& node, Spec* spec) {
  in.Whole(node, 0, kMax32, &(spec->*field));
}

// In the message, 0 means the default, so a delay of zero becomes 1 ms.
template <std::uint32_t Spec::*field>
void ReadDelay(NodeReader& in, const YamlNode& node, Spec* spec) {
  constexpr std::uint64_t kLongestDelay = 24ULL * 3600 * 1000;
  if (in.Time(node, kLongestDelay, &(spec->*field)) && spec->*field == 0) spec->*field = 1;
}

void ReadAfter(NodeReader& in, const YamlNode& node, Spec* spec) {
  constexpr std::string_view kMilestones[] = {"started", "ready", "completed"};
  if (!in.IsMap(node, "a map from jobs to started, ready or completed: {data: completed}")) return;
  spec->after.clear();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    auto after = std::make_unique<msg::AfterJobT>();
    after->job = node.keys[i].text;
    in.Under(after->job, [&] {
      std::size_t word = 0;
      if (after->job.empty()) in.Wrong(node.keys[i], "expected the name of a job");
      if (in.OneOf(node.items[i], kMilestones, &word)) {
        after->milestone = static_cast<msg::Milestone>(word);
      }
    });
    spec->after.push_back(std::move(after));
  }
}

// Checks for keys of a job that exclude each other.
void CheckTogether(NodeReader& in, const YamlNode& root, const Spec& spec) {
  if (spec.autostart && spec.daemon) {
    in.Wrong(*root.Find("autostart"),
             "a job with `daemon` ends with its launcher, and cannot come back with it");
  }
  if (spec.restart_delay_limit_ms != 0 && spec.restart_delay_limit_ms < spec.restart_delay_ms) {
    in.Wrong(*root.Find("restart_delay_limit"), "expected no less than restart_delay");
  }
}

constexpr NodeKey<Spec> kJobKeys[] = {
    {"name", "text", "the id",
     "Unique among live jobs; up to 128 characters, no `/`, the first one not `-`.", ReadName},
    {"program", "text", "none",
     "The program of each task. Without a `/` it is looked for on the task's `PATH`.", ReadLater},
    {"args", "list of texts", "none", "The words behind `program`.", ReadLater},
    {"command", "list of texts", "none", "`program` and `args` in one list.", ReadLater},
    {"environment", "map", "none", "On top of the caller's whole environment.", ReadEnvironment},
    {"cwd", "path", "the caller's directory",
     "Where the tasks start; a relative one begins where the file is (of a flag: in the caller's "
     "directory).",
     ReadPath<&Spec::working_directory>},
    {"tasks", "map", "one task, worker-0", "The task types, each with the keys below.", ReadTasks},
    {"ready_pattern", "text", "none", "As that of a task type, for each that has none.", ReadLater},
    {"ready_fd", "number", "none", "The same.", ReadLater},
    {"resources", "map", "none", "The same.", ReadLater},
    {"limits", "map", "the launcher's", "The same.", ReadLater},
    {"memory", "size", "0: no limit", "The same.", ReadLater},
    {"cpus", "number", "no limit", "The same.", ReadLater},
    {"processes", "number", "0: no limit", "The same.", ReadLater},
    {"rpc_layer", "text", "`grpc`", "`rpc_layer` in `TF_CONFIG`.", ReadText<&Spec::rpc_layer>},
    {"grpc_fail_fast", "text", "not set",
     "`$GRPC_FAIL_FAST` of the tasks: `true`, `false`, `use_caller`.",
     ReadText<&Spec::grpc_fail_fast>},
    {"max_run_time", "time", "0: no limit", "Then the whole job is ended, and has failed.",
     ReadTime<&Spec::max_run_time_ms>},
    {"stop_signal", "signal", "`SIGTERM`", "The signal that asks a task to stop.", ReadStopSignal},
    {"stop_grace", "time", "`10s`", "Between that and the kill of everything the task has started.",
     ReadStopGrace},
    {"restart", "word", "`never`",
     "`never`, `on-failure`, `always`. With `max_restarts` alone it is `on-failure`.", ReadRestart},
    {"max_restarts", "number", "no limit", "Restarts of a task at most; with `gang`, of the job.",
     ReadNumber<&Spec::max_restarts>},
    {"restart_window", "time", "0: all count",
     "Only restarts of so recent a time count against `max_restarts`.",
     ReadTime<&Spec::restart_window_ms>},
    {"restart_delay", "time", "none, then `100ms`",
     "The pause before a restart, doubled for each further quick one in a row (the task ran for "
     "less than 10 s), less up to half of it by chance.",
     ReadDelay<&Spec::restart_delay_ms>},
    {"restart_delay_limit", "time", "`30s`", "The pause is never longer.",
     ReadDelay<&Spec::restart_delay_limit_ms>},
    {"liveness", "map", "none",
     "A probe of each task that runs: one of `command` (a list, or a line for a shell), `tcp`, "
     "`http` and `heartbeat`, and `period` (`10s`), `timeout` (`1s`), `failures` (3), "
     "`start_delay` (the period). So many failed looks in a row end the task, which has failed "
     "([fleet.md](fleet.md#probes)).",
     [](NodeReader& in, const YamlNode& node, Spec* spec) {
       ReadProbe(in, node, &spec->liveness);
     }},
    {"after", "map", "none",
     "From names of other jobs to `started`, `ready` or `completed`: no task starts before they "
     "have come so far.",
     ReadAfter},
    {"autostart", "true, false", "false",
     "The job comes back with `yard up` after `yard down`, or a restart of the machine, has ended "
     "it.",
     ReadBool<&Spec::autostart>},
    {"gang", "true, false", "false", "When one task has to start again, all do.",
     ReadBool<&Spec::gang>},
    {"ignore_chief", "true, false", "false", "Otherwise the end of chief-0 is the end of the job.",
     ReadBool<&Spec::ignore_chief>},
    {"keep_going", "true, false", "false",
     "A task that has failed for good, other than the chief, does not end the others.",
     ReadBool<&Spec::keep_going>},
    {"daemon", "true, false", "false",
     "The job is stopped when the launcher ends, however it ends; otherwise it goes on without "
     "one.",
     ReadBool<&Spec::daemon>},
    {"hold_ports", "true, false", "true",
     "The launcher keeps the ports of the job bound, never listening, as long as the job lives. "
     "`false`: it lets go just before the start, for programs that set neither `SO_REUSEADDR` nor "
     "`SO_REUSEPORT`.",
     ReadHoldPorts},
    {"share_gpu", "true, false", "false",
     "Members of a set (`gpu`) go to all tasks of the job alike, not to one at a time.",
     ReadBool<&Spec::share_sets>},
    {"log_directory", "path", "in the launcher's state",
     "Where the output files go; made if missing, and never removed by `yard rm`.",
     ReadPath<&Spec::log_directory>},
    {"log_limit", "size", "0: no limit", "Each output file stops growing there; the task goes on.",
     ReadSize<&Spec::log_limit_bytes>},
    {"log_rotate_size", "size", "0: never",
     "There an output file goes on in a new one; at least 64KiB.", ReadRotateSize},
    {"log_rotate_files", "number", "1", "So many old ones are kept; at least one.",
     ReadNumber<&Spec::log_rotate_files>},
    {"own_namespace", "true, false", "false",
     "Tasks have a process namespace of their own: nothing survives a stop.",
     ReadBool<&Spec::own_namespace>},
    {"at", "text", "this host", "Pool on whose nodes the tasks run ([hosts.md](hosts.md)).",
     ReadText<&Spec::pool>},
    {"engine", "word", "`local`, with `at` `pool`",
     "`slurm`: the job gets an allocation of its own ([slurm.md](slurm.md)).", ReadLater},
    {"slurm", "map", "none",
     "What Slurm is asked for, by the keys of [slurm.md](slurm.md#keys): `{partition: gpu, time: "
     "8h}`.",
     ReadLater},
    {"labels", "map", "none", "Anything, for whoever reads the job.", ReadLabels},
};

void ReadEngine(NodeReader& in, const YamlNode& root, EngineWish* engine) {
  if (const YamlNode* const name = root.Find("engine"); name != nullptr) {
    in.Under("engine", [&] { ReadEngineName(in, *name, &engine->engine); });
  }
  if (const YamlNode* const slurm = root.Find("slurm"); slurm != nullptr) {
    in.Under("slurm", [&] { ReadSlurmValues(in, *slurm, &engine->slurm); });
  }
}

// Converts a flag's values to a file's node. Returns nothing if a name has no value.
std::optional<YamlNode> NodeOfFlag(const std::string& key, const std::vector<std::string>& values,
                                   NodeReader* in) {
  const bool is_map = key == "environment" || key == "labels" || key == "resources" ||
                      key == "limits" || key == "after" || key == "liveness";
  YamlNode node;
  node.kind = is_map ? Kind::kMap : Kind::kText;
  if (!is_map) {
    node.text = values.empty() ? "" : values.back();
    return node;
  }
  for (const std::string& value : values) {
    const std::size_t equals = value.find('=');
    YamlNode name, text;
    name.kind = text.kind = Kind::kText;
    name.text = value.substr(0, equals);
    if (equals == std::string::npos) {
      in->Wrong(node, absl::StrCat("expected NAME=value, not \"", runtime::Printable(value), "\""));
      return std::nullopt;
    }
    text.text = value.substr(equals + 1);
    node.keys.push_back(std::move(name));
    node.items.push_back(std::move(text));
  }
  return node;
}

template <typename Target>
absl::Status SetKey(std::span<const NodeKey<Target>> known, const std::string& key,
                    const std::vector<std::string>& values, const std::string& directory,
                    Target* target) {
  NodeReader in("--" + key, directory);
  const auto node = NodeOfFlag(key, values, &in);
  if (!node.has_value()) return in.status();
  for (const auto& entry : known) {
    if (entry.name != key) continue;
    entry.read(in, *node, target);
    return in.status();
  }
  return absl::InvalidArgumentError(absl::StrCat("--", key, ": there is no such key"));
}

template <typename Target>
void Collect(std::span<const NodeKey<Target>> keys, bool of_task_type, std::vector<JobKey>* all) {
  for (const auto& key : keys) {
    all->push_back({of_task_type, key.name, key.type, key.fallback, key.meaning});
  }
}

}  // namespace

absl::StatusOr<JobDraft> ParseJob(std::string_view text, const std::string& file,
                                  const std::string& directory) {
  auto root = ParseYaml(text, file);
  if (!root.ok()) return root.status();
  NodeReader in(file, directory);
  JobDraft draft;
  if (in.IsMap(*root, "a map of a job's keys, like \"command: [python3, train.py]\"")) {
    in.Keys<Spec>(*root, kJobKeys, &draft.spec);
    ReadCommand(in, *root, &draft.spec.argv);
    ReadForEveryType(in, *root, &draft.spec);
    CheckTogether(in, *root, draft.spec);
    ReadEngine(in, *root, &draft.engine);
  }
  if (absl::Status status = in.status(); !status.ok()) return status;
  for (const YamlNode& key : root->keys) draft.given.insert(key.text);
  return draft;
}

absl::StatusOr<JobDraft> ReadJob(const std::string& file, const std::string& working_directory) {
  const auto read = ReadTypedFile(file, working_directory, kMaxYamlBytes);
  if (!read.ok()) return read.status();
  return ParseJob(read->text, read->name, read->directory);
}

absl::Status SetJobKey(const std::string& key, const std::vector<std::string>& values,
                       const std::string& directory, JobDraft* draft) {
  const absl::Status status = SetKey<Spec>(kJobKeys, key, values, directory, &draft->spec);
  if (status.ok()) draft->given.insert(key);
  return status;
}

absl::Status SetTaskKey(const std::string& key, const std::vector<std::string>& values,
                        const std::string& directory, JobDraft* draft) {
  if (draft->spec.groups.empty()) AddOnlyTask(&draft->spec);
  for (const auto& group : draft->spec.groups) {
    const absl::Status status =
        SetKey<msg::TaskGroupT>(TaskKeys(), key, values, directory, group.get());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<JobKey> JobKeys() {
  std::vector<JobKey> all;
  Collect<Spec>(kJobKeys, false, &all);
  Collect<msg::TaskGroupT>(TaskKeys(), true, &all);
  return all;
}

}  // namespace yard
