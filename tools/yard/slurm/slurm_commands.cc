#include "tools/yard/slurm/slurm_commands.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/text/printable.h"
#include "runtime/text/shell_word.h"
#include "runtime/text/string_view.h"

namespace yard {
namespace {

// Format of squeue. Only the name may contain '|'. It is the second field, so the first field is
// read from the front and the others from the back.
constexpr char kFormat[] = "%i|%j|%T|%V|%N|%r|%e";
constexpr std::size_t kFieldsBehindName = 5;
constexpr std::size_t kMostWhy = 400;

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

std::string Short(absl::string_view text) {
  return runtime::Printable(runtime::Std(text.substr(0, kMostWhy)));
}

std::vector<absl::string_view> LinesOf(const std::string& text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  for (absl::string_view& line : lines) line = absl::StripAsciiWhitespace(line);
  std::erase_if(lines, [](absl::string_view line) { return line.empty(); });
  return lines;
}

void OfCluster(const std::string& cluster, std::vector<std::string>& words) {
  if (!cluster.empty()) words.insert(words.end(), {"-M", cluster});
}

// Returns a failed command's message: its last line of stderr, without "squeue: error: ".
std::string LastWords(const Captured& answer) {
  const auto lines = LinesOf(answer.errors);
  if (lines.empty()) return absl::StrCat("exit code ", answer.code);
  return Short(lines.back());
}

// Returns true if slurmctld did not answer, or its answer was lost, so the request may have taken
// effect.
bool MayHaveBeenDone(absl::string_view line) {
  constexpr const char* kWords[] = {"timed out",
                                    "Unable to contact",
                                    "connect failure",
                                    "onnection refused",
                                    "onnection reset",
                                    "connection failure",
                                    "Zero Bytes",
                                    "not connected",
                                    "send/recv",
                                    "temporarily un",
                                    "Unexpected message",
                                    "in standby mode",
                                    "Protocol authentication error",
                                    "nable to establish"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const char* words) { return absl::StrContains(line, words); });
}

std::int64_t Seconds(absl::string_view text) {
  std::int64_t seconds = 0;
  return absl::SimpleAtoi(text, &seconds) && seconds > 0 ? seconds : 0;
}

// Returns false if the line describes no job.
bool ReadJob(absl::string_view line, QueuedJob* job) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, '|');
  if (parts.size() < kFieldsBehindName + 2) return false;
  if (parts[0].empty() || !absl::ascii_isdigit(static_cast<unsigned char>(parts[0][0]))) {
    return false;
  }
  const auto end = parts.end() - kFieldsBehindName;
  job->id = std::string(parts[0]);
  job->name = absl::StrJoin(parts.begin() + 1, end, "|");
  job->state = std::string(end[0]);
  job->submitted = Seconds(end[1]);
  job->node_list = std::string(end[2]);
  job->reason = std::string(end[3]);
  job->end = Seconds(end[4]);
  return !job->state.empty();
}

struct State {
  std::string_view word, letters;
  SlurmLife life;
};
constexpr State kStates[] = {
    {"PENDING", "PD", SlurmLife::kPending},       {"REQUEUED", "RQ", SlurmLife::kPending},
    {"REQUEUE_FED", "RF", SlurmLife::kPending},   {"REQUEUE_HOLD", "RH", SlurmLife::kPending},
    {"RESV_DEL_HOLD", "RD", SlurmLife::kPending}, {"SPECIAL_EXIT", "SE", SlurmLife::kPending},
    {"CONFIGURING", "CF", SlurmLife::kAlive},     {"RUNNING", "R", SlurmLife::kAlive},
    {"COMPLETING", "CG", SlurmLife::kAlive},      {"RESIZING", "RS", SlurmLife::kAlive},
    {"SIGNALING", "SI", SlurmLife::kAlive},       {"STAGE_OUT", "SO", SlurmLife::kAlive},
    {"STOPPED", "ST", SlurmLife::kAlive},         {"SUSPENDED", "S", SlurmLife::kAlive},
    {"BOOT_FAIL", "BF", SlurmLife::kEnded},       {"CANCELLED", "CA", SlurmLife::kEnded},
    {"COMPLETED", "CD", SlurmLife::kEnded},       {"DEADLINE", "DL", SlurmLife::kEnded},
    {"FAILED", "F", SlurmLife::kEnded},           {"LAUNCH_FAILED", "LF", SlurmLife::kEnded},
    {"NODE_FAIL", "NF", SlurmLife::kEnded},       {"OUT_OF_MEMORY", "OOM", SlurmLife::kEnded},
    {"PREEMPTED", "PR", SlurmLife::kEnded},       {"TIMEOUT", "TO", SlurmLife::kEnded},
};

