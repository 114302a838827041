#include "bench/launcher_figures.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/launcher_yard.h"
#include "bench/stamps.h"
#include "bus/schema/launcher_methods.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/process/subprocess.h"

namespace bench {
namespace {

using rpc::Launcher;

constexpr absl::Duration kLong = absl::Seconds(120);
constexpr int kGang = 4;
constexpr int kAlone = 50;
constexpr int kProducers = 8;
constexpr std::size_t kLine = 100;
// Pause between two kills, so that one is handled before the next.
constexpr absl::Duration kKillPause = absl::Milliseconds(5);
// Pause until memory use has settled.
constexpr absl::Duration kRest = absl::Milliseconds(300);

std::size_t Size(std::int64_t count) { return static_cast<std::size_t>(count); }

std::vector<double> InSeconds(const std::vector<absl::Duration>& durations) {
  std::vector<double> seconds;
  for (const absl::Duration duration : durations) {
    seconds.push_back(absl::ToDoubleSeconds(duration));
  }
  return seconds;
}

// A yard, and a job whose tasks write stamps.
struct Scene {
  std::unique_ptr<LauncherYard> yard;
  std::unique_ptr<StampFile> stamps;
  std::string program;

  static absl::StatusOr<Scene> Open() {
    Scene scene;
    auto program = StampProgram();
    if (!program.ok()) return program.status();
    scene.program = *std::move(program);
    auto yard = LauncherYard::Start();
    if (!yard.ok()) return yard.status();
    scene.yard = *std::move(yard);
    scene.stamps = std::make_unique<StampFile>(scene.yard->StampPath());
    return scene;
  }
  msg::LaunchRequestT JobOf(std::vector<std::string> arguments, int count) const {
    arguments.insert(arguments.begin(), {program, stamps->path()});
    return LauncherYard::JobOf(arguments, count);
  }
  // Launches `tasks` tasks that keep running, and waits until they run.
  absl::Status LaunchThatStay(int tasks, bool one_job) {
    absl::Status launched;
    if (one_job) {
      launched = yard->Launch(JobOf({"stay"}, tasks)).status();
    } else {
      launched = yard->LaunchTogether(JobOf({"stay"}, 1), tasks).status();
    }
    if (!launched.ok()) return launched;
    return stamps->Await(Size(tasks), kLong).status();
  }
  // Checks that there are no more stamps than these.
  absl::Status ExpectStamps(int count) {
    const std::size_t now = stamps->Read().size();
    if (now == Size(count)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(now, " programs were started, not ", count));
  }
};

absl::Status StopAll(LauncherYard* yard) {
  const auto jobs =
      yard->client().Call<Launcher::Jobs>({}, {.timeout = kLong, .wait_for_service = true});
  if (!jobs.ok()) return jobs.status();
  runtime::Mutex mutex;
  runtime::CondVar answered;
  std::size_t left = jobs->jobs.size();
  for (const auto& job : jobs->jobs) {
    msg::StopJobRequestT request;
    request.job = job->id;
    yard->client().Start<Launcher::StopJob>(request, {},
                                            [&](const absl::StatusOr<msg::StopJobReplyT>&) {
                                              runtime::MutexLock lock(mutex);
                                              if (--left == 0) answered.SignalAll();
                                            },
                                            {.timeout = kLong});
  }
  runtime::MutexLock lock(mutex);
  while (left > 0) answered.Wait(mutex);
  return absl::OkStatus();
}

// ---- Output

// Counts the invalid lines in a producer's file.
std::int64_t BadLines(const std::string& path, char letter, std::int64_t count) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::int64_t good = 0, others = 0;
  char number[32];
  while (std::getline(file, line)) {
    snprintf(number, sizeof number, "%c %012ld ", letter, static_cast<long>(good));
    std::string expected = number;
    expected.append(kLine - 1 - expected.size(), letter);
    line == expected ? ++good : ++others;
  }
  return others + count - good;
}

char LetterOf(int producer) { return static_cast<char>('a' + producer); }

// A reader of one task's output, from beginning to end.
struct Follower {
  std::int64_t bytes = 0;
  bool ended = false;
  absl::Status status;
};

class Followers {
 public:
  explicit Followers(bus::Client* client) : client_(client) {}
  void Follow(const std::string& job) {
    msg::LogsRequestT request;
    request.job = job;
    request.follow = true;
    auto* const follower = all_.emplace_back(std::make_unique<Follower>()).get();
    client_->Start<Launcher::Logs>(
        request,
        [this, follower](const msg::LogsReplyT& part) {
          runtime::MutexLock lock(mutex_);
          follower->bytes += static_cast<std::int64_t>(part.data.size());
        },
        [this, follower](const absl::StatusOr<msg::LogsReplyT>& end) {
          runtime::MutexLock lock(mutex_);
          if (end.ok()) follower->bytes += static_cast<std::int64_t>(end->data.size());
          follower->status = end.status();
          follower->ended = true;
          ended_.SignalAll();
        },
        {.timeout = kLong});
  }
  absl::Status AwaitEnd(std::int64_t bytes_each) {
    runtime::MutexLock lock(mutex_);
    for (const auto& follower : all_) {
      while (!follower->ended) ended_.Wait(mutex_);
      if (!follower->status.ok()) return follower->status;
      if (follower->bytes != bytes_each) {
        return absl::InternalError(
            absl::StrCat("a reader has got ", follower->bytes, " of ", bytes_each, " bytes"));
      }
    }
    return absl::OkStatus();
  }

