// Tests the data manager's methods over real sockets, with files on disk.

#include "datamanager/run_methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "bus/wire/topic.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/find/run_tree.h"
#include "eventlog/event.h"
#include "eventlog/record.h"
#include "eventlog/testing/protobuf_bytes.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/file/locations.h"
#include "runtime/thread_pool.h"

namespace datamanager {
namespace {

namespace pb = eventlog::testing;
using rpc::Datamanager;
using ::testing::ElementsAre;

std::string Scalar(std::int64_t step, const std::string& tag, double value) {
  const eventlog::Scalar scalar{tag, value};
  return eventlog::RenderScalars(100.0 + static_cast<double>(step), step, {&scalar, 1});
}
std::string EventRecord(int field, std::string_view content) {
  std::string record;
  eventlog::AppendRecord(pb::Double(1, 7) + pb::Number(2, 3) + pb::Bytes(field, content), &record);
  return record;
}

class ServiceMethodsTest : public testing::Test {
 protected:
  // With the default budget, which nothing fits into, each request reads the files again.
  explicit ServiceMethodsTest(std::uint64_t byte_budget = 1,
                              std::uint64_t step_bytes = RunCatalog::Options().step_bytes) {
    char name[] = "/tmp/dm-XXXXXX";
    directory_ = mkdtemp(name);
    locations_.runtime_directory = locations_.state_directory = directory_;
    locations_.registry_address = Address("registry");
    service_node_ = MakeNode("datamanager");
    caller_node_ = MakeNode("caller");
    pool_ = runtime::ThreadPool::Create(&coordinator_, {.threads = 2});
    RunCatalog::Options options;
    options.root = directory_ + "/runs";
    options.byte_budget = byte_budget;
    options.step_bytes = step_bytes;
    options.clock = &clock_;
    options.on_points = [this](const auto& run, const auto&, auto, auto, const auto&) {
      if (run == "held") held_.Pass();
      if (run == "slow") slow_.Pass();
    };
    auto catalog = RunCatalog::Create(std::move(options));
    EXPECT_TRUE(catalog.ok()) << catalog.status();
    catalog_ = *std::move(catalog);
    RunTree::Options tree;
    tree.root = directory_ + "/runs";
    tree_ = std::make_unique<RunTree>(std::move(tree));
    registry_ = MakeService(caller_node_.get(), "registry");
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
    EXPECT_TRUE(registry_->Start().ok());
    service_ = MakeService(service_node_.get(), "datamanager");
    AddRunMethods(service_.get(), catalog_.get(), pool_.get(), loop_.get());
    EXPECT_TRUE(service_->Start().ok());
    client_ = std::make_unique<bus::Client>(caller_node_.get());
  }
  ~ServiceMethodsTest() override {
    client_.reset();
    service_.reset();
    // The order in a process: the pool's threads use the catalog, and the catalog's threads the
    // pool.
    (void)coordinator_.RequestStop();
    (void)coordinator_.Join();
    catalog_.reset();
    pool_.reset();
    registry_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string Address(const std::string& name) const {
    return absl::StrCat("ipc://", directory_, "/", name);
  }
  std::unique_ptr<bus::Node> MakeNode(const std::string& name) const {
    auto node = bus::Node::Create({.name = name, .locations = locations_});
    EXPECT_TRUE(node.ok()) << node.status();
    return *std::move(node);
  }
  std::unique_ptr<bus::Service> MakeService(bus::Node* node, const std::string& name) const {
    return std::make_unique<bus::Service>(
        node, bus::Service::Options{.name = name, .endpoint = Address(name), .pool = pool_.get()});
  }
  void Write(const std::string& run, std::string_view bytes) {
    const std::string path = absl::StrCat(directory_, "/runs/", run);
    std::filesystem::create_directories(path);
    std::ofstream(path + "/events.out.tfevents.1.host", std::ios::binary | std::ios::app) << bytes;
  }
  void Scan() {
    const RunTree::Delta delta = tree_->Rescan();
    catalog_->ScanBegan();
    catalog_->Found(delta, tree_->runs(), tree_->unreadable());
  }
  // Returns the status at the end of the stream.
  template <typename M>
  absl::Status Stream(const typename M::RequestT& request,
                      const std::function<void(const typename M::ReplyT& part)>& on_part) {
    const auto end = client_->Stream<M>(request, [&](const typename M::ReplyT& part) {
      on_part(part);
      return true;
    });
    if (end.ok()) on_part(*end);
    return end.status();
  }

  // Blocks the first thread that passes.
  class Gate {
   public:
    void Pass() {
      if (std::exchange(passed_, true)) return;
      arrived_.set_value();
      go_on_.get_future().wait_for(std::chrono::seconds(60));
    }
    bool AwaitArrival() {
      return arrived_.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready;
    }
    void Open() { go_on_.set_value(); }

   private:
    bool passed_ = false;
    std::promise<void> arrived_, go_on_;
  };

  std::string directory_;
  runtime::Locations locations_;
  Gate held_, slow_;  // Block the announcements of points of these runs.
  runtime::Coordinator coordinator_;
  runtime::FakeClock clock_;  // Does not advance while callers wait for a run.
  const std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  std::unique_ptr<bus::Node> service_node_, caller_node_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<RunCatalog> catalog_;
  std::unique_ptr<RunTree> tree_;
  std::unique_ptr<bus::Service> registry_, service_;
  std::unique_ptr<bus::Client> client_;
};

TEST_F(ServiceMethodsTest, RunsTagsAndPoints) {
  Write("a", Scalar(1, "loss", 0.5) + Scalar(2, "loss", 0.25));
  Write("b", Scalar(1, "speed", 7));
  Scan();
  msg::RunsRequestT runs;
  runs.pattern = "^a$";
  const auto page = client_->Call<Datamanager::Runs>(runs);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->runs.size(), 1u);
  EXPECT_EQ(page->runs[0]->name, "a");
  EXPECT_EQ(page->logdir, directory_ + "/runs");
  msg::TagsRequestT tags;
  tags.run = "a";
  const auto listed = client_->Call<Datamanager::Tags>(tags);
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->tags.size(), 1u);
  EXPECT_EQ(listed->tags[0]->last, 0.25);
  msg::ScalarsRequestT scalars;
  scalars.run = "a";
  scalars.tag = "loss";
  const auto points = client_->Call<Datamanager::Scalars>(scalars);
  ASSERT_TRUE(points.ok()) << points.status();
  EXPECT_THAT(points->values, ElementsAre(0.5, 0.25));
  scalars.tag = "nope";
  EXPECT_EQ(client_->Call<Datamanager::Scalars>(scalars).status().code(),
            absl::StatusCode::kNotFound);
  scalars.run = "c";
  EXPECT_EQ(client_->Call<Datamanager::Scalars>(scalars).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ServiceMethodsTest, AllPointsOfAllRunsComeInParts) {
  std::string records;
  for (int step = 0; step < 50'000; ++step) records += Scalar(step, "x", step);
  Write("long", records);
  Write("short", Scalar(1, "x", 5));
  Scan();
  std::uint64_t points = 0, parts = 0;
  double sum = 0;
  const absl::Status read =
      Stream<Datamanager::ReadScalars>({}, [&](const msg::ReadScalarsReplyT& part) {
        ++parts;
        for (const auto& series : part.series) {
          points += series->values.size();
          for (const double value : series->values) sum += value;
        }
      });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(points, 50'001u);
  EXPECT_EQ(sum, 50'000.0 * 49'999 / 2 + 5);
  EXPECT_GE(parts, 7u);
}

TEST_F(ServiceMethodsTest, AnImageByItsPlace) {
  const std::string image(700'000, 'x');
  Write("r", EventRecord(5, pb::Bytes(1, pb::Bytes(1, "input") +
                                             pb::Bytes(4, pb::Number(1, 2) + pb::Number(2, 3) +
                                                              pb::Bytes(4, image)))));
  Scan();
  msg::ReadBlobRequestT request;
  request.run = "r";
  const absl::Status listed =
      Stream<Datamanager::ReadValues>({}, [&](const msg::ReadValuesReplyT& part) {
        for (const auto& blob : part.blobs) request.blob = std::make_unique<msg::BlobT>(*blob);
      });
  ASSERT_TRUE(listed.ok()) << listed;
  ASSERT_NE(request.blob, nullptr);
  std::string bytes;
  const absl::Status read = Stream<Datamanager::ReadBlob>(
      request,
      [&](const msg::ReadBlobReplyT& part) { bytes.append(part.data.begin(), part.data.end()); });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(bytes, image);
  request.blob->offset += 1;
  EXPECT_EQ(Stream<Datamanager::ReadBlob>(request, [](const auto&) {}).code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(ServiceMethodsTest, WhatIsAskedAboutWholeRuns) {
  const std::string node = pb::Bytes(1, pb::Bytes(1, "net/x") + pb::Bytes(2, "Op"));
  Write("r", EventRecord(4, node) + Scalar(1, "loss", 2) + "tail");
  Scan();
  msg::ReadGraphRequestT graph;
  graph.run = "r";
  graph.scope = "net";
  const auto nodes = client_->Call<Datamanager::ReadGraph>(graph);
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  ASSERT_EQ(nodes->nodes.size(), 1u);
  EXPECT_EQ(nodes->nodes[0]->op, "Op");
  msg::FilesRequestT files;
  files.run = "r";
  const auto listed = client_->Call<Datamanager::Files>(files);
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->files.size(), 1u);
  EXPECT_EQ(listed->files[0]->tail_bytes, 4u);
  const auto hparams = client_->Call<Datamanager::HParams>({});
  ASSERT_TRUE(hparams.ok()) << hparams.status();
  ASSERT_EQ(hparams->runs.size(), 1u);
  EXPECT_EQ(hparams->runs[0]->metrics.at(0)->value, "2");
  msg::ImportanceRequestT asked;
  asked.value = "loss";
  const auto importance = client_->Call<Datamanager::Importance>(asked);
  ASSERT_TRUE(importance.ok()) << importance.status();
  EXPECT_EQ(importance->reason,
            "it takes 10 runs that have a finite loss and parameters, and there are 0 among 1");
  const auto lineage = client_->Call<Datamanager::Lineage>({});
  ASSERT_TRUE(lineage.ok()) << lineage.status();
  EXPECT_EQ(lineage->runs.size(), 1u);
}

// The pool has two threads; the only loading thread is blocked.
TEST_F(ServiceMethodsTest, ManyWhoWaitForARunHoldNoThread) {
  Write("a", Scalar(1, "loss", 0.5));
  Write("b", Scalar(1, "speed", 7));
  Write("held", Scalar(1, "x", 1));
  Scan();
  ASSERT_TRUE(catalog_->AwaitLoaded(absl::Seconds(60)));
  Write("held", Scalar(2, "x", 2));
  Scan();
  msg::SinceRequestT since;
  since.places.push_back(std::make_unique<msg::PlaceT>());
  since.places[0]->topic = bus::TopicOf({"m", "a", "loss"});
  std::vector<std::future<absl::StatusOr<msg::SinceReplyT>>> pages;
  for (int i = 0; i < 20; ++i) {
    const auto page = std::make_shared<std::promise<absl::StatusOr<msg::SinceReplyT>>>();
    pages.push_back(page->get_future());
    client_->Start<rpc::Common::Since>(since, nullptr,
                                       [page](auto reply) { page->set_value(std::move(reply)); },
                                       {.timeout = absl::Seconds(60), .service = "datamanager"});
  }
  msg::EndsRequestT ends;
  ends.prefix = "m/b/";
  const auto known = client_->Call<rpc::Common::Ends>(ends, {.service = "datamanager"});
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->places.size(), 1u);
  for (auto& page : pages) {
    EXPECT_NE(page.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  }
  held_.Open();
  for (auto& page : pages) {
    const auto reply = page.get();
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(reply->events.size(), 1u);
  }
}

TEST_F(ServiceMethodsTest, AQueryEndsByItsDeadlineAndTheLoadGoesOn) {
  Write("a", Scalar(1, "loss", 0.5));
  Write("held", Scalar(1, "x", 1));
  Scan();
  ASSERT_TRUE(catalog_->AwaitLoaded(absl::Seconds(60)));
  Write("held", Scalar(2, "x", 2));
  Scan();
  ASSERT_TRUE(held_.AwaitArrival());
  msg::ScalarsRequestT request;
  request.run = "a";
  request.tag = "loss";
  const auto late =
      client_->Call<Datamanager::Scalars>(request, {.timeout = absl::Milliseconds(100)});
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded) << late.status();
  held_.Open();
  const auto reply = client_->Call<Datamanager::Scalars>(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->values, ElementsAre(0.5));
}

class LoadingMethodsTest : public ServiceMethodsTest {
 protected:
  LoadingMethodsTest() : ServiceMethodsTest(1 << 30, 1) {}
};

TEST_F(LoadingMethodsTest, WhatIsBeingLoadedIsAnsweredAsIncomplete) {
  constexpr std::uint64_t kMany = 20'000;
  Write("held", Scalar(1, "x", 1));
  Scan();
  ASSERT_TRUE(catalog_->AwaitLoaded(absl::Seconds(60)));
  std::string records;
  for (std::uint64_t step = 0; step < kMany; ++step) {
    records += Scalar(static_cast<std::int64_t>(step), "x", 1);
  }
  Write("slow", records + Scalar(1, "late", 7));
  Scan();
  ASSERT_TRUE(slow_.AwaitArrival());
  // After its first step, the only loading thread blocks on another run.
  Write("held", Scalar(2, "x", 2));
  const std::vector<std::string> files = {"events.out.tfevents.1.host"};
  catalog_->Grown("held", files);
  slow_.Open();
  ASSERT_TRUE(held_.AwaitArrival());

  msg::TagsRequestT tags;
  tags.run = "slow";
  const auto listed = client_->Call<Datamanager::Tags>(tags);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_TRUE(listed->incomplete);
  EXPECT_EQ(listed->cache, msg::CacheState::Caching);
  EXPECT_EQ(listed->total, 1u);
  msg::ScalarsRequestT scalars;
  scalars.run = "slow";
  scalars.tag = "x";
  scalars.columns = 10;
  const auto part = client_->Call<Datamanager::Scalars>(scalars);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_TRUE(part->incomplete);
  EXPECT_GT(part->total_points, 0u);
  EXPECT_LT(part->total_points, kMany);
  scalars.tag = "late";
  EXPECT_EQ(client_->Call<Datamanager::Scalars>(scalars, {.timeout = absl::Milliseconds(100)})
                .status()
                .code(),
            absl::StatusCode::kDeadlineExceeded)
      << "it may come yet";
  msg::ReadScalarsRequestT several;
  several.selection = std::make_unique<msg::SelectionT>();
  several.selection->runs = {"slow"};
  several.columns = 10;
  const auto some = client_->Call<Datamanager::ReadScalars>(several);
  ASSERT_TRUE(some.ok()) << some.status();
  ASSERT_EQ(some->series.size(), 1u);
  EXPECT_TRUE(some->series[0]->incomplete);
  several.selection->whole = true;
  EXPECT_EQ(client_->Call<Datamanager::ReadScalars>(several, {.timeout = absl::Milliseconds(100)})
                .status()
                .code(),
            absl::StatusCode::kDeadlineExceeded)
      << "only the whole will do";
  held_.Open();
  const auto all = client_->Call<Datamanager::ReadScalars>(several);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->series.size(), 2u);
  EXPECT_FALSE(all->series[0]->incomplete);
  const auto late = client_->Call<Datamanager::Scalars>(scalars);
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_FALSE(late->incomplete);
  scalars.tag = "x";
  EXPECT_EQ(client_->Call<Datamanager::Scalars>(scalars)->total_points, kMany);
}

}  // namespace
}  // namespace datamanager
