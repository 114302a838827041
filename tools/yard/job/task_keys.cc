#include "tools/yard/job/task_keys.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "tools/yard/job/job_draft.h"
#include "tools/yard/job/probe_keys.h"
#include "tools/yard/text/quantities.h"

namespace yard {
namespace {

using Group = msg::TaskGroupT;
using Kind = YamlNode::Kind;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMax32 = std::numeric_limits<std::uint32_t>::max();
// Descriptors 0 to 2 are the program's own, 3 is the report channel.
constexpr std::uint64_t kFirstReadyFd = 4;
constexpr std::uint64_t kLastReadyFd = 255;

// Names of setrlimit(2) limits, and which of them are in bytes.
struct LimitName {
  std::string_view name;
  bool is_size;
};
constexpr LimitName kLimits[] = {
    {"as", true},      {"core", true},    {"cpu", false},        {"data", true},
    {"fsize", true},   {"locks", false},  {"memlock", true},     {"msgqueue", true},
    {"nice", false},   {"nofile", false}, {"nproc", false},      {"rss", true},
    {"rtprio", false}, {"rttime", false}, {"sigpending", false}, {"stack", true},
};

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= 32 &&
         name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
             std::string::npos;
}

// Returns true for HOST:PORT; an IPv6 address must be in brackets.
bool IsAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  const std::string_view host = std::string_view(text).substr(0, colon);
  const bool brackets = host.front() == '[' && host.back() == ']' && host.size() > 2;
  const bool bad = runtime::Printable(host) != host ||
                   host.find_first_of(" /\t,") != std::string_view::npos ||
                   (!brackets && host.find_first_of("[]:") != std::string_view::npos);
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  return !bad && error == std::errc() && stop == end && port >= 1 && port <= 65535;
}

void ReadAddresses(NodeReader& in, const YamlNode& node, Group* group) {
  std::vector<std::string> addresses;
  if (!in.IsList(node, "a list of addresses: [host1:2222, host2:2222]")) return;
  for (const YamlNode& item : node.items) {
    std::string address;
    if (!in.Text(item, &address)) continue;
    if (!IsAddress(address)) {
      in.Wrong(item, absl::StrCat("expected HOST:PORT with a port from 1 to 65535, not \"",
                                  runtime::Printable(address), "\""));
    }
    addresses.push_back(std::move(address));
  }
  if (node.items.empty())
    in.Wrong(node, "expected addresses; without the key there are ports of this host");
  group->addresses = std::move(addresses);
}

void ReadStartAfter(NodeReader& in, const YamlNode& node, Group* group) {
  constexpr std::string_view kMilestones[] = {"started", "ready", "completed"};
  if (!in.IsMap(node, "a map from task types to started, ready or completed: {ps: ready}")) return;
  group->start_after.clear();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    auto after = std::make_unique<msg::StartAfterT>();
    after->type = node.keys[i].text;
    in.Under(after->type, [&] {
      std::size_t word = 0;
      if (in.OneOf(node.items[i], kMilestones, &word)) {
        after->milestone = static_cast<msg::Milestone>(word);
      }
    });
    group->start_after.push_back(std::move(after));
  }
}

void ReadResources(NodeReader& in, const YamlNode& node, Group* group) {
  if (!in.IsMap(node, "a map from resources to numbers: {gpu: 1}")) return;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string& name = node.keys[i].text;
    if (!IsName(name)) {
      in.Wrong(node.keys[i], "expected the name of a resource: letters, digits, _ or -");
      continue;
    }
    std::uint32_t amount = 0;
    bool good = false;
    in.Under(name, [&] { good = in.Whole(node.items[i], 1, 1'000'000, &amount); });
    if (!good) continue;
    std::erase_if(group->resources, [&](const auto& request) { return request->name == name; });
    auto request = std::make_unique<msg::ResourceRequestT>();
    request->name = name;
    request->amount = amount;
    group->resources.push_back(std::move(request));
  }
}

std::optional<std::uint64_t> ParseLimit(std::string_view text, bool is_size) {
  if (text == "unlimited") return kUnlimited;
  std::uint64_t number = 0;
  if (is_size) return ParseSize(text);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = error == std::errc() && stop == text.data() + text.size();
  return good ? std::optional(number) : std::nullopt;
}

