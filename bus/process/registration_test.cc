// Tests Registration against a fake registry that counts requests, on a manual clock.

#include "bus/process/registration.h"

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "bus/fixtures/test_yard.h"
#include "bus/schema/registry_methods.h"
#include "gtest/gtest.h"
#include "runtime/clock.h"
#include "runtime/coordinator.h"
#include "runtime/event_loop.h"
#include "runtime/fake_clock.h"
#include "runtime/mutex.h"
#include "runtime/thread.h"
#include "runtime/thread_pool.h"

namespace bus {
namespace {

using rpc::Registry;

constexpr absl::Duration kLong = absl::Seconds(20);

class RegistrationTest : public ::testing::Test {
 protected:
  RegistrationTest() {
    pool_ = runtime::ThreadPool::Create(&coordinator_, {.threads = 1});
    registry_node_ = yard_.MakeNode("registry");
    registry_ = std::make_unique<Service>(
        registry_node_.get(),
        Service::Options{
            .name = "registry", .endpoint = yard_.Address("registry"), .pool = pool_.get()});
    registry_->Handle<Registry::Register>(
        [this](const CallContext&,
               const msg::RegisterRequestT& request) -> absl::StatusOr<msg::RegisterReplyT> {
          const absl::Status answer = Note(&registrations_, register_answer_);
          if (!answer.ok()) return answer;
          msg::RegisterReplyT reply;
          reply.lease_id = 5;
          reply.ttl_ms = request.lease->ttl_ms == 0 ? 6000 : request.lease->ttl_ms;
          return reply;
        });
    registry_->Handle<Registry::Renew>(
        [this](const CallContext&,
               const msg::RenewRequestT& request) -> absl::StatusOr<msg::RenewReplyT> {
          EXPECT_EQ(request.lease_id, 5u);
          const absl::Status answer = Note(&renewals_, renew_answer_);
          if (!answer.ok()) return answer;
          return msg::RenewReplyT();
        });
    registry_->Handle<Registry::Lookup>(
        [](const CallContext&, const msg::LookupRequestT&) { return msg::LookupReplyT(); });
    registry_->HandleAsync<Registry::Watch>(
        [this](std::shared_ptr<ReplyWriter<Registry::Watch>> writer, const msg::WatchRequestT&) {
          runtime::MutexLock lock(mutex_);
          watch_.swap(writer);
        });
    EXPECT_EQ(registry_->Start(), absl::OkStatus());
    node_ = yard_.MakeNode("test");
    client_ = std::make_unique<Client>(node_.get());
    thread_ = std::make_unique<runtime::Thread>("loop", [this] { loop_->Run(); });
  }
  ~RegistrationTest() override {
    loop_->Post([this] { registration_.reset(); });
    loop_->Stop();
    thread_->Join();
    client_.reset();
    {
      runtime::MutexLock lock(mutex_);
      watch_.reset();
    }
    registry_->Stop();
    (void)coordinator_.RequestStop();
    pool_.reset();
    registry_.reset();
  }

  absl::Status Note(int* count, absl::StatusCode& answer) {
    runtime::MutexLock lock(mutex_);
    ++*count;
    changed_.SignalAll();
    return absl::Status(answer, "as the test says");
  }
  void Start() {
    loop_->Post([this] {
      msg::LeaseT lease;
      lease.name = "worker";
      lease.instance = "0";
      registration_ = std::make_unique<Registration>(
          loop_.get(), client_.get(),
          Registration::Options{.lease = std::move(lease), .on_registered = [this](bool) {
                                  runtime::MutexLock lock(mutex_);
                                  ++held_;
                                  changed_.SignalAll();
                                }});
    });
  }
  // Waits until `count` is `value`, for at most `time` (real time).
  bool Await(const int& count, int value, absl::Duration time = kLong) {
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + time;
    runtime::MutexLock lock(mutex_);
    while (count < value && runtime::Clock::Real()->WaitUntil(changed_, mutex_, deadline)) {
    }
    return count == value;
  }
  // Advances the clock in small steps, with a pause after each for messages in flight, until
  // `count` is `value`. Returns the time advanced.
  absl::Duration AdvanceUntil(const int& count, int value, absl::Duration step) {
    absl::Duration passed = absl::ZeroDuration();
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + kLong;
    while (!Await(count, value, absl::Milliseconds(1)) &&
           runtime::Clock::Real()->Monotonic() < deadline) {
      clock_.Advance(step);
      passed += step;
    }
    return passed;
  }
  // Waits until the loop has done everything due now, and until the registry has handled everything
  // that the loop sent.
  void Settle() {
    SettleLoop();
    // The registry handles requests in order, so this one is handled after those of the loop.
    EXPECT_EQ(client_->Call<Registry::Lookup>({}).status(), absl::OkStatus());
  }
  void SettleLoop() {
    std::atomic<bool> done{false};
    loop_->Post([&] {
      runtime::MutexLock lock(mutex_);
      done = true;
      changed_.SignalAll();
    });
    const absl::Duration deadline = runtime::Clock::Real()->Monotonic() + kLong;
    runtime::MutexLock lock(mutex_);
    while (!done && runtime::Clock::Real()->WaitUntil(changed_, mutex_, deadline)) {
    }
  }
  void Answer(absl::StatusCode* which, absl::StatusCode code) {
    runtime::MutexLock lock(mutex_);
    *which = code;
  }

