#include "tools/yard/health/machine_health.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/counted.h"
#include "runtime/file/file.h"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kEnoughWatches = 8192;
constexpr std::uint64_t kEnoughInstances = 16;
constexpr std::uint64_t kWarnMemory = 256 * kMiB;
constexpr std::uint64_t kBadMemory = 64 * kMiB;
constexpr std::uint64_t kEnoughProcesses = 1024;
constexpr std::uint64_t kManyLogBytes = 1024 * kMiB;
constexpr std::size_t kSocketPath = 107;
constexpr char kLongSocket[] = "/tasks/j-xxxxx.worker-99.999999.ctl";
constexpr std::size_t kSmallFile = 64 << 10;

Finding Of(Level level, std::string check, std::string found, std::string fix = "") {
  return {level, std::move(check), std::move(found), level == Level::kOk ? "" : std::move(fix)};
}

std::uint64_t NumberIn(const FileReader& read, const std::string& path) {
  const auto text = read(path);
  std::uint64_t number = 0;
  if (!text || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &number)) return 0;
  return number;
}

}  // namespace

Finding CheckWatches(const WatchFacts& facts) {
  if (facts.watches == 0 || facts.instances == 0) {
    return Of(Level::kWarn, "inotify",
              "the kernel does not tell its limits; run directories may be looked at by polling",
              "mount /proc, and see that the kernel has inotify");
  }
  const bool few = facts.watches < kEnoughWatches || facts.instances < kEnoughInstances;
  return Of(few ? Level::kWarn : Level::kOk, "inotify",
            absl::StrCat("a user may watch ", facts.watches, " directories by ", facts.instances,
                         " instances", few ? "; runs beyond that are polled" : ""),
            absl::StrCat("sysctl fs.inotify.max_user_watches=", 64 * kEnoughWatches,
                         " fs.inotify.max_user_instances=", 32 * kEnoughInstances));
}

Findings CheckMemory(const MemoryFacts& facts) {
  if (facts.total == 0) {
    return {
        Of(Level::kWarn, "memory", "the kernel does not tell how much there is", "mount /proc")};
  }
  const Level level = facts.available < kBadMemory    ? Level::kBad
                      : facts.available < kWarnMemory ? Level::kWarn
                                                      : Level::kOk;
  Findings findings = {
      Of(level, "memory",
         absl::StrCat(ShortBytes(facts.available), " available of ", ShortBytes(facts.total)),
         "stop what is not needed: ps -eo pid,rss,args --sort -rss | head; limit tasks: "
         "yard run --memory")};
  if (facts.swap_total == 0) {
    findings.push_back(Of(Level::kOk, "swap", "none"));
    return findings;
  }
  const std::uint64_t used = facts.swap_total - std::min(facts.swap_free, facts.swap_total);
  // Swap may hold memory that nobody needs; it is a problem only if it or the memory is nearly
  // full.
  const bool full = facts.swap_total - used < facts.swap_total / 10;
  const bool thrashes = used > facts.swap_total / 2 && facts.available < facts.total / 10;
  findings.push_back(Of(full || thrashes ? Level::kWarn : Level::kOk, "swap",
                        absl::StrCat(ShortBytes(used), " used of ", ShortBytes(facts.swap_total)),
                        "programs may be slow: run less at once (yard up --slots), or limit "
                        "tasks: yard run --memory"));
  return findings;
}

Finding CheckProcessLimit(std::uint64_t limit) {
  if (limit == ~std::uint64_t{0}) return Of(Level::kOk, "processes", "no limit");
  return Of(limit < kEnoughProcesses ? Level::kWarn : Level::kOk, "processes",
            absl::StrCat("a user may have ", limit, ", threads counted"),
            "raise the limit (nproc in /etc/security/limits.conf, TasksMax= of systemd), log in "
            "again, then: yard down --keep && yard up");
}

Finding CheckSocketPaths(const std::string& runtime_directory) {
  const std::size_t longest = runtime_directory.size() + sizeof kLongSocket - 1;
  if (longest <= kSocketPath) {
    return Of(Level::kOk, "socket paths", absl::StrCat("at most ", longest, " bytes"));
  }
  return Of(Level::kBad, "socket paths",
            absl::StrCat(runtime_directory, " is ", longest - kSocketPath,
                         " bytes too long: sockets of tasks have no room in the ", kSocketPath,
                         " of a path"),
            "use a shorter one: export XDG_RUNTIME_DIR=...");
}

