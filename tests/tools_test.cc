// Tools started or reused through the yard, as TensorBoard's own end-to-end tests ask of its
// manager, with a stand-in for TensorBoard; tensorboard_test has the real one.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/yard_fixture.h"

namespace tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Does what TensorBoard does for its manager: listens, and writes its info file.
constexpr char kServer[] = R"py(#!/usr/bin/python3
import base64, http.server, json, os, sys, time
if "--slow" in sys.argv: time.sleep(1000)
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
key = json.dumps({"arguments": sys.argv[1:], "configure_kwargs": {}, "working_directory": os.getcwd()},
                 sort_keys=True, separators=(",", ":"))
directory = os.path.join(os.environ["TMPDIR"], ".tensorboard-info")
os.makedirs(directory, exist_ok=True)
with open(os.environ["TMPDIR"] + "/starts", "a") as starts: starts.write("x")
with open(os.path.join(directory, "pid-%d.info" % os.getpid()), "w") as info:
    json.dump({"version": "2.21.0", "start_time": int(time.time()), "pid": os.getpid(),
               "port": server.server_port, "path_prefix": "", "logdir": sys.argv[-1], "db": "",
               "cache_key": base64.b64encode(key.encode()).decode()}, info)
server.serve_forever()
)py";

class ToolsTest : public ::testing::Test {
 protected:
  ToolsTest() {
    EXPECT_EQ(yard_.Run({"up"}).exit_code, 0);
    UseTool("server", kServer);
  }

  // Makes a program the TensorBoard of this yard.
  void UseTool(const std::string& name, const std::string& text) {
    const std::string path = yard_.directory() + "/" + name;
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), 0755), 0);
    yard_.SetEnvironment("TENSORBOARD_BINARY", path);
  }
  std::vector<nlohmann::json> Tools() {
    std::vector<nlohmann::json> tools;
    const CommandResult status = yard_.Run({"status", "--json"});
    for (const absl::string_view line : absl::StrSplit(status.out, '\n', absl::SkipEmpty())) {
      auto object = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
      if (object.contains("tool")) tools.push_back(std::move(object));
    }
    return tools;
  }

  Yard yard_;
};

