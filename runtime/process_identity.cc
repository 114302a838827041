#include "runtime/process_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/file.h"

namespace runtime {
namespace {

constexpr std::size_t kProcLimit = 64 << 10;

const std::string& BootId() {
  static const auto* const id = new std::string(absl::StripAsciiWhitespace(
      ReadFile("/proc/sys/kernel/random/boot_id", kProcLimit).value_or("")));
  return *id;
}

std::uint64_t PidNamespace() {
  static const std::uint64_t inode = [] {
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? static_cast<std::uint64_t>(info.st_ino) : 0;
  }();
  return inode;
}

}  // namespace

absl::StatusOr<ProcessIdentity> IdentityOf(pid_t pid) {
  const auto gone = [pid] { return absl::NotFoundError(absl::StrCat("no process ", pid)); };
  if (pid <= 0) return gone();
  auto stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"), kProcLimit);
  if (!stat.ok()) return gone();
  // The command name, field 2, may hold anything, also ")": what follows starts behind the last.
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return gone();
  const std::vector<std::string> fields =
      absl::StrSplit(stat->substr(name_end + 1), ' ', absl::SkipEmpty());
  constexpr std::size_t kState = 0, kStartTicks = 19;  // Fields 3 and 22.
  ProcessIdentity identity{.pid_namespace = PidNamespace(), .boot_id = BootId(), .pid = pid};
  if (fields.size() <= kStartTicks || fields[kState] == "Z" || fields[kState] == "X" ||
      !absl::SimpleAtoi(fields[kStartTicks], &identity.start_ticks)) {
    return gone();
  }
  return identity;
}

absl::StatusOr<ProcessIdentity> SelfIdentity() { return IdentityOf(getpid()); }

bool InOurNamespace(const ProcessIdentity& identity) {
  return identity.pid_namespace == PidNamespace() && identity.boot_id == BootId();
}

bool IsAlive(const ProcessIdentity& identity) {
  if (!InOurNamespace(identity)) return false;
  const auto now = IdentityOf(identity.pid);
  return now.ok() && now->start_ticks == identity.start_ticks;
}

}  // namespace runtime
