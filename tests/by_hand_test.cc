// The services started by hand, in any order, make a working yard.

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/file/file.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "tests/yard_fixture.h"

namespace tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool Up(Yard& yard, const std::vector<std::string>& services) {
  const auto status = yard.Status();
  return std::all_of(services.begin(), services.end(), [&](const std::string& service) {
    const auto found = status.find(service);
    return found != status.end() && found->second.value("state", "") == "up";
  });
}

TEST(ByHandTest, AnyOrderMakesAWorkingYard) {
  std::vector<std::string> order = {"datamanager", "launcher", "registry", "trainer"};
  // Six of the 24 orders: each service is first and last at least once.
  int round = 0;
  do {
    if (round++ % 4 != 0) continue;
    SCOPED_TRACE(absl::StrJoin(order, " "));
    Yard yard;
    std::vector<Command> services;
    for (const std::string& service : order) {
      std::vector<std::string> args;
      if (service == "datamanager" || service == "trainer") args.push_back("--logdir=runs");
      services.push_back(yard.StartBinary(service + "/" + service, args));
    }
    ASSERT_TRUE(Yard::Eventually([&] { return Up(yard, order); }));
    const CommandResult run =
        yard.Run({"run", "--name", "hand", "--", "/bin/sh", "-c",
                  "echo '{\"t\":\"report\",\"m\":{\"loss\":0.5}}' >&3; read -r r <&3; echo $r"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("\"ok\""));
    EXPECT_EQ(yard.Run({"down"}).exit_code, 0);
    for (Command& service : services) EXPECT_EQ(service.Wait(absl::Seconds(20)).exit_code, 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ByHandTest, AServiceWithoutARegistrySaysThatItWaits) {
  Yard yard;
  Command trainer = yard.StartBinary("trainer/trainer", {"--logdir=runs"});
  EXPECT_TRUE(Yard::Eventually([&] {
    return trainer.Err().find("registry") != std::string::npos &&
           trainer.Err().find("wait") != std::string::npos;
  })) << trainer.Err();
  ASSERT_TRUE(trainer.process().Signal(15).ok());
  EXPECT_EQ(trainer.Wait(absl::Seconds(20)).exit_code, 0);
}

TEST(ByHandTest, ASecondCopyExitsSixAndNamesTheFirst) {
  Yard yard;
  Command first = yard.StartBinary("registry/registry", {});
  ASSERT_TRUE(Yard::Eventually([&] { return yard.PidOf("registry") != 0; }));
  const CommandResult second = yard.StartBinary("registry/registry", {}).Wait(absl::Seconds(20));
  EXPECT_EQ(second.exit_code, 6);
  EXPECT_THAT(second.err, HasSubstr(std::to_string(first.pid())));
}

TEST(ByHandTest, AnotherRuntimeDirectoryDoesNotMakeASecondServiceOfAState) {
  for (const char* service : {"registry", "launcher", "datamanager", "trainer", "web"}) {
    SCOPED_TRACE(service);
    const std::string binary = std::string(service) + "/" + service;
    Yard yard;
    Command first = yard.StartBinary(binary, {});
    const std::string lock = yard.state() + "/" + service + ".lock";
    ASSERT_TRUE(Yard::Eventually([&] { return runtime::LockHolder(lock).ok(); }));
    const std::string sockets = yard.runtime_directory();
    const std::string elsewhere = yard.directory() + "/elsewhere";
    yard.SetEnvironment("XDG_RUNTIME_DIR", elsewhere);
    ASSERT_EQ(mkdir(elsewhere.c_str(), 0700), 0);
    const CommandResult second = yard.StartBinary(binary, {}).Wait(absl::Seconds(20));
    EXPECT_EQ(second.exit_code, 6);
    EXPECT_THAT(second.err, HasSubstr("of another yard keeps its state in " + yard.state()));
    EXPECT_THAT(second.err, HasSubstr("process " + std::to_string(first.pid())));
    EXPECT_THAT(second.err, HasSubstr(elsewhere + "/yard"));
    // The doctor finds nothing that has to be ended, either.
    const CommandResult doctor = yard.Run({"doctor"});
    EXPECT_EQ(doctor.exit_code, 1) << doctor.out;
    EXPECT_THAT(doctor.out, HasSubstr("services run with their sockets in " + sockets));
    EXPECT_THAT(doctor.out, HasSubstr("export XDG_RUNTIME_DIR=" + yard.directory() + "/run"));
    EXPECT_THAT(doctor.out, Not(HasSubstr("kill ")));
    EXPECT_THAT(doctor.out, Not(HasSubstr("does not run"))) << "who knows";
  }
}

// The messages that have come to a datagram socket, which is $NOTIFY_SOCKET.
class Notices {
 public:
  explicit Notices(Yard& yard) : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string path = yard.directory() + "/notices";
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    yard.SetEnvironment("NOTIFY_SOCKET", path);
  }
  bool Hear(const std::string& expected) {
    return Yard::Eventually([&] {
      char buffer[64];
      const ssize_t got = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      return got >= 0 && std::string(buffer, static_cast<std::size_t>(got)) == expected;
    });
  }

 private:
  const runtime::UniqueFd socket_;
};

// The lines of a service's unit, which say what systemd starts.
class Unit {
 public:
  explicit Unit(const std::string& service) {
    const auto path = runtime::FindDataFile("tools/systemd/trainyard-" + service + ".service");
    EXPECT_TRUE(path.ok()) << path.status();
    const auto text = runtime::ReadFile(path.value_or(""), 64 << 10);
    EXPECT_TRUE(text.ok()) << text.status();
    lines_ = absl::StrSplit(text.value_or(""), '\n');
  }
  // The text behind NAME=; empty without that line.
  std::string Value(const std::string& name) const {
    for (const std::string& line : lines_) {
      if (absl::StartsWith(line, name + "=")) return line.substr(name.size() + 1);
    }
    return "";
  }

 private:
  std::vector<std::string> lines_;
};

class UnitTest : public testing::TestWithParam<const char*> {};

TEST_P(UnitTest, SystemdIsToldOfReadyAndStopping) {
  const std::string name = GetParam();
  const Unit unit(name);
  EXPECT_EQ(unit.Value("Type"), "notify");
  Yard yard;
  // As `tools/install` would have put them there, with a configuration file.
  const std::filesystem::path prefix = yard.logdir() + ".prefix";
  std::filesystem::create_directories(prefix / "bin");
  std::filesystem::create_directories(prefix / "libexec");
  std::filesystem::create_symlink(Yard::Binary("tools/yard/yard"), prefix / "bin/yard");
  for (const std::string service : {"registry", "launcher", "datamanager", "trainer", "web"}) {
    std::filesystem::create_symlink(Yard::Binary(service + "/" + service),
                                    prefix / "libexec" / service);
  }
  std::filesystem::create_directories(prefix / "trainyard");
  std::ofstream(prefix / "trainyard/yard.yaml") << "log_files: 7\n";
  // systemd reads `$$` as `$`.
  const std::string line = absl::StrReplaceAll(unit.Value("ExecStart"), {{"$$", "$"}});
  const std::size_t begin = line.find('\''), end = line.rfind('\'');
  ASSERT_EQ(line.substr(0, begin), "/bin/sh -c ");
  ASSERT_EQ(line.substr(end), "' @PREFIX@");
  const std::string script =
      absl::StrCat("export XDG_CONFIG_HOME='", prefix.string(), "' LOGDIR='", yard.logdir(), "'\n",
                   line.substr(begin + 1, end - begin - 1));
  std::optional<Command> registry;
  if (name != "registry") {
    registry.emplace(yard.StartBinary("registry/registry", {"--supervisor=external"}));
  }
  Notices notices(yard);
  Command service = yard.StartProgram("/bin/sh", {"-c", script, prefix.string()});
  EXPECT_TRUE(notices.Hear("READY=1")) << service.Err();
  const auto words =
      runtime::ReadFile(absl::StrCat("/proc/", service.process().pid(), "/cmdline"), 64 << 10);
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_THAT(std::vector<std::string>(absl::StrSplit(*words, '\0')),
              testing::IsSupersetOf({"--supervisor=external", "--log_files=7"}));
  ASSERT_TRUE(service.process().Signal(15).ok());
  EXPECT_TRUE(notices.Hear("STOPPING=1")) << service.Err();
  EXPECT_EQ(service.Wait(absl::Seconds(20)).exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(Each, UnitTest,
                         testing::Values("registry", "launcher", "datamanager", "trainer", "web"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ByHandTest, AFlagOfTheDataManagerThatMakesNoSenseIsRefusedWithWhatThereMayBe) {
  struct Row {
    std::string flag, value, may_be;
  };
  for (const Row& row : std::vector<Row>{
           {"load_threads", "31", "1 and 30, or 0"},
           {"load_threads", "-1", "1 and 30, or 0"},
           {"reload_interval", "-1s", "0, to look once, or 100ms at least"},
           {"include", "(", "regular expression"},
           {"exclude", "[", "regular expression"},
           {"cache_mb", "17592186044416", "below 2^44"},
       }) {
    SCOPED_TRACE(row.flag + "=" + row.value);
    Yard yard;
    const CommandResult refused =
        yard.StartBinary("datamanager/datamanager",
                         {"--logdir=runs", "--" + row.flag + "=" + row.value})
            .Wait(absl::Seconds(20));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("--" + row.flag + " is "));
    EXPECT_THAT(refused.err, HasSubstr(row.may_be));
  }
}

TEST(ByHandTest, TcpIsRefusedWithTheReason) {
  Yard yard;
  const CommandResult refused =
      yard.StartBinary("registry/registry", {"--listen=tcp://127.0.0.1:26060"})
          .Wait(absl::Seconds(20));
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("tcp"));
}

}  // namespace
}  // namespace tests
