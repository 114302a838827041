// The trainer's methods and its calls to the launcher, over real sockets, with a registry and a
// fake launcher.

#include "bus/call/service.h"

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/fixtures/record_conformance.h"
#include "bus/launcher_client/launcher_jobs.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/envelope_generated.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/schema/trainer_methods.h"
#include "bus/thread/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/mutex.h"
#include "runtime/thread_pool.h"
#include "trainer/attempt/relay.h"
#include "trainer/report/line_receiver.h"
#include "trainer/store/trial_store.h"
#include "trainer/sweep/sweep_message.h"
#include "trainer/sweep/sweeps.h"
#include "trainer/sweep_methods.h"
#include "trainer/table/trials.h"
#include "trainer/testing/loop_thread.h"
#include "trainer/testing/relay_client.h"
#include "trainer/trial_methods.h"
#include "trainer/trial_topics.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() : loop_(runtime::Clock::Real()) {
    char name[] = "/tmp/sv-XXXXXX";
    directory_ = mkdtemp(name);
    locations_.runtime_directory = locations_.state_directory = directory_;
    locations_.registry_address = Address("registry");
    trainer_node_ = MakeNode("trainer");
    peer_node_ = MakeNode("peers");
    pool_ = runtime::ThreadPool::Create(&coordinator_, {.threads = 4});
    ServeRegistry();
    ServeLauncher();
    ServeTrainer();
    client_ = std::make_unique<bus::Client>(peer_node_.get());
  }
  ~ServiceTest() override {
    (void)coordinator_.RequestStop();
    service_.reset();
    launcher_.reset();
    registry_.reset();
    loop_.Stop();
    relay_.reset();
    trials_.reset();
    sweeps_.reset();
    jobs_.reset();
    trainer_client_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string Address(const std::string& name) const {
    return absl::StrCat("ipc://", directory_, "/", name);
  }
  std::unique_ptr<bus::Node> MakeNode(const std::string& name) {
    auto node = bus::Node::Create({.name = name, .locations = locations_});
    EXPECT_TRUE(node.ok()) << node.status();
    return *std::move(node);
  }
  std::unique_ptr<bus::Service> MakeService(bus::Node* node, const std::string& name) {
    return std::make_unique<bus::Service>(
        node, bus::Service::Options{.name = name, .endpoint = Address(name), .pool = pool_.get()});
  }

  void ServeRegistry() {
    registry_ = MakeService(peer_node_.get(), "registry");
    registry_->Handle<rpc::Registry::Lookup>(
        [this](const bus::CallContext&, const msg::LookupRequestT& request) {
          msg::LookupReplyT reply;
          auto lease = std::make_unique<msg::LeaseT>();
          lease->name = request.name;
          lease->endpoints.push_back(Address(request.name));
          lease->nonce = 1;
          lease->state = msg::LeaseState::Up;
          reply.leases.push_back(std::move(lease));
          return reply;
        });
    ASSERT_TRUE(registry_->Start().ok());
  }

  // Refuses the first launch, as a launcher that is shutting down does.
  void ServeLauncher() {
    launcher_ = MakeService(peer_node_.get(), "launcher");
    launcher_->Handle<rpc::Launcher::Launch>(
        [this](const bus::CallContext& context,
               const msg::LaunchRequestT& request) -> absl::StatusOr<msg::LaunchReplyT> {
          runtime::MutexLock lock(mutex_);
          launches_.push_back(context.request_id);
          traces_.push_back(context.trace);
          if (launches_.size() == 1) return absl::UnavailableError("stopping");
          if (!refusal_.ok()) return std::exchange(refusal_, absl::OkStatus());
          msg::LaunchReplyT reply;
          reply.job = std::make_unique<msg::JobT>();
          reply.job->id = JobOf(*request.spec);
          jobs_at_launcher_[reply.job->id].nonce = request.spec->report_channel->nonce;
          return reply;
        });
    launcher_->HandleAsync<rpc::Launcher::WaitJob>(
        [this](std::shared_ptr<bus::ReplyWriter<rpc::Launcher::WaitJob>> writer,
               const msg::WaitJobRequestT& request) {
          runtime::MutexLock lock(mutex_);
          // Drops unanswered waits, as a launcher that stops does.
          if (drops_waits_ > 0 && drops_waits_-- > 0) return;
          jobs_at_launcher_[request.job].waiter = std::move(writer);
          changed_.SignalAll();
        });
    ASSERT_TRUE(launcher_->Start().ok());
  }

  // Returns "j-NAME" with the trial's name.
  static std::string JobOf(const msg::JobSpecT& spec) {
    for (const auto& label : spec.labels) {
      if (label->key == "trial_name") return "j-" + label->value;
    }
    return "";
  }

  void ServeTrainer() {
    trainer_client_ = std::make_unique<bus::Client>(trainer_node_.get());
    store_ = *TrialStore::Open(directory_ + "/trainer.db");
    jobs_ = bus::MakeLauncherJobs(trainer_client_.get(), loop_.loop());
    sweeps_ = *Sweeps::Open({.loop = loop_.loop(),
                             .store = store_.get(),
                             .logdir = directory_ + "/runs",
                             .on_event = [this](msg::SweepEventT event) {
                               const std::string topic = TopicOfTrial(event.sweep->id);
                               published_[topic].push_back(EnvelopeOf(std::move(event)));
                             }});
    trials_ = *Trials::Open({.loop = loop_.loop(),
                             .store = store_.get(),
                             .jobs = jobs_.get(),
                             .logdir = directory_ + "/runs",
                             .relay = directory_ + "/relay",
                             .hostname = "host",
                             .slots = 4,
                             .on_event = [this](msg::TrialEventT event) { Hear(std::move(event)); },
                             .judge = sweeps_.get()});
    loop_.Call([&] {
      sweeps_->Resume(trials_.get());
      relay_ = *Relay::Listen(
          {.loop = loop_.loop(), .receiver = trials_.get(), .socket_path = directory_ + "/relay"});
    });
    service_ = MakeService(trainer_node_.get(), "trainer");
    AddMethods(service_.get(), loop_.loop(), trials_.get(), sweeps_.get());
    AddSweepMethods(service_.get(), loop_.loop(), sweeps_.get());
    ASSERT_TRUE(service_->Start().ok());
  }

  // Called on the loop's thread.
  void Hear(msg::TrialEventT event) {
    const std::string id = event.trial->id;
    if (event.row != nullptr) {
      const auto rows = trials_->RowsAfter(id, static_cast<std::int64_t>(event.row->row) - 1);
      EXPECT_TRUE(rows.ok() && !rows->empty()) << "published before it can be read";
    }
    published_[TopicOfTrial(id)].push_back(EnvelopeOf(std::move(event)));
  }

  // Returns the nonce of the trial's job, once the trainer waits for the job's end.
  std::string AwaitJob(const std::string& name) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    runtime::MutexLock lock(mutex_);
    const auto& job = jobs_at_launcher_["j-" + name];
    while (job.waiter == nullptr && absl::Now() < deadline) {
      changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
    }
    EXPECT_NE(job.waiter, nullptr);
    return job.nonce;
  }
  void EndJob(const std::string& name) {
    runtime::MutexLock lock(mutex_);
    msg::WaitJobReplyT reply;
    reply.job = std::make_unique<msg::JobT>();
    reply.job->state = msg::TaskState::Exited;
    jobs_at_launcher_["j-" + name].waiter->Finish(std::move(reply));
  }

  // Returns the trial once it has ended.
  msg::TrialT End(const std::string& name) {
    msg::FollowTrialRequestT follow;
    follow.trial = name;
    const auto end = client_->Stream<rpc::Trainer::FollowTrial>(
        follow, [](const msg::FollowTrialReplyT&) { return true; });
    EXPECT_TRUE(end.ok()) << end.status();
    return end.ok() ? *end->trial : msg::TrialT();
  }

  // Runs a trial and returns its topic.
  std::string Run(const std::string& name, const std::string& argument = "") {
    msg::RunTrialRequestT run;
    run.name = name;
    run.argv = {"prog", argument};
    run.working_directory = "/";
    const auto reply = client_->Call<rpc::Trainer::RunTrial>(run, {.request_id = "r-" + name});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? TopicOfTrial(reply->trial->id) : "";
  }
  // Sends `rows` reports of `bytes` bytes of metrics each, as lines that arrive together.
  void Report(const std::string& name, int rows, std::size_t bytes) {
    const std::string nonce = AwaitJob(name);
    loop_.Call([&] {
      const auto attempt = trials_->Greet(nonce);
      ASSERT_TRUE(attempt.ok()) << attempt.status();
      std::vector<RelayedLine> lines;
      for (int i = 1; i <= rows; ++i) {
        const std::string text =
            absl::StrCat(R"({"t":"report","m":{"a":")", std::string(bytes, 'x'), "\"}}");
        lines.push_back({*attempt, i, text, false});
      }
      lines.push_back({*attempt, rows, "", true});
      for (const auto& answer : trials_->Receive(lines)) EXPECT_TRUE(answer.ok());
    });
  }

  static void AddPlace(msg::SinceRequestT& request, const std::string& topic,
                       std::uint64_t position, std::uint64_t lane = 0) {
    auto place = std::make_unique<msg::PlaceT>();
    place->topic = topic;
    place->lane = lane;
    place->position = position;
    request.places.push_back(std::move(place));
  }
  absl::StatusOr<msg::SinceReplyT> Since(const msg::SinceRequestT& request) {
    return client_->Call<rpc::Common::Since>(request, {.service = "trainer"});
  }
  // Returns "TOPIC (from, to] row state" for each event.
  static std::vector<std::string> Words(const msg::SinceReplyT& reply) {
    std::vector<std::string> words;
    for (const auto& recorded : reply.events) {
      const auto event = msg::UnPackEnvelope(recorded->envelope.data());
      const msg::TrialEventT& body = *event->body.AsTrialEvent();
      std::string row, state;
      if (body.row != nullptr) row = absl::StrCat(" row ", body.row->row);
      if (body.trial != nullptr) {
        EXPECT_EQ(TopicOfTrial(body.trial->id), recorded->topic);
        state = absl::StrCat(" ", msg::EnumNameTrialState(body.trial->state));
      }
      words.push_back(absl::StrCat(recorded->topic, " (", event->span->from(), ", ",
                                   event->span->to(), "]", row, state));
    }
    return words;
  }

  std::string directory_;
  runtime::Locations locations_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<bus::Node> trainer_node_, peer_node_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<bus::Client> client_, trainer_client_;
  std::unique_ptr<bus::Service> registry_, launcher_, service_;
  LoopThread loop_;
  std::unique_ptr<TrialStore> store_;
  std::unique_ptr<bus::JobControl> jobs_;
  std::unique_ptr<Sweeps> sweeps_;
  std::unique_ptr<Trials> trials_;
  std::unique_ptr<Relay> relay_;

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<std::string> launches_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);  // Answer to the second launch.
  int drops_waits_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> traces_ ABSL_GUARDED_BY(mutex_);  // Trace ids of launches and stops.
  struct Job {
    std::string nonce;
    std::shared_ptr<bus::ReplyWriter<rpc::Launcher::WaitJob>> waiter;
  };
  std::map<std::string, Job> jobs_at_launcher_ ABSL_GUARDED_BY(mutex_);  // By id.
  // By topic; used on the loop's thread.
  std::map<std::string, std::vector<msg::EnvelopeT>> published_;
};

