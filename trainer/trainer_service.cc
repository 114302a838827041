#include "trainer/trainer_service.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "bus/alert/alert_methods.h"
#include "bus/alert/alert_store.h"
#include "bus/call/client.h"
#include "bus/launcher_client/job_control.h"
#include "bus/launcher_client/launcher_jobs.h"
#include "bus/process/backup_method.h"
#include "bus/schema/launcher_generated.h"
#include "bus/schema/launcher_methods.h"
#include "glog/logging.h"
#include "runtime/event_loop.h"
#include "runtime/file/file.h"
#include "runtime/sqlite/database_check.h"
#include "runtime/text/printable.h"
#include "runtime/thread_pool.h"
#include "trainer/alert/launcher_calls.h"
#include "trainer/alert/trial_alerts.h"
#include "trainer/attempt/relay.h"
#include "trainer/store/trial_store.h"
#include "trainer/sweep/optimiser_lines.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/sweep_methods.h"
#include "trainer/table/trials.h"
#include "trainer/trial/trial_queue.h"
#include "trainer/trial_methods.h"
#include "trainer/trial_topics.h"

namespace trainer {
namespace {

// Shortest interval between two updates of files and plots; faster ones would not be noticed.
constexpr absl::Duration kSpreadEvery = absl::Milliseconds(20);
// Deadline of a usage measurement; while a launcher is being replaced, a measurement is skipped.
constexpr absl::Duration kUsagePatience = absl::Seconds(10);

std::string HostName() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  std::string host = name;
  std::replace(host.begin(), host.end(), '/', '_');  // The name becomes part of a file name.
  return host;
}

// Returns the first run of a trial in the directory; empty if it has none.
std::string RunOfATrialIn(const std::string& logdir) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(logdir, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code none;
    if (std::filesystem::exists(entry->path() / "provenance.json", none)) return entry->path();
  }
  return "";
}

