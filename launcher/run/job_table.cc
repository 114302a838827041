#include "launcher/run/job_table.h"

#include <signal.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "launcher/job/cluster.h"
#include "launcher/job/from_caller.h"
#include "launcher/job/job_names.h"
#include "launcher/job/job_order.h"
#include "launcher/job/job_spec_record.h"
#include "launcher/job/jobs_to_forget.h"
#include "launcher/job/probe_record.h"
#include "launcher/process/process_table.h"
#include "launcher/run/job_failure.h"
#include "launcher/run/unused_work.h"
#include "runtime/file/file.h"
#include "runtime/text/printable.h"
#include "runtime/text/random_id.h"

// Always true between two callbacks of the loop:
// - Only Decide() (supervisor.h) changes a job's status; Feed() calls it. Its actions wait in
//   Job::run->decided, and only Flush() carries them out, after it has stored the rows that they
//   follow from. A launcher that is killed in between makes the same decisions again.
// - A job is in decided_ exactly while its run->decided.is_known is set. Flush() clears both at the
//   end of the loop's turn (a change to Running may wait some milliseconds, to be stored with
//   others).
// - A job that has not ended has a JobRun, whose `caller` is set. An ended job keeps its JobRun
//   only until its shims have left and none of its decisions is pending (PutAside).
// - The end of an attempt is acknowledged to its shim after it is stored. Until the shim has left,
//   retired_ is the only owner of the attempt.
// - A live job holds its ports, and its tasks with `granted` set hold their resources.
// - Callbacks that are posted to the loop check *alive_ first, and look up their job by its id,
//   since it may have been removed.

