// Tests what a client sees when the process that it calls is killed, stopped or restarted.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "bus/call/client.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "gtest/gtest.h"
#include "runtime/file/locations.h"
#include "runtime/file/unique_fd.h"
#include "runtime/mutex.h"
#include "runtime/process/stop_process.h"
#include "runtime/process/subprocess.h"

namespace bus {
namespace {

using rpc::Registry;

class FailureTest : public ::testing::Test {
 protected:
  ~FailureTest() override { Kill(); }

  // Starts the service in its own process and waits until it reports that it is ready.
  void Start() {
    const auto program = runtime::FindBinary("bus/call/echo_service");
    ASSERT_EQ(program.status(), absl::OkStatus());
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const runtime::UniqueFd out(ends[0]);
    runtime::UniqueFd in(ends[1]);
    auto process = runtime::Subprocess::Start({.argv = {*program, yard_.directory()},
                                               .program = *program,
                                               .environment = {"PATH=/usr/bin:/bin"},
                                               .working_directory = "/",
                                               .fds = {{in.get(), 1}}});
    ASSERT_EQ(process.status(), absl::OkStatus());
    process_ = std::make_unique<runtime::Subprocess>(std::move(*process));
    in.reset();
    char line[32];
    ASSERT_GT(read(out.get(), line, sizeof(line)), 0) << "it did not start";
  }
  void Kill() {
    if (process_ == nullptr) return;
    (void)process_->Signal(SIGKILL);
    EXPECT_EQ(process_->Wait(absl::Seconds(20)).status(), absl::OkStatus());
    process_.reset();
  }
  absl::StatusOr<msg::ListReplyT> List(const CallOptions& options = {}, std::string prefix = "") {
    msg::ListRequestT request;
    request.prefix = std::move(prefix);
    return client_->Call<Registry::List>(request, options);
  }

  TestYard yard_;
  std::unique_ptr<Node> node_ = yard_.MakeNode("test");
  std::unique_ptr<Client> client_ = std::make_unique<Client>(node_.get());
  std::unique_ptr<runtime::Subprocess> process_;
};

// The result of an asynchronous call.
struct Outcome {
  runtime::Mutex mutex;
  runtime::CondVar changed;
  bool done ABSL_GUARDED_BY(mutex) = false;
  absl::StatusOr<msg::ListReplyT> reply ABSL_GUARDED_BY(mutex) = absl::UnknownError("");

