#include "launcher/run/usage_meter.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "launcher/process/process_table.h"
#include "runtime/file/file.h"
#include "runtime/process/usable_memory.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxFile = 64 * 1024;

// What one account of a control group says; nothing where it has none.
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

// Of lines "KEY VALUE".
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

// Version 2 first, then version 1. (Memory as /proc counts it: without what is merely cached.)
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

// Those the program's shim is the parent of, and all below; without the shim (or if the parent is
// somebody else by now) the program and all below it.
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
  const std::vector<ProcessRow> table = ReadProcesses(options_.proc);
  const ProcessTree processes(table);
  std::map<std::string, std::vector<std::string>> cgroups;
  for (const RunningAttempt& attempt : attempts) {
    const ProcessRow* const program = processes.Find(attempt.pid);
    if (program == nullptr || program->start_ticks != attempt.start_ticks) continue;
    auto usage = std::make_unique<msg::TaskUsageT>();
    usage->task = attempt.task;
    usage->attempt = attempt.number;
    usage->source = "proc";
    std::uint64_t ticks = 0, pages = 0;
    for (const ProcessRow* row : TreeOf(processes, *program, &ticks)) {
      ticks += row->cpu_ticks + row->children_cpu_ticks;
      if (row->over) continue;
      pages += row->resident_pages;
      ++usage->processes;
    }
    usage->cpu_us = ticks * tick_us_;
    usage->rss_bytes = pages * page_bytes_;
    const auto known = cgroups_.find(attempt.folder);
    auto& groups = cgroups[attempt.folder];
    groups = known != cgroups_.end() ? known->second : options_.cgroups_of(attempt.folder);
    // Those that keep no account are not asked again.
    std::erase_if(groups, [&](const std::string& cgroup) {
      const GroupAccount account = AccountOf(cgroup);
      if (account.cpu_us.has_value()) {
        usage->cpu_us = *account.cpu_us;
        usage->source = "cgroup";
      }
      if (account.memory_bytes.has_value()) usage->rss_bytes = *account.memory_bytes;
      return !account.cpu_us.has_value() && !account.memory_bytes.has_value();
    });
    last_.tasks.push_back(std::move(usage));
  }
  cgroups_ = std::move(cgroups);
}

}  // namespace launcher
