#include "tools/yard/job/job_file.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/yard/job/job_json.h"

namespace yard {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

// A file with every key.
constexpr char kEverything[] = R"(name: first
program: python3
args: [train.py, --lr, 0.1, --fast, true]
environment:
  OMP_NUM_THREADS: 1
  EMPTY: ""
cwd: code
ready_pattern: serving
resources: {gpu: 2}
limits: {nofile: 1024}
memory: 1GiB
cpus: 2
processes: 10
tasks:
  chief: 1
  worker:
    count: 3
    command: [python3, worker.py]
    cwd: /abs/../elsewhere/
    environment: {ROLE: worker}
    start_after: {ps: ready, chief: started}
    ready_pattern: "listening on .*"
    resources: {gpu: 1, slots: 2}
    limits: {nofile: 4096, core: unlimited, stack: "8MiB:16MiB"}
    memory: 1.5GiB
    cpus: 0.5
    processes: 100
  ps: [a:2222, "[::1]:2222"]
  evaluator:
    ready_fd: 4
rpc_layer: grpc
grpc_fail_fast: use_caller
max_run_time: 1.5h
stop_signal: INT
stop_grace: 30s
restart: on-failure
max_restarts: 3
restart_window: 10m
gang: true
ignore_chief: true
keep_going: true
daemon: true
hold_ports: false
share_gpu: true
log_directory: ../logs
log_limit: 1GiB
log_rotate_size: 10MB
log_rotate_files: 5
own_namespace: true
at: gpus
labels: {team: vision, sweep: 7}
restart_delay: 2s
restart_delay_limit: 1m
liveness: {http: "http://localhost:80/health", period: 5s, timeout: 2s, failures: 2, start_delay: 1m}
after: {data: completed, server: ready}
)";

msg::JobSpecT Job(const std::string& text) {
  auto draft = ParseJob(text, "job.yaml", "/files");
  EXPECT_TRUE(draft.ok()) << draft.status();
  return draft.ok() ? draft->spec : msg::JobSpecT();
}

std::vector<std::string> Errors(const std::string& text) {
  const auto draft = ParseJob(text, "job.yaml", "/files");
  EXPECT_TRUE(absl::IsInvalidArgument(draft.status())) << draft.status() << "\n" << text;
  return absl::StrSplit(std::string(draft.status().message()), '\n');
}

// Returns the only error.
std::string Error(const std::string& text) {
  const auto errors = Errors(text);
  EXPECT_EQ(errors.size(), 1U) << errors[1];
  return errors[0];
}