struct Reason {
  std::string_view word;  // Prefix of Slurm's reason.
  const char* words;      // Cause and next step for people.
};
constexpr Reason kNeverEnding[] = {
    {"DependencyNeverSatisfied", "a job that it depends on has failed"},
    {"JobHeldUser", "the job is held; next: scontrol release it"},
    {"JobHeldAdmin", "an administrator of the cluster holds the job; next: ask there"},
    {"PartitionTimeLimit", "the partition allows no job so long; next: a shorter --time"},
    {"PartitionNodeLimit", "the partition allows no job of so many nodes; next: fewer --nodes"},
    {"PartitionConfig",
     "the partition does not allow the job (nodes, time or account); next: sinfo, and another "
     "--partition"},
    {"PartitionDown", "the partition is down; next: sinfo, and another --partition"},
    {"PartitionInactive", "the partition takes no jobs; next: sinfo, and another --partition"},
    {"ReqNodeNotAvail", "nodes that it needs are down or reserved; next: sinfo -R"},
    {"BadConstraints", "no node has what was asked for; next: sinfo -o '%N %f %G'"},
    {"AccountNotAllowed", "the account may not use the partition; next: another --account"},
    {"QOSNotAllowed", "the QOS may not be used there; next: another --qos"},
    {"InvalidAccount", "the account is not known; next: another --account"},
    {"InvalidQOS", "the QOS is not known; next: another --qos"},
    {"ReservationDeleted", "its reservation is gone; next: other words for sbatch"},
    {"launch_failed_requeued_held", "its start failed, and Slurm holds it; next: ask there"},
    {"job_requeued_in_held_state", "Slurm holds it; next: scontrol release it"},
};

// Returns true for limits of a single job, which do not change when other jobs end.
bool IsLimitOfOneJob(std::string_view reason) {
  const absl::string_view text = runtime::Absl(reason);
  return (absl::StartsWith(text, "QOS") || absl::StartsWith(text, "Assoc")) &&
         (absl::StrContains(text, "PerJob") || absl::StrContains(text, "WallDuration") ||
          absl::StrContains(text, "MinCpu") || absl::StrContains(text, "MinGRES"));
}

const char* WhyForEver(std::string_view reason) {
  for (const Reason& known : kNeverEnding) {
    if (reason.starts_with(known.word)) return known.words;
  }
  if (IsLimitOfOneJob(reason)) return "it asks for more than a limit allows; next: ask for less";
  return nullptr;
}

}  // namespace

std::vector<std::string> SbatchWords(const SlurmPool& pool, const std::string& name,
                                     const std::vector<std::string>& excluded) {
  std::vector<std::string> words = {"sbatch"};
  // The user's words go first, because sbatch takes the last of repeated flags.
  words.insert(words.end(), pool.sbatch_words.begin(), pool.sbatch_words.end());
  const auto flag = [&words](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  flag("-p", pool.partition);
  flag("-A", pool.account);
  flag("-q", pool.qos);
  flag("-C", pool.constraint);
  if (!pool.gpus.empty()) words.push_back(absl::StrCat("--gres=gpu:", pool.gpus));
  if (pool.cpus > 0) flag("-c", absl::StrCat(pool.cpus));
  if (pool.memory_mib > 0) words.push_back(absl::StrCat("--mem=", pool.memory_mib, "M"));
  if (pool.time_minutes > 0) flag("-t", absl::StrCat(pool.time_minutes));
  std::vector<std::string> without = pool.exclude;
  for (const std::string& node : excluded) {
    if (std::find(without.begin(), without.end(), node) == without.end()) without.push_back(node);
  }
  flag("-x", absl::StrJoin(without, ","));
  const std::string nodes = absl::StrCat(pool.nodes);
  for (const std::string& word :
       {std::string("-N"), nodes, absl::StrCat("--ntasks=", nodes),
        std::string("--ntasks-per-node=1"), std::string("--parsable"), std::string("--no-requeue"),
        std::string("--no-kill"), std::string("-d"), std::string("singleton"), std::string("-J"),
        name, std::string("--comment=yard"), std::string("-o"), std::string("/dev/null"),
        std::string("-e"), std::string("/dev/null"), std::string("-D"), std::string("/"),
        std::string("--export=ALL")}) {
    words.push_back(word);
  }
  return words;
}

std::vector<std::string> SlurmEnvironment(const std::vector<std::string>& environment) {
  constexpr std::string_view kNames[] = {"PATH",  "HOME", "USER",      "LOGNAME",
                                         "SHELL", "LANG", "SLURM_CONF"};
  std::vector<std::string> kept;
  for (const std::string& entry : environment) {
    const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
    if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) {
      kept.push_back(entry);
    }
  }
  kept.emplace_back("SLURM_TIME_FORMAT=%s");
  return kept;
}