TEST_F(ServiceTest, ATrialFromTheCallToItsEnd) {
  msg::RunTrialRequestT run;
  run.name = "first";
  run.argv.emplace_back("prog");
  run.working_directory = "/";
  run.environment = {"LR=0.1", "HF_TOKEN=word"};
  const auto started =
      client_->Call<rpc::Trainer::RunTrial>(run, {.request_id = "r1", .trace = "from-the-command"});
  ASSERT_TRUE(started.ok()) << started.status();
  const auto again = client_->Call<rpc::Trainer::RunTrial>(run, {.request_id = "r1"});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->trial->id, started->trial->id);

  RelayClient shim(directory_ + "/relay");
  ASSERT_TRUE(shim.Send("YARD1 " + AwaitJob("first") + "\n1 {\"t\":\"report\",\"m\":{\"a\":1}}\n"));
  EXPECT_EQ(shim.Line(), "OK");
  EXPECT_EQ(shim.Line(), R"(1 {"t":"ok","events":[]})");

  msg::TrialDetailsRequestT about;
  about.trial = "first";
  const auto details = client_->Call<rpc::Trainer::TrialDetails>(about);
  ASSERT_TRUE(details.ok()) << details.status();
  EXPECT_EQ(details->trial->id, started->trial->id);
  EXPECT_EQ(details->config, "{}");
  ASSERT_EQ(details->statistics.size(), 1u);
  EXPECT_EQ(details->statistics[0]->name, "a");
  EXPECT_TRUE(details->environment.empty());
  EXPECT_TRUE(details->log.empty());
  about.environment = msg::EnvironmentView::Values;
  EXPECT_THAT(client_->Call<rpc::Trainer::TrialDetails>(about)->environment,
              testing::ElementsAre("HF_TOKEN=(hidden)", "LR=0.1"));
  about.trial = "nosuch";
  EXPECT_EQ(client_->Call<rpc::Trainer::TrialDetails>(about).status().code(),
            absl::StatusCode::kNotFound);

  std::vector<std::uint64_t> rows;
  msg::FollowTrialRequestT follow;
  follow.trial = "first";
  const auto end =
      client_->Stream<rpc::Trainer::FollowTrial>(follow, [&](const msg::FollowTrialReplyT& part) {
        for (const auto& row : part.rows) rows.push_back(row->row);
        if (rows.size() == 1) shim.Send("2 {\"t\":\"report\",\"m\":{\"a\":2}}\n");
        if (rows.size() == 2) {
          shim.Send("END 2\n");
          EndJob("first");
        }
        return true;
      });
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_THAT(rows, ElementsAre(1, 2));
  EXPECT_EQ(end->trial->state, msg::TrialState::Done);
  runtime::MutexLock lock(mutex_);
  ASSERT_EQ(launches_.size(), 2u);
  EXPECT_EQ(launches_[0], launches_[1]) << "a launch that was not answered is the same request";
  EXPECT_THAT(traces_, ElementsAre("from-the-command", "from-the-command"));
}