TEST(JobFileTest, EveryKeyOfAJobHasItsField) {
  const msg::JobSpecT job = Job(kEverything);
  EXPECT_EQ(job.name, "first");
  EXPECT_THAT(job.argv, ElementsAre("python3", "train.py", "--lr", "0.1", "--fast", "true"));
  EXPECT_THAT(job.environment, ElementsAre("OMP_NUM_THREADS=1", "EMPTY="));
  EXPECT_EQ(job.working_directory, "/files/code");
  EXPECT_EQ(job.rpc_layer, "grpc");
  EXPECT_EQ(job.grpc_fail_fast, "use_caller");
  EXPECT_EQ(job.max_run_time_ms, 5'400'000U);
  EXPECT_EQ(job.stop_signal, SIGINT);
  EXPECT_EQ(job.stop_grace_ms, 30'000U);
  EXPECT_EQ(job.restart, msg::RestartPolicy::OnFailure);
  EXPECT_EQ(job.max_restarts, 3U);
  EXPECT_EQ(job.restart_window_ms, 600'000U);
  EXPECT_TRUE(job.gang && job.ignore_chief && job.keep_going && job.daemon);
  EXPECT_TRUE(job.release_ports && job.share_sets && job.own_namespace);
  EXPECT_EQ(job.log_directory, "/logs");
  EXPECT_EQ(job.pool, "gpus");
  EXPECT_EQ(job.log_limit_bytes, 1U << 30);
  EXPECT_EQ(job.log_rotate_bytes, 10'000'000U);
  EXPECT_EQ(job.log_rotate_files, 5U);
  ASSERT_EQ(job.labels.size(), 2U);
  EXPECT_EQ(job.labels[1]->key + "=" + job.labels[1]->value, "sweep=7");
  EXPECT_EQ(job.restart_delay_ms, 2000U);
  EXPECT_EQ(job.restart_delay_limit_ms, 60'000U);
  ASSERT_NE(job.liveness, nullptr);
  EXPECT_EQ(job.liveness->http, "http://localhost:80/health");
  EXPECT_EQ(job.liveness->period_ms, 5000U);
  EXPECT_EQ(job.liveness->timeout_ms, 2000U);
  EXPECT_EQ(job.liveness->failures, 2U);
  EXPECT_EQ(job.liveness->start_delay_ms, 60'000U);
  ASSERT_EQ(job.after.size(), 2U);
  EXPECT_EQ(job.after[0]->job, "data");
  EXPECT_EQ(job.after[0]->milestone, msg::Milestone::Completed);
  EXPECT_EQ(job.after[1]->milestone, msg::Milestone::Ready);
}

TEST(JobFileTest, KeysOfTaskTypesAreForAllThatSayNothingElse) {
  const msg::JobSpecT job = Job(kEverything);
  const msg::TaskGroupT &chief = *job.groups[0], &worker = *job.groups[1], &last = *job.groups[3];
  EXPECT_EQ(chief.ready_pattern, "serving");
  EXPECT_EQ(chief.resources.at(0)->amount, 2U);
  EXPECT_EQ(chief.control_limits->memory_bytes, 1U << 30);
  EXPECT_EQ(worker.ready_pattern, "listening on .*");
  EXPECT_EQ(worker.resources.at(0)->amount, 1U);
  EXPECT_EQ(worker.control_limits->processes, 100U);
  EXPECT_EQ(last.ready_pattern, "") << "it has a ready_fd";
  // Without task types, the job is a single task and no cluster.
  const msg::JobSpecT alone = Job("command: [x]\nresources: {gpu: 1}\n");
  ASSERT_EQ(alone.groups.size(), 1U);
  EXPECT_EQ(alone.task_type, "worker");
  EXPECT_EQ(alone.groups[0]->resources.at(0)->name, "gpu");
  EXPECT_EQ(Error("tasks: {a: 1, b: 1}\nmemory: much"),
            "job.yaml:2:9: memory: expected a size like 512MiB, 1.5GB or 4k (a number: bytes), not "
            "\"much\"");
}

TEST(JobFileTest, AProbeIsOneOfFour) {
  const auto probe = [](const std::string& text) {
    const auto job = Job("liveness: " + text);
    return job.liveness == nullptr ? msg::ProbeT() : *job.liveness;
  };
  EXPECT_THAT(probe("{command: [test, -e, alive]}").argv, ElementsAre("test", "-e", "alive"));
  EXPECT_THAT(probe("{command: test -e alive}").argv, ElementsAre("sh", "-c", "test -e alive"));
  EXPECT_EQ(probe("{tcp: 8080}").tcp, "8080");
  EXPECT_TRUE(probe("{heartbeat: true, period: 1m}").heartbeat);
  const msg::JobSpecT job = Job("tasks: {worker: {liveness: {tcp: own}}}\ncommand: [x]");
  EXPECT_EQ(job.groups[0]->liveness->tcp, "own");
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "liveness: expected one of command, tcp, http and heartbeat"},
           {"{tcp: 80, heartbeat: true}", "expected one of"},
           {"{tcp: 80, perod: 5s}", "unknown key \"perod\"; do you mean \"period\"?"},
           {"{tcp: 80, period: 1ms}", "expected at least 100ms"},
           {"{tcp: 80, failures: 0}", "a whole number from 1 to"},
           {"{http: localhost}", "a URL that begins with http://"},
           {"{heartbeat: false}", "expected true"},
           {"{command: []}", "expected a program first"},
           {"8080", "expected a map"}}) {
    EXPECT_THAT(Error("liveness: " + text), HasSubstr(what)) << text;
  }
}

TEST(JobFileTest, EveryKeyOfATaskTypeHasItsField) {
  const msg::JobSpecT job = Job(kEverything);
  ASSERT_EQ(job.groups.size(), 4U);
  const msg::TaskGroupT& worker = *job.groups[1];
  EXPECT_EQ(worker.type, "worker");
  EXPECT_EQ(worker.count, 3U);
  EXPECT_THAT(worker.argv, ElementsAre("python3", "worker.py"));
  EXPECT_EQ(worker.working_directory, "/elsewhere");
  EXPECT_THAT(worker.environment, ElementsAre("ROLE=worker"));
  ASSERT_EQ(worker.start_after.size(), 2U);
  EXPECT_EQ(worker.start_after[0]->type, "ps");
  EXPECT_EQ(worker.start_after[0]->milestone, msg::Milestone::Ready);
  EXPECT_EQ(worker.start_after[1]->milestone, msg::Milestone::Started);
  EXPECT_EQ(worker.ready_pattern, "listening on .*");
  ASSERT_EQ(worker.resources.size(), 2U);
  EXPECT_EQ(worker.resources[1]->name, "slots");
  EXPECT_EQ(worker.resources[1]->amount, 2U);
  ASSERT_EQ(worker.process_limits.size(), 3U);
  EXPECT_EQ(worker.process_limits[0]->soft, 4096U);
  EXPECT_EQ(worker.process_limits[1]->hard, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(worker.process_limits[2]->soft, 8U << 20);
  EXPECT_EQ(worker.process_limits[2]->hard, 16U << 20);
  EXPECT_EQ(worker.control_limits->memory_bytes, 3ULL << 29);
  EXPECT_EQ(worker.control_limits->milli_cpus, 500U);
  EXPECT_EQ(worker.control_limits->processes, 100U);
  EXPECT_THAT(job.groups[2]->addresses, ElementsAre("a:2222", "[::1]:2222"));
  EXPECT_EQ(job.groups[2]->count, 2U);
  EXPECT_EQ(job.groups[3]->ready_fd, 4U);
  EXPECT_EQ(job.groups[3]->count, 1U);
}

TEST(JobFileTest, WhereItRunsIsNoPartOfTheJobItself) {
  const auto draft =
      ParseJob("command: [a]\nengine: slurm\nslurm: {nodes: 2, time: '8:00:00', exclude: [n1, n2]}",
               "job.yaml", "/files");
  ASSERT_TRUE(draft.ok()) << draft.status();
  EXPECT_EQ(draft->engine.engine, "slurm");
  EXPECT_THAT(draft->engine.slurm,
              ElementsAre(Pair("exclude", "n1,n2"), Pair("nodes", "2"), Pair("time", "8:00:00")));
  EXPECT_THAT(Error("command: [a]\nengine: pbs"),
              HasSubstr("job.yaml:2:9: engine: expected local, pool or slurm"));
  EXPECT_THAT(Error("command: [a]\nslurm: {nodes: many}"),
              HasSubstr("job.yaml:2:9: slurm: nodes: expected a number"));
  EXPECT_THAT(Error("command: [a]\nslurm: gpu"), HasSubstr("{partition: gpu"));
}

TEST(JobFileTest, EveryKeyIsExplained) {
  std::size_t of_task_types = 0;
  for (const JobKey& key : JobKeys()) {
    of_task_types += key.of_task_type;
    EXPECT_FALSE(key.type.empty() || key.fallback.empty()) << key.name;
    EXPECT_THAT(std::string(key.meaning), EndsWith(".")) << key.name;
    EXPECT_EQ(key.meaning.find_first_of("|\n"), std::string_view::npos) << key.name;
  }
  EXPECT_GT(of_task_types, 10u);
  EXPECT_GT(JobKeys().size(), of_task_types + 20);
}

TEST(JobFileTest, RanksFollowTheOrderOfTheKeys) {
  std::vector<std::string> types;
  for (const auto& group : Job("tasks: {ps: 1, zeta: 2, chief: , alpha: 1}").groups) {
    types.push_back(group->type);
  }
  EXPECT_THAT(types, ElementsAre("ps", "zeta", "chief", "alpha"));
}

TEST(JobFileTest, WhatWasGivenIsKnownFromItsDefault) {
  const auto draft = ParseJob("max_restarts: 0\ncommand: [x]", "f", "/");
  ASSERT_TRUE(draft.ok());
  EXPECT_THAT(draft->given, ElementsAre("command", "max_restarts"));
}

TEST(JobFileTest, ACountOfZeroLeavesTheTypeOut) {
  EXPECT_EQ(Job("tasks: {worker: 2, ps: 0}").groups.size(), 1U);
  EXPECT_EQ(Error("tasks: {worker: 0}"),
            "job.yaml:1:8: tasks: expected a task type with at least one task");
}

TEST(JobFileTest, NoTimeAtAllForAStopIsTheShortestThereIs) {
  EXPECT_EQ(Job("stop_grace: 0").stop_grace_ms, 1U);
  EXPECT_EQ(Job("max_run_time: 0.0001").max_run_time_ms, 1U);
  EXPECT_EQ(Job("max_run_time: 0").max_run_time_ms, 0U);
}

TEST(JobFileTest, AProcessIsToldThatItsTimeIsUpBeforeItIsKilled) {
  const auto limit = [](const std::string& text) {
    const auto job = Job("tasks: {worker: {limits: {cpu: \"" + text + "\"}}}");
    return *job.groups.at(0)->process_limits.at(0);
  };
  EXPECT_EQ(limit("60").soft, 60U);
  EXPECT_EQ(limit("60").hard, 61U) << "SIGXCPU, then SIGKILL";
  EXPECT_EQ(limit("60:60").hard, 60U);
  EXPECT_EQ(limit("unlimited").hard, std::numeric_limits<std::uint64_t>::max());
}

TEST(JobFileTest, WordsAndNumbersHaveMoreThanOneSpelling) {
  EXPECT_EQ(Job("restart: on_failure").restart, msg::RestartPolicy::OnFailure);
  EXPECT_EQ(Job("restart: \"always\"").restart, msg::RestartPolicy::Always);
  EXPECT_EQ(Job("stop_signal: 10").stop_signal, SIGUSR1);
  EXPECT_EQ(Job("stop_signal: SIGUSR1").stop_signal, SIGUSR1);
  EXPECT_EQ(Job("stop_grace: \"250ms\"").stop_grace_ms, 250U);
  EXPECT_TRUE(Job("gang: True").gang);
}

TEST(JobFileTest, AnErrorHasItsPlaceTheKeyAndWhatIsAllowed) {
  const std::pair<std::string, std::string> kCases[] = {
      {"gan: true", "job.yaml:1:1: unknown key \"gan\"; do you mean \"gang\"?"},
      {"max-restarts: 1",
       "job.yaml:1:1: unknown key \"max-restarts\"; do you mean \"max_restarts\"?"},
      {"zzzzzz: 1",
       "job.yaml:1:1: unknown key \"zzzzzz\"; there are: name, program, args, command, "
       "environment, "},
      {"tasks:\n  worker: {cuont: 3}",
       "job.yaml:2:12: tasks.worker: unknown key \"cuont\"; do you mean \"count\"?"},
      {"name: [a]", "job.yaml:1:7: name: expected a text, not a list"},
      {"name: a/b", "job.yaml:1:7: name: expected 1 to 128 printable characters"},
      {"name: ''", "job.yaml:1:7: name: expected 1 to 128 printable characters"},
      {"name:\ngang: true", "job.yaml:1:1: name: expected a text, not nothing"},
      {"gang: 1", "job.yaml:1:7: gang: expected true or false, not \"1\""},
      {"gang: \"true\"", "job.yaml:1:7: gang: expected true or false, not the text \"true\""},
      {"gang: yes", "job.yaml:1:7: gang: expected true or false, not \"yes\""},
      {"max_restarts: many",
       "job.yaml:1:15: max_restarts: expected a whole number from 0 to 4294967295, not \"many\""},
      {"max_restarts: \"3\"", "not the text \"3\""},
      {"max_restarts: -1", "not \"-1\""},
      {"max_restarts: 1.5", "not \"1.5\""},
      {"max_restarts: 4294967296", "not \"4294967296\""},
      {"restart: sometimes",
       "job.yaml:1:10: restart: expected never, on-failure or always, not \"sometimes\""},
      {"stop_signal: SIGFOO",
       "stop_signal: expected a signal like SIGTERM, TERM or 15, not \"SIGFOO\""},
      {"max_run_time: soon", "max_run_time: expected a time like 30s, 1.5h"},
      {"stop_grace: 60d", "stop_grace: expected a time of at most 4294967s, not \"60d\""},
      {"log_limit: 10 MiB", "log_limit: expected a size like 512MiB"},
      {"log_rotate_size: 65535",
       "job.yaml:1:18: log_rotate_size: expected at least 64KiB, or 0 for never, not 65535"},
      {"log_rotate_files: 4294967296", "expected a whole number from 0 to"},
      {"cwd: ~/code", "job.yaml:1:6: cwd: ~ stands for no directory here"},
      {"cwd: ''", "cwd: expected a path, not an empty text"},
      {"command: python3 train.py",
       "job.yaml:1:10: command: expected a list: [python3, train.py]; a line for a shell"},
      {"command: []", "command: expected a program first"},
      {"command: [a, [b]]", "job.yaml:1:14: command.1: expected a text, not a list"},
      {"command: [a]\nprogram: b", "job.yaml:1:10: command is program and args in one list"},
      {"args: [a]", "job.yaml:1:7: args without program"},
      {"program: ''", "program: expected a program"},
      {"environment: [A=b]", "environment: expected a map from names to texts"},
      {"environment: {A: }", "environment.A: expected a text, not nothing"},
      {"environment: {\"A=B\": c}", "environment: expected a name that is not empty and has no ="},
      {"tasks: 3", "job.yaml:1:8: tasks: expected a map from task types to how many"},
      {"tasks: {worker: 1001}",
       "tasks.worker: expected a whole number from 0 to 1000, not \"1001\""},
      {"tasks: {worker-0: 1}",
       "job.yaml:1:9: tasks: a task type does not end in a number: that is the name of a task"},
      {"tasks: {\"a b\": 1}", "tasks: a task type is a letter and up to"},
      {"tasks:\n  chief: 2", "job.yaml:2:10: tasks.chief: a job has at most one chief, not 2"},
      {"tasks: {chief: {count: 2}}", "job.yaml:1:24: tasks.chief: a job has at most one chief"},
      {"tasks: {worker: {count: 3, addresses: [a:1]}}",
       "job.yaml:1:39: tasks.worker: 1 address for 3 tasks"},
      {"tasks: {worker: [a:1, a:1]}", "a task of worker has the address a:1 already"},
      {"tasks: {worker: [a]}", "expected HOST:PORT with a port from 1 to 65535, not \"a\""},
      {"tasks: {worker: []}", "tasks.worker: expected addresses"},
      {"tasks: {worker: {start_after: {ps: ready}}}",
       "job.yaml:1:31: tasks.worker: there are no tasks of type ps; there are: worker"},
      {"tasks: {a: {start_after: {a: ready}}}", "nobody would start first: a after a"},
      {"tasks: {a: {start_after: {b: done}}, b: 1}",
       "tasks.a.start_after.b: expected started, ready or completed, not \"done\""},
      {"tasks: {a: {ready_pattern: x, ready_fd: 4}}",
       "job.yaml:1:41: tasks.a: a task is ready by ready_pattern or ready_fd, not both"},
      {"tasks: {a: {ready_fd: 3}}", "expected a whole number from 4 to 255, not \"3\""},
      {"tasks: {a: {ready_fd: 256}}", "ready_fd: expected a whole number from 4 to 255"},
      {"tasks: {a: {resources: {gpu: 0}}}",
       "tasks.a.resources.gpu: expected a whole number from 1"},
      {"tasks: {a: {resources: {\"g u\": 1}}}", "expected the name of a resource"},
      {"tasks: {a: {limits: {files: 1}}}",
       "job.yaml:1:22: tasks.a.limits: unknown limit \"files\"; there are: as, core, cpu, "},
      {"tasks: {a: {limits: {nofile: 2:1}}}", "as SOFT:HARD, the second not smaller; not \"2:1\""},
      {"tasks: {a: {limits: {nofile: 8MiB}}}", "limits.nofile: expected a number, unlimited"},
      {"tasks: {a: {cpus: 0}}", "cpus: expected a number from 0.001 to 1e+06, not \"0\""},
      {"tasks: {a: {cpus: nan}}", "cpus: expected a number"},
      {"tasks: {a: {memory: much}}", "memory: expected a size"},
      {"[a]", "job.yaml:1:1: expected a map of a job's keys"},
      {"just words", "job.yaml:1:1: expected a map of a job's keys"},
  };
  for (const auto& [text, error] : kCases) {
    EXPECT_THAT(Errors(text)[0], HasSubstr(error)) << text;
    EXPECT_THAT(Errors(text)[0], AnyOf(StartsWith("job.yaml:1:"), StartsWith("job.yaml:2:")))
        << text;
  }
}

TEST(JobFileTest, AllThatIsWrongIsToldAtOnceInItsOrder) {
  EXPECT_THAT(Errors("gang: maybe\ntasks:\n  worker: x\n  chief: {zzz: 1}\nmax_restarts: -1\n"),
              ElementsAre(HasSubstr(":1:7: gang"), HasSubstr(":3:11: tasks.worker"),
                          HasSubstr(":4:11: tasks.chief"), HasSubstr(":5:15: max_restarts")));
  std::string many;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&many, "key", i, ": 1\n");
  EXPECT_EQ(Errors(many).size(), 21U);
  EXPECT_EQ(Errors(many).back(), "and 80 more");
}

TEST(JobFileTest, HostsAndPorts) {
  for (const char* good : {"a:1", "a.b-c:65535", "10.0.0.1:80", "[::1]:80", "localhost:2222"}) {
    EXPECT_EQ(Job(absl::StrCat("tasks: {w: [\"", good, "\"]}")).groups.size(), 1U) << good;
  }
  for (const char* bad : {"", ":1", "a:", "a:0", "a:65536", "a:x", "::1:80", "a b:1", "a:1:2",
                          "http://a:1", "[]:1", "a:-1", "a: 1", "a:1 "}) {
    EXPECT_THAT(Error(absl::StrCat("tasks: {w: [\"", bad, "\"]}")), HasSubstr("HOST:PORT")) << bad;
  }
}

TEST(JobFileTest, AValueInAnErrorCannotDriveTheTerminalAndIsShort) {
  const std::string error = Error("gang: \"\\e[2J" + std::string(1000, 'x') + "\"");
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
  EXPECT_LT(error.size(), 200U);
}

// ---- Back to a file

TEST(JobJsonTest, AJobComesBackFromItsJson) {
  const msg::JobSpecT job = Job(kEverything);
  const std::string text = JobToJson(job, Secrets::kShown).dump(2);
  const msg::JobSpecT again = Job(text);
  EXPECT_EQ(JobToJson(again, Secrets::kShown).dump(2), text);
  EXPECT_EQ(again.groups.size(), 4U);
  EXPECT_EQ(again.groups[1]->start_after.size(), 2U);
  EXPECT_EQ(again.groups[1]->control_limits->milli_cpus, 500U);
  EXPECT_TRUE(again.release_ports);
  EXPECT_EQ(again.max_run_time_ms, job.max_run_time_ms);
  // All keys, with `program` and `args` merged into `command`.
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.size(), 30U) << text;
}