// scancel's SIGTERM reaches srun and the nodes: the nodes exit by themselves, and srun waits for
// them.
std::string BatchScript(const SlurmPool& pool, const std::string& bundle,
                        const std::string& error_file) {
  const std::string count = absl::StrCat(pool.nodes);
  return absl::StrCat(
      "#!/bin/sh\n"
      "b=",
      runtime::ShellWord(bundle),
      "\n"
      "test -x \"$b/yard-node\" || exit ",
      kNoBundle,
      "\n"
      "YARD_NODE_RUN=\"$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}.$(cat "
      "/proc/sys/kernel/random/uuid)\"\n"
      "SLURM_EXPORT_ENV=ALL\n"
      "export YARD_NODE_RUN SLURM_EXPORT_ENV\n"
      "unset SLURM_TIME_FORMAT SLURM_CPU_BIND SLURM_CPU_BIND_TYPE SLURM_CPU_BIND_LIST "
      "SLURM_DISTRIBUTION SLURM_EXACT SLURM_EXCLUSIVE SLURM_OVERLAP SLURM_NTASKS SLURM_NPROCS\n"
      "umask 077\n"
      "cd /\n"
      "exec 2>>",
      runtime::ShellWord(error_file),
      "\n"
      "exec srun --nodes=",
      count, " --ntasks=", count,
      " --ntasks-per-node=1 --no-kill --kill-on-bad-exit=0 --wait=0 --cpu-bind=none --mpi=none "
      "--input=none --export=ALL \"$b/ld.so\" --library-path \"$b/lib\" \"$b/yard-node\" "
      "--library_path=\"$b/lib\" --slurm --gate=",
      runtime::ShellWord(absl::StrJoin(pool.gate, ",")), "\n");
}

Submission ReadSubmission(const absl::StatusOr<Captured>& answer) {
  if (absl::IsNotFound(answer.status()) || absl::IsPermissionDenied(answer.status())) {
    return {.outcome = Submission::Outcome::kRefused,
            .why = absl::StrCat(answer.status().message(),
                                "; next: type this where sbatch is, or set PATH")};
  }
  if (!answer.ok()) return {.why = std::string(answer.status().message())};
  if (answer->code == 0) {
    for (const absl::string_view line : LinesOf(answer->text)) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(line, absl::MaxSplits(';', 1));
      if (!IsDigits(parts.first) || parts.first.size() > 20 || parts.second.size() > 255) continue;
      const bool is_plain =
          std::all_of(parts.second.begin(), parts.second.end(), [](unsigned char c) {
            return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
          });
      if (!is_plain) continue;
      return {.outcome = Submission::Outcome::kAccepted,
              .id = std::string(parts.first),
              .cluster = std::string(parts.second)};
    }
    return {.why = "sbatch printed no id"};
  }
  std::vector<absl::string_view> said;
  for (absl::string_view line : LinesOf(answer->errors)) {
    if (!absl::ConsumePrefix(&line, "sbatch: ")) continue;
    const bool is_error =
        absl::ConsumePrefix(&line, "error: ") || absl::ConsumePrefix(&line, "fatal: ");
    if (is_error && MayHaveBeenDone(line)) return {.why = Short(line)};
    if (is_error || absl::StrContains(line, "option")) said.push_back(line);
  }
  if (said.empty() || answer->code >= 256) return {.why = LastWords(*answer)};
  return {.outcome = Submission::Outcome::kRefused, .why = Short(absl::StrJoin(said, "; "))};
}

std::vector<std::string> SqueueWords(std::uint32_t user, const std::string& cluster) {
  std::vector<std::string> words = {"squeue",           "-h", "-t",   "all", "-u",
                                    absl::StrCat(user), "-o", kFormat};
  OfCluster(cluster, words);
  return words;
}

std::vector<std::string> SqueueOfName(std::uint32_t user, const std::string& cluster,
                                      const std::string& name) {
  std::vector<std::string> words = SqueueWords(user, cluster);
  words.insert(words.end(), {"-n", name});
  return words;
}

