#include "bench/trainer_figures.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/launcher_yard.h"
#include "bench/stamps.h"
#include "bus/call/client.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/trainer_methods.h"
#include "eventlog/record.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"
#include "trainer/report/result_row.h"
#include "trainer/store/trial_record.h"
#include "trainer/store/trial_store.h"

namespace bench {
namespace {

using rpc::Trainer;

constexpr absl::Duration kLong = absl::Seconds(120);
constexpr absl::Duration kLook = absl::Milliseconds(5);
// Pause until memory use has settled.
constexpr absl::Duration kRest = absl::Milliseconds(500);
constexpr int kPrograms = 8;
constexpr int kSlots = 16;

absl::StatusOr<std::string> ReporterProgram() {
  auto found = runtime::FindBinary("bench/reporter");
  if (!found.ok()) return absl::InternalError(found.status().message());
  return found;
}

// ---- Notes of the reporters

struct Notes {
  std::int64_t first = 0, last = 0;                          // Nanoseconds.
  std::vector<double> seconds;                               // Time of each answer.
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;  // First and last of each program.
};

absl::StatusOr<Notes> ReadNotes(const std::string& folder, int programs, int reports) {
  Notes notes;
  int files = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::ifstream file(entry.path());
    std::int64_t begin = 0, end = 0, nanoseconds = 0;
    file >> begin >> end;
    notes.first = files == 0 ? begin : std::min(notes.first, begin);
    notes.last = std::max(notes.last, end);
    notes.spans.emplace_back(begin, end);
    while (file >> nanoseconds) notes.seconds.push_back(static_cast<double>(nanoseconds) / 1e9);
    ++files;
  }
  const auto answers = static_cast<std::size_t>(programs) * static_cast<std::size_t>(reports);
  if (files == programs && notes.seconds.size() == answers) return notes;
  return absl::InternalError(absl::StrCat(files, " of ", programs, " programs have noted ",
                                          notes.seconds.size(), " of ", answers, " answers"));
}

ReportRate RateOf(const Notes& notes) {
  const double seconds = static_cast<double>(notes.last - notes.first) / 1e9;
  return {static_cast<double>(notes.seconds.size()) / seconds,
          absl::Seconds(Quantile(notes.seconds, 0.5)),
          absl::Seconds(Quantile(notes.seconds, 0.99))};
}

// ---- State left by an earlier trainer

// Stores ended trials with one report each. (They have no directories, so nobody reads those
// meanwhile.)
absl::Status MakeEndedTrials(const std::string& directory, int count) {
  auto store = trainer::TrialStore::Open(directory + "/state/trainer.db");
  if (!store.ok()) return store.status();
  const std::int64_t now_us = absl::ToUnixMicros(absl::Now()) - 3'600'000'000;  // An hour ago.
  trainer::StoreBatch batch;
  for (int i = 0; i < count; ++i) {
    trainer::TrialRecord trial;
    const std::string id = absl::StrCat("t-ended", i);
    trial.run = {.trial_id = id,
                 .experiment_id = absl::StrCat("experiment", i),
                 .hostname = "bench",
                 .created_us = now_us,
                 .event_file = "events.out.tfevents.1.bench"};
    trial.request_id = absl::StrCat("request ", i);
    trial.spec.name = id;
    trial.spec.argv = {"/usr/bin/python3", "train.py", "--epochs", "10"};
    trial.spec.environment = {"PATH=/usr/bin:/bin"};
    trial.spec.run_directory = absl::StrCat(directory, "/runs/", id);
    trial.spec.config = "{}";
    trial.state = msg::TrialState::Done;
    trial.job = absl::StrCat("j-", i);
    trial.started_us = trial.ended_us = now_us;
    const auto number = (*store)->Insert(trial);
    if (!number.ok()) return number.status();
    trainer::ResultRow row;
    row.row = row.training_iteration = row.step = 1;
    row.wall_time_us = now_us;
    row.metrics = R"({"loss":0.5,"accuracy":0.5})";
    row.ends = {1, 1, 1};
    batch.rows.push_back({*number, std::move(row)});
  }
  return (*store)->Write(batch);
}

// ---- A yard with a trainer

class TrainerYard {
 public:
  static absl::StatusOr<std::unique_ptr<TrainerYard>> Start(int slots, int ended_trials = 0) {
    auto yard = LauncherYard::Start();
    if (!yard.ok()) return yard.status();
    auto trainer = std::unique_ptr<TrainerYard>(new TrainerYard(*std::move(yard), slots));
    const absl::Status made =
        ended_trials == 0 ? absl::OkStatus() : MakeEndedTrials(trainer->directory(), ended_trials);
    if (!made.ok()) return made;
    if (auto started = trainer->StartTrainer(); !started.ok()) return started;
    auto pid = trainer->yard_->StartService("datamanager/datamanager", {trainer->LogdirFlag()});
    if (!pid.ok()) return pid.status();
    const auto answered =
        trainer->client().Call<Trainer::Trials>({}, {.timeout = kLong, .wait_for_service = true});
    if (!answered.ok()) return answered.status();
    std::filesystem::create_directory(trainer->NotesFolder());
    return trainer;
  }
  // Kills the trainer with SIGKILL and starts another; does not wait until it serves.
  absl::Status ReplaceTrainer() {
    if (auto killed = yard_->KillService(pid_); !killed.ok()) return killed;
    return StartTrainer();
  }

