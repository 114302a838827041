#include "launcher/run/job_ports.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bus/schema/launcher_generated.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "launcher/job/cluster.h"
#include "launcher/job/job_row.h"
#include "launcher/run/attempt.h"
#include "launcher/run/other_hosts.h"
#include "launcher/share/node_queue.h"
#include "runtime/event_loop.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Connected nodes that give each job the ports after 1000.
class FakeHosts final : public OtherHosts {
 public:
  explicit FakeHosts(runtime::EventLoop* loop) : loop_(loop) {}

  std::vector<NodeQueue::Node> Nodes() const override { return {}; }
  void OnChange(std::function<void(const std::string& node)>) override {}
  std::string AddressOf(const std::string& node) const override { return node; }
  std::string HostOf(const std::string&) const override { return ""; }
  bool TakePorts(const std::string& node, const std::string& job, std::size_t count,
                 std::function<void(std::vector<int> ports)> answer) override {
    std::vector<int>& held = held_[node][job];
    while (held.size() < count) held.push_back(++last_);
    loop_->Post([answer = std::move(answer), held] { answer(held); });
    return true;
  }
  void KeepPorts(const std::string& node, const std::vector<std::string>& jobs) override {
    std::map<std::string, std::vector<int>> kept;
    for (const std::string& job : jobs) kept[job] = held_[node][job];
    held_[node] = std::move(kept);
  }
  void LoseSoonIfAway(const std::string&) override {}
  std::unique_ptr<Attempt> MakeAttempt(const std::string&, Wanted, Attempt::Callbacks) override {
    return nullptr;
  }

  const std::map<std::string, std::vector<int>>& HeldOn(const std::string& node) {
    return held_[node];
  }

 private:
  runtime::EventLoop* const loop_;
  int last_ = 1000;
  std::map<std::string, std::map<std::string, std::vector<int>>> held_;  // By node and job.
};

class JobPortsTest : public ::testing::Test {
 protected:
  JobPortsTest()
      : loop_(runtime::EventLoop::Create()),
        hosts_(loop_.get()),
        ports_({.loop = loop_.get(),
                .hosts = &hosts_,
                .ranges = {{21204, 21207}},
                .random = [] { return 0.5; },
                .rows =
                    [this] {
                      std::vector<const JobRow*> rows;
                      for (const auto& row : rows_) rows.push_back(row.get());
                      return rows;
                    }}) {}

  // Makes a job with two workers, which needs three ports.
  JobRow& Add(const std::string& id, const std::string& pool = "") {
    msg::JobSpecT spec;
    spec.pool = pool;
    spec.groups.push_back(std::make_unique<msg::TaskGroupT>());
    spec.groups.back()->type = "worker";
    spec.groups.back()->count = 2;
    rows_.push_back(std::make_unique<JobRow>(MakeJobRow(std::move(spec))));
    rows_.back()->id = id;
    return *rows_.back();
  }
  static void End(JobRow& row) {
    for (TaskStatus& task : row.status.tasks) task.state = msg::TaskState::Exited;
  }
  // Waits for the ports of the nodes.
  void AskFor(JobRow& row) {
    ports_.Ask(row, [&](std::vector<int> ports) {
      row.ports = std::move(ports);
      loop_->Stop();
    });
    loop_->Run();
  }

  std::unique_ptr<runtime::EventLoop> loop_;
  FakeHosts hosts_;
  std::vector<std::unique_ptr<JobRow>> rows_;
  JobPorts ports_;
};

TEST_F(JobPortsTest, AJobHasItsPortsUntilItIsReleased) {
  JobRow& first = Add("j-a");
  const auto taken = ports_.Take(first);
  ASSERT_EQ(taken.status(), absl::OkStatus());
  EXPECT_THAT(*taken, SizeIs(3));
  first.SetPorts(*taken);
  EXPECT_TRUE(absl::IsResourceExhausted(ports_.Take(Add("j-b")).status()));
  ports_.Release(first);
  EXPECT_THAT(*ports_.Take(Add("j-c")), SizeIs(3));
}

