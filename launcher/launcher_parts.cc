#include "launcher/launcher_parts.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/alert/alert_methods.h"
#include "bus/alert/alert_store.h"
#include "bus/process/backup_method.h"
#include "launcher/alert/launcher_alerts.h"
#include "launcher/alert/machine_watch.h"
#include "launcher/alert/notification_store.h"
#include "launcher/alert/notifier.h"
#include "launcher/barrier_calls.h"
#include "launcher/gpu/gpu_meter.h"
#include "launcher/gpu/visible_gpus.h"
#include "launcher/job/job_store.h"
#include "launcher/job/node_store.h"
#include "launcher/launcher_service.h"
#include "launcher/node/node_hosts.h"
#include "launcher/node/node_table.h"
#include "launcher/node_calls.h"
#include "launcher/run/job_table.h"
#include "launcher/service_keeper.h"
#include "launcher/share/machine_locks.h"
#include "launcher/usage_calls.h"
#include "runtime/file/locations.h"
#include "runtime/mutex.h"
#include "runtime/sqlite/database_check.h"
#include "runtime/text/random_id.h"

namespace launcher {
namespace {

double Random() { return static_cast<double>(runtime::RandomId() >> 11) * 0x1.0p-53; }

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

// Returns the path of a service's program. In a build tree the other services are not in our
// runfiles (since services do not depend on each other) but in the folders beside ours.
absl::StatusOr<std::string> FindService(std::string_view label_path) {
  auto found = runtime::FindBinary(label_path);
  if (found.ok()) return found;
  std::error_code error;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside = own.parent_path().parent_path() / label_path;
  if (!error && std::filesystem::is_regular_file(beside, error)) return beside.string();
  return found;
}

}  // namespace

class LauncherParts::Impl {
 public:
  explicit Impl(bus::ServiceProcess* process) : process_(process) {}

  absl::Status Prepare(Options options) {
    const bool external = options.external;
    const Options alerts = options;
    const bool was_killed = runtime::WasLeftOpen(Database());
    if (auto status = OpenLocks(options); !status.ok()) return status;
    if (auto status = OpenNodes(options); !status.ok()) return status;
    if (auto status = OpenTable(std::move(options)); !status.ok()) return status;
    node_table_->Admit();  // (By now all stored attempts attend.)
    node_calls_ = std::make_unique<NodeCalls>(node_table_.get(), table_.get(),
                                              process_->locations().runtime_directory);
    usage_calls_ = std::make_unique<UsageCalls>(
        UsageCalls::Options{.loop = process_->loop(),
                            .pool = process_->pool(),
                            .clock = process_->clock(),
                            .table = table_.get(),
                            .nodes = node_table_.get(),
                            .machine_locks = machine_locks_.get(),
                            .state_directory = process_->locations().state_directory});
    if (auto status = OpenAlerts(alerts); !status.ok()) return status;
    if (auto status = OpenKeeper(external); !status.ok()) return status;
    WatchMachine(alerts.disk_floor);
    process_->loop()->Post([this, was_killed] { ResumeAlerts(was_killed); });
    barriers_ = std::make_unique<BarrierCalls>(table_.get(), process_->loop(), process_->clock());
    AddLauncherMethods(process_->service(), process_->loop(), process_->pool(), table_.get(),
                       barriers_.get(), keeper_.get(), alert_store_.get(), notifier_.get(),
                       node_calls_.get(), usage_calls_.get(),
                       process_->locations().state_directory);
    bus::AddAlertMethods(process_->service(),
                         {.loop = process_->loop(),
                          .clock = process_->clock(),
                          .alerts = alert_store_.get(),
                          .on_acknowledged = [this](const std::vector<msg::AlertT>& changed) {
                            alerts_->OnAcknowledged(changed);
                          }});
    bus::AddBackupMethod(process_->service(), Database());
    process_->AddGauge("jobs", Read(&JobTable::Stats::jobs));
    process_->AddGauge("jobs_live", Read(&JobTable::Stats::live));
    process_->AddCounter("attempts_started", Read(&JobTable::Stats::attempts));
    process_->AddCounter("attempts_adopted", Read(&JobTable::Stats::adopted));
    process_->AddCounter("attempts_lost", Read(&JobTable::Stats::lost));
    process_->OnStop([this] { table_->GiveUpRemovals(); });
    process_->OnStop([this] { keeper_->Stop([hold = process_->HoldStop()] {}); });
    return absl::OkStatus();
  }