namespace launcher {
namespace {

constexpr std::size_t kMaxJobs = 20'000;
// Delay of work that no one waits for, so that it does not hold up a task that is about to start or
// restart.
constexpr absl::Duration kPause = absl::Milliseconds(3);
// Changes of a job with many tasks are collected and announced together.
constexpr std::size_t kManyTasks = 16;
constexpr absl::Duration kTellingPause = absl::Milliseconds(20);
// Changes to Running within this time are stored in one transaction.
constexpr absl::Duration kRunningPause = absl::Milliseconds(10);
constexpr absl::Duration kForgettingPause = absl::Minutes(1);

std::uint64_t OwnStartTicks() {
  const auto self = ReadProcess(getpid());
  return self ? self->start_ticks : 0;
}

TaskRun& TaskOf(Job& job, int task) { return *job.run->tasks[static_cast<std::size_t>(task)]; }

}  // namespace

// ---- Opening, and re-adoption of jobs

absl::StatusOr<std::unique_ptr<JobTable>> JobTable::Open(Options options) {
  std::unique_ptr<JobTable> table(new JobTable(std::move(options)));
  if (auto status = table->Prepare(); !status.ok()) return status;
  return table;
}

JobTable::JobTable(Options options)
    : options_(std::move(options)),
      jobs_directory_(options_.locations.state_directory + "/jobs"),
      attempt_host_({.locations = options_.locations,
                     .limits = options_.limits,
                     .own_start_ticks = OwnStartTicks(),
                     .hides_gpus = options_.hides_gpus}),
      grants_(options_.resources, options_.machine_locks),
      grant_rounds_({.loop = options_.loop,
                     .grants = &grants_,
                     .look_for_others = options_.look_for_others,
                     .on_granted =
                         [this](const std::string& job, const std::vector<Grants::Grant>& grants) {
                           if (RunOf(job) != nullptr) NoteGrants(*jobs_.at(job), grants);
                         },
                     .on_waits = [this](const std::string& job) { observers_.Notify(job); }}),
      spawner_(options_.shim_path),
      ready_pace_(options_.loop),
      ports_({.loop = options_.loop,
              .hosts = options_.hosts,
              .ranges = options_.port_ranges,
              .random = [this] { return options_.random(); },
              .rows = [this] { return Rows(); }}),
      retired_(options_.loop),
      removals_({.loop = options_.loop,
                 .pool = options_.pool,
                 .folder_of =
                     [this](const std::string& job) {
                       return JobFolder(options_.locations.state_directory, job);
                     },
                 .forget = [this](const std::string& job) { return ForgetJob(job); },
                 .fault = options_.fault}) {
  if (!options_.random) {
    options_.random = [] { return static_cast<double>(runtime::RandomId() >> 11) * 0x1.0p-53; };
  }
  MakeHost();
}

JobTable::~JobTable() {
  if (options_.hosts != nullptr) options_.hosts->OnChange({});
  // (Decisions that only wait for flush_timer_ have no actions.)
  if (flush_timer_.is_set() && !flush_comes_) Flush();
  *alive_ = false;
}

void JobTable::MakeHost() {
  host_.loop = options_.loop;
  host_.clock = options_.clock;
  host_.locations = options_.locations;
  host_.spawner = &spawner_;
  host_.hosts = options_.hosts;
  host_.ready_pace = &ready_pace_;
  host_.lets_go_of = [this](const JobRow& row, int task) {
    return row.spec.release_ports ? PortsOf(*jobs_.at(row.id), task) : std::vector<int>();
  };
  host_.on_lines = options_.on_lines;
  host_.fault = options_.fault;
  host_.spec_of = [this](const JobRow& row, int task, int attempt) {
    return SpecOf(row, task, attempt);
  };
  if (options_.machine_locks != nullptr) {
    options_.machine_locks->SetNames([this](const std::string& job) { return NamesOf(job); });
    host_.locks_of = [this](const JobRow& row, int task) { return LocksOf(row, task); };
  }
  host_.on_running = [this](TaskRun* task, bool is_new) {
    NoteTakenUp(task);
    Job* const job = Find(task->job());
    Feed(*job, event::Running{task->task()});
    BeginLiveness(task);
    if (is_new) Change(*job, kRunningPause).tasks.insert(task->task());
  };
  host_.on_ready = [this](TaskRun* task) { Feed(*Find(task->job()), event::Ready{task->task()}); };
  host_.on_output = [this](TaskRun* task) { observers_.Notify(task->job().id); };
  host_.on_barrier = [this](TaskRun* task, const ShimBarrier& barrier) {
    OnBarrier(*task, barrier);
  };
  host_.on_look = [this](TaskRun* task, const std::string& why) { OnLook(task, why); };
  host_.on_probe_failed = [this](TaskRun* task, const std::string& reason) {
    OnProbeFailed(task, reason);
  };
  host_.on_over = [this](TaskRun* task, const AttemptEnd& end, std::unique_ptr<Attempt> attempt) {
    OnOver(task, end, std::move(attempt));
  };
  host_.on_left = [this](Attempt* attempt) {
    options_.loop->Post([this, alive = alive_, attempt] {
      if (!*alive) return;
      const auto job = jobs_.find(retired_.Remove(attempt));
      if (job != jobs_.end()) PutAside(*job->second);
    });
  };
}

absl::Status JobTable::Prepare() {
  opened_ = Now();
  const auto& locations = options_.locations;
  for (const auto& path :
       {locations.state_directory, jobs_directory_, locations.runtime_directory + "/tasks"}) {
    if (auto made = runtime::MakeDirectories(path, 0700); !made.ok()) return made;
  }
  if (options_.store == nullptr) {
    auto store = JobStore::OpenIn(locations);
    if (!store.ok()) return store.status();
    options_.store = *std::move(store);
  }
  store_ = std::move(options_.store);
  auto rows = store_->Load();
  if (!rows.ok()) return rows.status();
  for (auto& row : *rows) {
    auto job = std::make_unique<Job>();
    job->row = std::move(row);
    FromCaller caller = TakeFromCaller(&job->row.spec);
    if (!job->row.has_ended()) {
      SetUp(*job);
      job->run->caller = callers_.Share(std::move(caller));
    }
    Add(std::move(job));
  }
  ports_.TakeUpAll();
  if (options_.hosts != nullptr) {
    grants_.SetNodes(options_.hosts->Nodes());
    options_.hosts->OnChange([this](const std::string& node) {
      grants_.SetNodes(options_.hosts->Nodes());
      ports_.KeepOn(node);
      grant_rounds_.Look();
    });
  }
  for (const auto& [id, job] : jobs_) {
    if (!job->row.has_ended()) Restore(*job);
  }
  // Jobs that wait for resources ask for them in the same order as under the earlier launcher.
  std::vector<Job*> in_order;
  for (const auto& [id, job] : jobs_) in_order.push_back(job.get());
  std::sort(in_order.begin(), in_order.end(),
            [](const Job* a, const Job* b) { return a->row.run_since_us < b->row.run_since_us; });
  for (Job* const job : in_order) {
    LetGo(*job);
    if (!job->row.has_ended()) TakeUp(*job);
  }
  for (Job* const job : in_order) {
    if (job->row.has_ended() && job->row.status.comes_back) ComeBack(*job);
  }
  FeedOrders();
  Flush();
  ForgetOld();
  return absl::OkStatus();
}

void JobTable::SetUp(Job& job) {
  job.run = std::make_unique<JobRun>();
  job.run->rules = RulesOf(job.row);
  job.run->plan = PlanTasks(job.row.spec, job.row.ports, job.row.Hosts());
  for (int i = 0; i < static_cast<int>(job.row.tasks.size()); ++i) {
    job.run->tasks.push_back(std::make_unique<TaskRun>(&host_, &job.row, i));
  }
}

// Restores the parts of an ended job that PutAside() has dropped.
absl::Status JobTable::MakeWhole(Job& job) {
  if (job.run == nullptr) SetUp(job);
  if (job.run->caller != nullptr) return absl::OkStatus();
  auto caller = store_->LoadFromCaller(job.row.id);
  if (!caller.ok()) return caller.status();
  job.run->caller = callers_.Share(*std::move(caller));
  return absl::OkStatus();
}

// Drops the JobRun of an ended job, unless it still has work to do. Must not be called from a
// callback of one of the job's tasks.
void JobTable::PutAside(Job& job) {
  if (job.run == nullptr || !job.row.has_ended() || job.run->decided.is_known) return;
  if (!retired_.HasOf(job.row.id)) job.run = nullptr;
}

void JobTable::PutAsideLater(const Job& job) {
  options_.loop->Post([this, alive = alive_, id = job.row.id] {
    if (!*alive) return;
    if (const auto found = jobs_.find(id); found != jobs_.end()) PutAside(*found->second);
  });
}

// Returns null if the job does not exist or was removed.
Job* JobTable::Find(const JobRow& row) const {
  const auto found = jobs_.find(row.id);
  return found == jobs_.end() ? nullptr : found->second.get();
}

// Returns the JobRun of a job; null if the job does not exist or has ended.
JobRun* JobTable::RunOf(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : found->second->run.get();
}

void JobTable::Add(std::unique_ptr<Job> job) {
  Job& added = *(jobs_[job->row.id] = std::move(job));
  by_request_[added.row.request_id] = added.row.id;
  ++stats_.jobs;
}

// Acknowledges attempts whose end an earlier launcher has stored but may not have acknowledged to
// their shims.
void JobTable::LetGo(const Job& job) {
  for (int task = 0; task < static_cast<int>(job.row.tasks.size()); ++task) {
    for (const AttemptRow& row : job.row.tasks[static_cast<std::size_t>(task)].attempts) {
      if (row.ended_us == 0 || TaskRun::IsLetGo(host_, job.row, task, row)) continue;
      retired_.AddStored(job.row.id, TaskRun::OfEnded(&host_, job.row, task, row));
    }
  }
}

// Restores the grants of a job of an earlier launcher; called for all jobs before any of them makes
// a request.
void JobTable::Restore(const Job& job) {
  for (std::size_t i = 0; i < job.run->tasks.size(); ++i) {
    const TaskStatus& status = job.row.status.tasks[i];
    const bool runs = status.state != msg::TaskState::Pending && !HasEnded(status.state);
    if (status.granted || runs) grants_.Restore(job.row, static_cast<int>(i));
  }
}

// Re-adopts the tasks of a job of an earlier launcher.
void JobTable::TakeUp(Job& job) {
  ++stats_.live;
  SetEndTimer(job);
  for (std::size_t i = 0; i < job.run->tasks.size(); ++i) {
    TaskStatus& status = job.row.status.tasks[i];
    if (status.state == msg::TaskState::Pending || HasEnded(status.state)) continue;
    ++stats_.adopted;
    status.running_since = Now();
    being_taken_up_.insert(job.run->tasks[i].get());
    job.run->tasks[i]->Adopt();
  }
  if (job.row.spec.daemon) {
    Feed(job, event::StopAsked{kWholeJob, job.run->rules.grace, "its launcher has ended"});
  } else {
    Feed(job, event::Launched{});
  }
}

// Logs how long it took to re-adopt all tasks of an earlier launcher.
void JobTable::NoteTakenUp(TaskRun* task) {
  if (being_taken_up_.erase(task) == 0 || !being_taken_up_.empty()) return;
  LOG(INFO) << "took up " << stats_.adopted << " tasks of an earlier launcher in "
            << absl::ToDoubleMilliseconds(Now() - opened_) << " ms";
}

absl::StatusOr<msg::JobT> JobTable::Launch(const std::string& request_id, msg::JobSpecT spec) {
  if (const auto known = by_request_.find(request_id); known != by_request_.end()) {
    return Message(jobs_.at(known->second)->row);
  }
  for (const auto check : {CheckJobSpec, CheckCluster}) {
    if (auto status = check(spec); !status.ok()) return status;
  }
  if (auto status = grants_.Check(spec); !status.ok()) return status;
  const auto find = [this](const std::string& name) { return NewestOf(name); };
  if (auto status = CheckOrder(spec, find); !status.ok()) return status;
  spec.environment = CleanEnvironment(spec.environment);
  auto job = std::make_unique<Job>();
  job->row = MakeJobRow(std::move(spec));
  do {
    job->row.id = runtime::RandomName("j-");
  } while (jobs_.contains(job->row.id) ||
           std::filesystem::exists(JobFolder(options_.locations.state_directory, job->row.id)));
  job->row.request_id = request_id.empty() ? runtime::RandomHex128() : request_id;
  job->row.created_us = WallUs();
  BeginTime(BothClocks(), &job->row);
  if (auto status = CheckRoom(job->row); !status.ok()) return status;
  auto ports = ports_.Take(job->row);
  if (!ports.ok()) return ports.status();
  job->row.SetPorts(*std::move(ports));
  SetUp(*job);
  ++stats_.live;
  Feed(*job, event::Launched{});
  FeedOrder(*job);
  Fault("launch: before insert");
  if (auto stored = store_->Insert(job->row); !stored.ok()) {
    std::erase(decided_, job.get());
    --stats_.live;
    ports_.Release(job->row);
    return stored;
  }
  Fault("launch: after insert");
  job->run->caller = callers_.Share(TakeFromCaller(&job->row.spec));
  job->run->decided.of_job = false;
  job->run->decided.tasks.clear();
  Job& added = *job;
  Add(std::move(job));
  if (!added.row.has_ended()) SetEndTimer(added);
  Fault("launch: before reply");
  return Message(added.row);
}

absl::Status JobTable::CheckRoom(const JobRow& row) const {
  if (jobs_.size() >= kMaxJobs) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", jobs_.size(), " jobs already: remove ended ones"));
  }
  // The longest socket path must fit into sockaddr_un.
  std::size_t longest_name = 0;
  for (const TaskRow& task : row.tasks) longest_name = std::max(longest_name, task.name().size());
  const auto longest = absl::StrCat(options_.locations.runtime_directory, "/tasks/", row.id, ".",
                                    std::string(longest_name, 'x'), ".999999.ctl");
  if (longest.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the runtime directory's path is too long for sockets: ", longest));
  }
  if (row.spec.name.empty()) return absl::OkStatus();
  for (const auto& [id, job] : jobs_) {
    if (job->row.spec.name == row.spec.name && !job->row.has_ended()) {
      return absl::AlreadyExistsError(
          absl::StrCat("a live job has the name ", row.spec.name, ": ", id));
    }
  }
  return absl::OkStatus();
}

