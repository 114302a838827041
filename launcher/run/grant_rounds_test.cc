#include "launcher/run/grant_rounds.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/job/job_row.h"
#include "launcher/run/grants.h"
#include "launcher/share/claims.h"
#include "launcher/share/resources.h"
#include "runtime/event_loop.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// GPUs that a launcher of another user holds until it releases them.
class OthersGpus final : public Claims {
 public:
  bool IsShared(const std::string& resource) const override { return resource == "gpu"; }
  bool Claim(const std::string&, const std::string&, const std::string&) override {
    ++asked_;
    return are_free_;
  }
  bool Reclaim(const std::string&, const std::string&, const std::string&, bool) override {
    return false;
  }
  void Release(const std::string&, const std::string&) override {}
  std::string WhyNot(const std::string&, const std::string&) override {
    return are_free_ ? "" : "somebody else has it";
  }

  void GiveBack() { are_free_ = true; }
  int asked() const { return asked_; }

 private:
  bool are_free_ = false;
  int asked_ = 0;
};

class GrantRoundsTest : public ::testing::Test {
 protected:
  GrantRoundsTest() : loop_(runtime::EventLoop::Create()) {}

  // Makes the grants of a host with `slots` slots, and two GPUs if another yard shares them.
  void Begin(std::uint32_t slots, Claims* claims = nullptr) {
    std::vector<Resource> there_is = {{.name = "slots", .members = {}, .amount = slots}};
    if (claims != nullptr) there_is.push_back({.name = "gpu", .members = {"0", "1"}, .amount = 2});
    grants_ = std::make_unique<Grants>(std::move(there_is), claims);
    rounds_ = std::make_unique<GrantRounds>(GrantRounds::Options{
        .loop = loop_.get(),
        .grants = grants_.get(),
        .look_for_others = absl::Milliseconds(1),
        .on_granted =
            [this](const std::string& job, const std::vector<Grants::Grant>& grants) {
              std::string words = absl::StrCat(job, ":");
              for (const auto& grant : grants) {
                absl::StrAppend(&words, " ", grant.task);
              }
              granted_.push_back(words);
              if (on_granted_) on_granted_();
            },
        .on_waits = [this](const std::string& job) { told_.push_back(job); }});
  }
  // Makes a job whose tasks need one member of the resource each.
  void Ask(const std::string& job, std::uint32_t tasks, const std::string& resource = "slots") {
    msg::JobSpecT spec;
    spec.groups.push_back(std::make_unique<msg::TaskGroupT>());
    msg::TaskGroupT& group = *spec.groups.back();
    group.type = "worker";
    group.count = tasks;
    group.resources.push_back(std::make_unique<msg::ResourceRequestT>());
    group.resources.back()->name = resource;
    group.resources.back()->amount = 1;
    JobRow row = MakeJobRow(std::move(spec));
    row.id = job;
    std::vector<int> ranks;
    for (std::uint32_t i = 0; i < tasks; ++i) ranks.push_back(static_cast<int>(i));
    grants_->Request(row, ranks);
    rounds_->Look();
  }
  // Runs all callbacks that are posted so far.
  void RunPosted() {
    loop_->Post([this] { loop_->Stop(); });
    loop_->Run();
  }

  std::unique_ptr<runtime::EventLoop> loop_;
  std::unique_ptr<Grants> grants_;
  std::unique_ptr<GrantRounds> rounds_;
  std::vector<std::string> granted_, told_;
  std::function<void()> on_granted_;
};

TEST_F(GrantRoundsTest, AllGrantsOfAJobComeTogetherAndLater) {
  Begin(3);
  Ask("j-a", 2);
  Ask("j-b", 1);
  EXPECT_THAT(granted_, IsEmpty());
  RunPosted();
  EXPECT_THAT(granted_, ElementsAre("j-a: worker-0 worker-1", "j-b: worker-0"));
}

TEST_F(GrantRoundsTest, WhoWaitsIsToldOfEachLook) {
  Begin(1);
  Ask("j-a", 1);
  EXPECT_THAT(told_, IsEmpty());
  Ask("j-b", 1);
  EXPECT_THAT(told_, ElementsAre("j-b"));
  grants_->Release("j-a", "worker-0");
  rounds_->Look();
  EXPECT_THAT(told_, ElementsAre("j-b"));
  RunPosted();
  EXPECT_THAT(granted_, ElementsAre("j-a: worker-0", "j-b: worker-0"));
}

TEST_F(GrantRoundsTest, ATaskGetsWhatOthersGiveBackWithoutAWord) {
  OthersGpus others;
  Begin(1, &others);
  Ask("j-a", 1, "gpu");
  loop_->RunAfter(absl::Milliseconds(5), [&] { others.GiveBack(); });
  on_granted_ = [this] { loop_->Stop(); };
  loop_->Run();
  EXPECT_THAT(granted_, ElementsAre("j-a: worker-0"));
}

TEST_F(GrantRoundsTest, NobodyLooksForOthersWhileNothingWaitsForThem) {
  OthersGpus others;
  Begin(1, &others);
  Ask("j-a", 1, "gpu");
  grants_->Release("j-a", "worker-0");
  rounds_->Look();
  const int asked = others.asked();
  loop_->RunAfter(absl::Milliseconds(5), [this] { loop_->Stop(); });
  loop_->Run();
  EXPECT_EQ(others.asked(), asked);
}

TEST_F(GrantRoundsTest, NobodyIsGrantedAnythingAfterItsEnd) {
  Begin(1);
  Ask("j-a", 1);
  rounds_.reset();
  RunPosted();
  EXPECT_THAT(granted_, IsEmpty());
}

}  // namespace
}  // namespace launcher
