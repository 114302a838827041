#include "registry/tool/start_or_reuse.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "registry/info/cache_key.h"
#include "registry/info/info_directory.h"
#include "registry/tool/tool_environment.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "runtime/text/random_id.h"

namespace registry {
namespace {

using Reply = msg::StartOrReuseReplyT;

constexpr std::string_view kTensorBoard = "tensorboard";
constexpr std::size_t kMaxToolName = 32;
constexpr std::size_t kMaxCallers = 1024;  // Callers of all flights together.
constexpr std::size_t kMaxStarted = 1024;  // Limit of remembered jobs.
constexpr std::size_t kStreamTail = 64 * 1024;
constexpr std::uint64_t kLogLimit = 16 << 20;  // In bytes, for each stream of a tool.
// The kernel does not report when a process begins to listen, so it is polled, less and less often.
constexpr absl::Duration kFirstLook = absl::Milliseconds(20);
constexpr absl::Duration kLongestLook = absl::Seconds(1);
// A tool that has listened for this long has written its info file. (TensorBoard's own data server
// listens a moment before the file is written.)
constexpr absl::Duration kSettled = absl::Milliseconds(500);
constexpr int kMaxCopies = 16;  // Jobs of one key.

// Returns "tensorboard-1a2b3c4d5e6f7081": FNV-1a of the flight's id, the same in every process.
std::string JobName(const std::string& tool, const std::string& flight, int copy) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : flight) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  const std::string name = absl::StrCat(tool, "-", absl::Hex(hash, absl::kZeroPad16));
  return copy == 1 ? name : absl::StrCat(name, "-", copy);
}

// The tool's name in info files.
std::string ToolInFiles(const std::string& tool) { return tool == kTensorBoard ? "" : tool; }

std::string ToolOf(const InstanceInfo& info) {
  return info.tool.empty() ? std::string(kTensorBoard) : info.tool;
}

// Returns the id of a flight.
std::string IdOf(const std::string& temporary_directory, const std::string& tool,
                 const std::string& cache_key) {
  return absl::StrCat(temporary_directory, "\n", tool, "\n", cache_key);
}

std::string ValueOf(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

const msg::AttemptT* LastAttempt(const msg::JobT& job) {
  if (job.tasks.empty() || job.tasks[0] == nullptr || job.tasks[0]->attempts.empty()) return {};
  return job.tasks[0]->attempts.back().get();
}

// Reads the end of a file that may still grow.
void ReadTail(const std::string& path, std::vector<std::uint8_t>* bytes, bool* unreadable) {
  const runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  *unreadable = !file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode);
  if (*unreadable) return;
  bytes->resize(std::min(static_cast<std::size_t>(status.st_size), kStreamTail));
  const off_t from = status.st_size - static_cast<off_t>(bytes->size());
  const ssize_t got = pread(file.get(), bytes->data(), bytes->size(), from);
  *unreadable = got < 0;
  bytes->resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
}

}  // namespace

absl::StatusOr<std::string> TemporaryOf(const std::vector<std::string>& environment,
                                        const std::string& working_directory) {
  const std::string named = TemporaryDirectory(environment, working_directory);
  std::error_code error;
  const std::string real = std::filesystem::canonical(named, error).string();
  if (!named.empty() && !error) return real;
  return absl::FailedPreconditionError(
      "there is no temporary directory that can be written to: set $TMPDIR");
}

