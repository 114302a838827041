#include "bench/datamanager_figures.h"

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/launcher_yard.h"
#include "bench/stamps.h"
#include "bus/call/client.h"
#include "bus/event/subscriber.h"
#include "bus/schema/datamanager_methods.h"
#include "eventlog/event.h"
#include "eventlog/event_file_writer.h"
#include "runtime/mutex.h"

namespace bench {
namespace {

using rpc::Datamanager;

constexpr absl::Duration kLong = absl::Seconds(120);
constexpr absl::Duration kCloseLook = absl::Microseconds(500);
// Pause until memory use has settled.
constexpr absl::Duration kRest = absl::Milliseconds(500);
// Pause after a change: a directory that has just changed is listed again, whatever its time says
// (run_tree.h).
constexpr absl::Duration kSettled = absl::Milliseconds(2'100);

// A yard for the data managers of a folder, one after the other.
class DataYard {
 public:
  // Writes the folder if it does not exist. Starts no data manager.
  static absl::StatusOr<std::unique_ptr<DataYard>> For(EventFolder& folder) {
    const auto path = folder.Path();
    if (!path.ok()) return path.status();
    auto yard = LauncherYard::Start();
    if (!yard.ok()) return yard.status();
    return std::unique_ptr<DataYard>(new DataYard(*std::move(yard), *path));
  }
  // Does not wait until the service is ready.
  absl::Status StartService(std::vector<std::string> flags = {}) {
    return StartServiceOf(logdir_, std::move(flags));
  }
  absl::Status StartServiceOf(const std::string& logdir, std::vector<std::string> flags) {
    flags.push_back("--logdir=" + logdir);
    auto pid = yard_->StartService("datamanager/datamanager", std::move(flags));
    if (pid.ok()) pid_ = *pid;
    return pid.status();
  }
  absl::Status KillService() { return yard_->KillService(pid_); }

  // Returns a directory without runs.
  std::string EmptyFolder() const {
    const std::string folder = yard_->directory() + "/runs";
    std::filesystem::create_directories(folder);
    return folder;
  }
  const std::string& logdir() const { return logdir_; }
  bus::Client& client() { return yard_->client(); }
  bus::Node* node() { return yard_->node(); }
  pid_t pid() const { return pid_; }

  absl::StatusOr<msg::DataStatusReplyT> Status() {
    return client().Call<Datamanager::DataStatus>({}, {.timeout = kLong, .wait_for_service = true});
  }
  // Returns once the first scan is over. (Every call takes processor time from the measurement.)
  absl::StatusOr<msg::DataStatusReplyT> AwaitScan() {
    const absl::Duration deadline = MonotonicNow() + kLong;
    for (;;) {
      auto status = Status();
      if (!status.ok() || status->scan_us > 0) return status;
      if (MonotonicNow() > deadline) return absl::DeadlineExceededError("no scan has ended");
      absl::SleepFor(kCloseLook);
    }
  }
  // Returns once everything in the folder was read.
  absl::StatusOr<msg::DataStatusReplyT> Reload() {
    const auto reply =
        client().Stream<Datamanager::Reload>({}, [](const msg::ReloadReplyT&) { return true; },
                                             {.timeout = kLong, .wait_for_service = true});
    if (!reply.ok()) return reply.status();
    if (reply->status == nullptr) return absl::InternalError("Reload has no status");
    return *reply->status;
  }
  // Returns once the first scan is over, with `limit` of the runs in the reply.
  absl::StatusOr<msg::RunsReplyT> Runs(std::uint32_t limit) {
    msg::RunsRequestT request;
    request.limit = limit;
    const absl::Duration deadline = MonotonicNow() + kLong;
    for (;;) {
      auto reply =
          client().Call<Datamanager::Runs>(request, {.timeout = kLong, .wait_for_service = true});
      if (!absl::IsUnavailable(reply.status()) || MonotonicNow() > deadline) return reply;
      absl::SleepFor(kCloseLook);
    }
  }
  absl::StatusOr<msg::ScalarsReplyT> Columns(const std::string& run, std::int64_t first_step) {
    msg::ScalarsRequestT request;
    request.run = run;
    request.tag = EventFileTag(0);
    request.columns = 1'000;
    request.first_step = first_step;
    return client().Call<Datamanager::Scalars>(request, {.timeout = kLong});
  }

 private:
  DataYard(std::unique_ptr<LauncherYard> yard, std::string logdir)
      : yard_(std::move(yard)), logdir_(std::move(logdir)) {}
  const std::unique_ptr<LauncherYard> yard_;
  const std::string logdir_;
  pid_t pid_ = 0;
};

// Checks that every run is in memory with all points.
absl::Status ExpectAll(DataYard& yard, const EventFolder& folder) {
  const auto runs = yard.Runs(0);
  if (!runs.ok()) return runs.status();
  std::uint64_t points = 0, cached = 0;
  for (const auto& run : runs->runs) {
    points += run->points;
    cached += run->cache == msg::CacheState::Cached ? 1 : 0;
  }
  if (points == folder.written().points &&
      cached == static_cast<std::uint64_t>(folder.options().runs)) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat(points, " of ", folder.written().points, " points, ",
                                          cached, " of ", folder.options().runs,
                                          " runs are in memory"));
}

// Announcements of points, with the arrival time of each.
class Announcements {
 public:
  explicit Announcements(DataYard& yard)
      : subscriber_(yard.node(),
                    {.prefixes = {"m/"}, .on_event = [this](std::string_view topic, const auto&) {
                       const absl::Duration now = MonotonicNow();
                       runtime::MutexLock lock(mutex_);
                       came_[std::string(topic)].push_back(now);
                       one_came_.SignalAll();
                     }}) {}
  absl::Status Connect() { return subscriber_.WaitUntilConnected(kLong); }
  // Waits for announcement number `count` among the topics that begin with `prefix`.
  absl::StatusOr<absl::Duration> Await(const std::string& prefix, std::size_t count) {
    const absl::Duration deadline = MonotonicNow() + kLong;
    runtime::MutexLock lock(mutex_);
    for (;;) {
      const auto found = came_.lower_bound(prefix);
      if (found != came_.end() && absl::StartsWith(found->first, prefix) &&
          found->second.size() >= count) {
        return found->second[count - 1];
      }
      const absl::Duration left = deadline - MonotonicNow();
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError(absl::StrCat("no point of ", prefix, " was announced"));
      }
      one_came_.WaitWithTimeout(mutex_, left);
    }
  }

