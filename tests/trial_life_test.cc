// Trials of real programs: many from one command, paused and resumed, told something, removed; with
// a trainer that has two slots, and is killed meanwhile.

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "tests/yard_fixture.h"

namespace tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Reports until the file "go" is there; prints what it is told. The words after it: do that first.
constexpr char kProgram[] = R"(
import json, os, sys, time
import yard

words = sys.argv[1:]
with yard.Reporter() as reporter:
    if words[:1] == ["fail-after"]:
        while not os.path.exists(words[1]):
            time.sleep(0.01)
        sys.exit(3)
    step = 0
    while not os.path.exists("go"):
        step += 1
        reply = reporter.report(step=step)
        for event in reply.events:
            print("event", json.dumps(event), flush=True)
        if words[:1] == ["touch"]:
            open(words[1], "w").close()
        if not reply:
            break
        time.sleep(0.01)
)";

class TrialLifeTest : public testing::Test {
 protected:
  TrialLifeTest() {
    const std::filesystem::path module = Yard::Binary("sdk/python/yard/__init__.py");
    yard_.SetEnvironment("PYTHONPATH", module.parent_path().parent_path());
    Write("loop.py", kProgram);
    for (const std::string service : {"registry", "launcher", "datamanager"}) {
      services_.push_back(
          yard_.StartBinary(service + "/" + service, service == "datamanager"
                                                         ? std::vector<std::string>{"--logdir=runs"}
                                                         : std::vector<std::string>{}));
    }
    StartTrainer();
  }
  ~TrialLifeTest() override {
    Write("go", "");
    EXPECT_EQ(yard_.Run({"down"}).exit_code, 0);
  }

  void StartTrainer() {
    services_.push_back(yard_.StartBinary("trainer/trainer", {"--logdir=runs", "--slots=2"}));
    ASSERT_TRUE(Yard::Eventually([&] {
      const auto status = yard_.Status();
      const std::vector<std::string> started = {"registry", "launcher", "datamanager", "trainer"};
      return std::all_of(started.begin(), started.end(), [&](const std::string& name) {
        const auto service = status.find(name);
        return service != status.end() && service->second.value("state", "") == "up";
      });
    }));
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(runtime::WriteFileAtomically(yard_.directory() + "/" + name, text, 0644).ok());
  }
  // `yard ps --json` by name.
  std::map<std::string, nlohmann::json> Trials() {
    std::map<std::string, nlohmann::json> trials;
    std::istringstream lines(yard_.Run({"ps", "--json"}).out);
    for (std::string line; std::getline(lines, line);) {
      const auto object = nlohmann::json::parse(line);
      if (object.at("kind") == "trial") trials[object.at("name")] = object;
    }
    return trials;
  }
  // True once a trial is in that state and has reported so often.
  bool Comes(const std::string& name, const std::string& state, int reports = 0) {
    return Yard::Eventually([&] {
      const auto trials = Trials();
      const auto trial = trials.find(name);
      return trial != trials.end() && trial->second.at("state") == state &&
             trial->second.at("reports") >= reports;
    });
  }
  std::string Yes(const std::vector<std::string>& words) {
    const CommandResult result = yard_.Run(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  Yard yard_;
  std::vector<Command> services_;
};

TEST_F(TrialLifeTest, AGridOfFourOnTwoSlots) {
  Command command =
      yard_.Start({"run", "--grid", "lr=0.1,0.01", "--grid", "n=1,2", "--name", "g-{lr}-{n}",
                   "--label", "sweep", "--", "python3", "loop.py", "--lr={lr}"});
  ASSERT_TRUE(Comes("g-0.1-1", "running"));
  ASSERT_TRUE(Comes("g-0.1-2", "running"));
  ASSERT_TRUE(Comes("g-0.01-2", "pending"));
  auto trials = Trials();
  EXPECT_EQ(trials["g-0.01-1"]["reason"], "waits for a slot (2 of 2 in use)");
  EXPECT_EQ(trials["g-0.01-2"]["reason"], "waits for a slot (2 of 2 in use), 1 before it");
  EXPECT_EQ(trials["g-0.01-2"]["labels"], nlohmann::json::array({"sweep"}));
  Write("go", "");
  const CommandResult result = command.Wait(absl::Seconds(60));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 4) << result.out;
  EXPECT_THAT(result.err, HasSubstr("4 trials: 4 done"));
  const std::string run = yard_.logdir() + "/g-0.01-2";
  EXPECT_EQ(runtime::ReadFile(run + "/params.json", 1000).value_or(""),
            "{\n  \"lr\": 0.01,\n  \"n\": 2\n}\n");
  const auto provenance =
      nlohmann::json::parse(runtime::ReadFile(run + "/provenance.json", 1 << 20).value_or("{}"));
  EXPECT_EQ(provenance["command"], "python3 loop.py --lr=0.01");
  EXPECT_THAT(provenance["python"].get<std::string>(), HasSubstr("Python 3"));
}

TEST_F(TrialLifeTest, CtrlCStopsAllThatOneCommandHasStarted) {
  Write("c.jsonl", "{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n");
  Command command =
      yard_.Start({"run", "--configs", "c.jsonl", "--name", "c-{a}", "--", "python3", "loop.py"});
  ASSERT_TRUE(Comes("c-1", "running", 1));
  ASSERT_TRUE(Comes("c-2", "running", 1));
  ASSERT_TRUE(Comes("c-3", "pending"));
  ASSERT_TRUE(command.process().Signal(2).ok());
  const CommandResult result = command.Wait(absl::Seconds(60));
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("3 trials: 3 stopped"));
}

