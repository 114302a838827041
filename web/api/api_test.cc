#include "web/api/api.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/run_rows.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/envelope_generated.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "bus/wire/packed_numbers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/coordinator.h"
#include "runtime/mutex.h"
#include "runtime/thread_pool.h"
#include "web/api/series_format.h"
#include "web/http/message.h"
#include "web/session/sessions.h"
#include "web/testing/fake_services.h"
#include "web/views/saved_views.h"

namespace web {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kSomeTime = 1'700'000'000'000'000;

// A reply for a single answer, which can be awaited.
class OneReply : public Reply {
 public:
  ~OneReply() override {
    if (!sent_) promise_.set_value({.status = 500, .body = "not answered"});
  }
  void Send(Response response) override {
    sent_ = true;
    promise_.set_value(std::move(response));
  }
  void Begin(Response head) override { streamed_ = std::move(head); }
  void Write(std::string part) override { streamed_.body += part; }
  void End() override { Send(std::move(streamed_)); }
  std::size_t Waiting() const override { return 0; }
  bool IsGone() const override { return is_gone_; }
  void OnProgress(std::function<void()> progress) override {
    const runtime::MutexLock lock(mutex_);
    if (is_gone_) return progress();
    progress_ = std::move(progress);
  }
  void Leave() {
    const runtime::MutexLock lock(mutex_);
    is_gone_ = true;
    if (progress_) progress_();
  }

  std::future<Response> Answer() { return promise_.get_future(); }

 private:
  std::promise<Response> promise_;
  Response streamed_;
  bool sent_ = false;
  std::atomic<bool> is_gone_ = false;
  runtime::Mutex mutex_;
  std::function<void()> progress_ ABSL_GUARDED_BY(mutex_);
};

struct FakeSeries {
  std::string run, tag;
  std::vector<double> values;
};

// A yard with two runs: "base" of the failed trial t-abcde, and "sweep/a" of no trial.
class ApiTest : public testing::Test {
 protected:
  ApiTest() {
    char folder[] = "/tmp/api-XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    sessions_ = Sessions::Open({.file = folder_ + "/sessions"});
    views_ = SavedViews::Open(folder_ + "/views");
    ServeDatamanager();
    ServeTrainer();
    ServeSweeps();
    ServeLauncher();
    ServeAnnotate("trainer", "t-abcde");
    ServeAnnotate("datamanager", "copied");
  }
  ~ApiTest() override {
    pool_.reset();
    unlink((folder_ + "/sessions").c_str());
    unlink((folder_ + "/views").c_str());
    rmdir(folder_.c_str());
  }

  void Start() {
    services_.Start();
    pool_ = runtime::ThreadPool::Create(&coordinator_, {.threads = 2});
    api_ = std::make_unique<Api>(
        Api::Options{.client = &services_.client(),
                     .pool = pool_.get(),
                     .sessions = sessions_.get(),
                     .views = views_.get(),
                     .address = [this] { return address_; },
                     .open_stream =
                         [this](std::vector<std::string> topics, std::string last_id, auto) {
                           topics_ = std::move(topics);
                           last_id_ = std::move(last_id);
                         }});
  }

  Response Ask(const std::string& method, const std::string& target, const std::string& body = "",
               Door door = Door::kSocket, const std::string& token = "") {
    if (api_ == nullptr) Start();
    auto parsed = ParseTarget(target);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    Request request{.door = door,
                    .method = method,
                    .target = *parsed,
                    .headers = {{"host", "localhost:7710"}},
                    .body = body};
    if (method != "GET") request.headers.emplace_back("content-type", "application/json");
    if (!token.empty()) request.headers.emplace_back("authorization", "Bearer " + token);
    auto reply = std::make_shared<OneReply>();
    auto answer = reply->Answer();
    api_->Handle(std::move(request), std::move(reply));
    return answer.get();
  }
  json Get(const std::string& target) {
    const Response response = Ask("GET", "/api/v1/" + target);
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  }
  static std::vector<std::string> Names(const json& table) {
    std::vector<std::string> names;
    for (const json& row : table["rows"]) names.push_back(row["run"]);
    return names;
  }

  std::string folder_;
  FakeServices services_;
  std::vector<FakeSeries> series_ = {
      {"base", "loss", {3, 4, kNaN, 1}}, {"base", "acc", {0.5, 0.25}}, {"sweep/a", "loss", {0.5}}};
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<SavedViews> views_;
  std::string address_ = "http://127.0.0.1:7710/";
  std::vector<std::string> topics_;
  std::string last_id_;
  msg::SearchLogsRequestT search_;
  std::promise<void> has_begun_;
  std::promise<bool> cancelled_;
  int signal_ = 0;
  std::string told_;
  std::vector<std::string> changed_;
  msg::ImportanceRequestT compared_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<runtime::ThreadPool> pool_;

 private:
  // Imitates the data manager: returns the requested part of the sorted runs, at most one run at a
  // time.
  std::vector<std::unique_ptr<msg::RunT>> SortedPage(const msg::RunsRequestT& request) const {
    const bus::RunColumn by = bus::SortColumn(request.sort);
    msg::RunsRequestT of_key;
    bus::RequestColumns({&by, 1}, of_key);
    std::vector<bus::RunRow> rows;
    for (const char* name : {"base", "sweep/a"}) rows.push_back({.run = RunOf(name, of_key)});
    bus::SortRows(request.sort, rows);
    std::vector<std::unique_ptr<msg::RunT>> page;
    if (request.skip < rows.size()) page.push_back(RunOf(rows[request.skip].run->name, request));
    return page;
  }
  std::unique_ptr<msg::RunT> RunOf(const std::string& name,
                                   const msg::RunsRequestT& request) const {
    auto run = std::make_unique<msg::RunT>();
    run->name = name;
    run->update_us = kSomeTime;
    run->counted = true;
    run->points = 4;
    run->last_step = name == "base" ? 3 : 0;
    if (name == "base") run->trial = "t-abcde";
    const auto asked = [](const std::vector<std::string>& names, const std::string& one) {
      return std::find(names.begin(), names.end(), one) != names.end();
    };
    for (const FakeSeries& series : series_) {
      if (series.run != name || !asked(request.metrics, series.tag)) continue;
      auto& metric = run->metrics.emplace_back(std::make_unique<msg::MetricSummaryT>());
      metric->tag = series.tag;
      metric->last = series.values.back();
      metric->min = metric->max = kNaN;
      for (const double value : series.values) {
        metric->min = std::fmin(metric->min, value);
        metric->max = std::fmax(metric->max, value);
      }
    }
    if (name == "base" && asked(request.parameters, "lr")) {
      auto& parameter = run->parameters.emplace_back(std::make_unique<msg::KeyValueT>());
      parameter->key = "lr";
      parameter->value = "0.1";
    }
    return run;
  }