 private:
  runtime::Mutex mutex_;
  runtime::CondVar one_came_;
  std::map<std::string, std::vector<absl::Duration>> came_ ABSL_GUARDED_BY(mutex_);
  bus::Subscriber subscriber_;
};

}  // namespace

EventFolder::~EventFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

absl::StatusOr<std::string> EventFolder::Path() {
  if (path_.empty()) {
    path_ = NewFolder();
    const auto written = WriteEventFiles(path_, options_);
    if (!written.ok()) return written.status();
    written_ = *written;
  }
  return path_;
}

absl::StatusOr<LoadFigures> MeasureLoad(EventFolder& folder, int threads) {
  auto started = DataYard::For(folder);
  if (!started.ok()) return started.status();
  DataYard& yard = **started;
  const std::vector<std::string> flags = {absl::StrCat("--load_threads=", threads),
                                          "--reload_interval=0"};
  if (auto status = yard.StartServiceOf(yard.EmptyFolder(), flags); !status.ok()) return status;
  if (auto ready = yard.Reload(); !ready.ok()) return ready.status();
  absl::SleepFor(kRest);
  const double empty = ResidentKilobytes(yard.pid());
  if (auto killed = yard.KillService(); !killed.ok()) return killed;
  const absl::Duration begin = MonotonicNow();
  if (auto status = yard.StartService(flags); !status.ok()) return status;
  const auto scanned = yard.AwaitScan();
  if (!scanned.ok()) return scanned.status();
  const auto loaded = yard.Reload();  // Answered once everything is in memory.
  const absl::Time end = absl::Now();
  LoadFigures figures;
  figures.since_exec = MonotonicNow() - begin;
  if (!loaded.ok()) return loaded.status();
  figures.since_scan =
      end - absl::FromUnixMicros(scanned->scan_us) + absl::Microseconds(scanned->scan_took_us);
  figures.records_per_second =
      static_cast<double>(folder.written().records) / absl::ToDoubleSeconds(figures.since_scan);
  if (auto all = ExpectAll(yard, folder); !all.ok()) return all;
  absl::SleepFor(kRest);
  figures.grown_megabytes = (ResidentKilobytes(yard.pid()) - empty) / 1e3;
  return figures;
}

absl::StatusOr<ListFigures> MeasureListing(int runs) {
  EventFolder folder({.runs = runs, .steps = 1, .tags = 1});
  auto started = DataYard::For(folder);
  if (!started.ok()) return started.status();
  DataYard& yard = **started;
  ListFigures figures;
  absl::Duration begin = MonotonicNow();
  if (auto status = yard.StartService(); !status.ok()) return status;
  const auto listed = yard.Runs(1);
  figures.listed = MonotonicNow() - begin;
  if (!listed.ok()) return listed.status();
  if (listed->total != static_cast<std::uint64_t>(runs)) {
    return absl::InternalError(absl::StrCat(listed->total, " of ", runs, " runs are listed"));
  }
  absl::SleepFor(kSettled);
  if (auto all = yard.Reload(); !all.ok()) return all.status();
  begin = MonotonicNow();
  const auto unchanged = yard.Reload();
  figures.unchanged = MonotonicNow() - begin;
  if (!unchanged.ok()) return unchanged.status();
  return figures;
}