TEST(JobJsonTest, DefaultsAreLeftOut) {
  EXPECT_EQ(JobToJson(Job("command: [x]"), Secrets::kShown).dump(), R"({"command":["x"]})");
}

TEST(JobJsonTest, ValuesOfTheEnvironmentAreHidden) {
  const msg::JobSpecT job =
      Job("environment: {TOKEN: geheim=1}\ntasks: {a: {environment: {KEY: geheim}}}");
  const std::string text = JobToJson(job, Secrets::kHidden).dump();
  EXPECT_THAT(text, HasSubstr(R"("TOKEN":"<hidden>")"));
  EXPECT_THAT(text, HasSubstr(R"("KEY":"<hidden>")"));
  EXPECT_EQ(text.find("geheim"), std::string::npos);
  EXPECT_THAT(JobToJson(job, Secrets::kShown).dump(), HasSubstr("geheim=1"));
}

// ---- Files

class ReadJobTest : public ::testing::Test {
 protected:
  ReadJobTest() { EXPECT_NE(mkdtemp(directory_), nullptr); }
  ~ReadJobTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(absl::StrCat(directory_, "/", name)) << text;
  }
  char directory_[32] = "/tmp/job-XXXXXX";
};

TEST_F(ReadJobTest, PathsBeginWhereTheFileIs) {
  Write("job.json", R"({"cwd": "code", "log_directory": "/logs"})");
  const auto job = ReadJob("job.json", directory_);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->spec.working_directory, absl::StrCat(directory_, "/code"));
  EXPECT_EQ(job->spec.log_directory, "/logs");
  EXPECT_TRUE(ReadJob(absl::StrCat(directory_, "/job.json"), "/").ok());
}