msg::InstanceT MessageOf(const InstanceView::Entry& entry, const std::string& job) {
  const InstanceInfo& info = entry.file.info;
  msg::InstanceT instance;
  instance.tool = ToolOf(info);
  instance.id = absl::StrCat(instance.tool, "-", info.port);
  instance.info = std::make_unique<msg::InstanceInfoT>();
  instance.info->version = info.version;
  instance.info->start_time = info.start_time;
  instance.info->pid = static_cast<std::int32_t>(info.pid);
  instance.info->port = static_cast<std::int32_t>(info.port);
  instance.info->path_prefix = info.path_prefix;
  instance.info->logdir = info.logdir;
  instance.info->db = info.db;
  instance.info->cache_key = info.cache_key;
  instance.state = entry.state == InstanceView::State::kLive      ? msg::InstanceState::Live
                   : entry.state == InstanceView::State::kForeign ? msg::InstanceState::Foreign
                                                                  : msg::InstanceState::Dead;
  instance.url = absl::StrCat("http://localhost:", info.port, info.path_prefix, "/");
  instance.path = entry.file.path;
  instance.uid = entry.file.uid;
  instance.job = job;
  return instance;
}

StartOrReuse::StartOrReuse(Options options) : options_(std::move(options)) {}

// ---- Callers

absl::Status StartOrReuse::Check(const msg::StartOrReuseRequestT& request) const {
  const bool named =
      request.tool.size() <= kMaxToolName && !request.tool.empty() &&
      std::all_of(request.tool.begin(), request.tool.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
      });
  if (!named) {
    return absl::InvalidArgumentError(
        "tool: 1 to 32 letters, digits, \"-\" and \"_\"; the path of a binary goes into "
        "$TENSORBOARD_BINARY (or that of another tool)");
  }
  if (!request.working_directory.starts_with('/')) {
    return absl::InvalidArgumentError("working_directory: not an absolute path");
  }
  const bool has_port =
      request.info != nullptr && request.info->port > 0 && request.info->port < 65536;
  if (!request.writes_info && !has_port) {
    return absl::InvalidArgumentError(
        "info: a tool that writes no info file needs its port here (and may have version, "
        "path_prefix, logdir and db)");
  }
  if (callers_.size() >= kMaxCallers) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", callers_.size(), " callers waiting for tools already"));
  }
  return absl::OkStatus();
}

StartOrReuse::CallerId StartOrReuse::Start(const msg::StartOrReuseRequestT& original,
                                           Caller caller) {
  const CallerId id = ++last_caller_;
  msg::StartOrReuseRequestT request = original;
  if (request.tool.empty()) request.tool = std::string(kTensorBoard);
  if (absl::Status good = Check(request); !good.ok()) return caller.done(good), id;
  const auto key = CacheKey(request.working_directory, request.arguments,
                            request.configure_kwargs.empty() ? "{}" : request.configure_kwargs);
  if (!key.ok()) return caller.done(key.status()), id;
  request.environment = ToolEnvironment(request.environment);
  const auto temporary = TemporaryOf(request.environment, request.working_directory);
  if (!temporary.ok()) return caller.done(temporary.status()), id;
  InstanceView* const view = options_.view(*temporary);
  if (const auto* entry = view->FindLive(*key, ToolInFiles(request.tool)); entry != nullptr) {
    Reply reply;
    reply.outcome = msg::StartOutcome::Reused;
    reply.instance = std::make_unique<msg::InstanceT>(
        MessageOf(*entry, JobOf(static_cast<pid_t>(entry->file.info.pid))));
    return caller.done(std::move(reply)), id;
  }
  const FlightId flight_id = IdOf(*temporary, request.tool, *key);
  const bool is_new = !flights_.contains(flight_id);
  Flight& flight = flights_[flight_id];
  if (is_new) {
    flight.key = *key;
    flight.temporary_directory = *temporary;
    flight.request = std::move(request);
    if (auto answer = CannotLaunch(&flight)) {
      flights_.erase(flight_id);
      return caller.done(*std::move(answer)), id;
    }
    const absl::Status made = InfoDirectory(*temporary).Create();
    LOG_IF(WARNING, !made.ok()) << made.message();
    view->RemoveDead(*key);
  }
  Join(flight_id, id, std::move(caller));
  if (is_new) flight.port_is_taken ? Adopt(flight_id) : Launch(flight_id);
  return id;
}

