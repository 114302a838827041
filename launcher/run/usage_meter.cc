#include "launcher/run/usage_meter.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "launcher/gpu/visible_gpus.h"
#include "launcher/process/process_table.h"
#include "runtime/file/file.h"
#include "runtime/process/usable_memory.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxFile = 64 * 1024;
constexpr std::size_t kMaxEnvironment = 4 << 20;
// Larger byte counts are taken as nonsense.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 56;

// The figures of one control group; nullopt where it has no accounting.
struct GroupAccount {
  std::optional<std::uint64_t> cpu_us, memory_bytes;
};

std::string Text(const std::string& path) {
  return runtime::ReadFile(path, kMaxFile).value_or(std::string());
}

std::optional<std::uint64_t> Number(std::string_view text) {
  std::uint64_t number = 0;
  const bool is_number = absl::SimpleAtoi(absl::StripAsciiWhitespace(runtime::Absl(text)), &number);
  return is_number ? std::optional(number) : std::nullopt;
}

// Returns the value of `key` in lines "KEY VALUE".
std::optional<std::uint64_t> ValueOf(const std::string& lines, std::string_view key) {
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() == 2 && words[0] == runtime::Absl(key)) return Number(runtime::Std(words[1]));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Sum(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  return a.has_value() && b.has_value() ? std::optional(*a + *b) : std::nullopt;
}

// Reads the accounting of cgroup version 2, else of version 1. (Memory is counted as in /proc:
// without the page cache.)
GroupAccount AccountOf(const std::string& cgroup) {
  GroupAccount account;
  account.cpu_us = ValueOf(Text(cgroup + "/cpu.stat"), "usage_usec");
  if (!account.cpu_us.has_value()) {
    const auto nanoseconds = Number(Text(cgroup + "/cpuacct.usage"));
    if (nanoseconds.has_value()) account.cpu_us = *nanoseconds / 1000;
  }
  const std::string memory = Text(cgroup + "/memory.stat");
  account.memory_bytes = Sum(ValueOf(memory, "anon"), ValueOf(memory, "file_mapped"));
  if (!account.memory_bytes.has_value()) {
    account.memory_bytes = Sum(ValueOf(memory, "total_rss"), ValueOf(memory, "total_mapped_file"));
  }
  return account;
}

// Returns the descendants of the program's shim; if the shim is gone (or the program has another
// parent by now), the program and its descendants.
std::vector<const ProcessRow*> TreeOf(const ProcessTree& processes, const ProcessRow& program,
                                      std::uint64_t* waited_ticks) {
  const ProcessRow* const shim = processes.Find(program.parent);
  if (shim != nullptr && shim->pid > 1 && shim->pid != getpid()) {
    *waited_ticks = shim->children_cpu_ticks;
    return processes.Below(shim->pid);
  }
  *waited_ticks = 0;
  auto tree = processes.Below(program.pid);
  tree.push_back(&program);
  return tree;
}

// Returns the value after `name` ("NAME=") in a process's environment; nullopt if it is not set.
std::optional<std::string> EntryOf(const std::string& path, std::string_view name) {
  const auto environment = runtime::ReadFile(path, kMaxEnvironment);
  if (!environment.ok()) return std::nullopt;
  for (const absl::string_view entry : absl::StrSplit(*environment, '\0')) {
    if (absl::StartsWith(entry, runtime::Absl(name))) {
      return std::string(entry.substr(name.size()));
    }
  }
  return std::nullopt;
}

std::uint32_t UsableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return static_cast<std::uint32_t>(CPU_COUNT(&set));
  return static_cast<std::uint32_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

}  // namespace

UsageMeter::UsageMeter(Options options)
    : options_(std::move(options)),
      tick_us_(1'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK))),
      page_bytes_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))),
      cores_(UsableCores()),
      memory_bytes_(runtime::UsableMemory().value_or(0)) {}

msg::UsageReplyT UsageMeter::Measure(const std::vector<RunningAttempt>& attempts) {
  runtime::MutexLock lock(mutex_);
  const absl::Duration now = options_.clock->Monotonic();
  if (!looked_.has_value() || now - *looked_ >= options_.pace) {
    Look(attempts);
    looked_ = now;
  }
  return last_;
}