 private:
  bus::Client* const client_;
  runtime::Mutex mutex_;
  runtime::CondVar ended_;
  std::vector<std::unique_ptr<Follower>> all_;
};

// Each producer writes two stamps: at its start and after its last write.
absl::StatusOr<Output> OutputOf(const std::vector<Stamp>& stamps, std::int64_t lines,
                                absl::Duration all_written) {
  Output output;
  absl::Duration first = absl::InfiniteDuration();
  for (const Stamp& begin : stamps) {
    first = std::min(first, begin.when);
    for (const Stamp& end : stamps) {
      if (begin.pid != end.pid) continue;
      output.slowest_seconds =
          std::max(output.slowest_seconds, absl::ToDoubleSeconds(end.when - begin.when));
    }
  }
  if (stamps.size() != 2 * kProducers) {
    return absl::InternalError(
        absl::StrCat(stamps.size(), " stamps of ", kProducers, " producers"));
  }
  output.bytes_per_second =
      static_cast<double>(lines * kProducers) * kLine / absl::ToDoubleSeconds(all_written - first);
  return output;
}

// Starts `stamp ... | cat > file`.
absl::Status StartCat(const std::string& program, const std::string& directory, int producer,
                      std::int64_t lines, std::vector<runtime::Subprocess>* processes) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::InternalError("cannot make a pipe");
  const runtime::UniqueFd read_end(ends[0]), write_end(ends[1]);
  const std::string path = absl::StrCat(directory, "/", producer);
  const runtime::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  auto cat = runtime::Subprocess::Start({.argv = {"/bin/cat"},
                                         .program = "/bin/cat",
                                         .working_directory = "/",
                                         .fds = {{read_end.get(), 0}, {file.get(), 1}}});
  if (!cat.ok()) return cat.status();
  processes->push_back(*std::move(cat));
  auto producer_process =
      runtime::Subprocess::Start({.argv = {program, directory + "/stamps", "lines",
                                           std::string(1, LetterOf(producer)), absl::StrCat(lines)},
                                  .program = program,
                                  .working_directory = "/",
                                  .fds = {{write_end.get(), 1}}});
  if (!producer_process.ok()) return producer_process.status();
  processes->push_back(*std::move(producer_process));
  return absl::OkStatus();
}

// Programs that keep running, started without a launcher.
struct BareLoop {
  std::unique_ptr<StampFile> stamps;
  std::string program;
  std::vector<runtime::Subprocess> processes;

  static absl::StatusOr<BareLoop> Open() {
    BareLoop loop;
    auto program = StampProgram();
    if (!program.ok()) return program.status();
    loop.program = *std::move(program);
    loop.stamps = std::make_unique<StampFile>(NewFolder() + "/stamps");
    return loop;
  }
  BareLoop() = default;
  BareLoop(BareLoop&&) = default;
  BareLoop& operator=(BareLoop&&) = default;
  ~BareLoop() {
    for (auto& process : processes) (void)process.Signal(SIGKILL);
    for (auto& process : processes) (void)process.Wait(kLong);
    std::error_code ignored;
    if (stamps)
      std::filesystem::remove_all(std::filesystem::path(stamps->path()).parent_path(), ignored);
  }
  absl::Status Start() {
    auto process = runtime::Subprocess::Start({.argv = {program, stamps->path(), "stay"},
                                               .program = program,
                                               .working_directory = "/",
                                               .new_session = true});
    if (!process.ok()) return process.status();
    processes.push_back(*std::move(process));
    return absl::OkStatus();
  }
};

}  // namespace