TEST_F(ServiceTest, WhatAProgramSaysToItsLogIsReadWithTheDetails) {
  Run("a");
  RelayClient shim(directory_ + "/relay");
  ASSERT_TRUE(shim.Send("YARD1 " + AwaitJob("a") +
                        "\n1 {\"t\":\"log\",\"text\":\"one\"}"
                        "\n2 {\"t\":\"log\",\"text\":\"two\\nlines\"}"
                        "\n3 {\"t\":\"log\",\"text\":\"three\"}\n"));
  for (const char* answer : {"OK", "1", "2", "3"}) EXPECT_EQ(shim.Line(), answer);
  msg::TrialDetailsRequestT about;
  about.trial = "a";
  const auto log = [&](std::uint32_t lines) {
    about.log_lines = lines;
    const auto details = client_->Call<rpc::Trainer::TrialDetails>(about);
    EXPECT_TRUE(details.ok()) << details.status();
    std::vector<std::string> texts;
    for (const auto& line : details->log) {
      EXPECT_GE(line->time_us, details->trial->created_us);
      texts.push_back(line->text);
    }
    return texts;
  };
  EXPECT_THAT(log(2), ElementsAre("two\nlines", "three"));
  EXPECT_THAT(log(std::numeric_limits<std::uint32_t>::max()),
              ElementsAre("one", "two\nlines", "three"));
  EXPECT_THAT(log(0), ElementsAre());
  shim.Send("END 3\n");
  EndJob("a");
  End("a");
  EXPECT_THAT(log(1), ElementsAre("three")) << "it stays";
}

