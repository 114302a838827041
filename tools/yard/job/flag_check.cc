#include "tools/yard/job/flag_check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/exit_code.h"
#include "runtime/process/service_flags.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/printable.h"
#include "runtime/text/string_view.h"
#include "tools/yard/services/outdated.h"
#include "tools/yard/state/service_names.h"

namespace yard {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr std::size_t kMostSaid = 64 << 10;

// A service's program that checks its flags.
class Check {
 public:
  static absl::StatusOr<Check> Start(const Context& context, std::string service,
                                     std::string program, std::vector<std::string> flags) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
    runtime::UniqueFd ours(ends[0]), its(ends[1]);
    flags.insert(flags.begin(), {program, "--check_flags"});
    auto process = runtime::Subprocess::Start({.argv = std::move(flags),
                                               .program = program,
                                               .environment = context.environment,
                                               .fds = {{its.get(), 1}, {its.get(), 2}},
                                               .new_session = true});
    if (!process.ok()) return process.status();
    return Check(std::move(service), *std::move(process), std::move(ours));
  }

  absl::Status Result(absl::Time deadline) {
    const std::string said = Read(deadline);
    const auto ended = process_.Wait(std::max(deadline - absl::Now(), absl::ZeroDuration()));
    if (!ended.ok()) (void)process_.SignalGroup(SIGKILL);
    if (ended.ok() && ended->ok() &&
        absl::StrContains(said, runtime::Absl(runtime::kFlagsAreRight))) {
      return absl::OkStatus();
    }
    const std::vector<std::string> lines =
        absl::StrSplit(absl::StripTrailingAsciiWhitespace(said), '\n');
    absl::string_view line = lines.back();
    // The error line begins with the name of the service.
    const bool is_its =
        absl::ConsumePrefix(&line, absl::StrCat(service_.substr(0, service_.find(' ')), ": "));
    const std::string why = runtime::Printable(runtime::Std(line));
    if (ended.ok() && ended->code == runtime::kExitUsage && is_its) {
      return absl::InvalidArgumentError(absl::StrCat("the ", service_, ": ", why));
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the ", service_, " does not say whether it takes its flags: ",
                     ended.ok() ? ended->ToString() : "it goes on", why.empty() ? "" : ": ", why));
  }

 private:
  Check(std::string service, runtime::Subprocess process, runtime::UniqueFd output)
      : service_(std::move(service)), process_(std::move(process)), output_(std::move(output)) {}

  // Reads until the program closes its output.
  std::string Read(absl::Time deadline) const {
    std::string said;
    while (said.size() < kMostSaid) {
      pollfd ready = {.fd = output_.get(), .events = POLLIN, .revents = 0};
      const absl::Duration left = std::max(deadline - absl::Now(), absl::ZeroDuration());
      if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(left))) <= 0) break;
      char buffer[4096];
      const ssize_t got = read(output_.get(), buffer, sizeof buffer);
      if (got <= 0) break;
      said.append(buffer, static_cast<std::size_t>(got));
    }
    return said;
  }

  std::string service_;
  runtime::Subprocess process_;
  runtime::UniqueFd output_;
};

}  // namespace

absl::Status CheckServiceFlags(const Context& context, const Wanted& wanted) {
  const absl::Time deadline = absl::Now() + kPatience;
  std::vector<Check> checks;
  for (const std::string_view name : kAllServices) {
    const std::string service(name);
    std::vector<std::string> flags = FlagsOf(service, wanted);
    const bool is_another = service == "trainer" && !wanted.trainer.empty();
    if (flags.empty() && !is_another) continue;
    auto check = Check::Start(context, is_another ? "trainer " + wanted.trainer : service,
                              ProgramOf(service, wanted), std::move(flags));
    if (!check.ok()) return check.status();
    checks.push_back(*std::move(check));
  }
  absl::Status all;
  for (Check& check : checks) {
    const absl::Status one = check.Result(deadline);
    all.Update(one);
  }
  return all;
}

}  // namespace yard
