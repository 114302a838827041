#include "bench/stamps.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "glog/logging.h"
#include "runtime/clock.h"
#include "runtime/file/locations.h"

namespace bench {
namespace {

// Polling takes processor time from the measurement; the times themselves come from the programs.
constexpr absl::Duration kLook = absl::Milliseconds(4);
constexpr std::size_t kLongestFolder = 32;

// Returns the number after `key` in a file of /proc.
double NumberIn(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  double number = 0;
  while (file >> word) {
    if (word == key && file >> number) return number;
  }
  return 0;
}

}  // namespace

absl::Duration MonotonicNow() { return runtime::Clock::Real()->Monotonic(); }

const std::vector<Stamp>& StampFile::Read() {
  std::ifstream file(path_);
  file.seekg(static_cast<std::streamoff>(read_));
  std::stringstream more;
  more << file.rdbuf();
  const std::string bytes = more.str();
  read_ += bytes.size();
  half_ += bytes;
  std::size_t begin = 0;
  for (std::size_t end; (end = half_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    char* rest = nullptr;
    const long pid = strtol(half_.c_str() + begin, &rest, 10);
    stamps_.push_back({static_cast<pid_t>(pid), absl::Microseconds(strtoll(rest, nullptr, 10))});
  }
  half_.erase(0, begin);
  return stamps_;
}

absl::StatusOr<std::vector<Stamp>> StampFile::Await(std::size_t count, absl::Duration timeout) {
  const absl::Duration deadline = MonotonicNow() + timeout;
  while (Read().size() < count) {
    if (MonotonicNow() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("only ", stamps_.size(), " of ", count, " programs have started"));
    }
    absl::SleepFor(kLook);
  }
  return stamps_;
}

absl::Duration Last(const std::vector<Stamp>& stamps) {
  absl::Duration last;
  for (const Stamp& stamp : stamps) last = std::max(last, stamp.when);
  return last;
}

LivingProcesses::LivingProcesses(const std::vector<Stamp>& stamps)
    : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  for (const Stamp& stamp : stamps) {
    runtime::UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, stamp.pid, 0)));
    if (!pidfd.valid()) continue;
    epoll_event wanted = {};
    wanted.events = EPOLLIN | EPOLLONESHOT;
    wanted.data.fd = pidfd.get();
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd.get(), &wanted);
    pidfds_.push_back(std::move(pidfd));
  }
}

absl::Status LivingProcesses::AwaitEnd(absl::Duration timeout) {
  const absl::Duration deadline = MonotonicNow() + timeout;
  std::size_t left = pidfds_.size();
  while (left > 0) {
    const auto ms = std::max<std::int64_t>(absl::ToInt64Milliseconds(deadline - MonotonicNow()), 0);
    epoll_event ended[64];
    const int count = epoll_wait(epoll_.get(), ended, 64, static_cast<int>(ms));
    if (count == 0 && ms == 0) {
      return absl::DeadlineExceededError(absl::StrCat(left, " processes have not ended"));
    }
    left -= static_cast<std::size_t>(std::max(count, 0));
  }
  return absl::OkStatus();
}

std::string NewFolder() {
  const char* const wanted = getenv("TMPDIR");
  const bool fits = wanted != nullptr && *wanted != '\0' && strlen(wanted) < kLongestFolder;
  std::string name = absl::StrCat(fits ? wanted : "/tmp", "/lb-XXXXXX");
  PCHECK(mkdtemp(name.data()) != nullptr) << name;
  return name;
}

absl::StatusOr<std::string> StampProgram() {
  auto found = runtime::FindBinary("bench/stamp");
  if (!found.ok()) return absl::InternalError(found.status().message());
  return found;
}

double ResidentKilobytes(pid_t pid) {
  return NumberIn(absl::StrCat("/proc/", pid, "/status"), "VmRSS:");
}

double ProportionalKilobytes(pid_t pid) {
  return NumberIn(absl::StrCat("/proc/", pid, "/smaps_rollup"), "Pss:");
}

absl::Duration ProcessorTime(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return absl::ZeroDuration();
  // Reads from the third field on; fields 14 to 17 are needed.
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  double ticks = 0;
  for (int i = 3; i <= 17 && fields >> field; ++i) {
    if (i >= 14) ticks += atof(field.c_str());
  }
  return absl::Seconds(ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

}  // namespace bench
