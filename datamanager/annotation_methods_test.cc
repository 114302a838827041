// Tests annotating runs through a client, with a fake trainer that has one trial.

#include "datamanager/annotation_methods.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/fixtures/test_yard.h"
#include "bus/json/annotations.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/schema/trainer_methods.h"
#include "bus/thread/node.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/brief/run_labels.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/listed_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/file/file.h"
#include "runtime/thread_pool.h"

namespace datamanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AnnotationMethodsTest : public testing::Test {
 protected:
  AnnotationMethodsTest() : logdir_(yard_.directory() + "/runs") {
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
    AddAnnotationMethods(
        &Serve("datamanager"),
        {.client = client_.get(), .find = [this](const std::string& run) { return Find(run); }});
  }
  ~AnnotationMethodsTest() override {
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
  // Serves a fake trainer with the trial t-1, whose directory is that of the run "trial".
  void ServeTrainer() {
    Serve("trainer").Handle<rpc::Trainer::Trials>(
        [this](const bus::CallContext&,
               const msg::TrialsRequestT& request) -> absl::StatusOr<msg::TrialsReplyT> {
          if (request.trial != "t-1") return absl::NotFoundError("no trial " + request.trial);
          msg::TrialsReplyT reply;
          reply.trials.push_back(std::make_unique<msg::TrialT>());
          reply.trials.back()->id = "t-1";
          reply.trials.back()->log_directory = logdir_ + "/trial";
          return reply;
        });
    services_["trainer"]->Handle<rpc::Common::Annotate>(
        [](const bus::CallContext&, const msg::AnnotateRequestT& request) {
          msg::AnnotateReplyT reply;
          reply.run = "of the trainer";
          reply.labels = request.add_labels;
          reply.note = "by " + request.run;
          return reply;
        });
  }
  void Start() {
    for (auto& [name, service] : services_) ASSERT_TRUE(service->Start().ok()) << name;
  }
  // `trial`: the trial that the run's provenance.json names.
  BriefItem& Make(const std::string& name, const std::string& trial = "",
                  std::vector<std::string> labels = {}) {
    EXPECT_TRUE(runtime::MakeDirectories(logdir_ + "/" + name).ok());
    auto run = std::make_shared<ListedRun>();
    run->name = name;
    run->directory = logdir_ + "/" + name;
    auto& item = runs_[name];
    item = std::make_shared<BriefItem>(run);
    if (!trial.empty()) {
      auto of_trial = std::make_shared<RunLabels>();
      of_trial->trial = trial;
      of_trial->labels = std::move(labels);
      EXPECT_TRUE(item->Set<RunLabels>(kTrialKey, of_trial).ok());
    }
    return *item;
  }
  absl::StatusOr<BriefItemPtr> Find(const std::string& run) {
    const auto found = runs_.find(run);
    if (found == runs_.end()) return absl::NotFoundError("no run " + run);
    return found->second;
  }
  absl::StatusOr<msg::AnnotateReplyT> Add(const std::string& run, const std::string& label) {
    msg::AnnotateRequestT request;
    request.run = run;
    request.add_labels = {label};
    return client_->Call<rpc::Common::Annotate>(request, {.service = "datamanager"});
  }
  absl::StatusOr<bus::Annotations> File(const std::string& run) {
    return bus::ReadAnnotations(logdir_ + "/" + run);
  }

  bus::TestYard yard_;
  const std::string logdir_;
  std::map<std::string, BriefItemPtr> runs_;  // Runs that were made before the test asks for them.
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Client> client_;
  std::map<std::string, std::unique_ptr<bus::Service>> services_;
};

TEST_F(AnnotationMethodsTest, ARunOfNoTrialIsWrittenHereAndKnownAtOnce) {
  BriefItem& item = Make("copied");
  Start();
  const auto first = Add("copied", "best");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->run, "copied");
  const auto second = Add("copied", "old");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT(second->labels, ElementsAre("best", "old"));
  EXPECT_EQ(File("copied")->labels, second->labels);
  const auto known = item.Get<bus::Annotations>(kAnnotationsKey);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ((*known)->labels, second->labels);
  EXPECT_TRUE(absl::IsNotFound(Add("nobody", "best").status()));
}

TEST_F(AnnotationMethodsTest, ThatOfATrialGoesOnToTheTrainer) {
  ServeTrainer();
  Make("trial", "t-1");
  Start();
  const auto reply = Add("trial", "best");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->run, "trial");
  EXPECT_EQ(reply->note, "by t-1");
  EXPECT_TRUE(absl::IsNotFound(File("trial").status()));
}

TEST_F(AnnotationMethodsTest, ACopyOfATrialsRunAndOneThatTheTrainerForgotAreWrittenHere) {
  ServeTrainer();
  Make("trial", "t-1");
  Make("copy", "t-1", {"base"});
  Make("forgotten", "t-2");
  Start();
  const auto copy = Add("copy", "best");
  ASSERT_TRUE(copy.ok()) << copy.status();
  // The labels with which its trial was started remain.
  EXPECT_THAT(copy->labels, ElementsAre("base", "best"));
  EXPECT_EQ(File("copy")->labels, copy->labels);
  EXPECT_TRUE(Add("forgotten", "best").ok());
  EXPECT_THAT(File("forgotten")->labels, ElementsAre("best"));
}

TEST_F(AnnotationMethodsTest, WithoutATrainerWhatMayBeItsStays) {
  Make("trial", "t-1");
  Make("copied");
  Start();
  const auto refused = Add("trial", "best");
  EXPECT_TRUE(absl::IsUnavailable(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("run trial says that it is that of trial t-1"));
  EXPECT_TRUE(absl::IsNotFound(File("trial").status()));
  EXPECT_TRUE(Add("copied", "best").ok());
}

TEST_F(AnnotationMethodsTest, AFileOfSomebodyElseIsNotOverwritten) {
  Make("strange");
  const std::string path = logdir_ + "/strange/annotations.json";
  ASSERT_TRUE(runtime::WriteFileAtomically(path, "[\"mine\"]", 0644).ok());
  Start();
  const auto refused = Add("strange", "best");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("move that file away"));
  EXPECT_EQ(*runtime::ReadFile(path, 100), "[\"mine\"]");
}

TEST_F(AnnotationMethodsTest, WhatIsRefusedIsNotWritten) {
  Make("copied");
  Start();
  EXPECT_TRUE(absl::IsInvalidArgument(Add("copied", "\x1b[2J").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Add("copied", std::string(257, 'a')).status()));
  EXPECT_TRUE(std::filesystem::is_empty(logdir_ + "/copied"));
  std::filesystem::remove_all(logdir_ + "/copied");
  const auto gone = Add("copied", "best");
  EXPECT_TRUE(absl::IsFailedPrecondition(gone.status())) << gone.status();
  EXPECT_THAT(std::string(gone.status().message()), HasSubstr(logdir_ + "/copied"));
}

}  // namespace
}  // namespace datamanager