void StartOrReuse::Join(const FlightId& flight_id, CallerId id, Caller caller) {
  Flight* const flight = &flights_.at(flight_id);
  callers_[id] = flight_id;
  Waiting& waiting = flight->callers[id];
  waiting.began = options_.clock->Monotonic();
  waiting.timer.Start(options_.loop, caller.timeout,
                      [this, flight_id, id] { TimeIsOver(flight_id, id); });
  waiting.caller = std::move(caller);
  if (!flight->probe_timer.is_set()) LookLater(flight_id);
  if (flight->progress.empty() || !waiting.caller.progress) return;
  Reply part = ReplyOf(*flight, msg::StartOutcome::Pending);
  part.progress = flight->progress;
  waiting.caller.progress(std::move(part));
}

void StartOrReuse::Leave(CallerId caller) {
  const auto found = callers_.find(caller);
  if (found == callers_.end()) return;
  auto& waiting = flights_.at(found->second).callers;
  waiting.erase(caller);
  callers_.erase(found);
}

void StartOrReuse::TimeIsOver(const FlightId& id, CallerId caller) {
  const auto flight = flights_.find(id);
  if (flight == flights_.end() || !flight->second.callers.contains(caller)) return;
  const auto extracted = flight->second.callers.extract(caller);
  callers_.erase(caller);
  const Waiting& waiting = extracted.mapped();
  if (flight->second.pid == 0) {
    return waiting.caller.done(absl::DeadlineExceededError(
        absl::StrCat("the launcher has not started ", flight->second.request.tool, " within ",
                     absl::FormatDuration(waiting.caller.timeout), "; it will when it can")));
  }
  Reply reply = ReplyOf(flight->second, msg::StartOutcome::TimedOut);
  reply.elapsed_ms = static_cast<std::uint32_t>(
      absl::ToInt64Milliseconds(options_.clock->Monotonic() - waiting.began));
  waiting.caller.done(std::move(reply));
}

void StartOrReuse::Tell(Flight* flight, std::string progress) {
  if (flight->progress == progress) return;
  flight->progress = std::move(progress);
  for (auto& [id, waiting] : flight->callers) {
    if (!waiting.caller.progress) continue;
    Reply part = ReplyOf(*flight, msg::StartOutcome::Pending);
    part.progress = flight->progress;
    part.elapsed_ms = static_cast<std::uint32_t>(
        absl::ToInt64Milliseconds(options_.clock->Monotonic() - waiting.began));
    waiting.caller.progress(std::move(part));
  }
}

void StartOrReuse::Finish(const FlightId& id, absl::StatusOr<Reply> reply) {
  auto flight = flights_.extract(id);
  if (flight.empty()) return;
  flight.mapped().probe_timer.Cancel();
  const absl::Duration now = options_.clock->Monotonic();
  for (auto& [caller, waiting] : flight.mapped().callers) {
    callers_.erase(caller);
    waiting.timer.Cancel();
    if (reply.ok()) {
      reply->elapsed_ms =
          static_cast<std::uint32_t>(absl::ToInt64Milliseconds(now - waiting.began));
    }
    waiting.caller.done(reply);
  }
}

// ---- The tool's job

std::optional<absl::StatusOr<Reply>> StartOrReuse::CannotLaunch(Flight* flight) const {
  const msg::StartOrReuseRequestT& request = flight->request;
  std::string variable = absl::StrCat(request.tool, "_BINARY");
  for (char& c : variable) {
    c = c == '-' ? '_' : absl::ascii_toupper(static_cast<unsigned char>(c));
  }
  flight->explicit_binary = ValueOf(request.environment, variable);
  const std::string binary =
      flight->explicit_binary.empty() ? request.tool : flight->explicit_binary;
  const std::string path = ValueOf(request.environment, "PATH");
  const auto program = runtime::FindProgram(binary, path, request.working_directory);
  if (!program.ok()) {
    Reply reply = ReplyOf(*flight, msg::StartOutcome::ExecFailed);
    reply.error_number = absl::IsPermissionDenied(program.status()) ? EACCES : ENOENT;
    reply.error = absl::StrCat(program.status().message(),
                               flight->explicit_binary.empty()
                                   ? absl::StrCat(" (or name it with $", variable, ")")
                                   : absl::StrCat(" (named by $", variable, ")"));
    return reply;
  }
  if (!options_.launcher_is_there()) {
    return absl::UnavailableError(
        absl::StrCat("the launcher, which starts tools, is not there: start it with `yard up`"));
  }
  flight->port_is_taken = !request.writes_info &&
                          options_.probe->ListenersOf(options_.uid).contains(request.info->port);
  return std::nullopt;
}

