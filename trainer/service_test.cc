// The trainer's methods and its way to the launcher, over real sockets: with a registry and a
// launcher of the test's own.

#include "bus/service.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bus/client.h"
#include "bus/node.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/schema/trainer_methods.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/mutex.h"
#include "runtime/thread_pool.h"
#include "trainer/launcher_jobs.h"
#include "trainer/relay.h"
#include "trainer/service_methods.h"
#include "trainer/store.h"
#include "trainer/testing/loop_thread.h"
#include "trainer/testing/relay_client.h"
#include "trainer/trials.h"

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

  // Refuses the first launch as a launcher that is about to end does.
  void ServeLauncher() {
    launcher_ = MakeService(peer_node_.get(), "launcher");
    launcher_->Handle<rpc::Launcher::Launch>(
        [this](const bus::CallContext& context,
               const msg::LaunchRequestT& request) -> absl::StatusOr<msg::LaunchReplyT> {
          runtime::MutexLock lock(mutex_);
          launches_.push_back(context.request_id);
          if (launches_.size() == 1) return absl::UnavailableError("stopping");
          nonce_ = request.spec->report_channel->nonce;
          msg::LaunchReplyT reply;
          reply.job = std::make_unique<msg::JobT>();
          reply.job->id = "j-aaaaa";
          changed_.SignalAll();
          return reply;
        });
    launcher_->HandleAsync<rpc::Launcher::WaitJob>(
        [this](std::shared_ptr<bus::ReplyWriter<rpc::Launcher::WaitJob>> writer,
               const msg::WaitJobRequestT&) {
          runtime::MutexLock lock(mutex_);
          waiter_ = std::move(writer);
          changed_.SignalAll();
        });
    ASSERT_TRUE(launcher_->Start().ok());
  }

  void ServeTrainer() {
    trainer_client_ = std::make_unique<bus::Client>(trainer_node_.get());
    store_ = *Store::Open(directory_ + "/trainer.db");
    jobs_ = MakeLauncherJobs(trainer_client_.get(), loop_.loop());
    trials_ = *Trials::Open({.loop = loop_.loop(),
                             .store = store_.get(),
                             .jobs = jobs_.get(),
                             .logdir = directory_ + "/runs",
                             .relay = directory_ + "/relay",
                             .hostname = "host"});
    loop_.Call([&] {
      relay_ = *Relay::Listen(
          {.loop = loop_.loop(), .receiver = trials_.get(), .socket_path = directory_ + "/relay"});
    });
    service_ = MakeService(trainer_node_.get(), "trainer");
    AddMethods(service_.get(), loop_.loop(), trials_.get());
    ASSERT_TRUE(service_->Start().ok());
  }

  // The nonce of the job, once the trainer waits for its end.
  std::string AwaitJob() {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    runtime::MutexLock lock(mutex_);
    while (waiter_ == nullptr && absl::Now() < deadline) {
      changed_.WaitWithTimeout(mutex_, deadline - absl::Now());
    }
    EXPECT_NE(waiter_, nullptr);
    return nonce_;
  }
  void EndJob() {
    runtime::MutexLock lock(mutex_);
    msg::WaitJobReplyT reply;
    reply.job = std::make_unique<msg::JobT>();
    reply.job->state = msg::TaskState::Exited;
    waiter_->Finish(std::move(reply));
  }

  std::string directory_;
  runtime::Locations locations_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<bus::Node> trainer_node_, peer_node_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<bus::Client> client_, trainer_client_;
  std::unique_ptr<bus::Service> registry_, launcher_, service_;
  LoopThread loop_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<JobControl> jobs_;
  std::unique_ptr<Trials> trials_;
  std::unique_ptr<Relay> relay_;

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  std::vector<std::string> launches_ ABSL_GUARDED_BY(mutex_);
  std::string nonce_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<bus::ReplyWriter<rpc::Launcher::WaitJob>> waiter_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(ServiceTest, ATrialFromTheCallToItsEnd) {
  msg::RunTrialRequestT run;
  run.name = "first";
  run.argv.emplace_back("prog");
  run.working_directory = "/";
  const auto started = client_->Call<rpc::Trainer::RunTrial>(run, {.request_id = "r1"});
  ASSERT_TRUE(started.ok()) << started.status();
  const auto again = client_->Call<rpc::Trainer::RunTrial>(run, {.request_id = "r1"});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->trial->id, started->trial->id);

  RelayClient shim(directory_ + "/relay");
  ASSERT_TRUE(shim.Send("YARD1 " + AwaitJob() + "\n1 {\"t\":\"report\",\"m\":{\"a\":1}}\n"));
  EXPECT_EQ(shim.Line(), "OK");
  EXPECT_EQ(shim.Line(), R"(1 {"t":"ok","events":[]})");

  std::vector<std::uint64_t> rows;
  msg::FollowTrialRequestT follow;
  follow.trial = "first";
  const auto end =
      client_->Stream<rpc::Trainer::FollowTrial>(follow, [&](const msg::FollowTrialReplyT& part) {
        for (const auto& row : part.rows) rows.push_back(row->row);
        if (rows.size() == 1) shim.Send("2 {\"t\":\"report\",\"m\":{\"a\":2}}\n");
        if (rows.size() == 2) {
          shim.Send("END 2\n");
          EndJob();
        }
        return true;
      });
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_THAT(rows, ElementsAre(1, 2));
  EXPECT_EQ(end->trial->state, msg::TrialState::Done);
  runtime::MutexLock lock(mutex_);
  ASSERT_EQ(launches_.size(), 2u);
  EXPECT_EQ(launches_[0], launches_[1]) << "a launch that was not answered is the same request";
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

}  // namespace
}  // namespace trainer