// ---- Starting and stopping

absl::StatusOr<BringUp> MeasureBringUp(int tasks, bool one_job) {
  auto scene = Scene::Open();
  if (!scene.ok()) return scene.status();
  LauncherYard& yard = *scene->yard;
  BringUp figures;
  const double before = ResidentKilobytes(yard.launcher());
  absl::Duration begin = MonotonicNow();
  if (absl::Status launched = scene->LaunchThatStay(tasks, one_job); !launched.ok()) {
    return launched;
  }
  figures.started = Last(scene->stamps->Read()) - begin;
  if (absl::Status running = yard.AwaitTasks(tasks, msg::TaskState::Running); !running.ok()) {
    return running;
  }
  absl::SleepFor(kRest);
  figures.resident_kilobytes = ResidentKilobytes(yard.launcher());
  figures.growth_kilobytes = (figures.resident_kilobytes - before) / tasks;
  std::vector<double> shims;
  for (const pid_t shim : yard.Shims()) shims.push_back(ProportionalKilobytes(shim));
  if (shims.size() != Size(tasks)) {
    return absl::InternalError(absl::StrCat(shims.size(), " shims for ", tasks, " tasks"));
  }
  figures.shim_kilobytes = Median(shims);
  LivingProcesses living(scene->stamps->Read());
  begin = MonotonicNow();
  if (absl::Status stopped = StopAll(&yard); !stopped.ok()) return stopped;
  if (absl::Status ended = living.AwaitEnd(kLong); !ended.ok()) return ended;
  figures.stopped = MonotonicNow() - begin;
  if (absl::Status exited = yard.AwaitTasks(tasks, msg::TaskState::Exited); !exited.ok()) {
    return exited;
  }
  if (absl::Status exact = scene->ExpectStamps(tasks); !exact.ok()) return exact;
  return figures;
}

absl::StatusOr<Calls> MeasureCalls(int jobs) {
  Calls figures;
  {
    auto scene = Scene::Open();
    if (!scene.ok()) return scene.status();
    const auto took = scene->yard->LaunchTogether(scene->JobOf({"stay"}, 1), jobs);
    if (!took.ok()) return took.status();
    figures.launch_together = absl::Seconds(Quantile(InSeconds(*took), 0.99));
    if (auto all = scene->stamps->Await(Size(jobs), kLong); !all.ok()) return all.status();
    if (absl::Status exact = scene->ExpectStamps(jobs); !exact.ok()) return exact;
  }
  auto scene = Scene::Open();
  if (!scene.ok()) return scene.status();
  const msg::LaunchRequestT request = scene->JobOf({"stay"}, 1);
  std::vector<absl::Duration> launches, questions;
  std::vector<std::string> ids;
  for (int i = 0; i < jobs; ++i) {
    const absl::Duration begin = MonotonicNow();
    auto id = scene->yard->Launch(request);
    launches.push_back(MonotonicNow() - begin);
    if (!id.ok()) return id.status();
    ids.push_back(*std::move(id));
  }
  if (auto all = scene->stamps->Await(Size(jobs), kLong); !all.ok()) return all.status();
  for (const std::string& id : ids) {
    msg::JobsRequestT question;
    question.job = id;
    const absl::Duration begin = MonotonicNow();
    const auto reply = scene->yard->client().Call<Launcher::Jobs>(question);
    questions.push_back(MonotonicNow() - begin);
    if (!reply.ok()) return reply.status();
  }
  if (absl::Status exact = scene->ExpectStamps(jobs); !exact.ok()) return exact;
  figures.launch = absl::Seconds(Quantile(InSeconds(launches), 0.99));
  figures.question = absl::Seconds(Quantile(InSeconds(questions), 0.99));
  return figures;
}

// ---- Restarts