class TrainerServiceImpl : public TrainerService {
 public:
  absl::Status Open(bus::ServiceProcess* process, const Options& options) {
    const runtime::Locations& locations = process->locations();
    const std::string relay_path = locations.runtime_directory + "/trainer-relay";
    if (auto status = runtime::MakePrivateDirectory(locations.state_directory); !status.ok()) {
      return status;
    }
    const std::string database = locations.state_directory + "/trainer.db";
    const bool was_left_open = runtime::WasLeftOpen(database);
    TrialStore::Options store_options;
    store_options.trace_of_use = [&] {
      const std::string job = runtime::FirstEntryIn(locations.state_directory + "/jobs");
      return job.empty() ? RunOfATrialIn(options.logdir) : job;
    };
    auto store = TrialStore::Open(database, store_options);
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
    std::error_code unknown;  // On error functions cannot start; their trials say so.
    // Checkpoint work has its own threads, so that large checkpoints do not delay calls.
    disk_threads_ = runtime::ThreadPool::Create(
        process->coordinator(),
        {.name = "disk", .threads = 2, .on_stop = runtime::ThreadPool::OnStop::kDrop});
    // The sync has its own thread: an unsynced write is lost if the power fails, so its sync must
    // not queue behind other work.
    sync_thread_ = runtime::ThreadPool::Create(
        process->coordinator(),
        {.name = "sync", .threads = 1, .on_stop = runtime::ThreadPool::OnStop::kDrop});
    if (was_left_open) RunOn(disk_threads_.get(), [this, database] { Check(database); });
    jobs_ = bus::MakeLauncherJobs(process->client(), process->loop(), process->clock());
    const auto background = [threads = disk_threads_.get()](std::function<void()> work) {
      RunOn(threads, std::move(work));
    };
    if (auto status = OpenAlerts(process, options.alerts, background); !status.ok()) return status;
    // Sweeps have their own thread, because a suggestion may take long and must not delay
    // checkpoints.
    sweep_thread_ = runtime::ThreadPool::Create(
        process->coordinator(),
        {.name = "sweep", .threads = 1, .on_stop = runtime::ThreadPool::OnStop::kDrop});
    auto sweeps = Sweeps::Open(
        {.loop = process->loop(),
         .clock = process->clock(),
         .store = store_.get(),
         .jobs = jobs_.get(),
         .lines = &lines_,
         .logdir = options.logdir,
         .relay = relay_path,
         .background = [thread = sweep_thread_.get()](
                           std::function<void()> work) { RunOn(thread, std::move(work)); },
         .on_event =
             [publisher = process->publisher()](msg::SweepEventT event) {
               const std::string topic = TopicOfTrial(event.sweep->id);
               Publish(publisher, topic, EnvelopeOf(std::move(event)));
             }});
    if (!sweeps.ok()) return sweeps.status();
    sweeps_ = *std::move(sweeps);
    auto trials = Trials::Open(
        {.loop = process->loop(),
         .clock = process->clock(),
         .store = store_.get(),
         .jobs = jobs_.get(),
         .logdir = options.logdir,
         .relay = relay_path,
         .hostname = HostName(),
         .slots = SlotsOf(options.slots),
         .min_free = options.min_free,
         .executable = std::filesystem::read_symlink("/proc/self/exe", unknown),
         .keep_trials = static_cast<std::size_t>(options.keep_trials),
         .background = background,
         .sync_background = [thread = sync_thread_.get()](
                                std::function<void()> work) { RunOn(thread, std::move(work)); },
         .spread_every = kSpreadEvery,
         .usage = [client = process->client(),
                   loop = process->loop()](auto done) { AskUsage(client, loop, std::move(done)); },
         .on_event =
             [this, publisher = process->publisher()](msg::TrialEventT event) {
               event.trial->unseen = alerts_->IsUnseen(event.trial->id);
               const std::string topic = TopicOfTrial(event.trial->id);
               Publish(publisher, topic, EnvelopeOf(std::move(event)));
             },
         .judge = sweeps_.get()});
    if (!trials.ok()) return trials.status();
    trials_ = *std::move(trials);
    lines_.SetTrials(trials_.get());
    auto relay =
        Relay::Listen({.loop = process->loop(), .receiver = &lines_, .socket_path = relay_path});
    if (!relay.ok()) return relay.status();
    relay_ = *std::move(relay);
    process->KeepSocket("ipc://" + relay_path, [this] { return relay_->ListenAgain(); });
    AddMethods(process->service(), process->loop(), trials_.get(), sweeps_.get(), alerts_.get(),
               alert_store_.get());
    AddAlertMethods(process->service(),
                    {.loop = process->loop(),
                     .clock = process->clock(),
                     .alerts = alert_store_.get(),
                     .find_trial = [this](const std::string& name) { return trials_->Find(name); },
                     .on_acknowledged =
                         [this](const std::vector<msg::AlertT>& changed) {
                           alerts_->OnAcknowledged(changed);
                         }});
    AddSweepMethods(process->service(), process->loop(), sweeps_.get());
    bus::AddBackupMethod(process->service(), store_->path());
    AddCounters(process);
    process->loop()->Post([this] {
      trials_->Resume();
      sweeps_->Resume(trials_.get());
      alerts_->Resume();
    });
    return absl::OkStatus();
  }

 private:
  absl::Status OpenAlerts(bus::ServiceProcess* process, const TrialRules::Settings& rules,
                          std::function<void(std::function<void()>)> background) {
    auto alert_store = bus::AlertStore::Open({.path = store_->path(), .owner = "trainer"});
    if (!alert_store.ok()) return alert_store.status();
    alert_store_ = *std::move(alert_store);
    TrialAlerts::Options options;
    options.loop = process->loop();
    options.clock = process->clock();
    options.store = store_.get();
    options.alerts = alert_store_.get();
    options.rules = rules;
    options.publish = [publisher = process->publisher(), store = alert_store_.get()](
                          const msg::AlertT& alert) { bus::PublishAlert(publisher, store, alert); };
    SetLauncherCalls(process->client(), jobs_.get(), process->loop(), &options);
    options.background = std::move(background);
    options.trial = [this](const std::string& id) { return trials_->Get(id); };
    options.environment = [this](const std::string& id) { return trials_->EnvironmentOf(id); };
    options.state_directory = process->locations().state_directory;
    alerts_ = std::make_unique<TrialAlerts>(std::move(options));
    store_->SetAlertSource(alerts_.get());
    return absl::OkStatus();
  }