void UsageMeter::Look(const std::vector<RunningAttempt>& attempts) {
  last_ = {};
  last_.measured_us = absl::ToUnixMicros(options_.clock->Now());
  last_.cores = cores_;
  last_.memory_bytes = memory_bytes_;
  bool is_any_unknown = false;
  for (const RunningAttempt& attempt : attempts) {
    const auto known = known_.find(attempt.folder);
    if (known == known_.end() || !known->second.visible_gpus.has_value()) is_any_unknown = true;
  }
  GpuMeter::Reply gpus;
  if (options_.gpus) gpus = options_.gpus(is_any_unknown);
  const std::vector<ProcessRow> table = ReadProcesses(options_.proc);
  const ProcessTree processes(table);
  std::map<std::string, Known> known;
  for (const RunningAttempt& attempt : attempts) {
    const ProcessRow* const program = processes.Find(attempt.pid);
    if (program == nullptr || program->start_ticks != attempt.start_ticks) continue;
    auto usage = std::make_unique<msg::TaskUsageT>();
    usage->task = attempt.task;
    usage->attempt = attempt.number;
    usage->source = "proc";
    std::uint64_t ticks = 0, pages = 0;
    std::vector<pid_t> tree;
    for (const ProcessRow* row : TreeOf(processes, *program, &ticks)) {
      ticks += row->cpu_ticks + row->children_cpu_ticks;
      tree.push_back(row->pid);
      if (row->over) continue;
      pages += row->resident_pages;
      ++usage->processes;
    }
    usage->cpu_us = ticks * tick_us_;
    usage->rss_bytes = pages * page_bytes_;
    const auto before = known_.find(attempt.folder);
    Known& mine = known[attempt.folder];
    if (before != known_.end()) {
      mine = std::move(before->second);
    } else {
      mine.cgroups = options_.cgroups_of(attempt.folder);
    }
    LookAtGroups(mine, *usage);
    LookAtDisks(tree, mine, *usage);
    LookAtGpus(attempt, tree, gpus.figures, mine, *usage);
    last_.tasks.push_back(std::move(usage));
  }
  known_ = std::move(known);
  for (msg::GpuUsageT& gpu : gpus.figures.gpus) {
    last_.gpus.push_back(std::make_unique<msg::GpuUsageT>(std::move(gpu)));
  }
  last_.why_no_gpus = std::move(gpus.why_none);
}

void UsageMeter::LookAtGroups(Known& known, msg::TaskUsageT& usage) const {
  // Control groups without accounting are not read again.
  std::erase_if(known.cgroups, [&](const std::string& cgroup) {
    const GroupAccount account = AccountOf(cgroup);
    if (account.cpu_us.has_value()) {
      usage.cpu_us = *account.cpu_us;
      usage.source = "cgroup";
    }
    if (account.memory_bytes.has_value()) usage.rss_bytes = *account.memory_bytes;
    return !account.cpu_us.has_value() && !account.memory_bytes.has_value();
  });
}

// The counters of a process include the children that it has waited for. (The counters of a control
// group would count stacked block devices twice.)
void UsageMeter::LookAtDisks(const std::vector<pid_t>& tree, Known& known,
                             msg::TaskUsageT& usage) const {
  std::uint64_t read = 0, written = 0;
  for (const pid_t pid : tree) {
    const std::string account = Text(absl::StrCat(options_.proc, "/", pid, "/io"));
    const auto its_read = ValueOf(account, "read_bytes:");
    const auto its_written = ValueOf(account, "write_bytes:");
    if (!its_read.has_value() || !its_written.has_value()) continue;
    usage.io_known = true;
    read += std::min(*its_read, kMaxBytes);
    written += std::min(*its_written, kMaxBytes);
  }
  usage.read_bytes = known.read_bytes = std::max(known.read_bytes, read);
  usage.written_bytes = known.written_bytes = std::max(known.written_bytes, written);
}

void UsageMeter::LookAtGpus(const RunningAttempt& attempt, const std::vector<pid_t>& tree,
                            const GpuFigures& figures, Known& known, msg::TaskUsageT& usage) const {
  if (figures.gpus.empty()) return;
  if (!std::exchange(known.has_read_environment, true)) {
    known.visible_gpus =
        EntryOf(absl::StrCat(options_.proc, "/", attempt.pid, "/environ"), "CUDA_VISIBLE_DEVICES=");
  }
  if (known.visible_gpus.has_value()) {
    usage.gpus = VisibleGpus(*known.visible_gpus, figures.gpus);
    return;
  }
  std::set<std::uint32_t> used;
  for (const GpuProcess& process : figures.processes) {
    if (std::count(tree.begin(), tree.end(), process.pid) > 0) used.insert(process.gpu);
  }
  usage.gpus.assign(used.begin(), used.end());
}

}  // namespace launcher