absl::StatusOr<Restarts> MeasureRestarts(int kills) {
  auto scene = Scene::Open();
  if (!scene.ok()) return scene.status();
  msg::LaunchRequestT request = scene->JobOf({"stay"}, 1);
  request.spec->restart = msg::RestartPolicy::Always;
  request.spec->max_restarts = 1'000;
  const auto took = scene->yard->LaunchTogether(request, kills);
  if (!took.ok()) return took.status();
  const auto first = scene->stamps->Await(Size(kills), kLong);
  if (!first.ok()) return first.status();
  if (absl::Status running = scene->yard->AwaitTasks(kills, msg::TaskState::Running);
      !running.ok()) {
    return running;
  }
  absl::SleepFor(kRest);
  std::vector<double> seconds;
  for (int i = 0; i < kills; ++i) {
    const absl::Duration begin = MonotonicNow();
    kill((*first)[Size(i)].pid, SIGKILL);
    const auto now = scene->stamps->Await(Size(kills) + Size(i) + 1, kLong);
    if (!now.ok()) return now.status();
    seconds.push_back(absl::ToDoubleSeconds(now->back().when - begin));
    absl::SleepFor(kKillPause);
  }
  if (absl::Status exact = scene->ExpectStamps(2 * kills); !exact.ok()) return exact;
  return Restarts{absl::Seconds(Median(seconds)), absl::Seconds(Quantile(seconds, 0.99))};
}

absl::StatusOr<absl::Duration> MeasureGangs(int kills) {
  auto scene = Scene::Open();
  if (!scene.ok()) return scene.status();
  msg::LaunchRequestT request = scene->JobOf({"stay"}, kGang);
  request.spec->restart = msg::RestartPolicy::OnFailure;
  request.spec->max_restarts = 1'000;
  request.spec->gang = true;
  std::vector<double> seconds;
  std::size_t known = 0;
  for (int i = 0; i < kills; ++i) {
    if (auto job = scene->yard->Launch(request); !job.ok()) return job.status();
    auto stamps = scene->stamps->Await(known + kGang, kLong);
    if (!stamps.ok()) return stamps.status();
    if (absl::Status running = scene->yard->AwaitTasks((i + 1) * kGang, msg::TaskState::Running);
        !running.ok()) {
      return running;
    }
    const absl::Duration begin = MonotonicNow();
    kill(stamps->back().pid, SIGKILL);
    stamps = scene->stamps->Await(known + 2 * kGang, kLong);
    if (!stamps.ok()) return stamps.status();
    seconds.push_back(absl::ToDoubleSeconds(Last(*stamps) - begin));
    known = stamps->size();
  }
  if (absl::Status exact = scene->ExpectStamps(2 * kGang * kills); !exact.ok()) return exact;
  return absl::Seconds(Median(seconds));
}

absl::StatusOr<double> MeasureCrashLoops(int tasks, absl::Duration burst, absl::Duration time) {
  auto scene = Scene::Open();
  if (!scene.ok()) return scene.status();
  msg::LaunchRequestT request = scene->JobOf({"exit"}, 1);
  request.spec->restart = msg::RestartPolicy::Always;
  request.spec->max_restarts = 1'000'000;
  const auto took = scene->yard->LaunchTogether(request, tasks);
  if (!took.ok()) return took.status();
  // Each task has failed, and failed again right after its restart.
  if (auto twice = scene->stamps->Await(2 * Size(tasks), kLong); !twice.ok()) {
    return twice.status();
  }
  absl::SleepFor(burst);
  const absl::Duration begin = MonotonicNow();
  const absl::Duration used = ProcessorTime(scene->yard->launcher());
  absl::SleepFor(time);
  return absl::FDivDuration(ProcessorTime(scene->yard->launcher()) - used, MonotonicNow() - begin);
}

// ---- A new launcher

absl::StatusOr<TakeUp> MeasureTakeUp(int tasks, bool one_job) {
  auto scene = Scene::Open();
  if (!scene.ok()) return scene.status();
  if (absl::Status launched = scene->LaunchThatStay(tasks, one_job); !launched.ok()) {
    return launched;
  }
  if (absl::Status running = scene->yard->AwaitTasks(tasks, msg::TaskState::Running);
      !running.ok()) {
    return running;
  }
  absl::SleepFor(kRest);
  const auto taken = scene->yard->ReplaceLauncher(tasks);
  if (!taken.ok()) return taken.status();
  if (absl::Status running = scene->yard->AwaitTasks(tasks, msg::TaskState::Running);
      !running.ok()) {
    return running;
  }
  if (absl::Status exact = scene->ExpectStamps(tasks); !exact.ok()) return exact;
  return TakeUp{taken->since_exec, taken->since_open};
}

// ---- Output

