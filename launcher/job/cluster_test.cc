#include "launcher/job/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_generated.h"

namespace launcher {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

std::unique_ptr<msg::TaskGroupT> Group(const std::string& type, unsigned count = 0,
                                       std::vector<std::string> addresses = {}) {
  auto group = std::make_unique<msg::TaskGroupT>();
  group->type = type;
  group->count = count;
  group->addresses = std::move(addresses);
  return group;
}

msg::JobSpecT Spec() {
  msg::JobSpecT spec;
  spec.argv = {"python3", "train.py"};
  spec.working_directory = "/home/me";
  spec.environment = {"PATH=/usr/bin", "HOME=/home/me"};
  return spec;
}

// A chief, two workers and a parameter server.
msg::JobSpecT Cluster() {
  msg::JobSpecT spec = Spec();
  spec.groups.push_back(Group("chief"));
  spec.groups.push_back(Group("worker", 2));
  spec.groups.push_back(Group("ps", 1));
  return spec;
}

void StartAfter(msg::TaskGroupT* group, const std::string& type) {
  group->start_after.push_back(std::make_unique<msg::StartAfterT>());
  group->start_after.back()->type = type;
  group->start_after.back()->milestone = msg::Milestone::Started;
}

void Limit(msg::TaskGroupT* group, const std::string& name, std::uint64_t soft,
           std::uint64_t hard) {
  group->process_limits.push_back(std::make_unique<msg::ProcessLimitT>());
  group->process_limits.back()->name = name;
  group->process_limits.back()->soft = soft;
  group->process_limits.back()->hard = hard;
}

void Resource(msg::TaskGroupT* group, const std::string& name, unsigned amount) {
  group->resources.push_back(std::make_unique<msg::ResourceRequestT>());
  group->resources.back()->name = name;
  group->resources.back()->amount = amount;
}

std::string Refusal(const msg::JobSpecT& spec) {
  const auto status = CheckCluster(spec);
  if (status.ok()) return "";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

const std::vector<int> kPorts = {20000, 20001, 20002, 20003, 20004};

TEST(ClusterTest, TasksAreInTheOrderOfTheGroupsAndEachHasAPort) {
  const auto spec = Cluster();
  ASSERT_EQ(Refusal(spec), "");
  ASSERT_EQ(PortsNeeded(spec), 5);
  const auto plan = PlanTasks(spec, kPorts);
  std::vector<std::string> names;
  for (const auto& task : plan.tasks) {
    EXPECT_EQ(task.rank, static_cast<int>(names.size()));
    EXPECT_EQ(task.address, absl::StrCat("127.0.0.1:", 20000 + task.rank));
    EXPECT_EQ(task.argv, spec.argv);
    EXPECT_EQ(task.working_directory, "/home/me");
    names.push_back(task.name());
  }
  EXPECT_THAT(names, ElementsAre("chief-0", "worker-0", "worker-1", "ps-0"));
  EXPECT_EQ(plan.master_address, "127.0.0.1");
  EXPECT_EQ(plan.master_port, 20004);
}

TEST(ClusterTest, AGroupsOwnProgramAndDirectoryWin) {
  auto spec = Cluster();
  spec.groups[2]->argv = {"ps"};
  spec.groups[2]->working_directory = "/tmp";
  const auto plan = PlanTasks(spec, kPorts);
  EXPECT_EQ(plan.tasks[2].argv, spec.argv);
  EXPECT_THAT(plan.tasks[3].argv, ElementsAre("ps"));
  EXPECT_EQ(plan.tasks[3].working_directory, "/tmp");
}

TEST(ClusterTest, TfConfigIsTheTextThatPythonWrites) {
  auto spec = Cluster();
  const auto plan = PlanTasks(spec, kPorts);
  EXPECT_EQ(TfConfig(spec, plan, plan.tasks[2]),
            R"({"cluster": {"chief": ["127.0.0.1:20000"], "worker": ["127.0.0.1:20001", )"
            R"("127.0.0.1:20002"], "ps": ["127.0.0.1:20003"]}, )"
            R"("task": {"type": "worker", "index": 1}, "rpc_layer": "grpc"})");
  spec.rpc_layer = "grpc+verbs";
  EXPECT_THAT(TfConfig(spec, plan, plan.tasks[0]),
              HasSubstr(R"("task": {"type": "chief", "index": 0}, "rpc_layer": "grpc+verbs"})"));
}

TEST(ClusterTest, GivenAddressesAreKeptAndNeedNoPort) {
  auto spec = Spec();
  spec.groups.push_back(Group("worker", 0, {"[::1]:2222", "node1.example:2222"}));
  spec.groups.push_back(Group("evaluator"));
  ASSERT_EQ(Refusal(spec), "");
  ASSERT_EQ(PortsNeeded(spec), 2);
  const auto plan = PlanTasks(spec, std::vector<int>{20000, 20001});
  ASSERT_EQ(plan.tasks.size(), 3u);
  EXPECT_EQ(plan.tasks[1].address, "node1.example:2222");
  EXPECT_EQ(plan.tasks[2].address, "127.0.0.1:20000");
  EXPECT_EQ(plan.master_address, "::1");
  EXPECT_EQ(plan.master_port, 20001);
  EXPECT_THAT(TfConfig(spec, plan, plan.tasks[0]),
              StartsWith(R"({"cluster": {"worker": ["[::1]:2222", "node1.example:2222"], )"));
}

TEST(ClusterTest, ATaskGetsWhatTorchrunSets) {
  auto spec = Cluster();
  spec.restart = msg::RestartPolicy::OnFailure;
  spec.max_restarts = 3;
  const auto plan = PlanTasks(spec, kPorts);
  TaskCircumstances circumstances;
  circumstances.job = "j-abcde";
  circumstances.restarts = 2;
  circumstances.torch_error_file = "/state/error.json";
  EXPECT_THAT(TaskEnvironment(spec, spec.environment, plan, plan.tasks[2], circumstances),
              IsSupersetOf({"PATH=/usr/bin",
                            "HOME=/home/me",
                            "RANK=2",
                            "LOCAL_RANK=2",
                            "WORLD_SIZE=4",
                            "LOCAL_WORLD_SIZE=4",
                            "GROUP_RANK=0",
                            "GROUP_WORLD_SIZE=1",
                            "ROLE_RANK=1",
                            "ROLE_WORLD_SIZE=2",
                            "ROLE_NAME=worker",
                            "MASTER_ADDR=127.0.0.1",
                            "MASTER_PORT=20004",
                            "TORCHELASTIC_RESTART_COUNT=2",
                            "TORCHELASTIC_MAX_RESTARTS=3",
                            "TORCHELASTIC_RUN_ID=j-abcde",
                            "TORCHELASTIC_USE_AGENT_STORE=False",
                            "TORCHELASTIC_ERROR_FILE=/state/error.json",
                            "TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
                            "OMP_NUM_THREADS=1",
                            "YARD_JOB_ID=j-abcde",
                            "YARD_TASK=worker-1"}));
}

TEST(ClusterTest, OursWinsOverTheCallersEnvironmentAndTheGroupsOwnOverOurs) {
  auto spec = Cluster();
  spec.environment = {"RANK=9",  "MASTER_PORT=1",  "OMP_NUM_THREADS=4", "TORCHELASTIC_ERROR_FILE=x",
                      "RANK=10", "YARD_READY_FD=7"};
  spec.groups[1]->environment = {"MASTER_PORT=29500", "MY=own"};
  const auto plan = PlanTasks(spec, kPorts);
  TaskCircumstances circumstances;
  circumstances.torch_error_file = "/state/error.json";
  const auto chief = TaskEnvironment(spec, spec.environment, plan, plan.tasks[0], circumstances);
  EXPECT_THAT(chief, IsSupersetOf({"RANK=0", "MASTER_PORT=20004", "OMP_NUM_THREADS=4",
                                   "TORCHELASTIC_ERROR_FILE=/state/error.json"}));
  EXPECT_THAT(chief, Not(Contains(StartsWith("YARD_READY_FD"))));
  const auto worker = TaskEnvironment(spec, spec.environment, plan, plan.tasks[1], {});
  EXPECT_THAT(worker, IsSupersetOf({"RANK=1", "MASTER_PORT=29500", "MY=own"}));
  std::set<std::string> names;
  for (const auto& entry : worker) {
    EXPECT_TRUE(names.insert(entry.substr(0, entry.find('='))).second) << entry;
  }
}

TEST(ClusterTest, DevicesOfATasksOwnAreCountedFromZero) {
  auto spec = Cluster();
  const auto plan = PlanTasks(spec, kPorts);
  TaskCircumstances circumstances;
  circumstances.sets = {{"gpu", {"2", "3"}}, {"disk", {"a"}}};
  EXPECT_THAT(TaskEnvironment(spec, spec.environment, plan, plan.tasks[2], circumstances),
              IsSupersetOf({"CUDA_VISIBLE_DEVICES=2,3", "YARD_RESOURCES=gpu=2,3;disk=a",
                            "LOCAL_RANK=0", "RANK=2"}));
  spec.share_sets = true;
  EXPECT_THAT(TaskEnvironment(spec, spec.environment, plan, plan.tasks[2], circumstances),
              IsSupersetOf({"CUDA_VISIBLE_DEVICES=2,3", "LOCAL_RANK=2"}));
  spec.environment.push_back("CUDA_VISIBLE_DEVICES=7");
  EXPECT_THAT(TaskEnvironment(spec, spec.environment, plan, plan.tasks[2], {}),
              Contains("CUDA_VISIBLE_DEVICES=7"));
}

TEST(ClusterTest, GrpcFailFastAndTheReadyDescriptorAreToldIfThereAreAny) {
  auto spec = Cluster();
  spec.grpc_fail_fast = "true";
  spec.groups[3 - 1]->ready_fd = 5;
  const auto plan = PlanTasks(spec, kPorts);
  EXPECT_THAT(TaskEnvironment(spec, spec.environment, plan, plan.tasks[3], {}),
              IsSupersetOf({"GRPC_FAIL_FAST=true", "YARD_READY_FD=5"}));
  EXPECT_THAT(TaskEnvironment(Cluster(), Cluster().environment, plan, plan.tasks[3], {}),
              Not(Contains(StartsWith("GRPC_FAIL_FAST"))));
}

TEST(ClusterTest, AJobWithoutGroupsIsOneTaskThatIsToldNothing) {
  auto spec = Spec();
  ASSERT_EQ(Refusal(spec), "");
  EXPECT_EQ(PortsNeeded(spec), 0);
  auto plan = PlanTasks(spec, {});
  ASSERT_EQ(plan.tasks.size(), 1u);
  EXPECT_EQ(plan.tasks[0].name(), "worker-0");
  EXPECT_EQ(plan.tasks[0].address, "");
  EXPECT_EQ(TaskEnvironment(spec, spec.environment, plan, plan.tasks[0], {}), spec.environment);
  spec.task_type = "trial";
  spec.task_index = 7;
  EXPECT_EQ(PlanTasks(spec, {}).tasks[0].name(), "trial-7");
}

TEST(ClusterTest, ATaskThatIsAloneIsToldOfNoCluster) {
  auto spec = Spec();
  spec.groups.push_back(Group("worker"));
  Resource(spec.groups[0].get(), "gpu", 2);
  spec.groups[0]->ready_fd = 5;
  spec.task_type = "worker";
  ASSERT_EQ(Refusal(spec), "");
  EXPECT_EQ(PortsNeeded(spec), 0);
  const auto plan = PlanTasks(spec, {});
  ASSERT_EQ(plan.tasks.size(), 1u);
  EXPECT_EQ(plan.tasks[0].address, "");
  EXPECT_EQ(plan.master_address, "");
  TaskCircumstances circumstances;
  circumstances.job = "j-abcde";
  circumstances.sets = {{"gpu", {"2", "3"}}};
  auto expected = spec.environment;
  for (const char* entry :
       {"YARD_JOB_ID=j-abcde", "YARD_TASK=worker-0", "CUDA_VISIBLE_DEVICES=2,3",
        "YARD_RESOURCES=gpu=2,3", "YARD_READY_FD=5",
        "YARD_VARIABLES=YARD_JOB_ID,YARD_TASK,CUDA_VISIBLE_DEVICES,YARD_RESOURCES,"
        "YARD_READY_FD"}) {
    expected.push_back(entry);
  }
  EXPECT_THAT(TaskEnvironment(spec, spec.environment, plan, plan.tasks[0], circumstances),
              ElementsAreArray(expected));
  EXPECT_TRUE(IsAlone(spec));
  spec.groups[0]->count = 2;
  EXPECT_FALSE(IsAlone(spec));
  EXPECT_EQ(PortsNeeded(spec), 3);
  spec.groups[0]->count = 1;
  spec.task_type.clear();
  EXPECT_FALSE(IsAlone(spec)) << "a cluster of one was asked for";
}

TEST(ClusterTest, WhatWasSetIsNamedForWhoStartsSomethingInside) {
  auto spec = Cluster();
  spec.environment = {"OMP_NUM_THREADS=4", "MY=own"};
  const auto plan = PlanTasks(spec, kPorts);
  const auto told = TaskEnvironment(spec, spec.environment, plan, plan.tasks[0], {});
  const auto names = std::find_if(told.begin(), told.end(), [](const std::string& entry) {
    return entry.starts_with("YARD_VARIABLES=");
  });
  ASSERT_NE(names, told.end());
  EXPECT_THAT(*names, HasSubstr("TF_CONFIG,RANK,"));
  EXPECT_THAT(*names, Not(HasSubstr("OMP_NUM_THREADS")));
  EXPECT_THAT(*names, Not(HasSubstr("MY")));
}

TEST(ClusterTest, GpusOfOthersCanBeHidden) {
  auto alone = Spec();
  alone.environment = {"CUDA_VISIBLE_DEVICES=7"};
  TaskCircumstances circumstances;
  circumstances.hides_gpus = true;
  auto plan = PlanTasks(alone, {});
  EXPECT_THAT(TaskEnvironment(alone, alone.environment, plan, plan.tasks[0], circumstances),
              ElementsAre("CUDA_VISIBLE_DEVICES=", "YARD_VARIABLES=CUDA_VISIBLE_DEVICES"));
  const auto spec = Cluster();
  plan = PlanTasks(spec, kPorts);
  EXPECT_THAT(TaskEnvironment(spec, spec.environment, plan, plan.tasks[0], circumstances),
              Contains("CUDA_VISIBLE_DEVICES="));
}

TEST(ClusterTest, AThousandTasksAreTheMost) {
  auto spec = Spec();
  spec.groups.push_back(Group("worker", 999));
  spec.groups.push_back(Group("chief"));
  EXPECT_EQ(Refusal(spec), "");
  EXPECT_EQ(PlanTasks(spec, {}).tasks.size(), 1000u);
  spec.groups.push_back(Group("ps", std::numeric_limits<unsigned>::max()));
  EXPECT_THAT(Refusal(spec), HasSubstr("at most 1000 tasks, this one has 4294968295"));
}

TEST(ClusterTest, ATfConfigThatNoProgramCanGetIsRefused) {
  auto spec = Spec();
  spec.groups.push_back(Group("worker"));
  for (int i = 0; i < 1000; ++i) {
    spec.groups[0]->addresses.push_back(absl::StrCat(std::string(200, 'h'), i, ":2222"));
  }
  EXPECT_THAT(Refusal(spec), HasSubstr("too long"));
}

struct Bad {
  std::string claim;
  void (*spoil)(msg::JobSpecT*);
  std::string error;
};

class BadClusterTest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadClusterTest, IsRefusedWithTheReason) {
  auto spec = Cluster();
  GetParam().spoil(&spec);
  EXPECT_THAT(Refusal(spec), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadClusterTest,
    ::testing::ValuesIn(std::vector<Bad>{
        {"TwoChiefs", [](auto* s) { s->groups[0]->count = 2; },
         "groups: a job has at most one chief, this one has 2"},
        {"TwoChiefAddresses",
         [](auto* s) {
           s->groups[0]->addresses = {"a:1", "b:1", "c:1"};
         },
         "at most one chief, this one has 3"},
        {"SameTypeTwice", [](auto* s) { s->groups.push_back(Group("ps")); },
         "type ps is there twice"},
        {"NoType", [](auto* s) { s->groups[1]->type = ""; }, "type \"\" is not a word"},
        {"TypeWithASlash", [](auto* s) { s->groups[1]->type = "a/b"; }, "\"a/b\" is not a word"},
        {"LongType", [](auto* s) { s->groups[1]->type = std::string(33, 'a'); }, "is not a word"},
        {"TypeLikeATask", [](auto* s) { s->groups.push_back(Group("worker-1")); },
         "type worker-1 has the name of a task of type worker"},
        {"CountAndAddressesDiffer",
         [](auto* s) {
           s->groups[1]->addresses = {"a:1", "b:1", "c:1"};
         },
         "worker: 2 tasks, but 3 addresses"},
        {"NoPort", [](auto* s) { s->groups[2]->addresses = {"host"}; }, "is not HOST:PORT"},
        {"SameAddressTwice",
         [](auto* s) {
           s->groups[1]->addresses = {"a:1", "a:1"};
         },
         "worker: address a:1 is there twice"},
        {"UnknownStartAfter", [](auto* s) { StartAfter(s->groups[1].get(), "driver"); },
         "worker: start_after names driver, which is no type of this job"},
        {"UnknownMilestone",
         [](auto* s) {
           StartAfter(s->groups[1].get(), "ps");
           s->groups[1]->start_after[0]->milestone = static_cast<msg::Milestone>(17);
         },
         "an unknown milestone"},
        {"StartAfterItself", [](auto* s) { StartAfter(s->groups[1].get(), "worker"); },
         "each starts only after the next: worker -> worker"},
        {"StartAfterInACycle",
         [](auto* s) {
           StartAfter(s->groups[0].get(), "worker");
           StartAfter(s->groups[1].get(), "ps");
           StartAfter(s->groups[2].get(), "worker");
         },
         "each starts only after the next: worker -> ps -> worker"},
        {"ReadyFdOfTheReports", [](auto* s) { s->groups[1]->ready_fd = 3; },
         "worker: ready_fd is 3, not from 4 to 255"},
        {"LargeReadyFd", [](auto* s) { s->groups[1]->ready_fd = 256; }, "ready_fd is 256"},
        {"UnknownLimit", [](auto* s) { Limit(s->groups[1].get(), "files", 1, 2); },
         "worker: process limit \"files\" is none of as, core,"},
        {"LimitTwice",
         [](auto* s) {
           Limit(s->groups[1].get(), "core", 1, 2);
           Limit(s->groups[1].get(), "core", 1, 2);
         },
         "process limit core is there twice"},
        {"SoftAboveHard", [](auto* s) { Limit(s->groups[1].get(), "nofile", 3, 2); },
         "the soft one, 3, is above the hard one, 2"},
        {"ResourceOfNothing", [](auto* s) { Resource(s->groups[1].get(), "gpu", 0); },
         "worker: resource gpu: an amount of 0"},
        {"ResourceTwice",
         [](auto* s) {
           Resource(s->groups[1].get(), "gpu", 1);
           Resource(s->groups[1].get(), "gpu", 1);
         },
         "resource gpu is there twice"},
        {"ResourceNoWord", [](auto* s) { Resource(s->groups[1].get(), "g p", 1); }, "is no word"},
        {"NoProgram", [](auto* s) { s->argv.clear(); }, "chief: there is no program"},
        {"EmptyProgram", [](auto* s) { s->groups[2]->argv = {""}; }, "ps: there is no program"},
        {"RelativeDirectory", [](auto* s) { s->groups[2]->working_directory = "a"; },
         "ps: the working directory is not an absolute path"},
        {"EnvironmentWithoutName", [](auto* s) { s->groups[2]->environment = {"=a"}; },
         "ps: an entry of the environment is not NAME=value"},
        {"RpcLayerWithAQuote", [](auto* s) { s->rpc_layer = "a\""; }, "rpc_layer: not a word"},
    }),
    [](const auto& info) { return info.param.claim; });

TEST(ClusterTest, AnOrderWithoutACycleIsTaken) {
  auto spec = Cluster();
  StartAfter(spec.groups[0].get(), "ps");
  StartAfter(spec.groups[0].get(), "worker");
  StartAfter(spec.groups[1].get(), "ps");
  Limit(spec.groups[1].get(), "nofile", 100, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(Refusal(spec), "");
}

TEST(HostPortTest, TakesNamesAndBothKindsOfNumbers) {
  for (const char* text : {"localhost:1", "10.0.0.1:65535", "[::1]:2222", "[fe80::1%eth0]:2222",
                           "my_node-1.example.com:8080"}) {
    EXPECT_TRUE(ParseHostPort(text)) << text;
  }
  EXPECT_EQ(ParseHostPort("[2001:db8::1]:2222")->host, "2001:db8::1");
  EXPECT_EQ(ParseHostPort("[2001:db8::1]:2222")->port, 2222);
}

TEST(HostPortTest, RefusesWhatIsNoAddress) {
  for (const char* text : {"",
                           ":",
                           "host",
                           "host:",
                           ":80",
                           "host:0",
                           "host:65536",
                           "host:-1",
                           "host:+80",
                           "host: 80",
                           "::1:2222",
                           "[::1]",
                           "[::1]2222",
                           "[host]:80",
                           "[]:80",
                           "[fe80::1%]:80",
                           "a b:80",
                           "a\"b:80",
                           "host:99999999999999999999",
                           "[::1:80"}) {
    EXPECT_FALSE(ParseHostPort(text)) << text;
  }
}

}  // namespace
}  // namespace launcher