StartOrReuse::Flight* StartOrReuse::Find(const FlightId& id, std::uint64_t number) {
  const auto found = flights_.find(id);
  return found == flights_.end() || found->second.number != number ? nullptr : &found->second;
}

void StartOrReuse::Launch(const FlightId& id) {
  Flight& flight = flights_.at(id);
  flight.number = ++last_number_;
  flight.adopted = false;
  flight.job.clear();
  flight.pid = 0;
  msg::JobSpecT spec;
  spec.name = JobName(flight.request.tool, id, flight.copy);
  spec.task_type = "tool";
  spec.argv = flight.request.arguments;
  spec.argv.insert(spec.argv.begin(),
                   flight.explicit_binary.empty() ? flight.request.tool : flight.explicit_binary);
  spec.environment = flight.request.environment;
  spec.working_directory = flight.request.working_directory;
  spec.log_limit_bytes = kLogLimit;
  std::string trace;
  if (!flight.callers.empty()) trace = flight.callers.begin()->second.caller.trace;
  Tell(&flight, absl::StrCat("starting ", spec.argv[0]));
  options_.jobs->Launch(runtime::RandomHex128(), trace, spec,
                        [this, id, number = flight.number,
                         weak = std::weak_ptr<char>(alive_)](absl::StatusOr<std::string> job) {
                          if (weak.expired() || Find(id, number) == nullptr) return;
                          if (absl::IsAlreadyExists(job.status())) return Adopt(id);
                          if (!job.ok()) return Finish(id, job.status());
                          Follow(id, *job);
                        });
}

// Follows the existing job of this name: one that an earlier registry requested, or one whose tool
// has just ended, which the launcher is about to notice.
void StartOrReuse::Adopt(const FlightId& id) {
  Flight& flight = flights_.at(id);
  flight.number = ++last_number_;
  flight.adopted = true;
  flight.adopted_at = options_.clock->Monotonic();
  Follow(id, JobName(flight.request.tool, id, flight.copy));
}

void StartOrReuse::Follow(const FlightId& id, const std::string& job) {
  const auto weak = std::weak_ptr<char>(alive_);
  const std::uint64_t number = flights_.at(id).number;
  options_.jobs->Follow(
      job,
      [this, id, number, weak](const msg::JobT& changed) {
        if (!weak.expired() && Find(id, number) != nullptr) JobChanged(id, changed);
      },
      [this, id, number, weak](absl::StatusOr<msg::JobT> ended) {
        if (!weak.expired() && Find(id, number) != nullptr) JobEnded(id, std::move(ended));
      });
}

void StartOrReuse::JobChanged(const FlightId& id, const msg::JobT& job) {
  Flight& flight = flights_.at(id);
  const msg::AttemptT* attempt = LastAttempt(job);
  flight.job = job.id;
  if (attempt == nullptr || attempt->pid == 0 || attempt->ended_us != 0) return;
  flight.pid = attempt->pid;
  flight.started_us = attempt->started_us;
  Note(flight.pid, flight.job);
  Tell(&flight, absl::StrCat(flight.request.tool, " runs as process ", flight.pid, " of job ",
                             flight.job, "; waiting until it ",
                             flight.request.writes_info
                                 ? "has written its info file"
                                 : absl::StrCat("listens on port ", flight.request.info->port)));
  Look(id);
}

