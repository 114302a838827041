#include "launcher/share/held_ports.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/file/file_limit.h"
#include "runtime/file/unique_fd.h"
#include "runtime/process/subprocess.h"

namespace launcher {
namespace {

using runtime::UniqueFd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kJob = "j-abcde", kOther = "j-fghij";
constexpr std::uint32_t kAny = INADDR_ANY, kLoopback = INADDR_LOOPBACK;

// Binds a port like a program, with these options, on this address.
UniqueFd Bind4(int port, std::vector<int> options, std::uint32_t address = kAny) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  for (const int option : options) {
    setsockopt(socket.get(), SOL_SOCKET, option, &on, sizeof(on));
  }
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(address);
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) return {};
  return socket;
}

// Binds the wildcard address of both families, like gRPC.
UniqueFd Bind6(int port, std::vector<int> options) {
  UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1, off = 0;
  setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  for (const int option : options) {
    setsockopt(socket.get(), SOL_SOCKET, option, &on, sizeof(on));
  }
  sockaddr_in6 name = {};
  name.sin6_family = AF_INET6;
  name.sin6_addr = in6addr_any;
  name.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) return {};
  return socket;
}

bool HasIpv6() {
  const UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 name = {};
  name.sin6_family = AF_INET6;
  return socket.valid() &&
         bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
}

bool Listens(const UniqueFd& socket) { return socket.valid() && listen(socket.get(), 16) == 0; }

HeldPorts::Options In(int first, int last) { return {.ranges = {{first, last}}, .start = 0}; }

int TakeOne(HeldPorts& ports) {
  const auto taken = ports.Take(kJob, 1);
  EXPECT_TRUE(taken.ok()) << taken.status();
  return taken.ok() ? taken->at(0) : 0;
}

TEST(HeldPortsTest, AThousandJobsHaveFourPortsEachAndNoneIsThereTwice) {
  runtime::RaiseFileLimit();
  HeldPorts ports({});
  std::set<int> known;
  const absl::Duration begin = runtime::Clock::Real()->Monotonic();
  for (int job = 0; job < 1000; ++job) {
    const auto taken = ports.Take(absl::StrCat("j-", job), 4);
    ASSERT_TRUE(taken.ok()) << taken.status();
    known.insert(taken->begin(), taken->end());
  }
  const absl::Duration spent = runtime::Clock::Real()->Monotonic() - begin;
  RecordProperty("microseconds_for_4000", static_cast<int>(absl::ToInt64Microseconds(spent)));
  EXPECT_LT(spent, absl::Seconds(5));
  EXPECT_EQ(known.size(), 4000u);
  EXPECT_EQ(ports.size(), 4000u);
  int low = 0, high = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> low >> high;
  for (const int port : known) {
    EXPECT_TRUE(port < low || port > high) << port;
    EXPECT_TRUE(Listens(Bind4(port, {SO_REUSEADDR, SO_REUSEPORT}))) << port;
  }
}

TEST(HeldPortsTest, ProgramsThatSetEitherOptionListenBesideTheHoldingSocket) {
  HeldPorts ports(In(21000, 21009));
  const int port = TakeOne(ports);
  EXPECT_TRUE(Listens(Bind4(port, {SO_REUSEADDR, SO_REUSEPORT}, kLoopback)));
  EXPECT_TRUE(Listens(Bind4(port, {SO_REUSEPORT})));
  EXPECT_TRUE(Listens(Bind4(port, {SO_REUSEADDR})));
  EXPECT_TRUE(Listens(Bind4(port, {SO_REUSEADDR}, kLoopback)));
  if (HasIpv6()) {
    EXPECT_TRUE(Listens(Bind6(port, {SO_REUSEADDR, SO_REUSEPORT})));
    EXPECT_TRUE(Listens(Bind6(port, {SO_REUSEADDR})));
  }
}