// ---- Order of jobs (`after`), and autostart

const JobRow* JobTable::NewestOf(const std::string& name) const {
  const auto id = FindJob(name);
  const JobRow* const row = id.ok() ? Row(*id) : nullptr;
  // (A prefix of an id does not count: another job may have it tomorrow.)
  return row != nullptr && (row->id == name || row->spec.name == name) ? row : nullptr;
}

// Feeds a waiting job the state of the jobs that it waits for.
void JobTable::FeedOrder(Job& job) {
  if (job.run == nullptr || !job.run->rules.waits_for_jobs || job.row.status.jobs_came ||
      job.row.has_ended()) {
    return;
  }
  const Event event =
      OrderOf(job.row.spec, [this](const std::string& name) { return NewestOf(name); });
  if (std::holds_alternative<event::JobsCame>(event) && HasNotBegun(job.row)) {
    BeginTime(BothClocks(), &job.row);  // Its time limit starts now.
    if (jobs_.contains(job.row.id)) SetEndTimer(job);
  }
  Feed(job, event);
}

void JobTable::FeedOrders() {
  for (const std::string& id : std::exchange(waiting_, {})) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || found->second->run == nullptr) continue;
    FeedOrder(*found->second);
    NoteWaiting(*found->second);
  }
}

void JobTable::NoteWaiting(const Job& job) {
  const JobStatus& status = job.row.status;
  if (job.run->rules.waits_for_jobs && !status.jobs_came && !job.row.has_ended()) {
    waiting_.insert(job.row.id);
  }
}