  void ServeDatamanager() {
    using rpc::Datamanager;
    bus::Service& service = services_.Add("datamanager");
    service.Handle<Datamanager::Runs>(
        [this](const bus::CallContext&,
               const msg::RunsRequestT& request) -> absl::StatusOr<msg::RunsReplyT> {
          if (request.query == "loss<") {
            return absl::InvalidArgumentError("query, column 6: expected a number behind <");
          }
          msg::RunsReplyT reply;
          reply.logdir = "/runs";
          reply.total = 2;
          if (!request.sort.empty()) {
            reply.runs = SortedPage(request);
            return reply;
          }
          // Pages have one run each.
          if (request.after.empty() && (request.run.empty() || request.run == "base")) {
            reply.runs.push_back(RunOf("base", request));
            if (request.run.empty() && request.query.empty()) reply.next = "base";
          } else if (request.run.empty() || request.run == "sweep/a") {
            reply.runs.push_back(RunOf("sweep/a", request));
          } else {
            return absl::NotFoundError(absl::StrCat("no run ", request.run));
          }
          return reply;
        });
    service.Handle<Datamanager::Importance>(
        [this](const bus::CallContext&, const msg::ImportanceRequestT& request) {
          compared_ = request;
          msg::ImportanceReplyT reply;
          reply.runs = 3;
          reply.counted = 2;
          reply.reason = request.maximize ? "they are few" : "";
          if (request.maximize) return reply;
          reply.importance.push_back(std::make_unique<msg::ParameterImportanceT>());
          reply.importance[0]->parameter = "lr";
          reply.importance[0]->importance = 1;
          return reply;
        });
    service.Handle<Datamanager::Tags>(
        [this](const bus::CallContext&, const msg::TagsRequestT& request) {
          msg::TagsReplyT reply;
          reply.run = request.run;
          for (const FakeSeries& series : series_) {
            if (series.run != request.run) continue;
            auto tag = std::make_unique<msg::TagT>();
            tag->name = series.tag;
            tag->data_class = msg::DataClass::Scalar;
            tag->points = series.values.size();
            tag->last = series.values.back();
            tag->not_finite = static_cast<std::uint64_t>(
                std::count_if(series.values.begin(), series.values.end(),
                              [](double value) { return !std::isfinite(value); }));
            reply.tags.push_back(std::move(tag));
          }
          return reply;
        });
    service.HandleAsync<Datamanager::ReadScalars>(
        [this](const auto& writer, const auto& request) { writer->Finish(Read(request)); });
    service.Handle<Datamanager::HParams>(
        [](const bus::CallContext&, const msg::HParamsRequestT& request) {
          msg::HParamsReplyT reply;
          const auto& runs = request.selection->runs;
          if (!runs.empty() && runs.front() != "base") return reply;
          auto hparams = std::make_unique<msg::RunHParamsT>();
          hparams->run = "base";
          auto rate = std::make_unique<msg::KeyValueT>();
          rate->key = "lr";
          rate->value = "0.1";
          hparams->hparams.push_back(std::move(rate));
          reply.runs.push_back(std::move(hparams));
          return reply;
        });
    service.Handle<Datamanager::Files>([](const bus::CallContext&, const auto&) {
      return absl::StatusOr<msg::FilesReplyT>(msg::FilesReplyT());
    });
    service.Handle<Datamanager::DataStatus>([](const bus::CallContext&, const auto&) {
      msg::DataStatusReplyT reply;
      reply.logdir = "/";
      reply.runs = 2;
      return reply;
    });
  }

  // Returns at most the requested number of columns, of equal width.
  msg::ReadScalarsReplyT Read(const msg::ReadScalarsRequestT& request) const {
    msg::ReadScalarsReplyT reply;
    for (const FakeSeries& series : series_) {
      const auto& [runs, tags] = std::tie(request.selection->runs, request.selection->tags);
      if (!runs.empty() && std::count(runs.begin(), runs.end(), series.run) == 0) continue;
      if (std::count(tags.begin(), tags.end(), series.tag) == 0) continue;
      auto some = std::make_unique<msg::ScalarsReplyT>();
      some->run = series.run;
      some->tag = series.tag;
      some->total_points = series.values.size();
      const std::size_t all = series.values.size();
      const std::size_t width =
          request.columns == 0 ? 1 : (all + request.columns - 1) / request.columns;
      for (std::size_t first = 0; first < all; first += width) {
        const std::size_t end = std::min(all, first + width);
        double min = kNaN, max = kNaN;
        std::uint32_t not_finite = 0;
        for (std::size_t i = first; i < end; ++i) {
          min = std::fmin(min, series.values[i]);
          max = std::fmax(max, series.values[i]);
          not_finite += std::isfinite(series.values[i]) ? 0 : 1;
        }
        some->steps.push_back(static_cast<std::int64_t>(first));
        some->wall_times.push_back(static_cast<double>(1000 + end));
        some->values.push_back(series.values[end - 1]);
        if (request.columns == 0) continue;
        some->last_steps.push_back(static_cast<std::int64_t>(end - 1));
        some->mins.push_back(min);
        some->maxs.push_back(max);
        some->not_finite.push_back(not_finite);
      }
      const auto& counts = some->not_finite;
      if (std::all_of(counts.begin(), counts.end(), [](auto count) { return count == 0; })) {
        some->not_finite.clear();
      }
      if (request.packed) Pack(*some);
      reply.series.push_back(std::move(some));
    }
    return reply;
  }

  static void Pack(msg::ScalarsReplyT& series) {
    series.packed = std::make_unique<msg::PackedColumnsT>();
    msg::PackedColumnsT& packed = *series.packed;
    packed.columns = static_cast<std::uint32_t>(series.steps.size());
    packed.first_steps = bus::PackSteps(std::exchange(series.steps, {}));
    packed.last_steps = bus::PackSteps(std::exchange(series.last_steps, {}));
    packed.wall_times = bus::PackNumbers(std::exchange(series.wall_times, {}));
    if (series.mins != series.values) packed.mins = bus::PackNumbers(series.mins);
    if (series.maxs != series.values) packed.maxs = bus::PackNumbers(series.maxs);
    series.mins.clear();
    series.maxs.clear();
    packed.lasts = bus::PackNumbers(std::exchange(series.values, {}));
    if (series.not_finite.empty()) return;
    packed.not_finite = bus::PackCounts(std::exchange(series.not_finite, {}));
  }