TEST_F(ServiceTest, ACallThatAStoppingLauncherDidNotAnswerFailsNoTrial) {
  {
    runtime::MutexLock lock(mutex_);
    refusal_ = absl::InternalError("Launch was not answered");
    drops_waits_ = 1;
  }
  Run("a");
  Report("a", 1, 1);
  EndJob("a");
  EXPECT_EQ(End("a").state, msg::TrialState::Done);
  runtime::MutexLock lock(mutex_);
  EXPECT_EQ(launches_.size(), 3u);
  EXPECT_EQ(drops_waits_, 0);
}

TEST_F(ServiceTest, ALauncherWithoutRoomIsSeenAtTheTrial) {
  {
    runtime::MutexLock lock(mutex_);
    refusal_ = absl::ResourceExhaustedError("there are 5 jobs already");
  }
  const std::string topic = Run("a");
  AwaitJob("a");
  std::vector<std::string> reasons;
  loop_.Call([&] {
    for (const msg::EnvelopeT& event : published_[topic]) {
      reasons.push_back(event.body.AsTrialEvent()->trial->reason);
    }
  });
  EXPECT_THAT(reasons,
              ElementsAre("", "the launcher cannot start it yet: there are 5 jobs already", ""));
}

TEST_F(ServiceTest, ErrorsHaveTheirCodes) {
  msg::TrialsRequestT list;
  list.trial = "nobody";
  EXPECT_EQ(client_->Call<rpc::Trainer::Trials>(list).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client_->Call<rpc::Trainer::RunTrial>({}).status().code(),
            absl::StatusCode::kInvalidArgument);
  msg::StopTrialRequestT stop;
  stop.trial = "nobody";
  EXPECT_EQ(client_->Call<rpc::Trainer::StopTrial>(stop).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(client_->Call<rpc::Trainer::Trials>({})->trials.empty());
}

TEST_F(ServiceTest, PausesResumesTellsAndRemoves) {
  for (const char* name : {"a", "b", "c", "d"}) Run(name);
  const std::string waits = Run("waits");  // There are four slots.
  msg::PauseTrialRequestT pause;
  pause.trial = "waits";
  const auto paused = client_->Call<rpc::Trainer::PauseTrial>(pause);
  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_EQ(paused->trial->state, msg::TrialState::Paused);
  msg::TellTrialRequestT tell;
  tell.trial = "waits";
  tell.event = "{}";
  const auto told = client_->Call<rpc::Trainer::TellTrial>(tell);
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->number, 1u);
  EXPECT_EQ(TopicOfTrial(told->trial->id), waits);
  tell.event = "{";
  EXPECT_EQ(client_->Call<rpc::Trainer::TellTrial>(tell).status().code(),
            absl::StatusCode::kInvalidArgument);
  msg::ResumeTrialRequestT resume;
  resume.trial = "waits";
  const auto resumed = client_->Call<rpc::Trainer::ResumeTrial>(resume);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->trial->state, msg::TrialState::Pending);
  msg::RemoveTrialRequestT remove;
  remove.trial = "waits";
  EXPECT_EQ(client_->Call<rpc::Trainer::RemoveTrial>(remove).status().code(),
            absl::StatusCode::kFailedPrecondition);
  msg::StopTrialRequestT stop;
  stop.trial = "waits";
  ASSERT_TRUE(client_->Call<rpc::Trainer::StopTrial>(stop).ok());
  const auto removed = client_->Call<rpc::Trainer::RemoveTrial>(remove);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(TopicOfTrial(removed->trial->id), waits);
  for (const auto& status : {client_->Call<rpc::Trainer::PauseTrial>(pause).status(),
                             client_->Call<rpc::Trainer::ResumeTrial>(resume).status(),
                             client_->Call<rpc::Trainer::TellTrial>(tell).status(),
                             client_->Call<rpc::Trainer::RemoveTrial>(remove).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  }
}