// Starts a job again that ended because the yard went down.
void JobTable::ComeBack(Job& job) {
  if (!job.row.spec.autostart) return;
  absl::Status may = MakeWhole(job);
  if (may.ok()) may = ports_.TakeUp(job.row);
  if (!may.ok()) {
    ports_.Release(job.row);
    PutAsideLater(job);
    LOG(ERROR) << "job " << job.row.id << " does not start again with the yard: " << may;
    return;
  }
  Feed(job, event::Launched{});
}

void JobTable::BeginLiveness(TaskRun* task) {
  const JobRow& row = task->job();
  const TaskRow& task_row = row.tasks[static_cast<std::size_t>(task->task())];
  const msg::ProbeT* const probe = row.liveness(task_row);
  if (probe == nullptr || liveness_.contains(task)) return;
  const AttemptRow& attempt = task_row.attempts.back();
  if (!attempt.node.empty() && IsProbeOfItsHost(*probe)) return;  // Its node runs the probe.
  Liveness::Options options{.loop = options_.loop, .probe = *probe};
  options.own_address = task_row.address;
  options.heartbeat_file =
      HeartbeatPath(row, task_row, options_.locations.state_directory, attempt.number);
  options.spec = [this, task, number = attempt.number] {
    return SpecOf(task->job(), task->task(), number);
  };
  options.age = absl::Microseconds(std::max<std::int64_t>(WallUs() - attempt.started_us, 0));
  options.on_look = [this, task](const std::string& why) { OnLook(task, why); };
  options.on_failed = [this, task](const std::string& reason) { OnProbeFailed(task, reason); };
  liveness_[task] = Liveness::Begin(std::move(options));
}

void JobTable::OnLook(TaskRun* task, const std::string& why) {
  Job& job = *Find(task->job());
  std::string& said = job.row.tasks[static_cast<std::size_t>(task->task())].probe;
  if (std::exchange(said, why) != why) Announce(job);
}

void JobTable::OnProbeFailed(TaskRun* task, const std::string& reason) {
  LOG(WARNING) << task->job().id << "/"
               << task->job().tasks[static_cast<std::size_t>(task->task())].name() << ": "
               << runtime::Printable(reason);
  Feed(*Find(task->job()), event::AttemptFailed{task->task(), reason});
}

// ---- Decisions

// Decides what follows from one event. Flush() stores all decisions of one turn of the loop in one
// transaction, and only then carries them out.
void JobTable::Feed(Job& job, const Event& event) {
  if (job.run == nullptr) return;  // The job has ended; a restart calls MakeWhole() first.
  const bool had_ended = job.row.has_ended();
  const auto phase = job.row.status.phase;
  Decision decision =
      Decide(std::move(job.row.status), job.run->rules, event, Now(), options_.random());
  job.row.status = std::move(decision.status);
  NoteWaiting(job);
  NoteEnd(job, had_ended);
  if (phase == JobStatus::Phase::kGangStops ||
      job.row.status.phase == JobStatus::Phase::kGangStops) {
    job.failures_since_us = WallUs();
  }
  const bool had_failure = job.row.failure != nullptr;
  if (!had_ended || !job.row.has_ended()) NoteFailure(job);
  for (const auto& action : decision.actions) {
    if (const auto* start = std::get_if<action::StartAttempt>(&action)) {
      TaskRow& task = job.row.tasks[static_cast<std::size_t>(start->task)];
      task.attempts.push_back({.number = start->number,
                               .node = task.node,
                               .host = task.node.empty() ? "" : options_.hosts->HostOf(task.node)});
    }
  }
  const bool has_ended = job.row.has_ended();
  const bool of_job =
      decision.job_changed || has_ended != had_ended || had_failure != (job.row.failure != nullptr);
  if (!of_job && decision.changed.empty() && decision.actions.empty()) return;
  // If this launcher is killed before it has stored that a program runs, the next one learns it
  // from the shim.
  const bool can_wait =
      std::holds_alternative<event::Running>(event) && !of_job && decision.actions.empty();
  Decided& decided = Change(job, can_wait ? kRunningPause : absl::ZeroDuration());
  decided.is_change |= of_job || !decision.changed.empty();
  decided.of_job |= of_job;
  decided.tasks.insert(decision.changed.begin(), decision.changed.end());
  decided.actions.insert(decided.actions.end(), decision.actions.begin(), decision.actions.end());
}