  static msg::TrialT TrialOf() {
    msg::TrialT trial;
    trial.id = "t-abcde";
    trial.name = "base";
    trial.state = msg::TrialState::Failed;
    trial.reason = "exit code 3";
    trial.job = "j-abcde";
    return trial;
  }

  void ServeTrainer() {
    using rpc::Trainer;
    bus::Service& service = services_.Add("trainer");
    service.Handle<Trainer::Trials>(
        [](const bus::CallContext&,
           const msg::TrialsRequestT& request) -> absl::StatusOr<msg::TrialsReplyT> {
          if (!request.trial.empty() && request.trial != "t-abcde") {
            return absl::NotFoundError(absl::StrCat("no trial ", request.trial));
          }
          msg::TrialsReplyT reply;
          reply.trials.push_back(std::make_unique<msg::TrialT>(TrialOf()));
          return reply;
        });
    service.Handle<Trainer::TrialDetails>(
        [](const bus::CallContext&,
           const msg::TrialDetailsRequestT& request) -> absl::StatusOr<msg::TrialDetailsReplyT> {
          if (request.trial != "t-abcde") return absl::NotFoundError("no such trial");
          msg::TrialDetailsReplyT reply;
          reply.trial = std::make_unique<msg::TrialT>(TrialOf());
          auto checkpoint = std::make_unique<msg::CheckpointT>();
          checkpoint->directory = "/runs/base/checkpoint_3";
          checkpoint->training_iteration = 3;
          reply.checkpoints.push_back(std::move(checkpoint));
          return reply;
        });
    service.Handle<Trainer::TellTrial>(
        [this](const bus::CallContext&, const msg::TellTrialRequestT& request) {
          told_ = request.event;
          msg::TellTrialReplyT reply;
          reply.number = 7;
          return reply;
        });
    service.Handle<Trainer::PauseTrial>(
        [](const bus::CallContext&,
           const msg::PauseTrialRequestT& request) -> absl::StatusOr<msg::PauseTrialReplyT> {
          if (request.trial != "t-abcde") return absl::NotFoundError("no such trial");
          return absl::FailedPreconditionError("trial t-abcde has ended");
        });
  }

  static std::unique_ptr<msg::SweepT> SweepOf(const std::string& id) {
    auto sweep = std::make_unique<msg::SweepT>();
    sweep->id = id;
    sweep->name = id == "s-abcde" ? "study" : "first";
    sweep->metric = "loss";
    sweep->trials = 2;
    sweep->best = std::make_unique<msg::SweepTrialT>();
    sweep->best->config = R"({"lr":0.1})";
    return sweep;
  }

  void ServeSweeps() {
    using rpc::Trainer;
    bus::Service& service = services_.Add("trainer");
    service.Handle<Trainer::Sweeps>([](const bus::CallContext&, const msg::SweepsRequestT&) {
      msg::SweepsReplyT reply;
      for (const char* id : {"s-aaaaa", "s-abcde"}) reply.sweeps.push_back(SweepOf(id));
      return reply;
    });
    service.Handle<Trainer::SweepDetails>(
        [](const bus::CallContext&,
           const msg::SweepDetailsRequestT& request) -> absl::StatusOr<msg::SweepDetailsReplyT> {
          if (request.sweep != "study") return absl::NotFoundError("no sweep is called so");
          msg::SweepDetailsReplyT reply;
          reply.sweep = SweepOf("s-abcde");
          reply.levels.push_back(std::make_unique<msg::SweepLevelT>());
          reply.levels[0]->has_cutoff = true;
          reply.levels[0]->cutoff = 0.5;
          reply.marginals.push_back(std::make_unique<msg::SweepMarginalT>());
          reply.marginals[0]->parameter = "opt";
          reply.marginals[0]->bins.push_back(std::make_unique<msg::SweepBinT>());
          reply.marginals[0]->bins[0]->value = "\"<b>\"";
          return reply;
        });
    service.Handle<Trainer::ChangeSweep>(
        [this](const bus::CallContext& context,
               const msg::ChangeSweepRequestT& request) -> absl::StatusOr<msg::ChangeSweepReplyT> {
          if (request.sweep != "study") return absl::NotFoundError("no sweep is called so");
          changed_.push_back(absl::StrCat(msg::EnumNameSweepOrder(request.order), " ",
                                          request.whether ? "yes " : "", request.config,
                                          context.request_id));
          msg::ChangeSweepReplyT reply;
          reply.sweep = SweepOf("s-abcde");
          return reply;
        });
  }

  // Knows only `known`: the data manager knows a run without a trial, the trainer a trial.
  void ServeAnnotate(const std::string& name, const std::string& known) {
    services_.Add(name).Handle<rpc::Common::Annotate>(
        [name, known](const bus::CallContext&,
                      const msg::AnnotateRequestT& request) -> absl::StatusOr<msg::AnnotateReplyT> {
          if (request.run != known) return absl::NotFoundError("no run " + request.run);
          msg::AnnotateReplyT reply;
          reply.run = name + " " + request.run;
          reply.labels = request.add_labels;
          reply.note = request.set_note ? "set to " + request.note : "";
          return reply;
        });
  }

