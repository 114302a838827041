#include "tools/yard/health/health.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/yard/state/yard_command.h"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kWarnBytes = 1024 * kMiB;
constexpr std::uint64_t kBadBytes = 100 * kMiB;
constexpr std::uint64_t kBadInodes = 1000;
constexpr double kWarnShare = 0.05;
constexpr std::uint64_t kEnoughFiles = 4096;
// Tolerance between clocks of one machine: more than NTP's gradual adjustment shifts them.
constexpr absl::Duration kClockSlack = absl::Seconds(5);
constexpr std::size_t kNamed = 8;

Finding Ok(std::string check, std::string found, std::string fix = "") {
  return {Level::kOk, std::move(check), std::move(found), std::move(fix)};
}
Finding Warn(std::string check, std::string found, std::string fix) {
  return {Level::kWarn, std::move(check), std::move(found), std::move(fix)};
}
Finding Bad(std::string check, std::string found, std::string fix) {
  return {Level::kBad, std::move(check), std::move(found), std::move(fix)};
}

std::string Elsewhere(const DirectoryFacts& facts) {
  return absl::StrCat("use another one: export ", facts.variable, "=...");
}

double Share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

// Joins at most kNamed names.
std::string Names(std::vector<std::string> names, const char* between) {
  const std::size_t count = names.size();
  if (count > kNamed) names.resize(kNamed);
  return absl::StrCat(absl::StrJoin(names, between),
                      count > kNamed ? absl::StrCat(" and ", count - kNamed, " more") : "");
}