// Returns the pending decisions of a job, and schedules a Flush() within `within`: decisions
// without actions can wait, to be stored together with later ones.
Decided& JobTable::Change(Job& job, absl::Duration within) {
  if (!std::exchange(job.run->decided.is_known, true)) decided_.push_back(&job);
  if (within == absl::ZeroDuration()) {
    FlushSoon();
  } else if (!flush_comes_ && !flush_timer_.is_set()) {
    flush_timer_.Start(options_.loop, within, [this] { Flush(); });
  }
  return job.run->decided;
}

// Schedules Flush() for the end of this turn of the loop.
void JobTable::FlushSoon() {
  if (std::exchange(flush_comes_, true)) return;
  options_.loop->Post([this, alive = alive_] {
    if (*alive) Flush();
  });
}

// Stores all pending decisions, then carries them out.
void JobTable::Flush() {
  flush_comes_ = false;
  flush_timer_.Cancel();
  std::vector<std::pair<Job*, Decided>> todo;
  for (Job* job : std::exchange(decided_, {}))
    todo.emplace_back(job, std::exchange(job->run->decided, {}));
  std::vector<Attempt*> ended = retired_.TakeNew();
  std::vector<JobStore::Change> changes;
  for (const auto& [job, decided] : todo) {
    if (!decided.of_job && decided.tasks.empty()) continue;
    changes.push_back({.job = &job->row,
                       .of_job = decided.of_job,
                       .tasks = {decided.tasks.begin(), decided.tasks.end()}});
  }
  if (!changes.empty()) Save(changes);
  std::vector<std::string> changed;
  for (const auto& [job, decided] : todo) {
    CarryOut(*job, decided);
    if (decided.is_change) changed.push_back(job->row.id);
  }
  for (const std::string& id : changed) {
    // (An observer of one job may remove another job.)
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    if (found->second->row.has_ended()) PutAsideLater(*found->second);
    Announce(*found->second);
  }
  if (!changed.empty()) FeedOrders();
  retired_.Acknowledge(std::move(ended));
}

void JobTable::CarryOut(Job& job, const Decided& decided) {
  for (const auto& action : decided.actions) {
    std::visit([&](const auto& what) { Carry(job, what); }, action);
  }
  AskForGrants(job, decided.actions);
  ReleaseGrants(job, decided.tasks);
  if (job.row.has_ended()) ports_.Release(job.row);
}

void JobTable::NoteEnd(Job& job, bool had_ended) {
  const bool has_ended = job.row.has_ended();
  if (has_ended == had_ended) return;
  if (has_ended) {
    job.row.ended_us = WallUs();
    --stats_.live;
    job.end_timer.Cancel();
  } else {
    job.row.ended_us = 0;
    job.failures_since_us = WallUs();
    BeginTime(BothClocks(), &job.row);
    job.row.failure = nullptr;
    ++stats_.live;
    SetEndTimer(job);
  }
}

// Sets the job's failure once it is clear that the job fails, and again, with all consequences,
// when the job has ended.
void JobTable::NoteFailure(Job& job) {
  if (job.row.failure != nullptr && !job.row.has_ended()) return;
  auto failure = FailureOf(job, options_.locations.state_directory);
  if (failure) job.row.failure = std::make_unique<msg::FailureT>(*std::move(failure));
}

// ---- Grants and ports

void JobTable::AskForGrants(Job& job, const std::vector<Action>& actions) {
  std::vector<int> tasks;
  for (const Action& action : actions) {
    const auto* const ask = std::get_if<action::AskForGrant>(&action);
    if (ask != nullptr) tasks.push_back(ask->task);
  }
  if (tasks.empty()) return;
  grants_.Request(job.row, tasks);
  grant_rounds_.Look();
}

// Releases what ended tasks hold. A gang keeps its resources until the job ends, since a restart
// needs the same ones.
void JobTable::ReleaseGrants(Job& job, const std::set<int>& changed) {
  const bool whole = job.row.has_ended();
  if (job.run->rules.gang && !whole) return;
  bool any = false;
  for (int i = 0; i < static_cast<int>(job.run->tasks.size()); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!job.run->rules.tasks[at].needs_grant || !HasEnded(job.row.status.tasks[at].state))
      continue;
    if (!whole && !changed.contains(i)) continue;
    grants_.Release(job.row.id, job.run->rules.tasks[at].name);
    any = true;
  }
  if (any) grant_rounds_.Look();
}