  const std::string& directory() const { return yard_->directory(); }
  std::string NotesFolder() const { return directory() + "/notes"; }
  std::string StampPath() const { return yard_->StampPath(); }
  pid_t pid() const { return pid_; }
  pid_t launcher() const { return yard_->launcher(); }
  double AllResidentKilobytes() const {
    double all = 0;
    for (const pid_t pid : yard_->Services()) all += ResidentKilobytes(pid);
    return all;
  }

  // Returns the processor time of all services during `time`, as a fraction of one core.
  double ShareOfACore(absl::Duration time) const {
    const auto used = [&] {
      absl::Duration all;
      for (const pid_t pid : yard_->Services()) all += ProcessorTime(pid);
      return all;
    };
    const absl::Duration begin = MonotonicNow(), before = used();
    absl::SleepFor(time);
    return absl::FDivDuration(used() - before, MonotonicNow() - begin);
  }
  // Waits until each of `runs` runs has `points` system measurements.
  absl::Status AwaitPoints(int runs, int points) const {
    const absl::Duration deadline = MonotonicNow() + kLong;
    for (;;) {
      int ready = 0;
      std::error_code error;
      for (const auto& entry :
           std::filesystem::recursive_directory_iterator(directory() + "/runs", error)) {
        const bool is_it = entry.path().filename().string().find("-sys.") != std::string::npos;
        if (is_it && RecordsOf(entry.path()) > points) ++ready;
      }
      if (ready == runs) return absl::OkStatus();
      if (MonotonicNow() > deadline) {
        return absl::DeadlineExceededError(
            absl::StrCat(ready, " of ", runs, " runs have system metrics"));
      }
      absl::SleepFor(kLook * 20);
    }
  }