// The end of the process takes precedence over any info file, which may be another process's.
void StartOrReuse::JobEnded(const FlightId& id, absl::StatusOr<msg::JobT> job) {
  Flight& flight = flights_.at(id);
  if (flight.adopted && (job.ok() || absl::IsNotFound(job.status()))) return AdoptedEnded(id);
  if (!job.ok()) return Finish(id, job.status());
  flight.job = job->id;
  const msg::AttemptT* attempt = LastAttempt(*job);
  if (attempt == nullptr || attempt->pid == 0) {
    Reply reply = ReplyOf(flight, msg::StartOutcome::ExecFailed);
    reply.error_number = attempt == nullptr ? 0 : attempt->error_number;
    reply.error = attempt == nullptr ? job->reason : attempt->reason;
    return Finish(id, std::move(reply));
  }
  flight.pid = attempt->pid;
  Reply reply = ReplyOf(flight, msg::StartOutcome::Failed);
  reply.exit_code = attempt->signal != 0 ? -attempt->signal : attempt->exit_code;
  reply.error = attempt->reason;
  ReadTail(job->tasks[0]->stdout_path, &reply.stdout, &reply.stdout_unreadable);
  ReadTail(job->tasks[0]->stderr_path, &reply.stderr, &reply.stderr_unreadable);
  Finish(id, std::move(reply));
}

// The existing job has ended: starts the tool for this call, if a caller still waits.
void StartOrReuse::AdoptedEnded(const FlightId& id) {
  const Flight& flight = flights_.at(id);
  if (flight.callers.empty()) return Finish(id, absl::CancelledError("nobody waits"));
  const bool taken = !flight.request.writes_info &&
                     options_.probe->ListenersOf(options_.uid).contains(flight.request.info->port);
  if (!taken) return Launch(id);
  Finish(id,
         absl::AlreadyExistsError(absl::StrCat("port ", flight.request.info->port,
                                               " is in use by something else: stop it, or give ",
                                               flight.request.tool, " another port")));
}

// True if the tool serves but its info file was deleted, so that nobody will write it again.
bool StartOrReuse::HasLostItsFile(const Flight& flight) const {
  return flight.adopted && flight.request.writes_info && flight.pid != 0 &&
         options_.clock->Monotonic() - flight.adopted_at >= kSettled &&
         options_.probe->Holds(flight.pid, options_.probe->ListenersOf(options_.uid), 0);
}

// ---- The tool's info file

void StartOrReuse::Changed(const std::string& temporary_directory) {
  std::erase_if(jobs_, [&](const auto& job) { return !options_.probe->Look(job.first); });
  std::vector<FlightId> concerned;
  for (const auto& [id, flight] : flights_) {
    if (flight.temporary_directory == temporary_directory) concerned.push_back(id);
  }
  for (const FlightId& id : concerned) Look(id);
  LearnJobs(temporary_directory);
}

void StartOrReuse::Look(const FlightId& id) {
  const auto found = flights_.find(id);
  if (found == flights_.end()) return;
  Flight& flight = found->second;
  // The process has ended; the launcher will report it soon.
  if (flight.pid != 0 && !options_.probe->Look(flight.pid).has_value()) return;
  InstanceView* const view = options_.view(flight.temporary_directory);
  if (!flight.request.writes_info) {
    if (absl::Status written = WriteInfo(flight); !written.ok()) {
      return Finish(
          id, absl::Status(
                  written.code(),
                  absl::StrCat(flight.request.tool, " runs as process ", flight.pid, " of job ",
                               flight.job, ", but nobody can find it: ", written.message())));
    }
  }
  const auto* entry = view->FindLive(flight.key, ToolInFiles(flight.request.tool));
  if (entry == nullptr) return;
  Reply reply = ReplyOf(flight, msg::StartOutcome::Launched);
  Note(static_cast<pid_t>(entry->file.info.pid), flight.job);
  reply.instance = std::make_unique<msg::InstanceT>(MessageOf(*entry, flight.job));
  Finish(id, std::move(reply));
}