void JobTable::NoteGrants(Job& job, const std::vector<Grants::Grant>& grants) {
  std::vector<int> granted;
  std::set<std::string> left;  // Nodes.
  for (const Grants::Grant& grant : grants) {
    // The grant may have been released in the meantime, and perhaps requested again.
    auto held = grants_.HeldBy(job.row.id, grant.task);
    const auto task = TaskNamed(job.row, grant.task);
    if (!task.ok() || !held) continue;
    TaskRow& row = job.row.tasks[static_cast<std::size_t>(*task)];
    row.resources = std::move(held->resources);
    if (row.node != held->node) left.insert(std::exchange(row.node, held->node));
    granted.push_back(*task);
  }
  if (granted.empty()) return;
  if (job.row.spec.pool.empty()) return BeginGranted(job, granted);
  NoteHosts(job);
  if (job.row.ports.empty()) return BeginGranted(job, granted);
  left.erase("");
  for (const std::string& node : left) ports_.KeepOn(node);
  job.run->granted.insert(granted.begin(), granted.end());
  AskForPorts(job);
}

// Requests the ports of tasks that have a node; a task of a pool starts only once it has them.
void JobTable::AskForPorts(Job& job) {
  ports_.Ask(job.row, [this, id = job.row.id](std::vector<int> ports) {
    if (RunOf(id) == nullptr) return;
    Job& asked = *jobs_.at(id);
    asked.row.ports = std::move(ports);
    NoteHosts(asked);
    Change(asked, absl::ZeroDuration()).of_job = true;
    std::vector<int> granted;
    for (const int task : std::exchange(asked.run->granted, {})) {
      const std::string name = asked.row.tasks[static_cast<std::size_t>(task)].name();
      if (grants_.HeldBy(id, name)) granted.push_back(task);
    }
    BeginGranted(asked, granted);
  });
}

void JobTable::BeginGranted(Job& job, const std::vector<int>& granted) {
  if (job.row.spec.max_run_time_ms > 0 && HasNotBegun(job.row)) {
    BeginTime(BothClocks(), &job.row);
    // The next launcher needs the start of the time limit.
    Change(job, absl::ZeroDuration()).of_job = true;
    SetEndTimer(job);
  }
  for (const int task : granted) Feed(job, event::Granted{task});
}

// Updates the addresses of the tasks to those of their nodes.
void JobTable::NoteHosts(Job& job) {
  std::vector<std::string> hosts;
  for (const TaskRow& task : job.row.tasks) {
    hosts.push_back(task.node.empty() ? "" : options_.hosts->AddressOf(task.node));
  }
  job.row.SetHosts(hosts);
  job.run->plan = PlanTasks(job.row.spec, job.row.ports, hosts);
}

MachineLocks::Names JobTable::NamesOf(const std::string& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return {.trial = "", .job = job};
  const msg::JobSpecT& spec = found->second->row.spec;
  MachineLocks::Names names{.trial = "", .job = spec.name.empty() ? job : spec.name};
  for (const auto& label : spec.labels) {
    const bool is_id = label->key == "trial" && names.trial.empty();
    if (is_id || (label->key == "trial_name" && !label->value.empty())) names.trial = label->value;
  }
  return names;
}

absl::StatusOr<std::vector<runtime::UniqueFd>> JobTable::LocksOf(const JobRow& row, int task) {
  std::vector<runtime::UniqueFd> locks;
  const std::string name = row.tasks[static_cast<std::size_t>(task)].name();
  for (const auto& [resource, member] : grants_.Claimed(row.id, name)) {
    auto lock = options_.machine_locks->ForTree(resource, member, row.id);
    if (!lock.ok()) return lock.status();
    locks.push_back(*std::move(lock));
  }
  return locks;
}

std::vector<int> JobTable::PortsOf(const Job& job, int task) const {
  return PortsOfTask(job.row, job.run->plan, task);
}

// ---- Actions of the supervisor

void JobTable::SetEndTimer(Job& job) {
  const auto left = TimeLeft(job.row, BothClocks());
  if (!left) return;
  job.end_timer.Start(options_.loop, *left, [this, entry = &job] {
    if (HasNotBegun(entry->row)) return;  // Its time limit starts with its first grant.
    entry->time_over_us = WallUs();
    const auto limit = absl::Milliseconds(entry->row.spec.max_run_time_ms);
    Feed(*entry,
         event::TimeOver{absl::StrCat("its time of ", absl::FormatDuration(limit), " is over")});
  });
}

void JobTable::Carry(Job& job, const action::StartAttempt& start) {
  ++stats_.attempts;
  if (job.row.spec.release_ports) ports_.LetGo(job.row, PortsOf(job, start.task));
  const absl::Status started = TaskOf(job, start.task).Start();
  if (started.ok()) return;
  options_.loop->Post([this, alive = alive_, id = job.row.id, start, started] {
    if (*alive && RunOf(id) != nullptr) TaskOf(*jobs_.at(id), start.task).Fail(started);
  });
}

void JobTable::Carry(Job& job, const action::StopAttempt& stop) {
  TaskOf(job, stop.task).Stop(StopSignalOf(job.row.spec), stop.grace);
}

void JobTable::Carry(Job& job, const action::SetTimer& timer) {
  // (The pointer stays valid: a job with a timer has not ended, and only ended jobs are removed.)
  const auto fired = [this, entry = &job, task = timer.task] {
    Feed(*entry, event::TimerFired{task});
  };
  if (timer.task != kWholeJob) return TaskOf(job, timer.task).SetTimer(timer.delay, fired);
  job.timer.Start(options_.loop, timer.delay, fired);
}

void JobTable::Carry(Job& job, const action::CancelTimer& cancel) {
  if (cancel.task != kWholeJob) return TaskOf(job, cancel.task).CancelTimer();
  job.timer.Cancel();
}