  void ServeLauncher() {
    using rpc::Launcher;
    bus::Service& service = services_.Add("launcher");
    service.Handle<Launcher::Services>([](const bus::CallContext&, const auto&) {
      msg::ServicesReplyT reply;
      for (const char* name : {"trainer", "web"}) {
        auto kept = std::make_unique<msg::SupervisedServiceT>();
        kept->name = name;
        kept->restarts = 2;
        kept->reason = "cannot start";
        reply.services.push_back(std::move(kept));
      }
      return reply;
    });
    service.Handle<Launcher::Usage>([](const bus::CallContext&, const auto&) {
      msg::UsageReplyT reply;
      reply.cores = 2;
      reply.tasks.push_back(std::make_unique<msg::TaskUsageT>());
      reply.tasks[0]->task = "j-abcde/worker-0";
      reply.tasks[0]->rss_bytes = 7;
      reply.tasks[0]->gpus = {0};
      for (int i = 0; i < 2; ++i) {
        reply.gpus.push_back(std::make_unique<msg::GpuUsageT>());
        reply.gpus[i]->index = i;
        reply.gpus[i]->utilisation = reply.gpus[i]->temperature = reply.gpus[i]->power = NAN;
      }
      reply.gpus[0]->utilisation = 42;
      reply.gpus[0]->memory_total_bytes = 9;
      return reply;
    });
    service.Handle<Launcher::Jobs>(
        [](const bus::CallContext&,
           const msg::JobsRequestT& request) -> absl::StatusOr<msg::JobsReplyT> {
          if (!request.job.empty() && request.job != "j-abcde") {
            return absl::NotFoundError("no such job");
          }
          msg::JobsReplyT reply;
          auto job = std::make_unique<msg::JobT>();
          job->id = "j-abcde";
          job->created_us = kSomeTime;
          reply.jobs.push_back(std::move(job));
          if (!request.job.empty() || request.live_only) return reply;
          // Adds a newer, ended job.
          auto ended = std::make_unique<msg::JobT>();
          ended->id = "j-ended";
          ended->created_us = kSomeTime + 1;
          ended->state = msg::TaskState::Failed;
          ended->reason = absl::StrCat("one of ", request.newest_ended);
          reply.jobs.push_back(std::move(ended));
          return reply;
        });
    service.Handle<Launcher::SignalJob>(
        [this](const bus::CallContext&, const msg::SignalJobRequestT& request) {
          signal_ = request.signal;
          msg::SignalJobReplyT reply;
          if (request.job == "j-abcde") reply.tasks = {"j-abcde/worker-0"};
          return reply;
        });
    service.HandleAsync<Launcher::SearchLogs>([this](const auto& writer, const auto& request) {
      search_ = request;
      if (request.pattern == "forever") {
        // Keeps the writer and never answers.
        writer->OnCancel([this, writer] { cancelled_.set_value(true); });
        return has_begun_.set_value();
      }
      if (request.pattern == "(") {
        return writer->Finish(absl::InvalidArgumentError("pattern: missing )"));
      }
      msg::SearchLogsReplyT reply;
      if (request.pattern.empty()) return writer->Finish(std::move(reply));
      reply.lines.push_back(std::make_unique<msg::FoundLineT>());
      reply.lines[0]->task = "j-abcde/worker-0";
      reply.lines[0]->stream = msg::LogStream::Stderr;
      const std::string text = "loss nan \xff";
      reply.lines[0]->text.assign(text.begin(), text.end());
      reply.jobs.push_back(std::make_unique<msg::SearchedJobT>());
      reply.jobs[0]->id = "j-abcde";
      reply.jobs[0]->labels.push_back(std::make_unique<msg::KeyValueT>());
      reply.jobs[0]->labels[0]->key = "trial";
      reply.jobs[0]->labels[0]->value = "t-abcde";
      reply.next = "further on";
      reply.read_bytes = 17;
      writer->Finish(std::move(reply));
    });
    service.HandleAsync<Launcher::Logs>([](const auto& writer, const auto& request) {
      msg::LogsReplyT part;
      part.task = request.job + "/worker-0";
      const std::string text = "step 1\nloss nan\n\x1b[31mred\n";
      part.data.assign(text.begin(), text.end());
      (void)writer->SendPart(part);
      writer->Finish(msg::LogsReplyT());
    });
  }
};

TEST_F(ApiTest, RunsAreATableWithColumns) {
  const json table = Get("runs?cols=loss,min:loss,config.lr");
  EXPECT_THAT(Names(table), ElementsAre("base", "sweep/a"));
  EXPECT_EQ(table["total"], 2);
  EXPECT_EQ(table["match"], 2);
  const json& base = table["rows"][0];
  EXPECT_EQ(base["trial_state"], "failed");
  EXPECT_EQ(base["reason"], "exit code 3");
  EXPECT_EQ(base["cols"], (json{{"loss", 1.0}, {"min:loss", 1.0}, {"config.lr", 0.1}}));
  EXPECT_EQ(table["rows"][1]["trial_state"], nullptr);
  EXPECT_EQ(table["rows"][1]["cols"]["config.lr"], nullptr);
}

TEST_F(ApiTest, OutputOfAllTasksIsSearched) {
  const json found =
      Get("logs?grep=loss%20nan&job=j-abcde&job=other/worker-1&stderr=1&limit=7&cursor=there"
          "&since=2024-05-01T14:30:05Z");
  EXPECT_EQ(search_.pattern, "loss nan");
  EXPECT_THAT(search_.jobs, ElementsAre("j-abcde", "other/worker-1"));
  EXPECT_TRUE(search_.errors_only);
  EXPECT_EQ(search_.limit, 7u);
  EXPECT_EQ(search_.cursor, "there");
  EXPECT_EQ(search_.since_us, 1'714'573'805'000'000);
  ASSERT_EQ(found["lines"].size(), 1u);
  EXPECT_EQ(found["lines"][0]["task"], "j-abcde/worker-0");
  EXPECT_EQ(found["lines"][0]["stream"], "stderr");
  EXPECT_EQ(found["lines"][0]["text"], "loss nan \xEF\xBF\xBD");  // Contains an invalid byte.
  EXPECT_EQ(found["jobs"]["j-abcde"], (json{{"name", ""}, {"labels", {{"trial", "t-abcde"}}}}));
  EXPECT_EQ(found["next"], "further on");
  EXPECT_EQ(found["read_bytes"], 17);
  EXPECT_EQ(Get("logs")["next"], nullptr);
  EXPECT_EQ(Ask("GET", "/api/v1/logs?limit=2001").status, 400);
  EXPECT_EQ(Ask("GET", "/api/v1/logs?since=yesterday").status, 400);
  EXPECT_EQ(Ask("GET", "/api/v1/logs?grep=(").status, 400);
  EXPECT_EQ(Ask("GET", "/logs").status, 200);
}

TEST_F(ApiTest, WhoLeavesEndsTheSearch) {
  Start();
  auto target = ParseTarget("/api/v1/logs?grep=forever");
  ASSERT_TRUE(target.ok());
  auto reply = std::make_shared<OneReply>();
  auto answer = reply->Answer();
  api_->Handle({.door = Door::kSocket,
                .method = "GET",
                .target = *target,
                .headers = {{"host", "localhost:7710"}}},
               reply);
  has_begun_.get_future().wait();
  reply->Leave();
  EXPECT_TRUE(cancelled_.get_future().get());
  answer.wait();  // The end of the call needs the pool.
}

TEST_F(ApiTest, JobsAreListedTheNewestFirstAndOneByOne) {
  const json jobs = Get("jobs?ended=7")["jobs"];
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0]["id"], "j-ended");
  EXPECT_EQ(jobs[0]["reason"], "one of 7");
  EXPECT_EQ(jobs[1]["id"], "j-abcde");
  EXPECT_EQ(Get("jobs?ended=0")["jobs"].size(), 1u);
  EXPECT_EQ(Get("jobs/j-abcde")["id"], "j-abcde");
  EXPECT_EQ(Ask("GET", "/api/v1/jobs/j-other").status, 404);
  EXPECT_EQ(Ask("GET", "/api/v1/jobs?ended=many").status, 400);
  EXPECT_EQ(Ask("GET", "/processes").status, 200);
}