std::vector<std::string> SqueueOfId(const std::string& cluster, const std::string& id) {
  std::vector<std::string> words = {"squeue", "-h", "-t", "all", "-j", id, "-o", kFormat};
  OfCluster(cluster, words);
  return words;
}

absl::StatusOr<std::vector<QueuedJob>> ReadQueue(const absl::StatusOr<Captured>& answer) {
  if (!answer.ok()) return absl::UnavailableError(answer.status().message());
  if (answer->code != 0) {
    if (absl::StrContains(answer->errors, "Invalid job id")) {
      return absl::NotFoundError("Slurm knows no job of that id");
    }
    return absl::UnavailableError(LastWords(*answer));
  }
  if (answer->text.size() >= kMostQueueBytes) {
    return absl::ResourceExhaustedError("squeue lists too many jobs");
  }
  if (!answer->text.empty() && answer->text.back() != '\n') {
    return absl::UnavailableError("the output of squeue is cut off");
  }
  std::vector<QueuedJob> jobs;
  for (const absl::string_view line : absl::StrSplit(answer->text, '\n')) {
    QueuedJob job;
    if (ReadJob(line, &job)) jobs.push_back(std::move(job));
  }
  return jobs;
}

SlurmLife LifeOf(std::string_view state) {
  // The state may have words after it: "CANCELLED by 1000".
  const std::string_view word = state.substr(0, state.find(' '));
  for (const State& known : kStates) {
    if (word == known.word || word == known.letters) return known.life;
  }
  return SlurmLife::kAlive;
}

bool WaitsForEver(std::string_view reason) { return WhyForEver(reason) != nullptr; }

std::string WordsOfReason(std::string_view reason) {
  const std::string word = Short(runtime::Absl(reason));
  const char* const why = WhyForEver(reason);
  if (why == nullptr) return word;
  return absl::StrCat(word, ", which does not end by itself: ", why);
}

std::vector<std::string> ScancelWords(std::uint32_t user, const std::string& cluster,
                                      const std::string& name) {
  std::vector<std::string> words = {"scancel", "-u", absl::StrCat(user), "-n", name};
  OfCluster(cluster, words);
  return words;
}

absl::Status ReadCancellation(const absl::StatusOr<Captured>& answer) {
  if (!answer.ok()) return answer.status();
  if (answer->code == 0) return absl::OkStatus();
  return absl::UnavailableError(LastWords(*answer));
}

std::vector<std::string> ScontrolConfigWords() { return {"scontrol", "show", "config"}; }

SlurmSettings ReadSettings(const absl::StatusOr<Captured>& answer) {
  SlurmSettings settings;
  if (!answer.ok() || answer->code != 0) return settings;
  for (const absl::string_view line : LinesOf(answer->text)) {
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(sides.first);
    const absl::string_view value = absl::StripAsciiWhitespace(sides.second);
    const std::int64_t seconds = Seconds(value.substr(0, value.find(' ')));
    const absl::Duration duration = absl::Seconds(std::min<std::int64_t>(seconds, 3600));
    if (name == "SLURM_VERSION") settings.version = Short(value);
    if (name == "MessageTimeout" && seconds > 0) settings.message_timeout = duration;
    if (name == "KillWait" && seconds > 0) settings.kill_wait = duration;
  }
  return settings;
}

std::vector<std::string> ScontrolJobWords(const std::string& cluster, const std::string& id) {
  std::vector<std::string> words = {"scontrol", "-o", "show", "job", id};
  OfCluster(cluster, words);
  return words;
}

int ReadExitCode(const absl::StatusOr<Captured>& answer) {
  if (!answer.ok() || answer->code != 0) return -1;
  for (const absl::string_view word : absl::StrSplit(answer->text, ' ')) {
    absl::string_view value = word;
    int code = -1;
    if (!absl::ConsumePrefix(&value, "ExitCode=")) continue;
    return absl::SimpleAtoi(value.substr(0, value.find(':')), &code) ? code : -1;
  }
  return -1;
}

bool WasPreempted(const absl::StatusOr<Captured>& answer) {
  if (!answer.ok() || answer->code != 0) return false;
  for (const absl::string_view word : absl::StrSplit(answer->text, ' ')) {
    absl::string_view value = word;
    // A time is digits or 2026-11-28T17:47:15; otherwise the value is None, N/A or Unknown.
    if (absl::ConsumePrefix(&value, "PreemptTime=")) {
      return !value.empty() && absl::ascii_isdigit(static_cast<unsigned char>(value[0])) &&
             value != "0";
    }
  }
  return false;
}

}  // namespace yard