 private:
  std::string Database() const { return process_->locations().state_directory + "/launcher.db"; }

  // Opens the stores of alerts. The job table has already created the tables in the database.
  absl::Status OpenAlerts(const Options& options) {
    auto alert_store = bus::AlertStore::Open({.path = Database(), .owner = "launcher"});
    if (!alert_store.ok()) return alert_store.status();
    alert_store_ = *std::move(alert_store);
    auto notifications = NotificationStore::Open(Database());
    if (!notifications.ok()) return notifications.status();
    notifications_ = *std::move(notifications);
    notifier_ = std::make_unique<Notifier>(
        Notifier::Options{.loop = process_->loop(),
                          .clock = process_->clock(),
                          .store = notifications_.get(),
                          .command = options.notify,
                          .kinds = options.notify_kinds,
                          .environment = OwnEnvironment(),
                          .state_directory = process_->locations().state_directory,
                          .pace = options.notify_pace,
                          .launch = [this](const std::string& request_id, msg::JobSpecT spec) {
                            return table_->Launch(request_id, std::move(spec)).status();
                          }});
    alerts_ = std::make_unique<LauncherAlerts>(LauncherAlerts::Options{
        .loop = process_->loop(),
        .clock = process_->clock(),
        .alerts = alert_store_.get(),
        .notifier = notifier_.get(),
        .publish = [this](const msg::AlertT& alert) {
          bus::PublishAlert(process_->publisher(), alert_store_.get(), alert);
        }});
    return absl::OkStatus();
  }

  void WatchMachine(std::uint64_t disk_floor) {
    watch_ = MachineWatch::Start(
        {.loop = process_->loop(),
         .pool = process_->pool(),
         .disk_floor = disk_floor,
         .directories =
             [this] {
               std::vector<std::string> directories = {process_->locations().state_directory};
               const std::string runs = keeper_->LogDirectory();
               if (!runs.empty()) directories.insert(directories.begin(), runs);
               return directories;
             },
         .on_news = [this](const MachineNews& news) { alerts_->OnMachine(news); }});
  }

  void ResumeAlerts(bool was_killed) {
    notifier_->Resume();
    alerts_->Resume();
    const std::int64_t now_us = absl::ToUnixMicros(process_->clock()->Now());
    if (was_killed) alerts_->OnRestart("launcher", "it was killed", now_us);
  }