void ReadLimit(NodeReader& in, const YamlNode& node, const LimitName& name, Group* group) {
  std::string text;
  if (!in.Text(node, &text)) return;
  const std::size_t colon = text.find(':');
  const auto soft = ParseLimit(std::string_view(text).substr(0, colon), name.is_size);
  const auto hard = colon == std::string::npos
                        ? soft
                        : ParseLimit(std::string_view(text).substr(colon + 1), name.is_size);
  if (!soft.has_value() || !hard.has_value() || *soft > *hard) {
    return in.Wrong(node, absl::StrCat("expected ", name.is_size ? "a size like 8MiB" : "a number",
                                       ", unlimited, or two of them as SOFT:HARD, the second not "
                                       "smaller; not \"",
                                       runtime::Printable(text), "\""));
  }
  std::erase_if(group->process_limits, [&](const auto& limit) { return limit->name == name.name; });
  auto limit = std::make_unique<msg::ProcessLimitT>();
  limit->name = std::string(name.name);
  limit->soft = *soft;
  limit->hard = *hard;
  // Exceeding the soft limit sends SIGXCPU, which identifies the cause; the hard limit sends
  // SIGKILL, which does not. So the hard limit is one second higher.
  const bool is_told = name.name == "cpu" && colon == std::string::npos && *soft < kUnlimited;
  if (is_told) ++limit->hard;
  group->process_limits.push_back(std::move(limit));
}

void ReadLimits(NodeReader& in, const YamlNode& node, Group* group) {
  if (!in.IsMap(node, "a map of limits: {nofile: 4096, core: unlimited}")) return;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const auto found =
        std::find_if(std::begin(kLimits), std::end(kLimits),
                     [&](const LimitName& limit) { return limit.name == node.keys[i].text; });
    if (found == std::end(kLimits)) {
      std::string names;
      for (const LimitName& limit : kLimits) {
        absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(limit.name));
      }
      in.Wrong(node.keys[i], absl::StrCat("unknown limit \"", runtime::Printable(node.keys[i].text),
                                          "\"; there are: ", names));
      continue;
    }
    in.Under(node.keys[i].text, [&] { ReadLimit(in, node.items[i], *found, group); });
  }
}

msg::ControlLimitsT& ControlLimits(Group* group) {
  if (group->control_limits == nullptr) {
    group->control_limits = std::make_unique<msg::ControlLimitsT>();
  }
  return *group->control_limits;
}

void ReadMemory(NodeReader& in, const YamlNode& node, Group* group) {
  in.Size(node, &ControlLimits(group).memory_bytes);
}

void ReadCpus(NodeReader& in, const YamlNode& node, Group* group) {
  double cpus = 0;
  if (!in.Decimal(node, 0.001, 1'000'000, &cpus)) return;
  ControlLimits(group).milli_cpus = static_cast<std::uint32_t>(std::lround(cpus * 1000));
}

void ReadProcesses(NodeReader& in, const YamlNode& node, Group* group) {
  in.Whole(node, 0, kMax32, &ControlLimits(group).processes);
}

void ReadCount(NodeReader& in, const YamlNode& node, Group* group) {
  in.Whole(node, 0, kMaxTasks, &group->count);
}

void ReadPattern(NodeReader& in, const YamlNode& node, Group* group) {
  if (in.Text(node, &group->ready_pattern) && group->ready_pattern.empty()) {
    in.Wrong(node, "expected a pattern, not an empty text");
  }
}

void ReadEnvironment(NodeReader& in, const YamlNode& node, Group* group) {
  std::vector<std::string> added;
  if (in.Assignments(node, &added)) group->environment = Overlay(group->environment, added);
}

// These keys are read together, after the others.
void ReadLater(NodeReader&, const YamlNode&, Group*) {}

constexpr NodeKey<Group> kTaskKeys[] = {
    {"count", "number", "1, or one for each address",
     "How many tasks; up to 1000 of all types together. 0: this type is left out.", ReadCount},
    {"addresses", "list of HOST:PORT", "ports of this host",
     "Where the others find each task; an IPv6 address in brackets.", ReadAddresses},
    {"program", "text", "the job's", "The program of these tasks.", ReadLater},
    {"args", "list of texts", "none", "The words behind `program`.", ReadLater},
    {"command", "list of texts", "the job's", "`program` and `args` in one list.", ReadLater},
    {"cwd", "path", "the job's", "Where these tasks start.",
     [](NodeReader& in, const YamlNode& node, Group* group) {
       in.Path(node, &group->working_directory);
     }},
    {"environment", "map", "none", "On top of the job's.", ReadEnvironment},
    {"start_after", "map", "none",
     "From task types to `started`, `ready` or `completed`: all tasks of that type must have come "
     "so far.",
     ReadStartAfter},
    {"ready_pattern", "text", "none",
     "A task is ready once a line of its output matches this regular expression (RE2's syntax), "
     "also one that came while there was no launcher; a line beyond 64 KiB is looked at in pieces.",
     ReadPattern},
    {"ready_fd", "number", "none",
     "Or once it writes a byte to this descriptor, 4 to 255, also in `$YARD_READY_FD`. Without "
     "either a task that runs is ready.",
     [](NodeReader& in, const YamlNode& node, Group* group) {
       in.Whole(node, kFirstReadyFd, kLastReadyFd, &group->ready_fd);
     }},
    {"liveness", "map", "the job's", "As the job's, for these tasks.",
     [](NodeReader& in, const YamlNode& node, Group* group) {
       ReadProbe(in, node, &group->liveness);
     }},
    {"resources", "map", "none", "For each task, from names to whole numbers: `{gpu: 1}`.",
     ReadResources},
    {"limits", "map", "the launcher's",
     "As setrlimit(2) has them: `as core cpu data fsize locks memlock msgqueue nice nofile nproc "
     "rss rtprio rttime sigpending stack`. A number (bytes: a size), `unlimited`, or `SOFT:HARD` "
     "(`cpu: 60` is `60:61`, so that it ends by SIGXCPU).",
     ReadLimits},
    {"memory", "size", "0: no limit",
     "Limit of each task, where the machine lets the launcher set it.", ReadMemory},
    {"cpus", "number", "no limit", "Cores of each task, also in parts: 0.5.", ReadCpus},
    {"processes", "number", "0: no limit", "Limit of each task, with all that it has started.",
     ReadProcesses},
};

