// Tests the ports of jobs that end, restart and compete for ports, with real shims.

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_generated.h"
#include "launcher/fixtures/testing_table.h"
#include "launcher/job/job_row.h"
#include "launcher/job/job_store.h"
#include "launcher/job/supervisor.h"
#include "launcher/run/job_table.h"
#include "launcher/share/resources.h"
#include "runtime/file/file_limit.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

constexpr char kForEver[] = "exec sleep 1000";

// Returns whether the launcher holds the port: a plain bind() fails.
bool IsHeld(int port) {
  const runtime::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_ANY);
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 &&
         errno == EADDRINUSE;
}

// Each job has one task and MASTER_PORT, and so needs both existing ports.
class PortConflictsTest : public ::testing::Test {
 protected:
  PortConflictsTest() {
    yard_.SetPorts({{21200, 21201}});
    EXPECT_EQ(yard_.Open(), absl::OkStatus());
  }

  msg::JobSpecT Spec(const std::string& script) const {
    msg::JobSpecT spec = yard_.Shell(script);
    AddGroup(&spec, "worker");
    return spec;
  }
  // Launches a job once the ports of the previous one are free.
  std::string Launch(const std::string& script) {
    std::string id;
    EXPECT_TRUE(yard_.AwaitTrue([&] {
      const auto job = yard_.Launch(Spec(script));
      if (job.ok()) id = job->id;
      return !absl::IsResourceExhausted(job.status());
    }));
    return id;
  }
  std::string LaunchToEnd(const std::string& script) {
    std::string id = Launch(script);
    EXPECT_TRUE(yard_.AwaitEnd(id));
    return id;
  }
  absl::Status Restart(const std::string& id) {
    absl::Status status;
    yard_.OnLoop([&] { status = yard_.table()->Restart({id, kWholeJob}, absl::ZeroDuration()); });
    return status;
  }
  std::vector<int> Ports(const std::string& id) {
    std::vector<int> ports;
    yard_.OnLoop([&] {
      const JobRow* const row = yard_.table()->Row(id);
      if (row != nullptr) ports = row->ports;
    });
    return ports;
  }
  std::vector<int> Held() {
    std::vector<int> held;
    for (const int port : {21200, 21201}) {
      if (IsHeld(port)) held.push_back(port);
    }
    return held;
  }

  TestingTable yard_;
};

TEST_F(PortConflictsTest, AnEndedJobIsNotStartedAgainWhileALiveOneHasItsPorts) {
  const std::string ended = LaunchToEnd("true");
  const std::string live = Launch(kForEver);
  ASSERT_TRUE(yard_.AwaitRunning(live));
  ASSERT_EQ(Ports(ended).size(), 2u);
  ASSERT_THAT(Ports(live), UnorderedElementsAreArray(Ports(ended)));
  for (const bool is_next : {false, true}) {
    SCOPED_TRACE(is_next ? "the next launcher" : "the first launcher");
    const absl::Status refused = Restart(ended);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr(absl::StrCat("job ", ended)),
                      HasSubstr(absl::StrCat("port ", Ports(ended)[0], " belongs to job ", live)),
                      HasSubstr("stop that job first")));
    const auto still = yard_.AwaitEnd(ended);
    ASSERT_TRUE(still.has_value());
    EXPECT_EQ(still->tasks[0]->attempts.size(), 1u);
    EXPECT_THAT(Held(), UnorderedElementsAreArray(Ports(live)));
    if (is_next) break;
    yard_.Close();
    ASSERT_EQ(yard_.Open(), absl::OkStatus());
  }
  ASSERT_EQ(yard_.Stop(live, absl::Seconds(5)), absl::OkStatus());
  EXPECT_TRUE(yard_.AwaitTrue([&] { return Restart(ended).ok(); }));
  EXPECT_TRUE(yard_.Await(ended, [](const msg::JobT& job) {
    return job.tasks[0]->attempts.size() == 2 && HasEnded(job.state);
  }));
}

TEST_F(PortConflictsTest, ARefusedRestartLeavesNoPortTaken) {
  const std::string ended = LaunchToEnd("true");
  yard_.Close();
  yard_.SetPorts({{21202, 21202}, {21200, 21200}});
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  const std::string live = Launch(kForEver);
  EXPECT_TRUE(absl::IsFailedPrecondition(Restart(ended)));
  EXPECT_FALSE(IsHeld(21201));
  EXPECT_TRUE(IsHeld(21200));
}

// As if the end of the older job could not be stored.
TEST_F(PortConflictsTest, OfTwoLiveJobsThatAreStoredWithTheSamePortsTheYoungerHasThem) {
  const std::string younger = Launch(kForEver);
  ASSERT_TRUE(yard_.AwaitRunning(younger));
  JobRow row = MakeJobRow(Spec("true"));
  row.id = "j-aaaaa";
  row.request_id = "an older one";
  row.created_us = row.run_since_us = 1;
  row.SetPorts(Ports(younger));
  yard_.Close();
  {
    const auto store = JobStore::Open(yard_.state_directory() + "/launcher.db");
    ASSERT_EQ(store.status(), absl::OkStatus());
    ASSERT_EQ((*store)->Insert(row), absl::OkStatus());
  }
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  ASSERT_TRUE(yard_.AwaitEnd("j-aaaaa"));
  EXPECT_EQ(yard_.Remove("j-aaaaa"), absl::OkStatus());
  EXPECT_THAT(Held(), UnorderedElementsAreArray(Ports(younger)));
  ASSERT_EQ(yard_.Stop(younger, absl::Seconds(5)), absl::OkStatus());
  EXPECT_TRUE(yard_.AwaitTrue([&] { return Held().empty(); }));
}

TEST(JobsPortsTest, AThousandJobsHaveTwoPortsEachAndNoneIsThereTwice) {
  runtime::RaiseFileLimit();
  TestingTable yard;
  // Only one job runs at a time, but all have their ports.
  yard.SetResources({*ParseResource("slots=1")});
  ASSERT_EQ(yard.Open(), absl::OkStatus());
  msg::JobSpecT spec = yard.Shell(kForEver);
  auto wish = std::make_unique<msg::ResourceRequestT>();
  wish->name = "slots";
  wish->amount = 1;
  AddGroup(&spec, "worker").resources.push_back(std::move(wish));
  yard.OnLoop([&] {
    for (int job = 0; job < 1000; ++job) {
      const auto launched = yard.table()->Launch("", spec);
      ASSERT_EQ(launched.status(), absl::OkStatus()) << job;
    }
  });
  const auto ports = [&yard] {
    std::map<int, std::string> jobs;
    yard.OnLoop([&] {
      for (const JobRow* row : yard.table()->Rows()) {
        for (const int port : row->ports) EXPECT_TRUE(jobs.emplace(port, row->id).second) << port;
      }
    });
    return jobs;
  };
  const auto first = ports();
  ASSERT_EQ(first.size(), 2000u);
  for (const auto& [port, job] : first) ASSERT_TRUE(IsHeld(port)) << port;
  yard.Close();
  for (const auto& [port, job] : first) ASSERT_FALSE(IsHeld(port)) << port;
  ASSERT_EQ(yard.Open(), absl::OkStatus());
  EXPECT_EQ(ports(), first);
  for (const auto& [port, job] : first) ASSERT_TRUE(IsHeld(port)) << port;
}

}  // namespace
}  // namespace launcher