TEST_F(ApiTest, RunsAreSortedByAnyColumnAndComeInParts) {
  EXPECT_THAT(Names(Get("runs?sort=loss")), ElementsAre("sweep/a", "base"));
  EXPECT_THAT(Names(Get("runs?sort=-loss")), ElementsAre("base", "sweep/a"));
  EXPECT_THAT(Names(Get("runs?sort=-loss&cursor=1&limit=1")), ElementsAre("sweep/a"));
  EXPECT_THAT(Names(Get("runs?cursor=9")), ElementsAre());
}

TEST_F(ApiTest, AnErrorOfAQueryIsAProblem) {
  const Response response = Ask("GET", "/api/v1/runs?q=loss%3C");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.type, "application/problem+json");
  EXPECT_THAT(response.body, HasSubstr("query, column 6: expected a number behind <"));
  EXPECT_EQ(Ask("GET", "/api/v1/runs?limit=-1").status, 400);
  EXPECT_EQ(Ask("GET", "/api/v1/runs?limit=100000").status, 400);
}

TEST_F(ApiTest, ARunIsAllThatIsKnownOfIt) {
  for (const char* name : {"base", "t-abcde"}) {
    const json run = Get(absl::StrCat("runs/", name));
    EXPECT_EQ(run["run"], "base") << name;
    EXPECT_EQ(run["trial"]["reason"], "exit code 3");
    EXPECT_EQ(run["parameters"], json({{"lr", 0.1}}));
    EXPECT_EQ(run["checkpoints"][0]["training_iteration"], 3);
    EXPECT_EQ(run["job"]["id"], "j-abcde");
  }
  const json other = Get("runs/sweep%2Fa");
  EXPECT_EQ(other["run"], "sweep/a");
  EXPECT_EQ(other.count("trial"), 0U);
  EXPECT_EQ(Ask("GET", "/api/v1/runs/none").status, 404);
}

TEST_F(ApiTest, TagsHaveTheirSummaries) {
  const json tags = Get("runs/base/tags")["tags"];
  ASSERT_EQ(tags.size(), 2U);
  EXPECT_EQ(tags[0]["tag"], "loss");
  EXPECT_EQ(tags[0]["not_finite"], 1);
  EXPECT_EQ(tags[0]["scalar"], true);
}

// The JSON text of an answer with series; below, the doubles of one of its arrays.
json SeriesText(const std::string& body) {
  std::uint32_t length = 0;
  memcpy(&length, body.data() + 4, sizeof length);
  return json::parse(body.substr(8, length));
}
std::vector<double> Numbers(const std::string& body, const json& series, const char* name) {
  const json& place = series[name];
  std::vector<double> numbers(series["columns"].get<std::size_t>());
  const char* const at = body.data() + place["at"].get<std::size_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (place["type"] == "f64") {
      memcpy(&numbers[i], at + 8 * i, 8);
    } else if (place["type"] == "f32") {
      float number = 0;
      memcpy(&number, at + 4 * i, 4);
      numbers[i] = number;
    } else {
      std::uint32_t number = 0;
      memcpy(&number, at + 4 * i, 4);
      numbers[i] = number;
    }
  }
  return numbers;
}

TEST_F(ApiTest, SeriesAreColumnsWithAllThatIsInThem) {
  const Response response = Ask("POST", "/api/v1/series", R"({"sel":[["base","loss"]],"n":2})");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.type, kSeriesType);
  const json series = SeriesText(response.body)["series"][0];
  EXPECT_EQ(series["points"], 4);
  EXPECT_THAT(Numbers(response.body, series, "min"), ElementsAre(3, 1));
  EXPECT_FALSE(series.contains("max")) << "they are the last ones";
  EXPECT_THAT(Numbers(response.body, series, "last"), ElementsAre(4, 1));
  EXPECT_THAT(Numbers(response.body, series, "nan"), ElementsAre(0, 1));
  EXPECT_THAT(Numbers(response.body, series, "last_step"), ElementsAre(0, 2)) << "from the first";
  EXPECT_EQ(series["last_step"]["base"], "1");
}

TEST_F(ApiTest, SeriesOfManyRunsSayWhatIsNotFinite) {
  for (int i = 0; i < 100; ++i) series_.push_back({absl::StrCat(i), "many", {1, kNaN, 2}});
  const Response response = Ask("POST", "/api/v1/series", R"({"q":"","tag":"many","n":1})");
  const json text = SeriesText(response.body);
  ASSERT_EQ(text["series"].size(), 100u);
  for (const json& series : text["series"]) {
    EXPECT_THAT(Numbers(response.body, series, "nan"), ElementsAre(1));
  }
}

TEST_F(ApiTest, ASmoothedCurveComesFromAllPoints) {
  const Response response =
      Ask("POST", "/api/v1/series", R"({"sel":[["base","acc"]],"n":1,"smooth":0.5})");
  const json series = SeriesText(response.body)["series"][0];
  // The smoothed value is (0.5 * 0.5 * 0.5 + 0.5 * 0.25) / (1 - 0.25).
  EXPECT_DOUBLE_EQ(Numbers(response.body, series, "smooth")[0], 0.25 / 0.75);
}

TEST_F(ApiTest, AnotherMetricMayBeX) {
  const Response response =
      Ask("POST", "/api/v1/series", R"({"sel":[["base","loss"]],"n":4,"x":"acc"})");
  const json series = SeriesText(response.body)["series"][0];
  // The tag has points only at the first two steps.
  EXPECT_THAT(Numbers(response.body, series, "x"), ElementsAre(0.5, 0.25, 0.25, 0.25));
  const Response coarse =
      Ask("POST", "/api/v1/series", R"({"sel":[["base","loss"]],"n":2,"x":"acc"})");
  EXPECT_THAT(Numbers(coarse.body, SeriesText(coarse.body)["series"][0], "x"),
              ElementsAre(0.25, 0.25))
      << "where the column ends";
  const Response none =
      Ask("POST", "/api/v1/series", R"({"sel":[["sweep/a","loss"]],"n":4,"x":"acc"})");
  EXPECT_THAT(Numbers(none.body, SeriesText(none.body)["series"][0], "x"),
              ElementsAre(testing::IsNan()));
}