TEST_F(TrialLifeTest, PausedResumedToldAndRemovedOverAKillOfTheTrainer) {
  std::string id = Yes({"run", "--detach", "--name", "p", "--", "python3", "loop.py"});
  id.pop_back();
  ASSERT_TRUE(Comes("p", "running", 1));
  EXPECT_EQ(Yes({"pause", "p"}), id + " paused: it was asked to pause\n");
  EXPECT_EQ(Yes({"tell", "p", "{\"lr\": 0.5}"}), id + " event 1\n");
  ASSERT_TRUE(yard_.Kill("trainer"));
  StartTrainer();
  EXPECT_TRUE(Comes("p", "paused"));
  const std::string note = id + " is paused; yard resume " + id + " lets it go on\n";
  for (const char* verb : {"wait", "watch"}) {
    const Command waits = yard_.Start({verb, "p"});
    EXPECT_TRUE(Yard::Eventually([&] { return waits.Err().find(note) != note.npos; }))
        << verb << " says " << waits.Err();
  }
  EXPECT_THAT(Yes({"resume", "p"}), HasSubstr("starts anew"));
  EXPECT_EQ(Yes({"tell", "p", "2"}), id + " event 2\n");
  std::string log;
  EXPECT_TRUE(Yard::Eventually([&] {
    log = yard_.Run({"logs", "p"}).out;
    return log.find("event 2") != log.npos;
  })) << log;
  EXPECT_THAT(log, AllOf(HasSubstr("event {\"lr\": 0.5}"), HasSubstr("event 2")));
  const CommandResult early = yard_.Run({"rm", "p"});
  EXPECT_EQ(early.exit_code, 6);
  EXPECT_THAT(early.err, HasSubstr("yard stop"));
  Yes({"stop", "p"});
  EXPECT_EQ(yard_.Run({"tell", "p", "3"}).exit_code, 6);
  EXPECT_THAT(Yes({"rm", "p"}), HasSubstr(".trash/" + id));
  EXPECT_TRUE(std::filesystem::exists(yard_.logdir() + "/.trash/" + id + "/result.json"));
  EXPECT_EQ(yard_.Run({"show", id}).exit_code, 3);
  EXPECT_TRUE(
      Yard::Eventually([&] { return yard_.Run({"runs"}).out.find(id) == std::string::npos; }));
}

TEST_F(TrialLifeTest, AFailureLeavesTheOthersToBeResumed) {
  Write("c.jsonl", "{\"do\": \"fail-after\"}\n{\"do\": \"touch\"}\n");
  const CommandResult result =
      yard_.Run({"run", "--configs", "c.jsonl", "--fail_fast", "--name", "f-{do}", "--", "python3",
                 "loop.py", "{do}", "reported"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("f-fail-after FAILED: "), HasSubstr("2 trials: 1 failed, 1 paused")));
  EXPECT_THAT(Trials()["f-touch"]["reason"].get<std::string>(),
              HasSubstr("of its group has failed"));
  Write("go", "");
  Yes({"resume", "f-touch"});
  EXPECT_EQ(yard_.Run({"wait", "f-touch"}).exit_code, 0);
  EXPECT_EQ(Trials()["f-touch"]["state"], "done");
}

}  // namespace
}  // namespace tests