void ReadGroup(NodeReader& in, const YamlNode& node, Group* group) {
  switch (node.kind) {
    case Kind::kText:
      return ReadCount(in, node, group);
    case Kind::kList:
      ReadAddresses(in, node, group);
      break;
    case Kind::kMap:
      in.Keys<Group>(node, kTaskKeys, group);
      ReadCommand(in, node, &group->argv);
      if (!group->ready_pattern.empty() && group->ready_fd != 0) {
        in.Wrong(*node.Find("ready_fd"), "a task is ready by ready_pattern or ready_fd, not both");
      }
      if (node.Find("count") != nullptr) return;
      break;
    case Kind::kNull:
      break;
  }
  group->count = static_cast<std::uint32_t>(std::max<std::size_t>(group->addresses.size(), 1));
}

void TellProblems(NodeReader& in, const YamlNode& tasks, const msg::JobSpecT& spec) {
  for (const TaskProblem& problem : CheckTasks(spec)) {
    const YamlNode* node = tasks.Find(problem.type);
    if (node == nullptr) node = &tasks;
    const YamlNode* const value = node->Find(problem.key);
    in.Under(problem.type, [&] { in.Wrong(value == nullptr ? *node : *value, problem.what); });
  }
}

}  // namespace

std::span<const NodeKey<Group>> TaskKeys() { return kTaskKeys; }

void ReadTasks(NodeReader& in, const YamlNode& tasks, msg::JobSpecT* spec) {
  if (!in.IsMap(tasks, "a map from task types to how many there are: {worker: 3, ps: 1}")) return;
  for (std::size_t i = 0; i < tasks.items.size(); ++i) {
    const std::string& type = tasks.keys[i].text;
    if (const std::string what = CheckTaskType(type); !what.empty()) {
      in.Wrong(tasks.keys[i], what);
      continue;
    }
    auto group = std::make_unique<Group>();
    group->type = type;
    in.Under(type, [&] { ReadGroup(in, tasks.items[i], group.get()); });
    if (group->count > 0) spec->groups.push_back(std::move(group));
  }
  if (!in.status().ok()) return;  // Skip errors that would only follow from these.
  if (spec->groups.empty()) return in.Wrong(tasks, "expected a task type with at least one task");
  TellProblems(in, tasks, *spec);
}

void ReadCommand(NodeReader& in, const YamlNode& map, std::vector<std::string>* argv) {
  const YamlNode* const command = map.Find("command");
  const YamlNode* const program = map.Find("program");
  const YamlNode* const args = map.Find("args");
  if (command != nullptr && (program != nullptr || args != nullptr)) {
    return in.Wrong(*command, "command is program and args in one list: give one or the other");
  }
  if (program == nullptr && args != nullptr) return in.Wrong(*args, "args without program");
  if (command != nullptr) {
    in.Under("command", [&] {
      const bool is_list = in.IsList(
          *command, "a list: [python3, train.py]; a line for a shell is [sh, -c, \"LINE\"]");
      if (is_list && in.Texts(*command, argv) && (argv->empty() || argv->front().empty())) {
        in.Wrong(*command, "expected a program first");
      }
    });
    return;
  }
  if (program == nullptr) return;
  std::string name;
  std::vector<std::string> rest;
  in.Under("program", [&] {
    if (in.Text(*program, &name) && name.empty()) in.Wrong(*program, "expected a program");
  });
  if (args != nullptr) in.Under("args", [&] { in.Texts(*args, &rest); });
  *argv = {std::move(name)};
  argv->insert(argv->end(), rest.begin(), rest.end());
}

}  // namespace yard