absl::StatusOr<AskedFigures> MeasureAsked(EventFolder& folder) {
  auto started = DataYard::For(folder);
  if (!started.ok()) return started.status();
  DataYard& yard = **started;
  if (auto status = yard.StartService(); !status.ok()) return status;
  const auto runs = yard.Runs(0);
  if (!runs.ok()) return runs.status();
  if (runs->runs.empty()) return absl::InternalError("no runs are listed");
  const auto before = yard.Status();
  if (!before.ok()) return before.status();
  // Runs are listed newest first.
  const absl::Duration begin = MonotonicNow();
  const auto columns = yard.Columns(runs->runs.back()->name, 0);
  const absl::Duration answered = MonotonicNow() - begin;
  if (!columns.ok()) return columns.status();
  const auto steps = static_cast<std::uint64_t>(folder.options().steps);
  if (columns->total_points != steps) {
    return absl::InternalError(
        absl::StrCat("the answer is of ", columns->total_points, " points, not of ", steps));
  }
  return AskedFigures{answered, static_cast<double>(before->read_bytes) /
                                    static_cast<double>(folder.written().bytes)};
}

absl::StatusOr<absl::Duration> MeasurePlot(EventFolder& folder, int answers) {
  auto started = DataYard::For(folder);
  if (!started.ok()) return started.status();
  DataYard& yard = **started;
  if (auto status = yard.StartService(); !status.ok()) return status;
  if (auto ready = yard.Reload(); !ready.ok()) return ready.status();
  const auto runs = yard.Runs(1);
  if (!runs.ok()) return runs.status();
  if (runs->runs.empty()) return absl::InternalError("no runs are listed");
  std::vector<double> seconds;
  for (int i = 0; i < answers; ++i) {
    const absl::Duration begin = MonotonicNow();
    // A range that begins inside a block, a different one each time.
    const auto columns = yard.Columns(runs->runs[0]->name, i);
    seconds.push_back(absl::ToDoubleSeconds(MonotonicNow() - begin));
    if (!columns.ok()) return columns.status();
    const auto highest = std::max_element(columns->maxs.begin(), columns->maxs.end());
    if (highest == columns->maxs.end() || *highest != EventFilesOptions::kSpike) {
      return absl::InternalError(absl::StrCat("no spike in the answer from step ", i, " on"));
    }
  }
  return absl::Seconds(Median(seconds));
}

absl::StatusOr<FollowFigures> MeasureFollowing(int runs, int appends, absl::Duration idle) {
  EventFolder folder({.runs = runs, .steps = 1, .tags = 1});
  auto started = DataYard::For(folder);
  if (!started.ok()) return started.status();
  DataYard& yard = **started;
  Announcements announcements(yard);
  if (auto connected = announcements.Connect(); !connected.ok()) return connected;
  if (auto status = yard.StartService(); !status.ok()) return status;
  if (auto ready = yard.Reload(); !ready.ok()) return ready.status();
  absl::SleepFor(kRest);
  FollowFigures figures;
  const absl::Duration begin = MonotonicNow(), worked = ProcessorTime(yard.pid());
  absl::SleepFor(idle);
  figures.idle_percent =
      100 * absl::FDivDuration(ProcessorTime(yard.pid()) - worked, MonotonicNow() - begin);
  const std::string tag = EventFileTag(0);
  const eventlog::Scalar scalar{tag, 0.5};
  std::vector<std::size_t> appended(static_cast<std::size_t>(runs));
  std::vector<double> seconds;
  for (int i = 0; i < appends; ++i) {
    const int run = i * 7 % runs;
    const std::string file = EventFilePath(run, folder.options().style);
    auto writer = eventlog::EventFileWriter::Open(absl::StrCat(yard.logdir(), "/", file));
    if (!writer.ok()) return writer.status();
    const std::string record = eventlog::RenderScalars(1, i + 1, {&scalar, 1});
    const absl::Duration at = MonotonicNow();
    if (auto status = writer->Append(record); !status.ok()) return status;
    const std::string name = std::filesystem::path(file).parent_path();
    const auto came = announcements.Await(absl::StrCat("m/", name, "/"),
                                          ++appended[static_cast<std::size_t>(run)]);
    if (!came.ok()) return came.status();
    seconds.push_back(absl::ToDoubleSeconds(*came - at));
  }
  figures.p50 = absl::Seconds(Quantile(seconds, 0.5));
  figures.p99 = absl::Seconds(Quantile(seconds, 0.99));
  return figures;
}

}  // namespace bench
