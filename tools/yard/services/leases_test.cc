#include "tools/yard/services/leases.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "bus/thread/node.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/coordinator.h"
#include "runtime/thread_pool.h"

namespace yard {
namespace {

using rpc::Registry;
using ::testing::ElementsAre;

constexpr absl::Duration kLong = absl::Seconds(20);

// A registry with leases of the given names; counts how many it has sent.
class LeasesTest : public ::testing::Test {
 protected:
  LeasesTest()
      : service_node_(yard_.MakeNode("registry")),
        node_(yard_.MakeNode("test")),
        service_(service_node_.get(), {.name = "registry", .endpoint = yard_.Address("registry")}),
        client_(node_.get()) {
    service_.Handle<Registry::List>(
        [this](const bus::CallContext&, const msg::ListRequestT& request) {
          return List(request);
        });
    EXPECT_EQ(service_.Start(), absl::OkStatus());
  }
  ~LeasesTest() override {
    service_.Stop();
    (void)coordinator_.RequestStop();
    pool_.reset();
  }

  msg::ListReplyT List(const msg::ListRequestT& request) {
    msg::ListReplyT reply;
    for (std::uint64_t id = request.after + 1; id <= paths_.size(); ++id) {
      const std::string& path = paths_[id - 1];
      if (!path.starts_with(request.prefix)) continue;
      reply.more = request.limit != 0 && reply.leases.size() == request.limit;
      if (reply.more) break;
      reply.leases.push_back(std::make_unique<msg::LeaseT>());
      reply.leases.back()->id = id;
      reply.leases.back()->name = path.substr(0, path.find('/'));
      ++told_;
    }
    return reply;
  }

  bus::TestYard yard_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_ =
      runtime::ThreadPool::Create(&coordinator_, {.threads = 1});
  std::unique_ptr<bus::Node> service_node_, node_;
  bus::Service service_;
  bus::Client client_;
  std::vector<std::string> paths_;
  std::size_t told_ = 0;
};

TEST_F(LeasesTest, AllAreReadAPageAtATime) {
  for (int i = 0; i < 1700; ++i) paths_.push_back(absl::StrCat("a/", i));
  const auto all = AllLeases(client_, kLong);
  ASSERT_EQ(all.status(), absl::OkStatus());
  ASSERT_EQ(all->size(), 1700u);
  for (std::size_t i = 0; i < all->size(); ++i) EXPECT_EQ((*all)[i]->id, i + 1);
  EXPECT_EQ(told_, 1700u);
}

TEST_F(LeasesTest, OfNothingThereIsNothing) {
  EXPECT_EQ(AllLeases(client_, kLong).value().size(), 0u);
  EXPECT_EQ(ServiceLeases(client_, kLong).value().size(), 0u);
}

TEST_F(LeasesTest, OfTheServicesOnlyTheOldestLeasesAreRead) {
  paths_ = {"trainer/0", "registry/0", "trainer/1", "trainers/0"};
  for (int i = 0; i < 1700; ++i) paths_.push_back(absl::StrCat("a/", i));
  const auto leases = ServiceLeases(client_, kLong);
  ASSERT_EQ(leases.status(), absl::OkStatus());
  std::vector<std::string> names;
  for (const auto& lease : *leases) names.push_back(absl::StrCat(lease->name, " ", lease->id));
  EXPECT_THAT(names, ElementsAre("registry 2", "trainer 1"));
  EXPECT_EQ(told_, 2u);
}

TEST_F(LeasesTest, ARegistryThatDoesNotAnswerIsAnError) {
  service_.Stop();
  EXPECT_FALSE(AllLeases(client_, absl::Milliseconds(100)).ok());
  EXPECT_FALSE(ServiceLeases(client_, absl::Milliseconds(100)).ok());
}

}  // namespace
}  // namespace yard