std::string Count(std::size_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

bool Runs(const ServiceFacts& service) { return service.holder != 0; }

bool AnyRuns(const DoctorFacts& facts) {
  return std::any_of(facts.services.begin(), facts.services.end(), Runs);
}

const ServiceFacts* FindService(const DoctorFacts& facts, std::string_view name) {
  for (const auto& service : facts.services) {
    if (service.name == name) return &service;
  }
  return nullptr;
}

bool LauncherRuns(const DoctorFacts& facts) {
  const ServiceFacts* const launcher = FindService(facts, "launcher");
  return launcher != nullptr && Runs(*launcher);
}

// Returns the command that restarts a service that does not work.
std::string Restart(const ServiceFacts& service, pid_t pid) {
  if (service.lease && service.lease->external) {
    return absl::StrCat("restart ", service.name, " with what supervises it");
  }
  if (service.lease && service.lease->elsewhere) {
    return absl::StrCat("restart ", service.name, " where it runs: its process id, ", pid,
                        ", is not of this namespace (a container?)");
  }
  return absl::StrCat("kill -9 ", pid, " && yard up");
}

// Fix for a machine that can kill tasks by process group only.
constexpr char kFixOfGroup[] =
    "mount /proc, or give the launcher a control group of its own: systemd-run --user --scope "
    "-p Delegate=yes yard up";

Finding CheckUp(const DoctorFacts& facts) {
  if (!facts.wanted_status.ok()) {
    return Bad("yard", std::string(facts.wanted_status.message()), "yard down && yard up");
  }
  if (facts.wanted && !LauncherRuns(facts) && !facts.flags.ok()) {
    return Bad("yard", absl::StrCat("it cannot start: ", std::string(facts.flags.message())),
               "yard down --keep && yard up --defaults");
  }
  if (facts.wanted && !LauncherRuns(facts)) {
    const ServiceFacts* const launcher = FindService(facts, "launcher");
    const bool known = launcher != nullptr && !launcher->next_step.empty();
    return Bad("yard", "it was started and not stopped, but no launcher keeps it running",
               known ? launcher->next_step : "yard up");
  }
  if (facts.wanted) return Ok("yard", absl::StrCat("up, runs in ", facts.logdir));
  if (!AnyRuns(facts)) return Ok("yard", "not up", "yard up");
  return Ok("yard", "services run that `yard up` has not started");
}

Finding CheckAbsent(const ServiceFacts& service, const DoctorFacts& facts) {
  if (service.listener > 0) {
    return Bad(service.name,
               absl::StrCat("process ", service.listener, " serves, but nobody holds ",
                            service.lock_path, ": that file was removed or replaced, and a second ",
                            service.name, " could be started"),
               Restart(service, service.listener));
  }
  if (!service.damage.empty()) {
    return Bad(service.name, absl::StrCat("does not run and cannot start: ", service.damage),
               service.next_step);
  }
  if (!facts.wanted) return Warn(service.name, "does not run, others do", "yard up");
  const std::string look = service.next_step.empty() ? absl::StrCat("look for the reason: tail ",
                                                                    ShellWord(service.output_path))
                                                     : service.next_step;
  const std::string& said = service.cause.empty() ? service.last_line : service.cause;
  if (!service.why_not.empty()) {
    return Bad(service.name,
               absl::StrCat("does not stay up: ", service.why_not,
                            said.empty() ? "" : "; it said: ", said),
               look);
  }
  if (!LauncherRuns(facts)) {
    return Bad(service.name,
               absl::StrCat("does not run",
                            service.cause.empty() ? "" : "; it ended with: ", service.cause),
               service.next_step.empty() ? "yard up" : service.next_step);
  }
  return Bad(service.name, "does not run, though the launcher does", look);
}

std::string FixOfDrops(const std::string& counter) {
  if (counter == "bus.malformed_dropped") {
    return "find who sends what is no message: its log names the peer; do not mix versions of yard";
  }
  if (counter == "bus.replies_dropped") {
    return "find the client that asks and does not read: a yard or a script that hangs";
  }
  if (counter == "bus.events_dropped") {
    return "publish less at once, or look whether the registry is slow: yard call registry Stats";
  }
  return "see docs: the bus drops what nobody reads in time; look for a client that hangs";
}

// The upgrade keeps running trials and jobs.
std::string FixOfOutdated(const ServiceFacts& service) {
  return service.lease->external ? Restart(service, service.holder) : "yard up --upgrade";
}

void CheckAnswer(const ServiceFacts& service, const DoctorFacts& facts, Findings* findings) {
  const std::size_t before = findings->size();
  const auto registered = absl::FromUnixMicros(service.lease->registered_us);
  if (registered > facts.now + kClockSlack) {
    findings->push_back(
        Warn("clock",
             absl::StrCat(service.name, " was registered ", ShortDuration(registered - facts.now),
                          " in the future: the clock was set back"),
             "check the time with date; ages are wrong until: yard down --keep && yard up"));
  }
  if (service.stats->version != facts.version) {
    findings->push_back(
        Warn(service.name,
             absl::StrCat("is version ",
                          service.stats->version.empty() ? "(unknown)" : service.stats->version,
                          ", this yard is ", facts.version),
             FixOfOutdated(service)));
  } else if (service.outdated) {
    findings->push_back(Warn(
        service.name,
        absl::StrCat("process ", service.holder, " runs another program than is installed now"),
        FixOfOutdated(service)));
  }
  for (const auto& [name, value] : service.stats->counters) {
    if (value == 0 || !absl::StartsWith(name, "bus.") || !absl::StrContains(name, "dropped")) {
      continue;
    }
    findings->push_back(Warn(
        service.name, absl::StrCat("has dropped messages since its start: ", name, " is ", value),
        FixOfDrops(name)));
  }
  if (findings->size() > before) return;
  findings->push_back(Ok(service.name, absl::StrCat("answers, process ", service.holder,
                                                    ", version ", service.stats->version)));
}

void CheckPresent(const ServiceFacts& service, const DoctorFacts& facts, Findings* findings) {
  const std::string process = absl::StrCat("process ", service.holder);
  if (service.suspended) {
    findings->push_back(Bad(service.name, absl::StrCat(process, " is suspended by a signal"),
                            absl::StrCat("kill -CONT ", service.holder)));
    return;
  }
  if (service.lost_socket && !(service.lease && service.lease->elsewhere)) {
    findings->push_back(
        Bad(service.name,
            absl::StrCat(process, " runs, but nobody listens at its socket, which was removed"),
            "yard up"));
    return;
  }
  if (!facts.registry.ok() && service.name == "registry") {
    findings->push_back(Bad(
        service.name,
        absl::StrCat(process, " holds the lock but does not answer: ", facts.registry.message()),
        Restart(service, service.holder)));
  } else if (!facts.registry.ok()) {
    findings->push_back(Warn(service.name,
                             absl::StrCat(process, " was not asked: the registry does not answer"),
                             "mend the registry first"));
  } else if (!service.lease && !service.next_step.empty()) {
    findings->push_back(Bad(service.name,
                            absl::StrCat("does not stay up; it said: ", service.cause),
                            service.next_step));
  } else if (!service.lease) {
    findings->push_back(
        Bad(service.name, absl::StrCat(process, " runs but is not registered"),
            absl::StrCat("if it was not just started: ", Restart(service, service.holder))));
  } else if (!service.stats || !service.stats->status.ok()) {
    findings->push_back(
        Bad(service.name,
            absl::StrCat(process, " is registered but does not answer",
                         service.lease->suspect ? " and has not renewed its lease" : "",
                         service.stats ? absl::StrCat(": ", service.stats->status.message()) : ""),
            Restart(service, service.holder)));
  } else {
    CheckAnswer(service, facts, findings);
  }
}

}  // namespace