  void Set(absl::StatusOr<msg::ListReplyT> end) {
    runtime::MutexLock lock(mutex);
    reply = std::move(end);
    done = true;
    changed.SignalAll();
  }
  absl::StatusOr<msg::ListReplyT> Get() {
    runtime::MutexLock lock(mutex);
    while (!done) changed.Wait(mutex);
    return std::move(reply);
  }
};

TEST_F(FailureTest, ACallUnderWayToAKilledServiceFailsAtOnce) {
  Start();
  ASSERT_EQ(List().status(), absl::OkStatus());
  Outcome outcome;
  msg::ListRequestT slow;
  slow.prefix = "slow";
  client_->Start<Registry::List>(
      slow, nullptr, [&](absl::StatusOr<msg::ListReplyT> end) { outcome.Set(std::move(end)); },
      {.timeout = absl::Seconds(30)});
  ASSERT_EQ(List().status(), absl::OkStatus());  // So the service has received the slow call.
  Kill();
  const absl::Time killed = absl::Now();
  EXPECT_EQ(outcome.Get().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - killed, absl::Seconds(1));
}

TEST_F(FailureTest, ACallAfterTheKillFailsAtOnce) {
  Start();
  ASSERT_EQ(List().status(), absl::OkStatus());
  Kill();
  const absl::Time start = absl::Now();
  EXPECT_EQ(List({.timeout = absl::Seconds(30)}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
}

TEST_F(FailureTest, ACallThatWaitsIsSentAgainToTheRestartedService) {
  Start();
  const auto before = List();
  ASSERT_EQ(before.status(), absl::OkStatus());
  Kill();
  Outcome outcome;
  client_->Start<Registry::List>(
      {}, nullptr, [&](absl::StatusOr<msg::ListReplyT> end) { outcome.Set(std::move(end)); },
      {.timeout = absl::Seconds(30), .wait_for_service = true});
  Start();
  const auto after = outcome.Get();
  ASSERT_EQ(after.status(), absl::OkStatus());
  EXPECT_NE(after->revision, before->revision);
  EXPECT_EQ(static_cast<pid_t>(after->revision), process_->pid());
}

TEST_F(FailureTest, ACallUnderWayThatWaitsIsSentAgain) {
  Start();
  Outcome outcome;
  msg::ListRequestT slow;
  slow.prefix = "once";  // The service does not answer the first attempt; see echo_service.
  client_->Start<Registry::List>(
      slow, nullptr, [&](absl::StatusOr<msg::ListReplyT> end) { outcome.Set(std::move(end)); },
      {.timeout = absl::Seconds(30), .wait_for_service = true});
  ASSERT_EQ(List().status(), absl::OkStatus());
  Kill();
  Start();
  const auto reply = outcome.Get();
  ASSERT_EQ(reply.status(), absl::OkStatus());
  EXPECT_EQ(static_cast<pid_t>(reply->revision), process_->pid());
}

TEST_F(FailureTest, AnAnswerThatBreaksOffInTheMiddleBeginsAnew) {
  Start();
  Outcome outcome;
  msg::ListRequestT torn;
  torn.prefix = "torn";  // Makes the service break off in mid-answer; see echo_service.
  client_->Start<Registry::List>(
      torn, nullptr, [&](absl::StatusOr<msg::ListReplyT> end) { outcome.Set(std::move(end)); },
      {.timeout = absl::Seconds(30), .wait_for_service = true});
  ASSERT_EQ(List().status(), absl::OkStatus());  // So the client has received the first part.
  Kill();
  Start();
  const auto reply = outcome.Get();
  ASSERT_EQ(reply.status(), absl::OkStatus());
  EXPECT_EQ(reply->leases.size(), 20'000u);
  EXPECT_GE(node_->counters().retries_sent.Get(), 1u);
}

TEST_F(FailureTest, AStoppedServiceCostsTheTimeoutAndNoMore) {
  Start();
  ASSERT_EQ(List().status(), absl::OkStatus());
  ASSERT_EQ(runtime::StopProcess(*process_), absl::OkStatus());
  const absl::Time start = absl::Now();
  EXPECT_EQ(List({.timeout = absl::Seconds(1)}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  const absl::Duration took = absl::Now() - start;
  EXPECT_GE(took, absl::Milliseconds(999));
  EXPECT_LT(took, absl::Milliseconds(1500));
  // A client that was never connected also gives up after its timeout.
  Client fresh(node_.get());
  EXPECT_EQ(fresh.Call<Registry::List>({}, {.timeout = absl::Milliseconds(200)}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(FailureTest, AStreamOfAKilledServiceFailsAtOnce) {
  Start();
  absl::Time killed = absl::InfiniteFuture();
  const auto end = client_->Stream<Registry::Watch>({}, [&](const msg::WatchReplyT&) {
    Kill();
    killed = absl::Now();
    return true;
  });
  EXPECT_EQ(end.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - killed, absl::Seconds(1));
}

TEST_F(FailureTest, AStreamOfAStoppedServiceFailsAfterThreeSeconds) {
  Start();
  absl::Time stopped = absl::InfiniteFuture();
  const auto end = client_->Stream<Registry::Watch>({}, [&](const msg::WatchReplyT&) {
    EXPECT_EQ(runtime::StopProcess(*process_), absl::OkStatus());
    stopped = absl::Now();
    return true;
  });
  EXPECT_EQ(end.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_GE(absl::Now() - stopped, absl::Milliseconds(2500));
  EXPECT_LT(absl::Now() - stopped, absl::Seconds(6));
}

}  // namespace
}  // namespace bus