TEST_F(ApiTest, ATagOfAllRunsIsAskedForAtOnce) {
  const Response response = Ask("POST", "/api/v1/series", R"({"q":"","tag":"loss"})");
  const json series = SeriesText(response.body)["series"];
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series[0]["run"], "base");
  EXPECT_EQ(series[1]["run"], "sweep/a");
}

TEST_F(ApiTest, AWrongQuestionIsSaidToBe) {
  for (const char* body :
       {"", "[]", "{}", R"({"sel":5})", R"({"sel":[["a"]]})", R"({"tag":"a","n":0})",
        R"({"tag":"a","smooth":1})", R"({"tag":"a","x":1})", R"({"tag":"a","y":"loss"})",
        R"({"tag":"a","from":"1"})", R"({"sel":[["a","b"]],"tag":"a"})"}) {
    EXPECT_EQ(Ask("POST", "/api/v1/series", body).status, 400) << body;
  }
}

TEST_F(ApiTest, OutputIsThatOfTheRunsJob) {
  const json log = Get("runs/base/logs?grep=nan");
  EXPECT_EQ(log["job"], "j-abcde");
  EXPECT_EQ(log["found"], 1);
  EXPECT_EQ(log["lines"][0]["text"], "loss nan");
  EXPECT_EQ(Get("jobs/j-abcde/logs?limit=1")["lines"][0]["text"], "\x1b[31mred");
  const Response none = Ask("GET", "/api/v1/runs/sweep%2Fa/logs");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("no trial of this yard has written the run sweep/a"));
}

TEST_F(ApiTest, TheYardSaysWhoIsThereAndWhatHasFailed) {
  const json yard = Get("yard");
  std::map<std::string, json> services;
  for (const json& service : yard["services"]) services[service["name"]] = service;
  EXPECT_EQ(services["trainer"]["state"], "up");
  EXPECT_EQ(services["trainer"]["restarts"], 2);
  EXPECT_EQ(services["web"]["state"], "down") << "kept, and not registered";
  EXPECT_EQ(services["web"]["reason"], "cannot start");
  EXPECT_EQ(yard["failed"][0]["name"], "base");
  EXPECT_EQ(yard["failed"][0]["run"], "base");
  EXPECT_EQ(yard["live"].size(), 0U);
  EXPECT_GT(yard["disk"]["total"], 0);
  EXPECT_EQ(yard.count("missing"), 0U);
}

TEST_F(ApiTest, AlertsOfBothOwnersAreShownAndAcknowledged) {
  std::map<std::string, std::vector<msg::AcknowledgeAlertsRequestT>> asked;
  for (const std::string owner : {"trainer", "launcher"}) {
    bus::Service& service = services_.Add(owner);
    service.Handle<rpc::Common::Alerts>(
        [owner](const bus::CallContext&, const msg::AlertsRequestT& request) {
          EXPECT_TRUE(request.unacknowledged_only);
          msg::AlertsReplyT reply;
          reply.unacknowledged = 3;
          reply.alerts.push_back(std::make_unique<msg::AlertT>());
          reply.alerts[0]->id = "a-" + owner;
          reply.alerts[0]->lines = {"long"};
          reply.alerts[0]->time_us = owner == "trainer" ? 1 : 2;
          return reply;
        });
    service.Handle<rpc::Common::AcknowledgeAlerts>(
        [owner, &asked](const bus::CallContext&, const msg::AcknowledgeAlertsRequestT& request) {
          asked[owner].push_back(request);
          msg::AcknowledgeAlertsReplyT reply;
          reply.changed = 1;
          return reply;
        });
  }
  const json yard = Get("yard");
  EXPECT_EQ(yard["unacknowledged"], 6);
  EXPECT_EQ(yard["alerts"][0]["id"], "a-launcher") << "the newest first";
  EXPECT_EQ(yard["alerts"][1]["id"], "a-trainer");
  EXPECT_EQ(yard["alerts"][0].count("lines"), 0U);
  const auto act = [&](const std::string& what) {
    const Response response = Ask("POST", "/api/v1/" + what, "{}");
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body)["acknowledged"];
  };
  EXPECT_EQ(act("alerts/a-trainer/ack"), 2);
  EXPECT_THAT(asked["launcher"].back().alerts, ElementsAre("a-trainer"));
  EXPECT_EQ(act("alerts/all/ack"), 2);
  EXPECT_TRUE(asked["trainer"].back().all);
  EXPECT_EQ(act("trials/t-abcde/ack"), 1) << "trials are the trainer's";
  EXPECT_EQ(asked["trainer"].back().trial, "t-abcde");
}

TEST_F(ApiTest, UsageIsWhatTheLauncherMeasures) {
  const json usage = Get("usage");
  EXPECT_EQ(usage["cores"], 2);
  EXPECT_EQ(usage["tasks"][0]["rss_bytes"], 7);
  EXPECT_EQ(usage["tasks"][0]["read_bytes"], nullptr) << "not known";
  EXPECT_EQ(usage["gpus"][0]["utilization_percent"], 42);
  EXPECT_EQ(usage["gpus"][0]["memory_bytes"], 0);
  EXPECT_EQ(usage["gpus"][1]["utilization_percent"], nullptr);
  EXPECT_EQ(usage["gpus"][1]["memory_bytes"], nullptr);
}

TEST_F(ApiTest, ThroughThePortATokenIsNeeded) {
  EXPECT_EQ(Ask("GET", "/api/v1/runs", "", Door::kPort).status, 401);
  EXPECT_EQ(Ask("GET", "/api/v1/events?topic=yard", "", Door::kPort).status, 401);
  EXPECT_EQ(Ask("GET", "/api/v1/runs", "", Door::kPort, "wrong").status, 401);
  EXPECT_EQ(Ask("POST", "/api/v1/key", "{}", Door::kPort).status, 401);
  const json key = json::parse(Ask("POST", "/api/v1/key", "{}").body);
  EXPECT_EQ(key["address"], address_);
  const std::string swap = json({{"k", key["key"]}}).dump();
  const json session = json::parse(Ask("POST", "/api/v1/session", swap, Door::kPort).body);
  const std::string token = session["token"];
  EXPECT_EQ(Ask("GET", "/api/v1/runs", "", Door::kPort, token).status, 200);
  EXPECT_EQ(Ask("POST", "/api/v1/session", swap, Door::kPort).status, 403) << "it is good once";
  EXPECT_EQ(Ask("POST", "/api/v1/key", "{}", Door::kPort, token).status, 403);
}

TEST_F(ApiTest, WithoutAPortThereIsNoKey) {
  address_ = "";
  EXPECT_EQ(Ask("POST", "/api/v1/key", "{}").status, 409);
}