TEST_F(JobPortsTest, APortOfAnotherJobIsNotTakenUp) {
  JobRow& first = Add("j-a");
  first.SetPorts(*ports_.Take(first));
  JobRow& second = Add("j-b");
  second.SetPorts(first.ports);
  EXPECT_TRUE(absl::IsFailedPrecondition(ports_.TakeUp(second)));
  EXPECT_EQ(ports_.TakeUp(first), absl::OkStatus());
}

TEST_F(JobPortsTest, OfTwoJobsOfAnEarlierLauncherTheLaterOneHasThePort) {
  JobRow& first = Add("j-a");
  JobRow& second = Add("j-b");
  JobRow& ended = Add("j-c");
  first.SetPorts({21204, 21205, 21206});
  second.SetPorts({21205, 21204, 21206});
  ended.SetPorts({21204, 21205, 21207});
  first.run_since_us = 1;
  second.run_since_us = 2;
  ended.run_since_us = 3;
  End(ended);
  ports_.TakeUpAll();
  EXPECT_EQ(ports_.TakeUp(second), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(ports_.TakeUp(first)));
}

TEST_F(JobPortsTest, APortThatWasLetGoIsStillTheJobs) {
  JobRow& row = Add("j-a");
  row.SetPorts(*ports_.Take(row));
  ports_.LetGo(row, row.ports);
  EXPECT_TRUE(absl::IsResourceExhausted(ports_.Take(Add("j-b")).status()));
  ports_.TakeBack(row, row.ports);
  EXPECT_EQ(ports_.TakeUp(row), absl::OkStatus());
}

TEST_F(JobPortsTest, NodesGiveThePortsOfAJobWithAPool) {
  JobRow& row = Add("j-a", "lab");
  row.SetPorts(*ports_.Take(row));
  EXPECT_THAT(row.ports, ElementsAre(0, 0, 0));
  EXPECT_EQ(ports_.TakeUp(row), absl::OkStatus());  // (This host holds no port.)
  row.tasks[0].node = "a";                          // The other task has no node yet.
  AskFor(row);
  EXPECT_THAT(row.ports, ElementsAre(1001, 0, 1002));
  EXPECT_THAT(hosts_.HeldOn("a").at("j-a"), ElementsAre(1001, 1002));
}

TEST_F(JobPortsTest, ANodeKeepsThePortsOfLiveJobsAlone) {
  JobRow& first = Add("j-a", "lab");
  JobRow& second = Add("j-b", "lab");
  for (JobRow* const row : {&first, &second}) {
    row->SetPorts(*ports_.Take(*row));
    for (TaskRow& task : row->tasks) task.node = "a";
    hosts_.TakePorts("a", row->id, row->ports.size(), [](const std::vector<int>&) {});
  }
  ports_.KeepOn("a");
  EXPECT_THAT(hosts_.HeldOn("a"), SizeIs(2));
  End(first);
  ports_.Release(first);
  EXPECT_THAT(hosts_.HeldOn("a"), SizeIs(1));
  EXPECT_TRUE(hosts_.HeldOn("a").contains("j-b"));
}

TEST_F(JobPortsTest, RankZeroHasTheMasterPortToo) {
  JobRow& row = Add("j-a");
  row.SetPorts({21204, 21205, 21206});
  const ClusterPlan plan = PlanTasks(row.spec, row.ports);
  EXPECT_THAT(PortsOfTask(row, plan, 0), ElementsAre(21204, 21206));
  EXPECT_THAT(PortsOfTask(row, plan, 1), ElementsAre(21205));
  row.SetPorts({});
  EXPECT_THAT(PortsOfTask(row, plan, 0), IsEmpty());
}

}  // namespace
}  // namespace launcher