  static msg::RunTrialRequestT TrialOf(std::vector<std::string> argv) {
    msg::RunTrialRequestT request;
    request.argv = std::move(argv);
    request.environment = {"PATH=/usr/bin:/bin"};
    request.working_directory = "/";
    request.config = "{}";
    request.stop_grace_ms = 1000;
    request.options = std::make_unique<msg::TrialOptionsT>();
    return request;
  }
  absl::StatusOr<std::string> Run(const msg::RunTrialRequestT& request) {
    const auto reply = client().Call<Trainer::RunTrial>(request, {.timeout = kLong});
    if (!reply.ok()) return reply.status();
    return reply->trial->id;
  }
  // Runs a sweep and waits until it is done.
  absl::Status RunSweep(const msg::RunSweepRequestT& request) {
    const auto begun = client().Call<Trainer::RunSweep>(request, {.timeout = kLong});
    if (!begun.ok()) return begun.status();
    msg::FollowSweepRequestT follow;
    follow.sweep = begun->sweep->id;
    const auto go_on = [](const msg::FollowSweepReplyT&) { return true; };
    const auto last = client().Stream<Trainer::FollowSweep>(follow, go_on, {.timeout = 2 * kLong});
    if (!last.ok()) return last.status();
    if (last->sweep == nullptr) return absl::InternalError("the trainer sent no sweep");
    if (last->sweep->state == msg::SweepState::Done) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("the sweep has ended as ", msg::EnumNameSweepState(last->sweep->state)));
  }
  absl::Duration ProcessorTimeOfServices() const {
    absl::Duration all;
    for (const pid_t pid : yard_->Services()) all += ProcessorTime(pid);
    return all;
  }
  // Waits for the end of a trial, without polling.
  absl::Status AwaitEnd(const std::string& trial) {
    msg::FollowTrialRequestT request;
    request.trial = trial;
    const auto go_on = [](const msg::FollowTrialReplyT&) { return true; };
    return client().Stream<Trainer::FollowTrial>(request, go_on, {.timeout = kLong}).status();
  }
  // Waits until no trial is live. (Reading the counter costs the trainer nothing, whatever it
  // runs.)
  absl::Status AwaitAll(absl::Duration timeout) {
    const absl::Duration deadline = MonotonicNow() + timeout;
    for (;;) {
      const auto stats = client().Call<rpc::Common::Stats>(
          {}, {.timeout = kLong, .service = "trainer", .wait_for_service = true});
      if (!stats.ok()) return stats.status();
      const auto live =
          std::find_if(stats->counters.begin(), stats->counters.end(),
                       [](const auto& counter) { return counter->name == "trials_live"; });
      if (live != stats->counters.end() && (*live)->value == 0) return absl::OkStatus();
      if (MonotonicNow() > deadline) {
        return absl::DeadlineExceededError("not all trials have ended in time");
      }
      absl::SleepFor(kLook);
    }
  }
  // Checks that each trial is done with `reports` reports, which are in its files too.
  absl::Status Expect(std::size_t trials, int reports) {
    const auto reply = client().Call<Trainer::Trials>({}, {.timeout = kLong});
    if (!reply.ok()) return reply.status();
    if (reply->trials.size() != trials) {
      return absl::InternalError(absl::StrCat(reply->trials.size(), " trials, not ", trials));
    }
    for (const auto& trial : reply->trials) {
      const auto in_file = LinesOf(trial->log_directory + "/result.json");
      if (trial->state == msg::TrialState::Done &&
          trial->reports == static_cast<std::uint64_t>(reports) && in_file == reports) {
        continue;
      }
      return absl::InternalError(absl::StrCat(
          "trial ", trial->id, " is ", msg::EnumNameTrialState(trial->state), " with ",
          trial->reports, " reports, ", in_file, " of them in result.json: ", trial->reason));
    }
    return absl::OkStatus();
  }

 private:
  TrainerYard(std::unique_ptr<LauncherYard> yard, int slots)
      : yard_(std::move(yard)), slots_(slots) {}
  std::string LogdirFlag() const { return absl::StrCat("--logdir=", directory(), "/runs"); }
  absl::Status StartTrainer() {
    auto pid =
        yard_->StartService("trainer/trainer", {LogdirFlag(), absl::StrCat("--slots=", slots_)});
    if (pid.ok()) pid_ = *pid;
    return pid.status();
  }
  bus::Client& client() { return yard_->client(); }
  // Counts the valid records, including the file's first one.
  static int RecordsOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    int count = 0;
    for (std::size_t at = 0; at < bytes.size(); ++count) {
      const auto record = eventlog::ParseRecord(std::string_view(bytes).substr(at));
      if (record.state != eventlog::ParsedRecord::State::kRecord) break;
      at += record.size;
    }
    return count;
  }
  static std::int64_t LinesOf(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::int64_t count = 0;
    while (std::getline(file, line)) ++count;
    return count;
  }

  const std::unique_ptr<LauncherYard> yard_;
  const int slots_;
  pid_t pid_ = 0;
};

