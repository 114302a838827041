// Tests the methods about runs' disk usage and the trash through a client.

#include "datamanager/disk_methods.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bus/call/client.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/fake_clock.h"
#include "runtime/file/file.h"
#include "runtime/file/trash.h"
#include "runtime/thread_pool.h"

namespace datamanager {
namespace {

using rpc::Datamanager;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DiskMethodsTest : public testing::Test {
 protected:
  DiskMethodsTest()
      : logdir_(yard_.directory() + "/runs"),
        trash_({.logdir = logdir_, .age = absl::Hours(48), .clock = &clock_}) {
    pool_ = runtime::ThreadPool::Create(&coordinator_, {.threads = 2});
    node_ = yard_.MakeNode("test");
    client_ = std::make_unique<bus::Client>(node_.get());
    registry_ = MakeService("registry");
    registry_->Handle<rpc::Registry::Lookup>(
        [this](const bus::CallContext&, const msg::LookupRequestT& request) {
          msg::LookupReplyT reply;
          reply.leases.push_back(std::make_unique<msg::LeaseT>());
          reply.leases.back()->name = request.name;
          reply.leases.back()->endpoints = {yard_.Address(request.name)};
          return reply;
        });
    service_ = MakeService("datamanager");
    AddDiskMethods(service_.get(), {.logdir = logdir_,
                                    .trash = &trash_,
                                    .runs = [this]() -> absl::StatusOr<std::vector<RemovableRun>> {
                                      return runs_;
                                    }});
    EXPECT_TRUE(registry_->Start().ok());
    EXPECT_TRUE(service_->Start().ok());
  }
  ~DiskMethodsTest() override {
    client_.reset();
    service_.reset();
    registry_.reset();
    (void)coordinator_.RequestStop();
    pool_.reset();
  }

  std::unique_ptr<bus::Service> MakeService(const std::string& name) {
    return std::make_unique<bus::Service>(
        node_.get(),
        bus::Service::Options{.name = name, .endpoint = yard_.Address(name), .pool = pool_.get()});
  }
  void Make(const std::string& run, std::size_t bytes) {
    ASSERT_TRUE(runtime::MakeDirectories(logdir_ + "/" + run).ok());
    ASSERT_TRUE(runtime::WriteFileAtomically(logdir_ + "/" + run + "/model",
                                             std::string(bytes, 'x'), 0644, true)
                    .ok());
    runs_.push_back({.name = run, .directory = logdir_ + "/" + run});
  }
  void Remove(const std::string& run, const std::string& name) {
    ASSERT_TRUE(runtime::MoveToTrash(logdir_, logdir_ + "/" + run, name, clock_.Now()).ok());
    std::erase_if(runs_, [&](const RemovableRun& known) { return known.name == run; });
  }
  template <typename M>
  absl::StatusOr<typename M::ReplyT> Call(const typename M::RequestT& request) {
    return client_->Call<M>(request);
  }
  std::vector<std::string> Trash() {
    std::vector<std::string> names;
    const auto reply = Call<Datamanager::Trash>({});
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (!reply.ok()) return names;
    for (const auto& entry : reply->entries) names.push_back(entry->name);
    return names;
  }
  bool Exists(const std::string& run) const {
    return std::filesystem::exists(logdir_ + "/" + run + "/model");
  }

  bus::TestYard yard_;
  const std::string logdir_;
  runtime::FakeClock clock_;
  const TrashKeeper trash_;
  std::vector<RemovableRun> runs_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<bus::Node> node_;
  std::unique_ptr<bus::Service> registry_, service_;
  std::unique_ptr<bus::Client> client_;
};

TEST_F(DiskMethodsTest, TheLargestRunComesFirstAndOnesBelowItAreTheirOwn) {
  Make("small", 10'000);
  Make("large", 500'000);
  Make("small/eval", 200'000);
  Make("gone", 300'000);
  Remove("gone", "gone-1");
  const auto reply = Call<Datamanager::DiskUsage>({});
  ASSERT_TRUE(reply.ok()) << reply.status();
  std::vector<std::string> names;
  for (const auto& run : reply->runs) names.push_back(run->run);
  EXPECT_THAT(names, ElementsAre("large", "small/eval", "small"));
  EXPECT_GE(reply->runs[0]->bytes, 500'000U);
  EXPECT_LT(reply->runs[2]->bytes, 100'000U);
  EXPECT_GE(reply->trash_bytes, 300'000U);
  EXPECT_GT(reply->total_bytes, reply->free_bytes);
  EXPECT_EQ(reply->logdir, logdir_);
}

TEST_F(DiskMethodsTest, OnlyTheRunsThatAreNamedAreMeasured) {
  Make("one", 10'000);
  Make("two", 10'000);
  msg::DiskUsageRequestT request;
  request.runs = {"two"};
  const auto reply = Call<Datamanager::DiskUsage>(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->runs.size(), 1U);
  EXPECT_EQ(reply->runs[0]->run, "two");
  request.runs = {"three"};
  EXPECT_EQ(Call<Datamanager::DiskUsage>(request).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DiskMethodsTest, WhatWasRemovedIsListedWithItsRoomAndItsEnd) {
  Make("group/one", 50'000);
  Remove("group/one", "t-one");
  const auto reply = Call<Datamanager::Trash>({});
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->entries.size(), 1U);
  const msg::TrashEntryT& entry = *reply->entries[0];
  EXPECT_EQ(entry.name, "t-one");
  EXPECT_EQ(entry.run, "group/one");
  EXPECT_EQ(entry.moved_us, absl::ToUnixMicros(clock_.Now()));
  EXPECT_EQ(entry.deleted_us, absl::ToUnixMicros(clock_.Now() + absl::Hours(48)));
  EXPECT_GE(entry.bytes, 50'000U);
  EXPECT_EQ(entry.files, 1U);
}

TEST_F(DiskMethodsTest, ARunComesBackUnlessAnotherOneHasItsPlace) {
  Make("one", 10'000);
  Remove("one", "one-1");
  Make("one", 20'000);
  msg::RestoreRunRequestT request;
  request.entry = "one";
  const auto refused = Call<Datamanager::RestoreRun>(request);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--name OTHER"));
  request.run = "two";
  const auto reply = Call<Datamanager::RestoreRun>(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->run, "two");
  EXPECT_TRUE(Exists("two"));
  EXPECT_TRUE(Trash().empty());
}

TEST_F(DiskMethodsTest, OnlyWhatIsOldEnoughIsDeleted) {
  Make("one", 10'000);
  Make("two", 10'000);
  Make("three", 10'000);
  Remove("one", "one-1");
  clock_.Advance(absl::Hours(2));
  Remove("two", "two-1");
  Remove("three", "three-1");
  msg::EmptyTrashRequestT request;
  request.before_us = absl::ToUnixMicros(clock_.Now() - absl::Hours(1));
  auto reply = Call<Datamanager::EmptyTrash>(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->entries.size(), 1U);
  EXPECT_EQ(reply->entries[0]->name, "one-1");
  EXPECT_GE(reply->entries[0]->bytes, 10'000U);
  EXPECT_THAT(Trash(), ElementsAre("three-1", "two-1"));
  request = {};
  request.entry = "two";
  ASSERT_TRUE(Call<Datamanager::EmptyTrash>(request).ok());
  EXPECT_THAT(Trash(), ElementsAre("three-1"));
  ASSERT_TRUE(Call<Datamanager::EmptyTrash>({}).ok());
  EXPECT_TRUE(Trash().empty());
}

}  // namespace
}  // namespace datamanager