  absl::Status OpenLocks(const Options& options) {
    machine_locks_ = MachineLocks::Open(
        {.directory = options.machine_directory,
         .yard = process_->locations().state_directory,
         .gpu_uuid = [this](const std::string& member) { return UuidOf(member); }});
    if (machine_locks_ == nullptr) return absl::OkStatus();
    for (const Resource& resource : options.resources) {
      if (!machine_locks_->IsShared(resource.name) || resource.amount <= kMaxSharedAmount) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "resource ", resource.ToString(), ": users share it, as ", options.machine_directory,
          "/shared says, and can share at most ", kMaxSharedAmount, " of one"));
    }
    return absl::OkStatus();
  }

  // See MachineLocks::Options::gpu_uuid.
  std::optional<std::string> UuidOf(const std::string& member) {
    const GpuMeter::Reply reply = gpus_.Measure(/*with_processes=*/false);
    if (!reply.is_known) return std::nullopt;
    for (const std::uint32_t index : VisibleGpus(member, reply.figures.gpus)) {
      for (const auto& gpu : reply.figures.gpus) {
        if (gpu.index == index) return gpu.uuid;
      }
    }
    return "";
  }

  absl::Status OpenNodes(const Options& options) {
    auto jobs = JobStore::OpenIn(process_->locations());
    if (!jobs.ok()) return jobs.status();
    job_store_ = *std::move(jobs);
    auto store = NodeStore::Open(Database());
    if (!store.ok()) return store.status();
    auto table = NodeTable::Open({.loop = process_->loop(),
                                  .clock = process_->clock(),
                                  .store = *std::move(store),
                                  .directory = process_->locations().runtime_directory + "/nodes",
                                  .lost_after = options.node_lost_after});
    if (!table.ok()) return table.status();
    node_table_ = *std::move(table);
    node_hosts_ = std::make_unique<NodeHosts>(process_->loop(), node_table_.get());
    return absl::OkStatus();
  }

  absl::Status OpenTable(Options options) {
    auto shim = runtime::FindBinary("launcher/yard-shim");
    if (!shim.ok()) return shim.status();
    bus::Publisher* const publisher = process_->publisher();
    auto table = JobTable::Open(
        {.loop = process_->loop(),
         .pool = process_->pool(),
         .clock = process_->clock(),
         .locations = process_->locations(),
         .store = std::move(job_store_),
         .shim_path = *shim,
         .resources = std::move(options.resources),
         .hosts = node_hosts_.get(),
         .machine_locks = machine_locks_.get(),
         .limits = std::move(options.limits),
         .hides_gpus = options.hides_gpus,
         .keep_for = options.keep_jobs_for,
         .keep_count = options.keep_jobs,
         .random = Random,
         .on_job =
             [this, publisher](msg::JobT job) {
               PublishJob(publisher, std::move(job));
               CopyStats();
             },
         .on_lines =
             [publisher](const std::string& job, std::uint64_t from, msg::LogLinesT lines) {
               PublishLines(publisher, job, from, std::move(lines));
             },
         .on_barrier =
             [this](const JobTable::Options::BarrierLine& said,
                    std::function<void(std::string)> answer) {
               barriers_->ArriveByLine(said.id, said.task, said.line, std::move(answer));
             }});
    if (!table.ok()) return table.status();
    table_ = std::move(*table);
    CopyStats();
    return absl::OkStatus();
  }

  absl::Status OpenKeeper(bool external) {
    auto keeper = ServiceKeeper::Create(
        {.loop = process_->loop(),
         .clock = process_->clock(),
         .locations = process_->locations(),
         .environment = OwnEnvironment(),
         .find_binary = FindService,
         .random = Random,
         .external = external,
         .on_change = {},
         .on_restart = [this](const std::string& service, const std::string& how,
                              std::int64_t started_us) {
           alerts_->OnRestart(service, how, started_us);
         }});
    if (!keeper.ok()) return keeper.status();
    keeper_ = std::move(*keeper);
    return absl::OkStatus();
  }

  // Copies the table's stats, which may be used only on the loop's thread, for readers on other
  // threads.
  void CopyStats() {
    if (table_ == nullptr) return;
    runtime::MutexLock lock(mutex_);
    stats_ = table_->GetStats();
  }
  std::function<std::uint64_t()> Read(std::uint64_t JobTable::Stats::*member) {
    return [this, member] {
      runtime::MutexLock lock(mutex_);
      return stats_.*member;
    };
  }

  bus::ServiceProcess* const process_;
  GpuMeter gpus_;  // Used only for the names of the locks.
  std::unique_ptr<MachineLocks> machine_locks_;
  // Members are destroyed in reverse order, so each is declared after those that it uses.
  std::unique_ptr<JobStore> job_store_;  // Null once the job table has taken it.
  std::unique_ptr<NodeTable> node_table_;
  std::unique_ptr<NodeHosts> node_hosts_;
  std::unique_ptr<JobTable> table_;
  std::unique_ptr<NodeCalls> node_calls_;
  std::unique_ptr<UsageCalls> usage_calls_;
  std::unique_ptr<bus::AlertStore> alert_store_;
  std::unique_ptr<NotificationStore> notifications_;
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<LauncherAlerts> alerts_;
  std::unique_ptr<BarrierCalls> barriers_;
  std::unique_ptr<ServiceKeeper> keeper_;
  std::unique_ptr<MachineWatch> watch_;
  runtime::Mutex mutex_;
  JobTable::Stats stats_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<LauncherParts>> LauncherParts::Create(bus::ServiceProcess* process,
                                                                     Options options) {
  auto impl = std::make_unique<Impl>(process);
  if (auto status = impl->Prepare(std::move(options)); !status.ok()) return status;
  return std::unique_ptr<LauncherParts>(new LauncherParts(std::move(impl)));
}

LauncherParts::LauncherParts(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LauncherParts::~LauncherParts() = default;

}  // namespace launcher