// ---- Programs that this process answers

class BareAnswers {
 public:
  absl::Status Start(const std::string& program, const std::vector<std::string>& arguments) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return absl::InternalError("no socket pair");
    }
    const runtime::UniqueFd theirs(ends[1]);
    channels_.emplace_back(ends[0]);
    std::vector<std::string> argv = arguments;
    argv.insert(argv.begin(), program);
    auto process = runtime::Subprocess::Start({.argv = std::move(argv),
                                               .program = program,
                                               .working_directory = "/",
                                               .fds = {{theirs.get(), 3}}});
    if (!process.ok()) return process.status();
    processes_.push_back(*std::move(process));
    return absl::OkStatus();
  }
  // Answers until all programs have ended.
  absl::Status Answer() {
    std::vector<pollfd> polled;
    for (const runtime::UniqueFd& channel : channels_) polled.push_back({channel.get(), POLLIN, 0});
    for (std::size_t open = polled.size(); open > 0;) {
      if (poll(polled.data(), polled.size(), 60'000) <= 0) {
        return absl::DeadlineExceededError("a bare program says nothing");
      }
      for (pollfd& channel : polled) {
        if (channel.revents == 0 || AnswerOne(channel.fd)) continue;
        channel.fd = -1;
        --open;
      }
    }
    for (runtime::Subprocess& process : processes_) {
      const auto ended = process.Wait(kLong);
      if (!ended.ok()) return ended.status();
      if (ended->code != 0) return absl::InternalError("a bare program has failed");
    }
    return absl::OkStatus();
  }

 private:
  static bool AnswerOne(int fd) {
    constexpr std::string_view kOk = "{\"t\":\"ok\",\"events\":[]}\n";
    char line[4096];
    return read(fd, line, sizeof line) > 0 &&
           write(fd, kOk.data(), kOk.size()) == static_cast<ssize_t>(kOk.size());
  }

  std::vector<runtime::UniqueFd> channels_;
  std::vector<runtime::Subprocess> processes_;
};

std::vector<std::string> Arguments(const std::string& folder, int reports,
                                   absl::Duration interval) {
  return {folder, absl::StrCat(reports), absl::StrCat(absl::ToInt64Microseconds(interval))};
}

// Returns the memory, in kilobytes, of a trainer without trials.
absl::StatusOr<double> TrainerAtRest() {
  auto started = TrainerYard::Start(kSlots);
  if (!started.ok()) return started.status();
  absl::SleepFor(kRest);
  return ResidentKilobytes((*started)->pid());
}

absl::Duration MedianOf(const std::vector<double>& seconds) {
  return absl::Seconds(Median(seconds));
}

}  // namespace

absl::StatusOr<ReportRate> MeasureReports(int reports, absl::Duration interval, bool durable) {
  const auto program = ReporterProgram();
  if (!program.ok()) return program.status();
  auto started = TrainerYard::Start(kPrograms);
  if (!started.ok()) return started.status();
  TrainerYard& yard = **started;
  const std::string gate = yard.directory() + "/gate";
  std::vector<std::string> argv = Arguments(yard.NotesFolder(), reports, interval);
  argv.insert(argv.begin(), *program);
  argv.push_back(gate);
  msg::RunTrialRequestT request = TrainerYard::TrialOf(std::move(argv));
  request.options->durable = durable;
  for (int i = 0; i < kPrograms; ++i) {
    if (auto id = yard.Run(request); !id.ok()) return id.status();
  }
  absl::SleepFor(kRest);  // By then all of them wait for the gate.
  std::ofstream(gate).close();
  if (auto ended = yard.AwaitAll(kLong); !ended.ok()) return ended;
  if (auto exact = yard.Expect(kPrograms, reports); !exact.ok()) return exact;
  const auto notes = ReadNotes(yard.NotesFolder(), kPrograms, reports);
  if (!notes.ok()) return notes.status();
  return RateOf(*notes);
}

