// Tests removal through a client, with a fake trainer that reports the trials.

#include "datamanager/removal_methods.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/schema/trainer_methods.h"
#include "bus/thread/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/file/file.h"
#include "runtime/mutex.h"
#include "runtime/thread_pool.h"

namespace datamanager {
namespace {

using ::testing::HasSubstr;

class RemovalMethodsTest : public testing::Test {
 protected:
  RemovalMethodsTest() : logdir_(yard_.directory() + "/runs") {
    pool_ = runtime::ThreadPool::Create(&coordinator_, {.threads = 4});
    node_ = yard_.MakeNode("test");
    client_ = std::make_unique<bus::Client>(node_.get());
    Serve("registry")
        .Handle<rpc::Registry::Lookup>(
            [this](const bus::CallContext&, const msg::LookupRequestT& request) {
              msg::LookupReplyT reply;
              if (services_.count(request.name) > 0) {
                reply.leases.push_back(std::make_unique<msg::LeaseT>());
                reply.leases.back()->name = request.name;
                reply.leases.back()->endpoints = {yard_.Address(request.name)};
              }
              return reply;
            });
    AddRemovalMethods(
        &Serve("datamanager"),
        {.client = client_.get(), .logdir = logdir_, .runs = [this] { return Runs(); }});
  }
  ~RemovalMethodsTest() override {
    client_.reset();
    services_.clear();
    (void)coordinator_.RequestStop();
    pool_.reset();
  }

  bus::Service& Serve(const std::string& name) {
    auto& service = services_[name];
    service = std::make_unique<bus::Service>(
        node_.get(),
        bus::Service::Options{.name = name, .endpoint = yard_.Address(name), .pool = pool_.get()});
    return *service;
  }
  // Serves a fake trainer with a trial for each of these directories below the run directory.
  void ServeTrainer(std::map<std::string, msg::TrialState> trials) {
    Serve("trainer").Handle<rpc::Trainer::Trials>(
        [this, trials](const bus::CallContext&, const msg::TrialsRequestT&) {
          msg::TrialsReplyT reply;
          for (const auto& [run, state] : trials) {
            reply.trials.push_back(std::make_unique<msg::TrialT>());
            reply.trials.back()->id = "t-" + run;
            reply.trials.back()->log_directory = logdir_ + "/" + run;
            reply.trials.back()->state = state;
          }
          return reply;
        });
  }
  void Start() {
    for (auto& [name, service] : services_) ASSERT_TRUE(service->Start().ok()) << name;
  }
  void Make(const std::string& run) {
    ASSERT_TRUE(runtime::MakeDirectories(logdir_ + "/" + run).ok());
    runtime::MutexLock lock(mutex_);
    runs_.push_back({.name = run, .directory = logdir_ + "/" + run});
  }
  std::vector<RemovableRun> Runs() {
    runtime::MutexLock lock(mutex_);
    return runs_;
  }
  void Forget() {
    runtime::MutexLock lock(mutex_);
    runs_.clear();
  }
  bool Exists(const std::string& run) const { return std::filesystem::exists(logdir_ + "/" + run); }
  absl::StatusOr<msg::RemoveRunReplyT> Remove(const std::string& run, const std::string& id,
                                              bool force = false) {
    msg::RemoveRunRequestT request;
    request.run = run;
    request.force = force;
    return client_->Call<rpc::Datamanager::RemoveRun>(request, {.request_id = id});
  }

  bus::TestYard yard_;
  const std::string logdir_;
  runtime::Mutex mutex_;
  std::vector<RemovableRun> runs_ ABSL_GUARDED_BY(mutex_);
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Client> client_;
  std::map<std::string, std::unique_ptr<bus::Service>> services_;
};

constexpr char kId[] = "0123456789abcdef0123456789abcdef";

TEST_F(RemovalMethodsTest, ARunOfNoTrialIsMovedOnceForOneRequest) {
  ServeTrainer({{"other", msg::TrialState::Running}});
  Start();
  Make("first");
  const auto reply = Remove("first", kId);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->run, "first");
  EXPECT_EQ(reply->trash, logdir_ + "/.trash/first-01234567");
  EXPECT_TRUE(Exists(".trash/first-01234567"));
  Forget();
  EXPECT_EQ(Remove("first", kId)->trash, reply->trash);
}

TEST_F(RemovalMethodsTest, TheTrainersTrialsStay) {
  ServeTrainer({{"live", msg::TrialState::Running},
                {"paused", msg::TrialState::Paused},
                {"done", msg::TrialState::Done},
                {"failed", msg::TrialState::Failed}});
  Start();
  for (const char* run : {"live", "done", "live/part", "paused/part"}) {
    Make(run);
    const auto refused = Remove(run, kId);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << run << refused.status();
    EXPECT_TRUE(Exists(run));
    Forget();
  }
  Make("failed/part");
  EXPECT_TRUE(Remove("failed/part", kId).ok()) << "its trial has ended";
}

TEST_F(RemovalMethodsTest, WithoutATrainerItMustBeForced) {
  Start();
  Make("first");
  const auto refused = Remove("first", kId);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("force"));
  EXPECT_TRUE(Exists("first"));
  EXPECT_TRUE(Remove("first", kId, /*force=*/true).ok());
  EXPECT_FALSE(Exists("first"));
}

}  // namespace
}  // namespace datamanager
