#include "runtime/process/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "runtime/file/file.h"

namespace runtime {
namespace {

std::uint64_t EntriesOf(const char* directory) {
  std::error_code error;
  std::uint64_t entries = 0;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    ++entries;
  }
  return entries;
}

std::uint64_t ResidentBytes() {
  const auto statm = ReadFile("/proc/self/statm", 4096);
  unsigned long long size = 0, resident = 0;
  if (!statm.ok() || sscanf(statm->c_str(), "%llu %llu", &size, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ProcessUsage UsageOfThisProcess() {
  ProcessUsage usage;
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) == 0) {
    usage.cpu = absl::DurationFromTimeval(used.ru_utime) + absl::DurationFromTimeval(used.ru_stime);
  }
  usage.resident_bytes = ResidentBytes();
  usage.open_files = EntriesOf("/proc/self/fd");
  if (usage.open_files > 0) --usage.open_files;  // Without the descriptor that reads the directory.
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) usage.open_files_limit = limit.rlim_cur;
  usage.threads = EntriesOf("/proc/self/task");
  return usage;
}

}  // namespace runtime