absl::StatusOr<ReportRate> MeasureBareReports(int reports, absl::Duration interval) {
  const auto program = ReporterProgram();
  if (!program.ok()) return program.status();
  const std::string folder = NewFolder();
  BareAnswers answers;
  absl::Status status;
  for (int i = 0; i < kPrograms && status.ok(); ++i) {
    status = answers.Start(*program, Arguments(folder, reports, interval));
  }
  if (status.ok()) status = answers.Answer();
  const auto notes = ReadNotes(folder, kPrograms, reports);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!status.ok()) return status;
  if (!notes.ok()) return notes.status();
  return RateOf(*notes);
}

absl::StatusOr<TrialTimes> MeasureTrials(int trials) {
  const auto reporter = ReporterProgram();
  if (!reporter.ok()) return reporter.status();
  const auto stamp = StampProgram();
  if (!stamp.ok()) return stamp.status();
  auto started = TrainerYard::Start(kSlots);
  if (!started.ok()) return started.status();
  TrainerYard& yard = **started;
  StampFile stamps(yard.StampPath());
  std::vector<double> starts, wholes;
  for (int i = 1; i <= trials; ++i) {
    std::vector<std::string> argv = Arguments(yard.NotesFolder(), 1, absl::ZeroDuration());
    argv.insert(argv.begin(), *reporter);
    absl::Duration begin = MonotonicNow();
    auto id = yard.Run(TrainerYard::TrialOf(std::move(argv)));
    if (!id.ok()) return id.status();
    if (auto ended = yard.AwaitEnd(*id); !ended.ok()) return ended;
    wholes.push_back(absl::ToDoubleSeconds(MonotonicNow() - begin));
    begin = MonotonicNow();
    id = yard.Run(TrainerYard::TrialOf({*stamp, stamps.path(), "exit"}));
    if (!id.ok()) return id.status();
    const auto stamped = stamps.Await(static_cast<std::size_t>(i), kLong);
    if (!stamped.ok()) return stamped.status();
    starts.push_back(absl::ToDoubleSeconds(stamped->back().when - begin));
    if (auto ended = yard.AwaitEnd(*id); !ended.ok()) return ended;
  }
  const auto notes = ReadNotes(yard.NotesFolder(), trials, 1);
  if (!notes.ok()) return notes.status();
  return TrialTimes{MedianOf(starts), MedianOf(wholes)};
}

absl::StatusOr<TrainerMemory> MeasureTrainerMemory(int trials) {
  const auto program = ReporterProgram();
  if (!program.ok()) return program.status();
  auto started = TrainerYard::Start(kSlots);
  if (!started.ok()) return started.status();
  TrainerYard& yard = **started;
  absl::SleepFor(kRest);
  TrainerMemory memory;
  memory.at_rest_kilobytes = yard.AllResidentKilobytes();
  std::vector<std::string> argv = Arguments(yard.NotesFolder(), 1, absl::ZeroDuration());
  argv.insert(argv.begin(), *program);
  // The first trials allocate what any number of them needs: buffers, threads, database pages.
  const int warm_up = trials;
  const int all = warm_up + trials;
  double before = 0, launcher_before = 0;
  for (int i = 0; i < all; ++i) {
    if (i == warm_up) {
      if (auto ended = yard.AwaitAll(kLong); !ended.ok()) return ended;
      absl::SleepFor(kRest);
      before = ResidentKilobytes(yard.pid());
      launcher_before = ResidentKilobytes(yard.launcher());
    }
    if (auto id = yard.Run(TrainerYard::TrialOf(argv)); !id.ok()) return id.status();
  }
  if (auto ended = yard.AwaitAll(kLong); !ended.ok()) return ended;
  absl::SleepFor(kRest);
  memory.finished_trial_kilobytes = (ResidentKilobytes(yard.pid()) - before) / trials;
  memory.ended_job_kilobytes = (ResidentKilobytes(yard.launcher()) - launcher_before) / trials;
  const auto expected = static_cast<std::size_t>(all);
  if (auto exact = yard.Expect(expected, 1); !exact.ok()) return exact;
  return memory;
}