TEST_F(ServiceTest, KeepsARecordBehindItsTopics) {
  Run("long");
  Run("short");
  Run("silent");
  Run("longest");
  Run("waits");
  Report("long", 300, 600);
  Report("short", 3, 10);
  Report("longest", 1100, 1);
  bus::ExpectConformingRecord(
      {.ends =
           [this](const msg::EndsRequestT& request) {
             return client_->Call<rpc::Common::Ends>(request, {.service = "trainer"});
           },
       .since = [this](const msg::SinceRequestT& request) { return Since(request); },
       .root = "t/"});
}

TEST_F(ServiceTest, WhatItPublishesHasContiguousSpans) {
  const std::string topic = Run("a");
  Report("a", 3, 10);
  EndJob("a");
  msg::FollowTrialRequestT follow;
  follow.trial = "a";
  const auto end = client_->Stream<rpc::Trainer::FollowTrial>(
      follow, [](const msg::FollowTrialReplyT&) { return true; });
  ASSERT_TRUE(end.ok()) << end.status();
  std::vector<std::string> seen;
  loop_.Call([&] {
    for (const msg::EnvelopeT& event : published_[topic]) {
      const msg::TrialEventT& body = *event.body.AsTrialEvent();
      EXPECT_EQ(event.span->lane(), 0u);
      seen.push_back(
          absl::StrCat("(", event.span->from(), ", ", event.span->to(), "] ",
                       body.row != nullptr ? "row" : msg::EnumNameTrialState(body.trial->state)));
    }
  });
  EXPECT_THAT(seen, ElementsAre("(0, 0] Pending", "(0, 0] Running", "(0, 3] row", "(3, 3] Done"));
}