TEST(HeldPortsTest, AConnectionReachesTheProgramAndNotTheHolder) {
  HeldPorts ports(In(21010, 21019));
  const int port = TakeOne(ports);
  const UniqueFd listener = Bind4(port, {SO_REUSEADDR, SO_REUSEPORT});
  ASSERT_TRUE(Listens(listener));
  for (int i = 0; i < 10; ++i) {
    const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(kLoopback);
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    EXPECT_TRUE(UniqueFd(accept(listener.get(), nullptr, nullptr)).valid());
  }
}

TEST(HeldPortsTest, ABareBindIsRefusedWhileThePortIsHeldAndWorksOnceItIsLetGo) {
  HeldPorts ports(In(21020, 21029));
  const int port = TakeOne(ports);
  for (const std::uint32_t address : {kAny, kLoopback}) {
    EXPECT_FALSE(Bind4(port, {}, address).valid());
    EXPECT_EQ(errno, EADDRINUSE);
  }
  ports.LetGo(kJob, port);
  EXPECT_FALSE(ports.IsHeld(port));
  EXPECT_TRUE(Listens(Bind4(port, {})));
  EXPECT_TRUE(ports.TakeUp(kJob, port).ok());
  EXPECT_FALSE(Bind4(port, {}).valid());
  ports.Release(kJob, port);
  EXPECT_TRUE(Listens(Bind4(port, {})));
}

TEST(HeldPortsTest, AProgramInAProcessOfItsOwnListensOnAHeldPort) {
  HeldPorts ports(In(21030, 21039));
  const int port = TakeOne(ports);
  const std::string program =
      "import socket, sys\n"
      "s = socket.socket()\n"
      "for o in sys.argv[2:]: s.setsockopt(socket.SOL_SOCKET, getattr(socket, o), 1)\n"
      "s.bind(('', int(sys.argv[1])))\n"
      "s.listen()\n";
  const auto run = [&](std::vector<std::string> options) {
    runtime::Subprocess::Options how;
    how.argv = {"python3", "-c", program, absl::StrCat(port)};
    how.argv.insert(how.argv.end(), options.begin(), options.end());
    how.environment = {"PATH=/usr/bin:/bin"};
    auto child = runtime::Subprocess::Start(how);
    if (!child.ok()) return child.status().ToString();
    const auto status = child->Wait(absl::Seconds(30));
    return status.ok() ? status->ToString() : status.status().ToString();
  };
  EXPECT_EQ(run({"SO_REUSEPORT"}), "exit code 0");
  EXPECT_EQ(run({"SO_REUSEADDR"}), "exit code 0");
  EXPECT_EQ(run({}), "exit code 1");
}

TEST(HeldPortsTest, WhatSomebodyListensOnOrHasBoundIsSkipped) {
  const UniqueFd listener = Bind4(21041, {SO_REUSEADDR, SO_REUSEPORT}, kLoopback);
  ASSERT_TRUE(Listens(listener));
  const UniqueFd bound = Bind4(21042, {SO_REUSEADDR, SO_REUSEPORT});
  ASSERT_TRUE(bound.valid());
  HeldPorts other(In(21043, 21043));
  ASSERT_TRUE(other.Take(kJob, 1).ok());
  HeldPorts ports(In(21040, 21045));
  const auto taken = ports.Take(kJob, 3);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT(*taken, ElementsAre(21040, 21044, 21045));
}

TEST(HeldPortsTest, AllOrNoneAreTakenAndTheErrorNamesTheRange) {
  HeldPorts ports(In(21050, 21053));
  ASSERT_TRUE(ports.Take(kJob, 1).ok());
  const auto taken = ports.Take(kJob, 4);
  EXPECT_EQ(taken.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(taken.status().message()),
              HasSubstr("cannot take 4 ports of 21050-21053: only 3 are free, jobs have 1"));
  EXPECT_EQ(ports.size(), 1u);
  EXPECT_TRUE(ports.Take(kJob, 3).ok());
  EXPECT_FALSE(ports.Take(kJob, 1).ok());
  EXPECT_TRUE(ports.Take(kJob, 0).ok());
}

TEST(HeldPortsTest, AReleasedPortIsTheLastToBeTakenAgain) {
  HeldPorts ports(In(21060, 21063));
  const int first = TakeOne(ports);
  ports.Release(kJob, first);
  EXPECT_NE(TakeOne(ports), first);
  EXPECT_NE(TakeOne(ports), first);
  EXPECT_NE(TakeOne(ports), first);
  EXPECT_EQ(TakeOne(ports), first);
}