absl::StatusOr<RestartFigures> MeasureRestart(int ended_trials) {
  constexpr int kReports = 2'000;
  const auto program = ReporterProgram();
  if (!program.ok()) return program.status();
  const auto with_none = TrainerAtRest();
  if (!with_none.ok()) return with_none.status();
  auto started = TrainerYard::Start(kSlots, ended_trials);
  if (!started.ok()) return started.status();
  TrainerYard& yard = **started;
  absl::SleepFor(kRest);
  RestartFigures figures;
  figures.known_trial_kilobytes = (ResidentKilobytes(yard.pid()) - *with_none) / ended_trials;
  std::vector<std::string> argv = Arguments(yard.NotesFolder(), kReports, absl::Milliseconds(1));
  argv.insert(argv.begin(), *program);
  if (auto id = yard.Run(TrainerYard::TrialOf(std::move(argv))); !id.ok()) return id.status();
  absl::SleepFor(kRest);
  if (auto replaced = yard.ReplaceTrainer(); !replaced.ok()) return replaced;
  if (auto ended = yard.AwaitAll(kLong); !ended.ok()) return ended;
  const auto notes = ReadNotes(yard.NotesFolder(), 1, kReports);
  if (!notes.ok()) return notes.status();
  figures.wait = absl::Seconds(*std::max_element(notes->seconds.begin(), notes->seconds.end()));
  return figures;
}

absl::StatusOr<double> MeasureSystemMetrics(int trials, absl::Duration time) {
  auto started = TrainerYard::Start(trials);
  if (!started.ok()) return started.status();
  TrainerYard& yard = **started;
  absl::SleepFor(kRest);
  const double alone = yard.ShareOfACore(time);
  for (int i = 0; i < trials; ++i) {
    if (auto id = yard.Run(TrainerYard::TrialOf({"/bin/sleep", "1000"})); !id.ok()) {
      return id.status();
    }
  }
  // Each run has a point, and a rate with the next one.
  if (auto first = yard.AwaitPoints(trials, 1); !first.ok()) return first;
  const double with_trials = yard.ShareOfACore(time);
  const auto least = static_cast<int>(time / absl::Seconds(6));
  if (auto all = yard.AwaitPoints(trials, 1 + least); !all.ok()) return all;
  return with_trials - alone;
}

absl::StatusOr<absl::Duration> MeasureQueue(int trials) {
  auto started = TrainerYard::Start(kSlots);
  if (!started.ok()) return started.status();
  TrainerYard& yard = **started;
  const absl::Duration begin = MonotonicNow();
  for (int i = 0; i < trials; ++i) {
    auto id = yard.Run(TrainerYard::TrialOf({"/bin/sleep", "1"}));
    if (!id.ok()) return id.status();
  }
  if (auto ended = yard.AwaitAll(2 * kLong); !ended.ok()) return ended;
  const absl::Duration took = MonotonicNow() - begin;
  if (auto exact = yard.Expect(static_cast<std::size_t>(trials), 0); !exact.ok()) return exact;
  return took;
}