ShimSpec JobTable::SpecOf(const JobRow& row, int task, int attempt) const {
  const Job& job = *jobs_.at(row.id);
  return AttemptSpec(attempt_host_, row, *job.run->caller, job.run->plan, task, attempt);
}

void JobTable::OnOver(TaskRun* task, const AttemptEnd& end, std::unique_ptr<Attempt> attempt) {
  if (end.lost) ++stats_.lost;
  const bool was_away = being_taken_up_.contains(task);
  NoteTakenUp(task);
  liveness_.erase(task);
  task->job().tasks[static_cast<std::size_t>(task->task())].probe.clear();
  Fault("over");
  Job& job = *Find(task->job());
  const TaskStatus& status = job.row.status.tasks[static_cast<std::size_t>(task->task())];
  if (status.state == msg::TaskState::Starting && end.state.failure.empty() && end.state.pid != 0) {
    Feed(job, event::Running{task->task()});  // The program ended before its first message arrived.
  }
  if (attempt != nullptr) {
    retired_.Add(job.row.id, std::move(attempt));
    FlushSoon();
  }
  ports_.TakeBack(job.row, PortsOf(job, task->task()));
  // True if something else ended the task while no launcher ran: a shutdown of the machine, which
  // signals all processes, or a `yard down` that found no launcher.
  const bool was_told =
      !end.state.unasked && end.state.failure.empty() && status.stop == StopCause::kNone;
  const int by = end.state.signal;
  const bool was_swept = by == SIGTERM || by == SIGHUP || by == SIGKILL;
  const TaskRow& at = job.row.tasks[static_cast<std::size_t>(task->task())];
  const bool with_the_yard =
      was_away && at.attempts.back().node.empty() &&
      (end.lost || end.shim_lost || was_told || (was_swept && !end.state.out_of_memory));
  const std::string& node = at.attempts.back().node;
  const NodeQueue::Node* const place = grants_.nodes().Find(node);
  // If the node takes no more tasks, the next attempt needs another node.
  const bool is_gone = !node.empty() && (end.lost || place == nullptr || !place->takes_tasks);
  Feed(job, event::Ended{.task = task->task(),
                         .success = end.success(),
                         .lost = end.lost,
                         .grant_lost = is_gone,
                         .how = end.how,
                         .with_the_yard = with_the_yard});
}

void JobTable::OnBarrier(const TaskRun& task, const ShimBarrier& barrier) {
  if (!options_.on_barrier) return;
  const std::string& job = task.job().id;
  const TaskRow& row = task.job().tasks[static_cast<std::size_t>(task.task())];
  const int attempt = row.attempts.back().number;
  const std::string name = absl::StrCat(job, "/", row.name());
  options_.on_barrier({.id = absl::StrCat(name, ".", attempt, ":", barrier.number),
                       .task = name,
                       .line = barrier.line},
                      [this, alive = alive_, job, at = task.task(), attempt,
                       number = barrier.number](std::string line) {
                        if (!*alive || RunOf(job) == nullptr) return;
                        TaskOf(*jobs_.at(job), at).AnswerBarrier(attempt, number, std::move(line));
                      });
}

// ---- Requests of clients

const JobRow* JobTable::Row(const std::string& id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second->row;
}

std::vector<const JobRow*> JobTable::Rows() const {
  std::vector<const JobRow*> rows;
  for (const auto& [id, job] : jobs_) rows.push_back(&job->row);
  return rows;
}

JobTable::Stats JobTable::GetStats() const {
  Stats stats = stats_;
  for (const auto& [id, job] : jobs_) stats.at_hand += job->run != nullptr ? 1 : 0;
  return stats;
}

absl::StatusOr<JobTable::Named> JobTable::Find(const std::string& name) const {
  auto job = FindJob(name);
  if (job.ok()) return Named{*job, kWholeJob};
  const auto slash = name.find('/');
  if (slash == std::string::npos) return job.status();
  job = FindJob(name.substr(0, slash));
  if (!job.ok()) return job.status();
  const auto task = TaskNamed(jobs_.at(*job)->row, name.substr(slash + 1));
  if (!task.ok()) return task.status();
  return Named{*job, *task};
}

absl::StatusOr<std::string> JobTable::FindJob(const std::string& name) const {
  if (jobs_.contains(name)) return name;
  return JobNamed(Rows(), name);
}

msg::JobT JobTable::Message(const JobRow& row) const {
  msg::JobT job = JobMessage(row, options_.locations.state_directory);
  for (std::size_t i = 0; i < row.tasks.size(); ++i) {
    const TaskStatus& status = row.status.tasks[i];
    if (status.state != msg::TaskState::Pending || !status.asked || status.granted) continue;
    const std::string why = grants_.WhyWaiting(row.id);
    if (!why.empty()) job.tasks[i]->reason = why;
    if (job.state == msg::TaskState::Pending && !why.empty()) job.reason = why;
  }
  return job;
}

absl::StatusOr<std::vector<std::string>> JobTable::EnvironmentOf(const std::string& id) const {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return absl::NotFoundError(absl::StrCat("no job has the id ", id));
  const auto& run = job->second->run;
  if (run != nullptr && run->caller != nullptr) return run->caller->environment;
  auto caller = store_->LoadFromCaller(id);
  if (!caller.ok()) return caller.status();
  return std::move(caller->environment);
}

std::vector<msg::JobT> JobTable::List(const JobListOptions& options) const {
  std::vector<msg::JobT> jobs;
  for (const JobRow* row : ListJobs(Rows(), options)) jobs.push_back(Message(*row));
  return jobs;
}