absl::StatusOr<Output> MeasureCat(std::int64_t lines) {
  const std::int64_t each = lines / kProducers;
  const auto program = StampProgram();
  if (!program.ok()) return program.status();
  const std::string directory = NewFolder();
  StampFile stamps(directory + "/stamps");
  std::vector<runtime::Subprocess> processes;
  absl::Status failed;
  for (int i = 0; i < kProducers && failed.ok(); ++i) {
    failed = StartCat(*program, directory, i, each, &processes);
  }
  for (auto& process : processes) {
    if (const auto ended = process.Wait(kLong); !ended.ok()) failed = ended.status();
  }
  const absl::Duration end = MonotonicNow();
  auto output = OutputOf(stamps.Read(), each, end);
  for (int i = 0; i < kProducers && output.ok(); ++i) {
    output->bad_lines += BadLines(absl::StrCat(directory, "/", i), LetterOf(i), each);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (!failed.ok()) return failed;
  return output;
}

absl::StatusOr<Output> MeasureOutput(std::int64_t lines, bool followed, bool paced) {
  const std::int64_t each = lines / kProducers;
  auto scene = Scene::Open();
  if (!scene.ok()) return scene.status();
  LauncherYard& yard = *scene->yard;
  Followers followers(&yard.client());
  std::vector<std::string> paths;
  for (int i = 0; i < kProducers; ++i) {
    msg::LaunchRequestT request = scene->JobOf(
        {paced ? "paced" : "lines", std::string(1, LetterOf(i)), absl::StrCat(each)}, 1);
    const auto reply = yard.client().Call<Launcher::Launch>(request, {.timeout = kLong});
    if (!reply.ok()) return reply.status();
    paths.push_back(reply->job->tasks[0]->stdout_path);
    if (followed) followers.Follow(reply->job->id);
  }
  if (auto all = scene->stamps->Await(2 * kProducers, kLong); !all.ok()) return all.status();
  // All bytes are in a file once it has its full length.
  for (const std::string& path : paths) {
    const absl::Duration deadline = MonotonicNow() + kLong;
    std::error_code error;
    while (std::filesystem::file_size(path, error) < Size(each) * kLine) {
      if (MonotonicNow() > deadline) return absl::DeadlineExceededError("output is missing");
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  auto output = OutputOf(scene->stamps->Read(), each, MonotonicNow());
  if (!output.ok()) return output;
  if (absl::Status read = followers.AwaitEnd(each * static_cast<std::int64_t>(kLine)); !read.ok()) {
    return read;
  }
  if (absl::Status exited = yard.AwaitTasks(kProducers, msg::TaskState::Exited); !exited.ok()) {
    return exited;
  }
  for (int i = 0; i < kProducers; ++i) {
    output->bad_lines += BadLines(paths[Size(i)], LetterOf(i), each);
  }
  return output;
}

// ---- Spawning

absl::StatusOr<Bare> MeasureBare(int count) {
  auto bare = BareLoop::Open();
  if (!bare.ok()) return bare.status();
  const absl::Duration begin = MonotonicNow();
  for (int i = 0; i < count; ++i) {
    if (absl::Status started = bare->Start(); !started.ok()) return started;
  }
  const auto all = bare->stamps->Await(Size(count), kLong);
  if (!all.ok()) return all.status();
  std::vector<double> seconds;
  for (int i = 1; i <= kAlone; ++i) {
    absl::SleepFor(kKillPause);
    const absl::Duration one = MonotonicNow();
    if (absl::Status started = bare->Start(); !started.ok()) return started;
    const auto now = bare->stamps->Await(Size(count) + Size(i), kLong);
    if (!now.ok()) return now.status();
    seconds.push_back(absl::ToDoubleSeconds(now->back().when - one));
  }
  return Bare{Last(*all) - begin, absl::Seconds(Median(seconds))};
}

absl::StatusOr<double> MeasureSpawns(int count, int ballast_megabytes) {
  const std::size_t size = Size(ballast_megabytes) << 20;
  void* const ballast =
      size == 0 ? nullptr
                : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (ballast == MAP_FAILED) return absl::ResourceExhaustedError("there is not so much memory");
  if (ballast != nullptr) {
    madvise(ballast, size, MADV_NOHUGEPAGE);
    memset(ballast, 1, size);
  }
  absl::Status failed;
  const absl::Duration begin = MonotonicNow();
  for (int i = 0; i < count && failed.ok(); ++i) {
    auto process = runtime::Subprocess::Start({.argv = {"/bin/true"},
                                               .program = "/bin/true",
                                               .working_directory = "/",
                                               .new_session = true});
    const auto ended = process.ok() ? process->Wait(kLong) : process.status();
    failed = ended.status();
  }
  const absl::Duration took = MonotonicNow() - begin;
  if (ballast != nullptr) munmap(ballast, size);
  if (!failed.ok()) return failed;
  return count / absl::ToDoubleSeconds(took);
}

}  // namespace bench