namespace {

msg::RunSweepRequestT SweepOf(msg::RunTrialRequestT trial, int trials, int parallel) {
  msg::RunSweepRequestT request;
  request.name = "pace";
  request.plan = absl::StrCat(
      R"({"method":"tpe","metric":{"name":"loss"},"seed":100,"run_cap":)", trials,
      R"(,"parallel":)", parallel, R"(,"parameters":{"lr":{"min":1e-5,"max":0.1,"log":true},)",
      R"("wd":{"min":0.0,"max":0.1},"depth":{"min":1,"max":12},"batch":{"min":8,"max":512},)",
      R"("dropout":{"min":0.0,"max":0.8},"opt":{"values":["sgd","adam","rmsprop"]}}})");
  trial.config.clear();  // Each trial has its own.
  request.trial = std::make_unique<msg::RunTrialRequestT>(std::move(trial));
  return request;
}

// The cost of a number of trials.
struct Cost {
  absl::Duration wall, processor;
};
absl::StatusOr<Cost> CostOf(TrainerYard& yard, int trials,
                            const std::function<absl::Status()>& run) {
  const absl::Duration begin = MonotonicNow(), before = yard.ProcessorTimeOfServices();
  if (auto ran = run(); !ran.ok()) return ran;
  const Cost cost = {MonotonicNow() - begin, yard.ProcessorTimeOfServices() - before};
  if (auto exact = yard.Expect(static_cast<std::size_t>(trials), 1); !exact.ok()) return exact;
  return cost;
}

}  // namespace

absl::StatusOr<SweepPace> MeasureSweepPace(int trials_on_one_slot, int trials) {
  const auto program = ReporterProgram();
  if (!program.ok()) return program.status();
  SweepPace pace;
  absl::Duration processor;
  for (const int slots : {1, 8}) {
    auto yard = TrainerYard::Start(slots);
    if (!yard.ok()) return yard.status();
    std::vector<std::string> argv = Arguments((*yard)->NotesFolder(), 1, absl::ZeroDuration());
    argv.insert(argv.begin(), *program);
    const int count = slots == 1 ? trials_on_one_slot : trials;
    const auto cost = CostOf(**yard, count, [&] {
      return (*yard)->RunSweep(SweepOf(TrainerYard::TrialOf(argv), count, slots));
    });
    if (!cost.ok()) return cost.status();
    auto notes = ReadNotes((*yard)->NotesFolder(), count, 1);
    if (!notes.ok()) return notes.status();
    if (slots == 1) {
      std::vector<double> idle;
      std::sort(notes->spans.begin(), notes->spans.end());
      for (std::size_t i = 1; i < notes->spans.size(); ++i) {
        idle.push_back(static_cast<double>(notes->spans[i].first - notes->spans[i - 1].second));
      }
      pace.idle = MedianOf(idle) / 1e9;
    } else {
      pace.trials_per_second = count / absl::ToDoubleSeconds(cost->wall);
      processor = cost->processor;
    }
  }
  auto yard = TrainerYard::Start(8);
  if (!yard.ok()) return yard.status();
  std::vector<std::string> argv = Arguments((*yard)->NotesFolder(), 1, absl::ZeroDuration());
  argv.insert(argv.begin(), *program);
  const auto cost = CostOf(**yard, trials, [&]() -> absl::Status {
    for (int i = 0; i < trials; ++i) {
      msg::RunTrialRequestT request = TrainerYard::TrialOf(argv);
      request.config = absl::StrCat(R"({"lr":0.00)", i + 1, R"(,"wd":0.05,"depth":7,"batch":128,)",
                                    R"("dropout":0.25,"opt":"adam"})");
      request.options->group = "pace";
      request.options->labels = {"sweep=pace"};
      auto id = (*yard)->Run(request);
      if (!id.ok()) return id.status();
    }
    return (*yard)->AwaitAll(2 * kLong);
  });
  if (!cost.ok()) return cost.status();
  pace.tuner_share = 1 - absl::FDivDuration(cost->processor, processor);
  return pace;
}

}  // namespace bench