TEST_F(ApiTest, ThePageItselfIsForEverybody) {
  for (const char* path :
       {"/", "/runs?q=a", "/run/sweep%2Fa", "/sweeps", "/sweep/study", "/parameters", "/saved"}) {
    const Response response = Ask("GET", path, "", Door::kPort);
    EXPECT_EQ(response.type, "text/html; charset=utf-8") << path;
    EXPECT_THAT(response.body, StartsWith("<!doctype html>")) << path;
  }
  EXPECT_EQ(Ask("GET", "/page/main.js", "", Door::kPort).type, "text/javascript; charset=utf-8");
  EXPECT_EQ(Ask("GET", "/healthz", "", Door::kPort).body, "ok\n");
  for (const char* path : {"/page/none.js", "/page", "/favicon.ico", "/etc/passwd"}) {
    EXPECT_EQ(Ask("GET", path, "", Door::kPort).status, 404) << path;
  }
  EXPECT_EQ(Ask("POST", "/", "{}", Door::kSocket).status, 405);
}

TEST_F(ApiTest, ViewsAreSavedAndRemoved) {
  EXPECT_EQ(Get("views"), json({{"logdir", "/"}, {"views", json::array()}}));
  const std::string path = "/api/v1/views/the%20best/";
  EXPECT_EQ(Ask("POST", path + "set", R"({"address":"/runs?q=a"})").status, 200);
  EXPECT_EQ(Get("views")["views"][0]["name"], "the best");
  EXPECT_EQ(Get("views")["views"][0]["address"], "/runs?q=a");
  for (const char* body : {"{}", "[]", R"({"address":7})", R"({"address":"//evil.example"})"}) {
    EXPECT_EQ(Ask("POST", path + "set", body).status, 400) << body;
  }
  EXPECT_EQ(Ask("POST", path + "explode", "{}").status, 404);
  EXPECT_EQ(Ask("POST", path + "rm", "{}", Door::kPort).status, 401);
  EXPECT_EQ(Ask("POST", path + "rm", "{}").status, 200);
  EXPECT_EQ(Ask("POST", path + "rm", "{}").status, 404);
}

TEST_F(ApiTest, AnActionIsTheCallOfItsVerb) {
  const Response refused = Ask("POST", "/api/v1/trials/t-abcde/pause", "{}");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("trial t-abcde has ended"));
  EXPECT_EQ(Ask("POST", "/api/v1/trials/t-abcde/explode", "{}").status, 400);
  EXPECT_EQ(Ask("POST", "/api/v1/services/trainer/stop", "{}").status, 400);
  EXPECT_EQ(Ask("POST", "/api/v1/trials/t-abcde/pause", "[]").status, 400);
  EXPECT_EQ(Ask("GET", "/api/v1/trials/t-abcde/pause").status, 404);
  EXPECT_EQ(Ask("DELETE", "/api/v1/trials/t-abcde", "{}").status, 405);
}

TEST_F(ApiTest, AJobIsSentASignalAndATrialIsTold) {
  const Response sent = Ask("POST", "/api/v1/jobs/j-abcde/signal", R"({"signal":10})");
  EXPECT_EQ(json::parse(sent.body), json({{"tasks", {"j-abcde/worker-0"}}}));
  EXPECT_EQ(signal_, 10);
  const Response told =
      Ask("POST", "/api/v1/trials/t-abcde/tell", R"({"event":{"lr":0.1}, "request_id":"a"})");
  EXPECT_EQ(json::parse(told.body), json({{"number", 7}}));
  EXPECT_EQ(told_, R"({"lr":0.1})");
  for (const char* body : {"{}", R"({"signal":"TERM"})", R"({"signal":-1})", R"({"signal":65})"}) {
    EXPECT_EQ(Ask("POST", "/api/v1/jobs/j-abcde/signal", body).status, 400) << body;
  }
  EXPECT_EQ(Ask("POST", "/api/v1/jobs/j-none/signal", R"({"signal":10})").status, 409);
  EXPECT_EQ(Ask("POST", "/api/v1/trials/t-abcde/tell", "{}").status, 400);
}

TEST_F(ApiTest, EveryPointIsExported) {
  EXPECT_EQ(
      Ask("GET", "/api/v1/export?tag=loss&run=base").body,
      "run,tag,step,wall_time,value\r\n"
      "base,loss,0,1001,3\r\nbase,loss,1,1002,4\r\nbase,loss,2,1003,nan\r\nbase,loss,3,1004,1\r\n");
  EXPECT_EQ(Ask("GET", "/api/v1/export?tag=acc&format=jsonl").body,
            "{\"run\":\"base\",\"tag\":\"acc\",\"step\":0,\"wall_time\":1001,\"value\":0.5}\n"
            "{\"run\":\"base\",\"tag\":\"acc\",\"step\":1,\"wall_time\":1002,\"value\":0.25}\n");
  const std::string body = Ask("GET", "/api/v1/export?tag=acc&format=columns").body;
  const std::string text = R"({"run":"base","tag":"acc"})";
  ASSERT_EQ(body.substr(16, text.size()), text);
  const auto number = [&body](std::size_t at) {
    std::uint32_t value = 0;
    memcpy(&value, body.data() + at, sizeof value);
    return value;
  };
  EXPECT_EQ(body.substr(0, 8), std::string("YSC1\0\0\0\0", 8));
  EXPECT_EQ(number(8), 32U) << "with spaces";
  EXPECT_EQ(number(12), 2U);
  std::vector<std::int64_t> steps(2);
  std::vector<double> numbers(4);
  ASSERT_EQ(body.size(), 48U + 16 + 32 + 8);
  memcpy(steps.data(), body.data() + 48, 16);
  memcpy(numbers.data(), body.data() + 64, 32);
  EXPECT_THAT(steps, ElementsAre(0, 1));
  EXPECT_THAT(numbers, ElementsAre(1001, 1002, 0.5, 0.25));
  EXPECT_EQ(body.substr(96), std::string(8, 0)) << "nothing was cut off";
  for (const char* query : {"format=xls", "from=1.5", "to=", "n=1"}) {
    EXPECT_EQ(Ask("GET", absl::StrCat("/api/v1/export?", query)).status, 400) << query;
  }
  EXPECT_EQ(Ask("POST", "/api/v1/export", "{}").status, 405);
}