TEST_F(ToolsTest, IsStartedOnceShownAndStopped) {
  const CommandResult first = yard_.Run({"tensorboard", "--logdir", "runs"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, StartsWith("http://localhost:"));
  EXPECT_THAT(first.err, HasSubstr("started: tensorboard-"));
  const CommandResult second = yard_.Run({"tensorboard", "--logdir", "runs"});
  EXPECT_EQ(second.out, first.out) << second.err;
  EXPECT_THAT(second.err, HasSubstr("runs already: tensorboard-"));
  const auto tools = Tools();
  ASSERT_EQ(tools.size(), 1u);
  EXPECT_EQ(tools[0]["url"].get<std::string>() + "\n", first.out);
  EXPECT_EQ(tools[0]["logdir"], "runs");
  const CommandResult typed = yard_.Run({"completion", "complete", "--", "stop", "tensorb"});
  EXPECT_THAT(typed.out, HasSubstr(tools[0]["id"].get<std::string>() + "\ttool, http://"));
  const CommandResult stop = yard_.Run({"stop", tools[0]["id"].get<std::string>()});
  EXPECT_EQ(stop.exit_code, 0) << stop.err;
  EXPECT_THAT(Tools(), IsEmpty());
}

TEST_F(ToolsTest, AnotherDirectoryOfRunsIsAnotherTool) {
  const CommandResult first = yard_.Run({"tensorboard", "--logdir", "a"});
  const CommandResult second = yard_.Run({"tensorboard", "--logdir", "b"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(first.out, second.out);
  EXPECT_EQ(Tools().size(), 2u);
}

TEST_F(ToolsTest, ManyCallersStartOneProcess) {
  std::vector<Command> callers;
  for (int i = 0; i < 32; ++i) callers.push_back(yard_.Start({"tensorboard", "--logdir", "runs"}));
  std::string address;
  for (Command& caller : callers) {
    const CommandResult result = caller.Wait(absl::Seconds(120));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    if (address.empty()) address = result.out;
    EXPECT_EQ(result.out, address);
  }
  std::string starts;
  std::getline(std::ifstream(yard_.directory() + "/starts"), starts);
  EXPECT_EQ(starts, "x");
}

TEST_F(ToolsTest, AKilledOneIsNotReusedAndLeavesNoFile) {
  ASSERT_EQ(yard_.Run({"tensorboard", "--logdir", "runs"}).exit_code, 0);
  const auto before = Tools();
  ASSERT_EQ(before.size(), 1u);
  const pid_t pid = before[0]["pid"].get<int>();
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  const std::string file = before[0]["path"];
  EXPECT_TRUE(Yard::Eventually([&] { return !std::ifstream(file).good(); }));
  const CommandResult again = yard_.Run({"tensorboard", "--logdir", "runs"});
  EXPECT_THAT(again.err, HasSubstr("started: tensorboard-"));
  const auto after = Tools();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_NE(after[0]["pid"], pid);
}

TEST_F(ToolsTest, OneThatRunsIsFoundByARegistryStartedLater) {
  ASSERT_EQ(yard_.Run({"tensorboard", "--logdir", "runs"}).exit_code, 0);
  const auto before = Tools();
  ASSERT_EQ(before.size(), 1u);
  EXPECT_THAT(before[0]["job"].get<std::string>(), Not(IsEmpty()));
  ASSERT_TRUE(yard_.Kill("registry"));
  EXPECT_TRUE(Yard::Eventually([&] { return Tools() == before; }));
  const CommandResult again = yard_.Run({"tensorboard", "--logdir", "runs"});
  EXPECT_THAT(again.err, HasSubstr("runs already")) << again.out;
}

TEST_F(ToolsTest, AFailureShowsTheCodeAndBothStreams) {
  UseTool("fails", "#!/bin/sh\necho fine so far\necho 'no such flag' >&2\nexit 77\n");
  const CommandResult result = yard_.Run({"tensorboard", "--bad"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("exit code 77"));
  EXPECT_THAT(result.err, HasSubstr("  | fine so far"));
  EXPECT_THAT(result.err, HasSubstr("  | no such flag"));
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(Tools(), IsEmpty());
}

TEST_F(ToolsTest, AnEndWithoutServingIsAFailureWhateverTheCode) {
  UseTool("ends", "#!/bin/sh\nexit 0\n");
  const CommandResult result = yard_.Run({"tensorboard"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("exit code 0"));
}

TEST_F(ToolsTest, OneThatTakesTooLongIsLeftAlone) {
  const CommandResult result =
      yard_.Run({"tensorboard", "--timeout", "1", "--", "--slow", "--logdir", "runs"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("goes on trying"));
  EXPECT_LT(result.took, absl::Seconds(20));
  EXPECT_THAT(yard_.Run({"ps"}).out, HasSubstr("tensorboard-"));
}

TEST_F(ToolsTest, AMissingBinaryIsNamed) {
  yard_.SetEnvironment("TENSORBOARD_BINARY", "./non/existent");
  const CommandResult result = yard_.Run({"tensorboard"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("non/existent"));
  EXPECT_THAT(result.err, HasSubstr("$TENSORBOARD_BINARY"));
}

TEST_F(ToolsTest, WithoutALauncherTheAnswerSaysHowToGetOne) {
  Yard bare;
  Command registry = bare.StartBinary("registry/registry", {});
  ASSERT_TRUE(Yard::Eventually([&] {
    const auto registry = bare.Status()["registry"];  // Null before it has made its directory.
    return registry.is_object() && registry["state"] == "up";
  }));
  bare.SetEnvironment("TENSORBOARD_BINARY", yard_.directory() + "/server");
  const CommandResult result = bare.Run({"tensorboard", "--logdir", "runs"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("yard up"));
}

TEST_F(ToolsTest, AKeyIsComputedOverTheBus) {
  const CommandResult result =
      yard_.Run({"call", "registry", "CacheKey",
                 R"({"arguments": ["--logdir", "é x"], "working_directory": "/home/é"})"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("eyJhcmd1bWVudHMiOlsiLS1sb2dkaXIiLCJcdTAwZTkgeCJdLCJjb25maWd1cm"
                                    "Vfa3dhcmdzIjp7fSwid29ya2luZ19kaXJlY3RvcnkiOiIvaG9tZS9cdTAwZTki"
                                    "fQ=="));
  const CommandResult text = yard_.Run(
      {"call", "registry", "CacheKey", R"({"arguments": "--logdir x", "working_directory": "/"})"});
  EXPECT_EQ(text.exit_code, 2);
}

// A port on which nobody listens.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

TEST_F(ToolsTest, AToolWithoutAnInfoFileGetsOneUntilItIsKilled) {
  const int port = FreePort();
  const std::string path = yard_.directory() + "/quiet";
  std::ofstream(path) << "#!/bin/sh\nexec /usr/bin/python3 -m http.server --bind 127.0.0.1 " << port
                      << "\n";
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  const std::string request =
      nlohmann::json{{"tool", "quiet"},
                     {"arguments", {"ui"}},
                     {"environment", {"PATH=" + yard_.directory(), "TMPDIR=" + yard_.directory()}},
                     {"working_directory", yard_.directory()},
                     {"writes_info", false},
                     {"info", {{"port", port}, {"version", "1.0"}, {"logdir", "/runs"}}}}
          .dump();
  const CommandResult started = yard_.Run({"call", "registry", "StartOrReuse", request});
  EXPECT_EQ(started.exit_code, 0) << started.err;
  const std::string id = absl::StrCat("quiet-", port);
  EXPECT_THAT(started.out, HasSubstr(id));
  ASSERT_TRUE(yard_.Kill("registry"));  // Its name is in the file.
  ASSERT_TRUE(Yard::Eventually([&] { return Tools().size() == 1; }));
  const auto tools = Tools();
  EXPECT_EQ(tools[0]["id"], id);
  EXPECT_EQ(tools[0]["version"], "1.0");
  const std::string file = tools[0]["path"];
  EXPECT_THAT(file, HasSubstr(absl::StrCat("pid-", tools[0]["pid"].get<int>(), ".info")));
  ASSERT_EQ(kill(tools[0]["pid"].get<int>(), SIGKILL), 0);
  EXPECT_TRUE(Yard::Eventually([&] { return !std::ifstream(file).good(); }));
}

TEST_F(ToolsTest, WhatAFileSaysCannotDriveTheTerminal) {
  const CommandResult started = yard_.Run({"tensorboard", "--logdir", "\x1b]0;title\x07\x1b[2J"});
  EXPECT_EQ(started.exit_code, 0) << started.err;
  const CommandResult status = yard_.Run({"status"});
  EXPECT_THAT(status.out, HasSubstr("title"));
  for (const std::string& text : {started.out, started.err, status.out, status.err}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x07'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tests