  TestYard yard_;
  runtime::FakeClock clock_;
  runtime::Coordinator coordinator_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::unique_ptr<Node> registry_node_;
  std::unique_ptr<Service> registry_;
  std::shared_ptr<ReplyWriter<Registry::Watch>> watch_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<runtime::EventLoop> loop_ = runtime::EventLoop::Create(&clock_);
  std::unique_ptr<Registration> registration_;
  std::unique_ptr<runtime::Thread> thread_;

  runtime::Mutex mutex_;
  runtime::CondVar changed_;
  int registrations_ = 0, renewals_ = 0, held_ = 0;
  absl::StatusCode register_answer_ = absl::StatusCode::kOk;
  absl::StatusCode renew_answer_ = absl::StatusCode::kOk;
};

TEST_F(RegistrationTest, RenewsAtEachThirdOfItsTimeAndNotBefore) {
  Start();
  ASSERT_TRUE(Await(held_, 1));
  for (int i = 1; i <= 15; ++i) {
    clock_.Advance(absl::Milliseconds(1999));
    Settle();
    EXPECT_TRUE(Await(renewals_, i - 1));
    clock_.Advance(absl::Milliseconds(1));
    ASSERT_TRUE(Await(renewals_, i)) << "after " << 2 * i << " s";
  }
  EXPECT_TRUE(Await(registrations_, 1));
}

TEST_F(RegistrationTest, ARenewalThatFailsIsRepeatedLongBeforeTheNextThird) {
  Start();
  ASSERT_TRUE(Await(held_, 1));
  Answer(&renew_answer_, absl::StatusCode::kDeadlineExceeded);
  clock_.Advance(absl::Seconds(2));
  ASSERT_TRUE(Await(renewals_, 1));
  Answer(&renew_answer_, absl::StatusCode::kOk);
  // (The clock keeps running while the answer is in flight.)
  EXPECT_LT(AdvanceUntil(renewals_, 2, absl::Milliseconds(1)), absl::Milliseconds(1900));
  EXPECT_TRUE(Await(registrations_, 1)) << "a slow registry has forgotten nothing";
}

TEST_F(RegistrationTest, WhatTheRegistryHasForgottenIsRegisteredAgainAtOnce) {
  Start();
  ASSERT_TRUE(Await(held_, 1));
  Answer(&renew_answer_, absl::StatusCode::kNotFound);
  clock_.Advance(absl::Seconds(2));
  ASSERT_TRUE(Await(renewals_, 1));
  Answer(&renew_answer_, absl::StatusCode::kOk);
  EXPECT_LT(AdvanceUntil(held_, 2, absl::Microseconds(1)), absl::Seconds(1));
  EXPECT_TRUE(Await(held_, 2));
  EXPECT_TRUE(Await(registrations_, 2));
  EXPECT_TRUE(Await(renewals_, 1));
}

TEST_F(RegistrationTest, ARefusalIsNotAskedForAgainAndAgain) {
  Answer(&register_answer_, absl::StatusCode::kResourceExhausted);
  Start();
  ASSERT_TRUE(Await(registrations_, 1));
  EXPECT_GE(AdvanceUntil(registrations_, 2, absl::Milliseconds(10)), absl::Seconds(1));
}

}  // namespace
}  // namespace bus