absl::Status JobTable::Stop(const Named& named, absl::Duration grace, std::string reason,
                            bool yard_ends) {
  Job& job = *jobs_.at(named.job);
  if (!job.row.has_ended()) {
    if (grace == absl::ZeroDuration()) grace = job.run->rules.grace;
    Feed(job, event::StopAsked{named.task, grace, std::move(reason), yard_ends});
    for (const TaskRow& task : job.row.tasks) {
      const bool is_there = !task.attempts.empty() && !task.attempts.back().node.empty();
      if (yard_ends && is_there) options_.hosts->LoseSoonIfAway(task.attempts.back().node);
    }
  }
  Flush();  // The caller's reply promises that the stop is stored.
  return absl::OkStatus();
}

absl::Status JobTable::Restart(const Named& named, absl::Duration grace) {
  Flush();
  Job& job = *jobs_.at(named.job);
  if (!job.row.has_ended() && job.row.status.phase == JobStatus::Phase::kEnds) {
    return absl::FailedPreconditionError(absl::StrCat("job ", named.job, " is ending (",
                                                      job.row.status.ending,
                                                      "): restart it when it has ended"));
  }
  if (removals_.Removes(named.job)) {
    return absl::FailedPreconditionError(absl::StrCat("job ", named.job, " is being removed"));
  }
  if (job.row.has_ended()) {
    PutAsideLater(job);  // Takes effect only if the restart fails.
    if (const absl::Status whole = MakeWhole(job); !whole.ok()) return whole;
    if (const absl::Status taken = ports_.TakeUp(job.row); !taken.ok()) {
      ports_.Release(job.row);
      return absl::FailedPreconditionError(
          absl::StrCat("job ", named.job, " cannot have its ports again: ", taken.message(),
                       ": stop that job first, or launch this one as a new job"));
    }
  }
  if (grace == absl::ZeroDuration()) grace = job.run->rules.grace;
  Feed(job, event::RestartAsked{named.task, grace});
  Flush();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> JobTable::Signal(const Named& named, int signal) {
  if (signal < 1 || signal > SIGRTMAX) {
    return absl::InvalidArgumentError(absl::StrCat("signal: ", signal, " is none"));
  }
  Job& job = *jobs_.at(named.job);
  std::vector<std::string> told;
  if (job.run == nullptr) return told;
  for (int i = 0; i < static_cast<int>(job.run->tasks.size()); ++i) {
    if (named.task != kWholeJob && named.task != i) continue;
    if (TaskOf(job, i).Signal(signal))
      told.push_back(job.run->rules.tasks[static_cast<std::size_t>(i)].name);
  }
  return told;
}

void JobTable::Remove(const std::string& id, std::function<void(const absl::Status&)> done) {
  Flush();
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return done(absl::OkStatus());
  if (!found->second->row.has_ended()) {
    return done(
        absl::FailedPreconditionError(absl::StrCat("job ", id, " has not ended: stop it first")));
  }
  removals_.Remove(id, std::move(done));
}

// Its folder was removed.
absl::Status JobTable::ForgetJob(const std::string& id) {
  Flush();
  if (absl::Status removed = store_->Remove(id); !removed.ok()) return removed;
  Fault("after remove");
  const auto found = jobs_.find(id);
  Job& job = *found->second;
  std::erase(decided_, &job);
  by_request_.erase(job.row.request_id);
  jobs_.erase(found);
  --stats_.jobs;
  observers_.Notify(id);
  return absl::OkStatus();
}

// Removes old ended jobs, now and then once a minute.
void JobTable::ForgetOld() {
  forget_timer_.Start(options_.loop, kForgettingPause, [this] { ForgetOld(); });
  const std::int64_t oldest = WallUs() - absl::ToInt64Microseconds(options_.keep_for);
  for (const std::string& id : JobsToForget(Rows(), oldest, options_.keep_count)) {
    if (removals_.Removes(id)) continue;
    Remove(id, [](const absl::Status& removed) { LOG_IF(WARNING, !removed.ok()) << removed; });
  }
  std::set<std::string> works;
  for (const auto& [id, job] : jobs_) {
    if (!job->row.has_ended() && job->row.spec.work) works.insert(job->row.spec.work->sha256);
  }
  (void)options_.pool->Submit([directory = WorkDirectory(options_.locations.state_directory),
                               works = std::move(works), now = options_.clock->Now()] {
    RemoveUnusedWork(directory, works, now);
    return absl::OkStatus();
  });
}

// ---- Storing and announcing changes

// If saving fails, the tasks go on: the next launcher learns from their shims what was not stored.
void JobTable::Save(const std::vector<JobStore::Change>& changes) {
  Fault("before save");
  const auto saved = store_->Save(changes);
  Fault("after save");
  if (!saved.ok()) LOG(ERROR) << saved;
}

void JobTable::Announce(Job& job) {
  if (job.row.has_ended()) return Tell(job);
  if (job.tell_timer.is_set()) return;
  const absl::Duration pause = job.run->tasks.size() < kManyTasks ? kPause : kTellingPause;
  job.tell_timer.Start(options_.loop, pause, [this, entry = &job] { Tell(*entry); });
}

void JobTable::Tell(Job& job) {
  job.tell_timer.Cancel();
  if (options_.on_job) options_.on_job(Message(job.row));
  observers_.Notify(job.row.id);
}

}  // namespace launcher