const char* NameOf(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarn:
      return "warn";
    case Level::kBad:
      return "bad";
  }
  return "?";
}

bool AnyBad(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.level == Level::kBad; });
}

std::string RemovalOf(std::vector<std::string> paths) {
  const bool more = paths.size() > kNamed;
  if (more) paths.resize(kNamed);
  for (std::string& path : paths) path = ShellWord(path);
  return absl::StrCat("rm ", absl::StrJoin(paths, " "), more ? "; then again: yard doctor" : "");
}

Finding CheckDirectory(const DirectoryFacts& facts) {
  const std::string word = ShellWord(facts.path);
  if (!facts.elsewhere.empty()) {
    return Bad(facts.check,
               absl::StrCat("services run with their sockets in ", facts.elsewhere, ", not in ",
                            facts.path, ", which is this shell's"),
               CommandToUse(facts.elsewhere, facts.variable));
  }
  if (!facts.unreachable.empty()) {
    return Bad(facts.check,
               absl::StrCat("that of services that run is gone: nothing reaches them; this is ",
                            facts.path),
               absl::StrCat("kill ", absl::StrJoin(facts.unreachable, " "), " && yard up"));
  }
  if (facts.error == ENOENT) {
    if (!facts.in_use) {
      return Ok(facts.check, absl::StrCat(facts.path, " is not there yet: `yard up` makes it"));
    }
    return Bad(facts.check, absl::StrCat(facts.path, " is gone, though services run"),
               "yard down && yard up");
  }
  if (facts.error != 0) {
    return Bad(facts.check,
               absl::StrCat("cannot look at ", facts.path, ": ", strerror(facts.error)),
               Elsewhere(facts));
  }
  if (S_ISLNK(facts.mode)) {
    return Bad(
        facts.check, absl::StrCat(facts.path, " is a symbolic link, which is not trusted"),
        absl::StrCat("rm ", word, ", or name the real place: export ", facts.variable, "=..."));
  }
  if (!S_ISDIR(facts.mode)) {
    return Bad(facts.check, absl::StrCat(facts.path, " is not a directory"),
               absl::StrCat("mv ", word, " ", ShellWord(facts.path + ".old")));
  }
  if (facts.owner != facts.user) {
    return Bad(facts.check,
               absl::StrCat(facts.path, " belongs to user ", facts.owner, ", not to ", facts.user),
               Elsewhere(facts));
  }
  if ((facts.mode & 0777) != 0700) {
    const bool open = (facts.mode & 0077) != 0;
    return Bad(facts.check,
               absl::StrFormat("%s has mode %04o: %s", facts.path, facts.mode & 07777,
                               open ? "it is open to other users" : "we cannot use it ourselves"),
               absl::StrCat("chmod 700 ", word));
  }
  return Ok(facts.check, facts.path);
}

Findings CheckSpace(const SpaceFacts& facts) {
  const std::string place = absl::StrCat(absl::StrJoin(facts.used_by, ", "), ": ", facts.path);
  Findings findings;
  const double share = Share(facts.free_bytes, facts.total_bytes);
  const std::string found =
      absl::StrFormat("%s free (%.0f %%) for %s", ShortBytes(facts.free_bytes), share * 100, place);
  const std::string fix = absl::StrCat("remove what is not needed there; what is large: du -xh ",
                                       ShellWord(facts.path), " | sort -h | tail");
  if (facts.free_bytes < kBadBytes) {
    findings.push_back(Bad("disk", found, fix));
  } else if (facts.free_bytes < kWarnBytes || share < kWarnShare) {
    findings.push_back(Warn("disk", found, fix));
  } else {
    findings.push_back(Ok("disk", found));
  }
  if (facts.total_inodes == 0) return findings;
  const double inodes = Share(facts.free_inodes, facts.total_inodes);
  const std::string found_inodes =
      absl::StrFormat("%d free (%.0f %%) for %s", facts.free_inodes, inodes * 100, place);
  const std::string fix_inodes =
      absl::StrCat("remove small files there; where they are: du -x --inodes ",
                   ShellWord(facts.path), " | sort -n | tail");
  if (facts.free_inodes < kBadInodes) {
    findings.push_back(Bad("inodes", found_inodes, fix_inodes));
  } else if (inodes < kWarnShare) {
    findings.push_back(Warn("inodes", found_inodes, fix_inodes));
  } else {
    findings.push_back(Ok("inodes", found_inodes));
  }
  return findings;
}