// Polls only while a caller waits.
void StartOrReuse::LookLater(const FlightId& id) {
  Flight& flight = flights_.at(id);
  if (flight.callers.empty()) {
    flight.probe_pause = absl::ZeroDuration();
    return;
  }
  flight.probe_pause = std::clamp(2 * flight.probe_pause, kFirstLook, kLongestLook);
  flight.probe_timer.Start(options_.loop, flight.probe_pause, [this, id] {
    Look(id);
    const auto found = flights_.find(id);
    if (found == flights_.end()) return;
    if (found->second.copy < kMaxCopies && HasLostItsFile(found->second)) {
      ++found->second.copy;
      Launch(id);
    }
    if (flights_.contains(id)) LookLater(id);
  });
}

// Writes nothing until the tool itself listens on the port; another process may listen there.
absl::Status StartOrReuse::WriteInfo(const Flight& flight) const {
  const msg::InstanceInfoT& told = *flight.request.info;
  if (flight.pid == 0) return absl::OkStatus();
  const auto listeners = options_.probe->ListenersOf(options_.uid);
  if (!options_.probe->Holds(flight.pid, listeners, told.port)) return absl::OkStatus();
  const InstanceInfo info{.version = told.version,
                          .start_time = flight.started_us / 1'000'000,
                          .pid = flight.pid,
                          .port = told.port,
                          .path_prefix = told.path_prefix,
                          .logdir = told.logdir,
                          .db = told.db,
                          .cache_key = flight.key,
                          .tool = ToolInFiles(flight.request.tool)};
  return InfoDirectory(flight.temporary_directory).Write(info, told.version);
}

msg::StartOrReuseReplyT StartOrReuse::ReplyOf(const Flight& flight,
                                              msg::StartOutcome outcome) const {
  Reply reply;
  reply.outcome = outcome;
  reply.pid = flight.pid;
  reply.job = flight.job;
  reply.explicit_binary = flight.explicit_binary;
  return reply;
}

// ---- Started tools

void StartOrReuse::Note(pid_t pid, const std::string& job) {
  if (!job.empty() && (jobs_.size() < kMaxStarted || jobs_.contains(pid))) jobs_[pid] = job;
}

// An info file determines the name of the job; the launcher knows whether that job exists.
void StartOrReuse::LearnJobs(const std::string& temporary_directory) {
  if (!options_.launcher_is_there()) return;
  for (const auto& [name, entry] : options_.view(temporary_directory)->Entries()) {
    if (entry.state != InstanceView::State::kLive || jobs_.size() >= kMaxStarted) continue;
    const auto pid = static_cast<pid_t>(entry.file.info.pid);
    if (!jobs_.try_emplace(pid).second) continue;
    const std::string tool = ToolOf(entry.file.info);
    LearnJob(pid, tool, IdOf(temporary_directory, tool, entry.file.info.cache_key), 1);
  }
}

// Tries the first job of this key, then those that were started beside it.
void StartOrReuse::LearnJob(pid_t pid, const std::string& tool, const FlightId& id, int copy) {
  options_.jobs->Follow(
      JobName(tool, id, copy),
      [=, this, told = false, weak = std::weak_ptr<char>(alive_)](const msg::JobT& job) mutable {
        const msg::AttemptT* const attempt = LastAttempt(job);
        if (weak.expired() || attempt == nullptr) return;
        if (attempt->pid == pid) return Note(pid, job.id);
        if (copy < kMaxCopies && !std::exchange(told, true)) LearnJob(pid, tool, id, copy + 1);
      },
      [](const absl::StatusOr<msg::JobT>&) {});
}

std::string StartOrReuse::JobOf(pid_t pid) const {
  const auto found = jobs_.find(pid);
  return found == jobs_.end() ? "" : found->second;
}

bool StartOrReuse::Uses(const std::string& temporary_directory) const {
  return std::any_of(flights_.begin(), flights_.end(), [&](const auto& flight) {
    return flight.second.temporary_directory == temporary_directory;
  });
}

}  // namespace registry