TEST_F(ApiTest, WhatPeopleSayIsSetByWhomeverHasTheRun) {
  const auto set = [&](const std::string& path, const std::string& body) {
    const Response response = Ask("POST", "/api/v1/" + path + "/set", body);
    return absl::StrCat(response.status, " ", response.body);
  };
  EXPECT_EQ(set("runs/copied", R"({"add_labels": ["best"]})"),
            "200 {\"display_name\":null,\"labels\":[\"best\"],\"note\":null,\"run\":"
            "\"datamanager copied\"}\n");
  EXPECT_THAT(set("runs/t-abcde", R"({"note": ""})"), HasSubstr("\"trainer t-abcde\""))
      << "it has no run yet";
  EXPECT_THAT(set("trials/t-abcde", R"({"note": "x"})"), HasSubstr("\"note\":\"set to x\""));
  EXPECT_THAT(set("runs/nobody", "{}"), HasSubstr("404"));
  EXPECT_THAT(set("jobs/j-abcde", "{}"), HasSubstr("400"));
  for (const char* body : {R"({"note": 1})", R"({"add_labels": "best"})",
                           R"({"remove_labels": [1]})", R"({"display_name": {}})"}) {
    EXPECT_THAT(set("runs/copied", body), HasSubstr("is of another type")) << body;
  }
}

TEST_F(ApiTest, SweepsAreListedWithTheNewestFirst) {
  const json sweeps = Get("sweeps")["sweeps"];
  ASSERT_EQ(sweeps.size(), 2U);
  EXPECT_EQ(sweeps[0]["id"], "s-abcde");
  EXPECT_EQ(sweeps[0]["best"]["config"], json({{"lr", 0.1}}));
  const json sweep = Get("sweeps/study");
  EXPECT_EQ(sweep["id"], "s-abcde");
  EXPECT_EQ(sweep["levels"][0]["cutoff"], 0.5);
  EXPECT_EQ(sweep["marginals"][0]["bins"][0]["value"], "<b>");
  EXPECT_EQ(Ask("GET", "/api/v1/sweeps/none").status, 404);
  EXPECT_EQ(Ask("POST", "/api/v1/sweeps", "{}").status, 405);
}

TEST_F(ApiTest, ASweepIsChanged) {
  for (const char* path : {"stop", "pause", "resume", "rm"}) {
    EXPECT_EQ(Ask("POST", absl::StrCat("/api/v1/sweeps/study/", path), "{}").status, 200) << path;
  }
  const std::string body = R"({"drain":true,"failed":true,"config":{"lr":1},"request_id":"a"})";
  for (const char* path : {"pause", "resume", "enqueue"}) {
    EXPECT_EQ(Ask("POST", absl::StrCat("/api/v1/sweeps/study/", path), body).status, 200) << path;
  }
  for (std::size_t i = 0; i < 4 && i < changed_.size(); ++i) {
    changed_[i].resize(changed_[i].find(' '));  // Its request id is unique.
  }
  EXPECT_THAT(changed_, ElementsAre("Stop", "Pause", "Resume", "Remove", "Pause yes a",
                                    "Resume yes a", "Enqueue {\"lr\":1}a"));
  EXPECT_EQ(Ask("POST", "/api/v1/sweeps/study/explode", "{}").status, 400);
  EXPECT_EQ(Ask("POST", "/api/v1/sweeps/study/enqueue", R"({"config":[]})").status, 400);
  EXPECT_EQ(Ask("POST", "/api/v1/sweeps/none/stop", "{}").status, 404);
}

TEST_F(ApiTest, ImportanceIsThatOfAnyRuns) {
  const Response answer = Ask("POST", "/api/v1/importance",
                              R"({"value":"min:loss","runs":["0001","0002"],"prefix":"study-"})");
  EXPECT_EQ(json::parse(answer.body),
            (json{{"importance", {{{"parameter", "lr"}, {"importance", 1.0}}}},
                  {"reason", nullptr},
                  {"runs", 3},
                  {"counted", 2}}));
  EXPECT_EQ(compared_.value, "min:loss");
  EXPECT_THAT(compared_.selection->runs, ElementsAre("study-0001", "study-0002"));
  const Response none =
      Ask("POST", "/api/v1/importance", R"({"value":"acc","goal":"maximize","q":"label:best"})");
  EXPECT_EQ(json::parse(none.body)["reason"], "they are few");
  EXPECT_EQ(compared_.selection->query, "label:best");
  for (const char* body :
       {"", "[]", R"({"value":1})", R"({"value":"a","runs":[]})", R"({"value":"a","runs":[1]})",
        R"({"value":"a","goal":"up"})", R"({"value":"a","tag":"b"})"}) {
    EXPECT_EQ(Ask("POST", "/api/v1/importance", body).status, 400) << body;
  }
  EXPECT_EQ(Ask("GET", "/api/v1/importance").status, 404);
}

TEST_F(ApiTest, AStreamHasTopics) {
  EXPECT_EQ(Ask("GET", "/api/v1/events").status, 400);
  EXPECT_EQ(Ask("GET", "/api/v1/events?topic=e/all").status, 400);
  EXPECT_EQ(Ask("POST", "/api/v1/events?topic=yard", "{}").status, 405);
  (void)Ask("GET", "/api/v1/events?topic=yard&topic=run:sweep/a");
  EXPECT_THAT(topics_, ElementsAre("yard", "run:sweep/a"));
}

TEST_F(ApiTest, AnyBytesGetAnAnswer) {
  for (const char* path : {"/api/v1/runs/%ff", "/api/v1/runs/a/b/c/d", "/api/v1", "/api/v1/x",
                           "/api/v2/runs", "/api/v1/runs/%3Cscript%3E"}) {
    if (!ParseTarget(path).ok()) continue;
    EXPECT_EQ(Ask("GET", path).status, 404) << path;
  }
}

TEST(ApiWithoutServicesTest, WhatIsMissingIsNamed) {
  FakeServices services;
  services.Start();
  runtime::Coordinator coordinator;
  std::unique_ptr<Sessions> sessions = Sessions::Open({.file = "/nonexistent/sessions"});
  std::unique_ptr<Api> api;
  const auto pool = runtime::ThreadPool::Create(&coordinator, {.threads = 1});
  api = std::make_unique<Api>(
      Api::Options{.client = &services.client(), .pool = pool.get(), .sessions = sessions.get()});
  auto reply = std::make_shared<OneReply>();
  auto answer = reply->Answer();
  api->Handle({.door = Door::kSocket, .method = "GET", .target = *ParseTarget("/api/v1/yard")},
              std::move(reply));
  const json yard = json::parse(answer.get().body);
  EXPECT_EQ(yard["missing"], json({"launcher", "trainer", "datamanager"}));
  EXPECT_EQ(yard["services"][0]["name"], "registry");
}

}  // namespace
}  // namespace web