TEST(HeldPortsTest, APortThatWasLetGoIsStillNobodyElses) {
  HeldPorts ports(In(21070, 21070));
  ports.LetGo(kJob, TakeOne(ports));
  EXPECT_FALSE(ports.Take(kJob, 1).ok());
  ports.Release(kJob, 21070);
  EXPECT_TRUE(ports.Take(kJob, 1).ok());
}

TEST(HeldPortsTest, APortOfAnotherJobIsNeitherTakenUpNorLetGoNorReleased) {
  HeldPorts ports(In(21100, 21100));
  const int port = TakeOne(ports);
  const auto status = ports.TakeUp(kOther, port);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "port 21100 belongs to job j-abcde");
  ports.LetGo(kOther, port);
  EXPECT_TRUE(ports.IsHeld(port));
  ports.Release(kOther, port);
  EXPECT_TRUE(ports.IsHeld(port));
  EXPECT_FALSE(ports.Take(kOther, 1).ok());

  ports.LetGo(kJob, port);
  EXPECT_FALSE(ports.TakeUp(kOther, port).ok());
  ports.Release(kJob, port);
  EXPECT_TRUE(ports.TakeUp(kOther, port).ok());
  EXPECT_FALSE(ports.TakeUp(kJob, port).ok());
}

TEST(HeldPortsTest, ANewLauncherTakesUpAPortOnWhichATaskListens) {
  UniqueFd task;
  {
    HeldPorts ports(In(21080, 21080));
    task = Bind4(TakeOne(ports), {SO_REUSEADDR, SO_REUSEPORT});
    ASSERT_TRUE(Listens(task));
  }
  HeldPorts ports(In(21080, 21081));
  const auto status = ports.TakeUp(kJob, 21080);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(ports.TakeUp(kJob, 21080).ok());
  EXPECT_EQ(ports.size(), 1u);
  EXPECT_EQ(TakeOne(ports), 21081);
}

TEST(HeldPortsTest, APortThatIsTakenMeanwhileIsSaidWithItsUserAndStaysTheJobs) {
  UniqueFd stranger = Bind4(21090, {});
  ASSERT_TRUE(Listens(stranger));
  HeldPorts ports(In(21090, 21091));
  const auto status = ports.TakeUp(kJob, 21090);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("cannot hold port 21090: held_ports_test (pid ", getpid(),
                                     ") uses it")));
  EXPECT_FALSE(ports.IsHeld(21090));
  EXPECT_EQ(TakeOne(ports), 21091);
  stranger.reset();
  EXPECT_TRUE(ports.TakeUp(kJob, 21090).ok());
  EXPECT_TRUE(ports.IsHeld(21090));
  EXPECT_FALSE(ports.TakeUp(kJob, 0).ok());
}

TEST(FreeRangesTest, LeavesOutWhatTheKernelGivesToConnections) {
  using Range = HeldPorts::Range;
  EXPECT_THAT(HeldPorts::FreeRanges("32768\t60999\n"),
              ElementsAre(Range{10000, 32767}, Range{61000, 65535}));
  EXPECT_THAT(HeldPorts::FreeRanges("1024 5000"), ElementsAre(Range{10000, 65535}));
  EXPECT_THAT(HeldPorts::FreeRanges("9000 20000"), ElementsAre(Range{20001, 65535}));
  EXPECT_THAT(HeldPorts::FreeRanges("20000 65535"), ElementsAre(Range{10000, 19999}));
}

TEST(FreeRangesTest, TakesAllIfHardlyAnythingIsLeftOrNothingIsKnown) {
  using Range = HeldPorts::Range;
  for (const char* text : {"1024 65535", "10500 65535", "", "?", "5 4"}) {
    EXPECT_THAT(HeldPorts::FreeRanges(text), ElementsAre(Range{10000, 65535})) << text;
  }
}

}  // namespace
}  // namespace launcher