TEST_F(ServiceTest, SinceTellsTheRowsAndThenTheTrialAsItIs) {
  const std::string a = Run("a"), b = Run("b");
  Report("a", 3, 10);
  Report("b", 1, 10);
  msg::SinceRequestT request;
  AddPlace(request, b, 1);
  AddPlace(request, a, 1);
  AddPlace(request, a, 0, 7);
  AddPlace(request, a, 0);
  auto reply = Since(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(Words(*reply), ElementsAre(a + " (1, 2] row 2", a + " (2, 3] row 3",
                                         a + " (3, 3] Running", b + " (1, 1] Running"));
  EXPECT_FALSE(reply->more);
  request.places.clear();
  AddPlace(request, a, ~std::uint64_t{0});
  AddPlace(request, b, 0, 7);
  AddPlace(request, b + "x/", 0);
  AddPlace(request, b.substr(0, b.size() - 1), 0);
  reply = Since(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(Words(*reply), ElementsAre(a + " (3, 3] Running"));
}

TEST_F(ServiceTest, NewsOfManyTrialsNeitherHideARowNorLeadInACircle) {
  const std::string first = Run("first");
  Report("first", 1, 10);
  msg::SinceRequestT request;
  for (int i = 0; i < 50; ++i) {
    AddPlace(request, Run(absl::StrCat("n", i), std::string(4000, 'x')), 0);
  }
  AddPlace(request, first, 0);
  auto reply = Since(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(Words(*reply).at(0), first + " (0, 1] row 1");
  EXPECT_TRUE(reply->more);

  msg::StopTrialRequestT stop;
  stop.trial = "n20";  // It waits, so it ends at once.
  ASSERT_TRUE(client_->Call<rpc::Trainer::StopTrial>(stop).ok());
  request.places.back()->position = 1;
  reply = Since(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_LT(reply->events.size(), request.places.size());
  EXPECT_EQ(Words(*reply).at(0), request.places[20]->topic + " (0, 0] Stopped")
      << "what changed last is told";
  EXPECT_FALSE(reply->more) << "the next page would be the same";
}

// A message has a limited number of tables.
TEST_F(ServiceTest, ASweepOfManyTrialsIsFollowedInParts) {
  constexpr std::size_t kTrials = 32 * 32;
  std::vector<int> values(32);
  std::iota(values.begin(), values.end(), 0);
  const std::string list = absl::StrCat("{\"values\":[", absl::StrJoin(values, ","), "]}");
  msg::RunSweepRequestT run;
  run.name = "many";
  run.plan = absl::StrCat(R"({"method":"grid","metric":{"name":"loss"},"parallel":)", kTrials,
                          R"(,"parameters":{"a":)", list, R"(,"b":)", list, "}}");
  run.trial = std::make_unique<msg::RunTrialRequestT>();
  run.trial->argv = {"prog", "${args}"};
  run.trial->working_directory = "/";
  const auto begun = client_->Call<rpc::Trainer::RunSweep>(run, {.request_id = "many"});
  ASSERT_TRUE(begun.ok()) << begun.status();

  msg::FollowSweepRequestT follow;
  follow.sweep = "many";
  const auto all_are_there = [&](const msg::FollowSweepReplyT& part) {
    return part.sweep->trials < kTrials;
  };
  (void)client_->Stream<rpc::Trainer::FollowSweep>(follow, all_are_there,
                                                   {.timeout = absl::Seconds(60)});
  std::set<std::uint64_t> seen;
  std::vector<std::uint64_t> events;
  const auto take = [&](const msg::FollowSweepReplyT& part) {
    EXPECT_LE(part.trials.size(), kSweepTrialsOfAMessage);
    events.push_back(part.sweep->events);
    for (const auto& trial : part.trials) seen.insert(trial->number);
    return true;
  };
  follow.follow = false;
  const auto end = client_->Stream<rpc::Trainer::FollowSweep>(follow, take);
  ASSERT_TRUE(end.ok()) << end.status();
  take(*end);
  EXPECT_EQ(seen.size(), kTrials);
  // A caller that reconnects after the first part misses nothing.
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events.front(), 0u);
  EXPECT_GT(events.back(), kTrials);

  // The end of the sweep changes all trials at once.
  std::size_t heard = 0;
  loop_.Call([&] { heard = published_[TopicOfTrial(begun->sweep->id)].size(); });
  msg::ChangeSweepRequestT stop;
  stop.sweep = "many";
  stop.order = msg::SweepOrder::Stop;
  const auto stopped = client_->Call<rpc::Trainer::ChangeSweep>(stop, {.request_id = "stop"});
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  follow.from_event = events.back();
  seen.clear();
  const auto rest = client_->Stream<rpc::Trainer::FollowSweep>(follow, take);
  ASSERT_TRUE(rest.ok()) << rest.status();
  take(*rest);
  EXPECT_EQ(seen.size(), kTrials);
  loop_.Call([&] {
    const auto& published = published_[TopicOfTrial(begun->sweep->id)];
    ASSERT_GE(published.size(), heard + 2);
    for (std::size_t i = heard; i < published.size(); ++i) {
      const auto* const event = published[i].body.AsSweepEvent();
      ASSERT_NE(event, nullptr);
      EXPECT_LE(event->trials.size(), kSweepTrialsOfAMessage);
    }
  });
}

}  // namespace
}  // namespace trainer