TEST_F(ReadJobTest, APipeIsWaitedForAndHasNoPlace) {
  const std::string path = absl::StrCat(directory_, "/pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << "cwd: code\n"; });
  const auto job = ReadJob(path, "/here");
  writer.join();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->spec.working_directory, "/here/code");
}

TEST_F(ReadJobTest, WhatCannotBeReadIsNamed) {
  const auto missing = ReadJob("none.yaml", directory_);
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("none.yaml"));
  EXPECT_FALSE(ReadJob(".", directory_).ok());
  Write("big", std::string((1 << 20) + 1, ' '));
  const auto big = ReadJob("big", directory_);
  EXPECT_TRUE(absl::IsInvalidArgument(big.status()));
  EXPECT_THAT(std::string(big.status().message()), HasSubstr("big: larger than 1 MiB"));
}

// ---- Flags

TEST(SetJobKeyTest, ReplacesValuesAndAddsToMaps) {
  auto draft = ParseJob("max_run_time: 1h\nenvironment: {A: 1, B: 2}\nlabels: {x: 1}", "f", "/");
  ASSERT_TRUE(draft.ok());
  ASSERT_TRUE(SetJobKey("max_run_time", {"30s"}, "/", &*draft).ok());
  ASSERT_TRUE(SetJobKey("environment", {"B=3=4", "C="}, "/", &*draft).ok());
  ASSERT_TRUE(SetJobKey("labels", {"x=2"}, "/", &*draft).ok());
  ASSERT_TRUE(SetJobKey("log_directory", {"logs"}, "/here", &*draft).ok());
  EXPECT_EQ(draft->spec.max_run_time_ms, 30'000U);
  EXPECT_THAT(draft->spec.environment, ElementsAre("A=1", "B=3=4", "C="));
  EXPECT_EQ(draft->spec.labels[0]->value, "2");
  EXPECT_EQ(draft->spec.log_directory, "/here/logs");
  EXPECT_TRUE(draft->given.contains("log_directory"));
}

TEST(SetJobKeyTest, ErrorsBeginWithTheFlag) {
  JobDraft draft;
  EXPECT_EQ(std::string(SetJobKey("gang", {"maybe"}, "/", &draft).message()),
            "--gang: expected true or false, not \"maybe\"");
  EXPECT_EQ(std::string(SetJobKey("environment", {"A"}, "/", &draft).message()),
            "--environment: expected NAME=value, not \"A\"");
  EXPECT_EQ(std::string(SetTaskKey("limits", {"nofile=x"}, "/", &draft).message()),
            "--limits: nofile: expected a number, unlimited, or two of them as SOFT:HARD, the "
            "second not smaller; not \"x\"");
  EXPECT_THAT(draft.given, IsEmpty());
}

TEST(SetJobKeyTest, KeysOfTasksAreForEachTypeOrForOneWorker) {
  auto draft = ParseJob("tasks: {ps: {resources: {gpu: 2, a: 1}}, worker: 2}", "f", "/");
  ASSERT_TRUE(draft.ok());
  ASSERT_TRUE(SetTaskKey("resources", {"gpu=1"}, "/", &*draft).ok());
  EXPECT_EQ(draft->spec.groups[0]->resources.size(), 2U);
  EXPECT_EQ(draft->spec.groups[0]->resources[1]->amount, 1U);
  EXPECT_EQ(draft->spec.groups[1]->resources[0]->name, "gpu");
  JobDraft empty;
  ASSERT_TRUE(SetTaskKey("memory", {"1GiB"}, "/", &empty).ok());
  ASSERT_EQ(empty.spec.groups.size(), 1U);
  EXPECT_EQ(empty.spec.groups[0]->type, "worker");
  EXPECT_EQ(empty.spec.groups[0]->control_limits->memory_bytes, 1U << 30);
}

// ---- Hostile files

TEST(JobFileTest, ChangesAnywhereGiveAJobOrErrorsWithPlaces) {
  std::vector<std::string> words = {
      "true", "-1", "~",  "[]", "{}",    "\"\"",    "99999999999999999999", "nan", "1e9",
      "a:1",  "\n", ": ", "'",  "tasks", "worker-0"};
  for (const auto& word : absl::StrSplit(kEverything, absl::ByAnyChar(" \n:,[]{}"))) {
    if (!word.empty()) words.emplace_back(word);
  }
  std::mt19937 random(2);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int good = 0;
  for (int round = 0; round < 5'000; ++round) {
    std::string text = kEverything;
    for (std::size_t change = 0; change <= below(3) && !text.empty(); ++change) {
      const std::size_t at = below(text.size());
      const std::string& word = words[below(words.size())];
      switch (below(3)) {
        case 0:
          text.replace(at, below(12), word);
          break;
        case 1:
          text.erase(at, 1 + below(30));
          break;
        default:
          text[at] = static_cast<char>(random());
      }
    }
    const auto draft = ParseJob(text, "job.yaml", "/files");
    if (draft.ok()) {
      ++good;
      const std::string json = JobToJson(draft->spec, Secrets::kShown).dump();
      EXPECT_TRUE(ParseJob(json, "job.yaml", "/files").ok()) << text << json;
    } else {
      ASSERT_THAT(std::string(draft.status().message()), StartsWith("job.yaml:")) << text;
    }
  }
  EXPECT_GT(good, 150);
  EXPECT_LT(good, 4'800);
}

}  // namespace
}  // namespace yard
