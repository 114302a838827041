// Tests readiness by a line of output (ready_pattern), whatever happens to the launcher that should
// read the line. With real shims.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/fixtures/testing_table.h"
#include "runtime/file/file.h"

namespace launcher {
namespace {

using msg::TaskState;

// A server writes one line at its start and more lines when it is allowed to; it never ends. A
// worker starts when the server is ready.
class JobReadyTest : public ::testing::Test {
 protected:
  JobReadyTest() { EXPECT_EQ(yard_.Open(), absl::OkStatus()); }

  void Launch(const std::string& more) {
    auto spec = yard_.Shell("true");
    msg::TaskGroupT& server = AddGroup(&spec, "server");
    server.argv = {"sh", "-c",
                   absl::StrCat("echo up; while [ ! -e $FOLDER/go ]; do sleep 0.01; done; ", more,
                                "; exec sleep 1000")};
    server.ready_pattern = "^listening on [0-9]+$";
    auto after = std::make_unique<msg::StartAfterT>();
    after->type = "server";
    after->milestone = msg::Milestone::Ready;
    AddGroup(&spec, "worker").start_after.push_back(std::move(after));
    const auto launched = yard_.Launch(spec);
    ASSERT_TRUE(launched.ok()) << launched.status();
    id_ = launched->id;
    ASSERT_TRUE(yard_.AwaitLine("up"));
  }
  // Lets the server go on, and waits until its log contains this text.
  void GoUntil(const std::string& said) {
    ASSERT_TRUE(runtime::WriteFileAtomically(yard_.folder() + "/go", "", 0600).ok());
    ASSERT_TRUE(yard_.AwaitInFile(
        absl::StrCat(yard_.state_directory(), "/jobs/", id_, "/server-0.1.stdout"), said));
  }
  bool server_is_ready() {
    bool ready = false;
    for (const msg::JobT& job : yard_.List()) ready |= TaskOf(job, "server-0").ready;
    return ready;
  }
  void ExpectReady() {
    const auto job = yard_.Await(id_, [](const msg::JobT& found) {
      return TaskOf(found, "worker-0").state == TaskState::Exited;
    });
    ASSERT_TRUE(job.has_value()) << "the worker has not started";
    EXPECT_TRUE(TaskOf(*job, "server-0").ready);
  }

  TestingTable yard_;
  std::string id_;
};

TEST_F(JobReadyTest, ALineThatNoLauncherHasReadCountsWhateverFollows) {
  Launch("echo listening on 80; echo more; echo the last");
  EXPECT_FALSE(server_is_ready());
  yard_.Close();
  GoUntil("the last");
  ASSERT_EQ(yard_.Open(), absl::OkStatus());
  ExpectReady();
}

// The launcher is notified of the first bytes, and then of all the rest at once: 4.8 MB.
TEST_F(JobReadyTest, ALineInABurstIsNotMissed) {
  Launch("seq 1000000 1199999; echo listening on 80; seq 1000000 1399999; echo the last");
  yard_.OnLoop([&] { GoUntil("the last"); });
  ExpectReady();
}

}  // namespace
}  // namespace launcher
