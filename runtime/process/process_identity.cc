#include "runtime/process/process_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/file/file.h"
#include "runtime/text/string_view.h"

namespace runtime {
namespace {

constexpr std::size_t kStatLimit = 8192;
// Indices counted from the field after the command: state is field 3 of /proc/PID/stat, the start
// time is field 22.
constexpr std::size_t kStateField = 0;
constexpr std::size_t kStartField = 22 - 3;

absl::StatusOr<std::uint64_t> OurNamespace() {
  struct stat about {};
  if (stat("/proc/self/ns/pid", &about) != 0) {
    return absl::ErrnoToStatus(errno, "examining /proc/self/ns/pid");
  }
  return about.st_ino;
}

absl::StatusOr<std::string> BootId() {
  absl::StatusOr<std::string> text = ReadFile("/proc/sys/kernel/random/boot_id", 128);
  if (text.ok()) absl::StripTrailingAsciiWhitespace(&*text);
  return text;
}

// Returns NotFound for a process that is gone or a zombie.
absl::StatusOr<std::uint64_t> StartTicks(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  const absl::StatusOr<std::string> text = ReadFile(path, kStatLimit);
  // A process that ends while its file is read gives ESRCH, which also becomes NotFound.
  if (!text.ok()) return text.status();
  // The command is in parentheses and may itself contain parentheses.
  const std::size_t command_end = text->rfind(')');
  const std::vector<std::string> fields = absl::StrSplit(
      Absl(command_end == std::string::npos ? std::string_view()
                                            : std::string_view(*text).substr(command_end + 1)),
      ' ', absl::SkipWhitespace());
  std::uint64_t ticks = 0;
  if (fields.size() <= kStartField || !absl::SimpleAtoi(fields[kStartField], &ticks)) {
    return absl::InternalError(
        absl::StrCat("cannot make out the start of process ", pid, " in ", path));
  }
  if (const std::string& state = fields[kStateField]; state == "Z" || state == "X") {
    return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  }
  return ticks;
}

}  // namespace

absl::StatusOr<ProcessIdentity> SelfIdentity() { return IdentityOf(getpid()); }

absl::StatusOr<ProcessIdentity> IdentityOf(pid_t pid) {
  const absl::StatusOr<std::uint64_t> pid_namespace = OurNamespace();
  if (!pid_namespace.ok()) return pid_namespace.status();
  const absl::StatusOr<std::string> boot_id = BootId();
  if (!boot_id.ok()) return boot_id.status();
  const absl::StatusOr<std::uint64_t> start_ticks = StartTicks(pid);
  if (!start_ticks.ok()) return start_ticks.status();
  return ProcessIdentity{.pid_namespace = *pid_namespace,
                         .boot_id = *boot_id,
                         .pid = pid,
                         .start_ticks = *start_ticks};
}

bool IsAlive(const ProcessIdentity& identity) {
  const absl::StatusOr<ProcessIdentity> now = IdentityOf(identity.pid);
  return now.ok() && *now == identity;
}

bool InOurNamespace(const ProcessIdentity& identity) {
  const absl::StatusOr<std::uint64_t> pid_namespace = OurNamespace();
  const absl::StatusOr<std::string> boot_id = BootId();
  return pid_namespace.ok() && boot_id.ok() && identity.pid_namespace == *pid_namespace &&
         identity.boot_id == *boot_id;
}

}  // namespace runtime