Finding CheckFileLimit(std::uint64_t hard_limit) {
  if (hard_limit >= kEnoughFiles) {
    return Ok("open files", hard_limit == ~std::uint64_t{0}
                                ? std::string("no limit")
                                : absl::StrCat("a process may have ", hard_limit));
  }
  return Warn(
      "open files",
      absl::StrCat("a process may have only ", hard_limit, ", a busy service needs ", kEnoughFiles),
      "raise the hard limit (nofile in /etc/security/limits.conf, LimitNOFILE= of systemd, "
      "--ulimit of Docker), log in again, then: yard down --keep && yard up");
}

Finding CheckClock(absl::Time now, absl::TimeZone zone) {
  const char* const format =
      zone.At(now).offset == 0 ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%S%Ez";
  const std::string time = absl::FormatTime(format, now, zone);
  if (now < absl::FromCivil(absl::CivilYear(2020), absl::UTCTimeZone())) {
    return Bad("clock", absl::StrCat("it shows ", time, ", which is long past"),
               "set the clock: timedatectl set-ntp true");
  }
  return Ok("clock", time);
}

Finding CheckLibrary(const LibraryFacts& facts) {
  if (facts.compiled == facts.running)
    return Ok("library", absl::StrCat(facts.name, " ", facts.running));
  return Warn("library",
              absl::StrCat(facts.name, " ", facts.running, " is loaded, yard was compiled for ",
                           facts.compiled),
              absl::StrCat("build yard again, or install ", facts.name, " ", facts.compiled));
}

Finding CheckPrograms(const std::vector<std::string>& missing) {
  if (missing.empty()) return Ok("programs", "all are there");
  return Warn(
      "programs",
      absl::StrCat("yard cannot start what it does not find: ", absl::StrJoin(missing, ", ")),
      "install or build all of them into one place");
}

Findings CheckLeftovers(const LeftoverFacts& facts) {
  Findings findings;
  if (!facts.locks.empty() || !facts.sockets.empty()) {
    findings.push_back(Ok("leftovers", absl::StrCat(Count(facts.locks.size(), "lock file"), " and ",
                                                    Count(facts.sockets.size(), "socket"),
                                                    " of services that have ended: harmless, the "
                                                    "next start takes them")));
  }
  if (!facts.ready_files.empty()) {
    findings.push_back(
        Warn("ready files",
             absl::StrCat("left by services that were killed: ", Names(facts.ready_files, ", ")),
             "yard up, or whatever supervises those services, replaces them"));
  }
  if (!facts.task_sockets.empty()) {
    findings.push_back(
        Warn("task sockets",
             absl::StrCat(Count(facts.task_sockets.size(), "socket"),
                          facts.more_sockets ? " or more" : "",
                          " of tasks whose shim was killed: ", Names(facts.task_sockets, ", ")),
             RemovalOf(facts.task_sockets)));
  }
  if (findings.empty()) findings.push_back(Ok("leftovers", "none"));
  return findings;
}

Findings CheckKillModes(const std::vector<KillModeFacts>& modes, const std::string& chosen) {
  Findings findings;
  for (const KillModeFacts& mode : modes) {
    const std::string detail = mode.detail.empty() ? "" : ": " + mode.detail;
    if (!mode.offered) {
      findings.push_back(Ok("kill mode", absl::StrCat(mode.name, " is not offered", detail)));
    } else if (mode.name != chosen) {
      findings.push_back(Ok("kill mode", absl::StrCat(mode.name, detail)));
    } else if (mode.name == "group") {
      findings.push_back(
          Warn("kill mode", absl::StrCat(mode.name, " is all there is", detail), kFixOfGroup));
    } else {
      findings.push_back(Ok("kill mode", absl::StrCat(mode.name, " (what tasks get)", detail)));
    }
  }
  if (!modes.empty() && chosen.empty()) {
    findings.push_back(Bad("kill mode", "no way to kill a task's processes works", kFixOfGroup));
  }
  return findings;
}

Findings CheckYard(const DoctorFacts& facts) {
  Findings findings = {CheckUp(facts)};
  const bool expected = facts.wanted || AnyRuns(facts);
  for (const ServiceFacts& service : facts.services) {
    if (Runs(service)) {
      CheckPresent(service, facts, &findings);
    } else if (expected || service.listener > 0) {
      findings.push_back(CheckAbsent(service, facts));
    }
  }
  return findings;
}

}  // namespace yard