Finding CheckLogs(const LogFacts& facts) {
  return Of(facts.bytes > kManyLogBytes ? Level::kWarn : Level::kOk, "logs",
            absl::StrCat(ShortBytes(facts.bytes), " in ", runtime::Counted(facts.files, "file"),
                         ": ", facts.path),
            absl::StrCat("remove old ones (du -ah ", ShellWord(facts.path),
                         " | sort -h | tail), keep less: yard up --service log_files=2"));
}

Finding CheckTrials(const TrialFacts& facts) {
  if (facts.waiting == 0) {
    return Of(Level::kOk, "trials", absl::StrCat(facts.running, " running, none waits"));
  }
  return Of(facts.running == 0 ? Level::kWarn : Level::kOk, "trials",
            absl::StrCat(facts.running, " running, ", facts.waiting, " waiting, such as ",
                         facts.first, facts.reason.empty() ? "" : ": ", facts.reason),
            "see for what, and who has it: yard ps");
}

Findings CheckProxy(bool hides_localhost) {
  if (!hides_localhost) return {};
  return {{Level::kWarn, "proxy",
           "a TensorBoard that is started by hand looks for its data server through the proxy, and "
           "reads by Python instead: slowly, and a sample of the points",
           "export no_grpc_proxy=localhost   or start it by: yard tensorboard"}};
}

Findings CheckStuck(const std::vector<StuckFacts>& stuck) {
  Findings findings;
  for (const StuckFacts& one : stuck) {
    findings.push_back(Of(Level::kBad, "trials", absl::StrCat(one.id, " ", one.why),
                          absl::StrCat("yard stop ", one.id,
                                       "; or give it what it asks for: yard down --keep && yard up "
                                       "--resources ...")));
  }
  return findings;
}

Findings CheckStrayShims(const std::vector<LeftoverFacts::Shim>& strays) {
  Findings findings;
  for (const LeftoverFacts::Shim& shim : strays) {
    findings.push_back(Of(
        Level::kWarn, "stray shim",
        absl::StrCat("process ", shim.pid, " runs ", shim.task,
                     ", of which the launcher knows nothing"),
        absl::StrCat("see what it is: ps -f --ppid ", shim.pid, "; end it: kill -9 ", shim.pid)));
  }
  return findings;
}

Findings CheckUnreachableShims(const std::vector<LeftoverFacts::Shim>& shims) {
  Findings findings;
  for (const LeftoverFacts::Shim& shim : shims) {
    findings.push_back(
        Of(Level::kWarn, "unreachable shim",
           absl::StrCat("process ", shim.pid, " runs ", shim.task,
                        ", whose control socket is gone: the next launcher cannot go on with it"),
           absl::StrCat("let its program end, or end both: kill -9 ", shim.pid)));
  }
  return findings;
}

std::optional<std::string> ReadProcFile(const std::string& path) {
  auto text = runtime::ReadFile(path, kSmallFile);
  if (!text.ok()) return std::nullopt;
  return *std::move(text);
}

WatchFacts LookAtWatches(const FileReader& read) {
  return {.watches = NumberIn(read, "/proc/sys/fs/inotify/max_user_watches"),
          .instances = NumberIn(read, "/proc/sys/fs/inotify/max_user_instances")};
}

MemoryFacts LookAtMemory(const FileReader& read) {
  MemoryFacts facts;
  const auto text = read("/proc/meminfo");
  if (!text) return facts;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    std::uint64_t kib = 0;
    if (words.size() < 2 || !absl::SimpleAtoi(words[1], &kib)) continue;
    if (words[0] == "MemTotal:") facts.total = kib << 10;
    if (words[0] == "MemAvailable:") facts.available = kib << 10;
    if (words[0] == "SwapTotal:") facts.swap_total = kib << 10;
    if (words[0] == "SwapFree:") facts.swap_free = kib << 10;
  }
  return facts;
}

std::uint64_t ProcessLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return ~std::uint64_t{0};
  }
  return limit.rlim_cur;
}

LogFacts LookAtLogs(const std::string& directory) {
  LogFacts facts = {.path = directory};
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    std::error_code gone;
    if (!entries->is_regular_file(gone)) continue;
    const std::uint64_t size = entries->file_size(gone);
    if (gone) continue;
    facts.bytes += size;
    ++facts.files;
  }
  return facts;
}

}  // namespace yard