  static void Publish(bus::Publisher* publisher, const std::string& topic,
                      msg::EnvelopeT envelope) {
    const absl::Status published = publisher->PublishEnvelope(topic, std::move(envelope));
    LOG_IF(WARNING, !published.ok()) << published;
  }

  using UsageReply = absl::StatusOr<msg::UsageReplyT>;
  static void AskUsage(bus::Client* client, runtime::EventLoop* loop,
                       std::function<void(UsageReply)> done) {
    client->Start<rpc::Launcher::Usage>({}, nullptr,
                                        [loop, done = std::move(done)](UsageReply reply) {
                                          auto kept =
                                              std::make_shared<UsageReply>(std::move(reply));
                                          loop->Post([done, kept] { done(std::move(*kept)); });
                                        },
                                        {.timeout = kUsagePatience});
  }

  // Drops the work at the end of the process. If the queue is full, runs the work on this thread.
  static void RunOn(runtime::ThreadPool* threads, std::function<void()> work) {
    const absl::Status queued = threads->Submit([work] {
      work();
      return absl::OkStatus();
    });
    if (absl::IsResourceExhausted(queued)) work();
  }

  // Reads the whole database, so it runs in the background.
  void Check(const std::string& database) {
    const std::string damage = runtime::DamageOf(database);
    damaged_ = !damage.empty();
    LOG_IF(ERROR, damaged_) << database << " is damaged: " << runtime::Printable(damage)
                            << ". The readable part of it is kept; restore a back-up for the rest";
  }

  void AddCounters(bus::ServiceProcess* process) {
    process->AddGauge("database_damaged", [this] { return std::uint64_t{damaged_}; });
    const Trials* const trials = trials_.get();
    const Relay* const relay = relay_.get();
    process->AddGauge("trials", [=] { return trials->GetStats().trials; });
    process->AddGauge("trials_live", [=] { return trials->GetStats().live; });
    process->AddGauge("trials_running", [=] { return trials->GetStats().running; });
    process->AddCounter("reports", [=] { return trials->GetStats().reports; });
    process->AddCounter("store_errors", [=] { return trials->GetStats().store_errors; });
    process->AddGauge("relay_connections", [=] { return relay->GetStats().connections; });
    process->AddCounter("relay_lines", [=] { return relay->GetStats().lines; });
    process->AddCounter("relay_transactions", [=] { return relay->GetStats().batches; });
    process->AddCounter("relay_refused", [=] { return relay->GetStats().refused; });
  }

  // Members are destroyed in reverse order, so each one follows the members that it uses.
  std::atomic<bool> damaged_{false};
  std::unique_ptr<TrialStore> store_;
  std::unique_ptr<runtime::ThreadPool> disk_threads_, sync_thread_, sweep_thread_;
  std::unique_ptr<bus::JobControl> jobs_;
  std::unique_ptr<bus::AlertStore> alert_store_;
  std::unique_ptr<TrialAlerts> alerts_;
  OptimiserLines lines_;
  std::unique_ptr<Sweeps> sweeps_;
  std::unique_ptr<Trials> trials_;
  std::unique_ptr<Relay> relay_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TrainerService>> TrainerService::Create(bus::ServiceProcess* process,
                                                                       Options options) {
  auto service = std::make_unique<TrainerServiceImpl>();
  if (auto status = service->Open(process, options); !status.ok()) return status;
  return service;
}

}  // namespace trainer
