#include "trainer/attempt/attempt_nonces.h"

#include <functional>
#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/report/line_receiver.h"
#include "trainer/testing/loop_thread.h"

namespace trainer {
namespace {

class AttemptNoncesTest : public ::testing::Test {
 protected:
  AttemptNoncesTest() {
    On([&] { nonces_ = std::make_unique<AttemptNonces>(loop_.loop(), &clock_); });
  }
  ~AttemptNoncesTest() override {
    On([&] { nonces_.reset(); });
  }
  void On(const std::function<void()>& body) {
    loop_.Call(body);
    loop_.Settle();
  }
  void Add(const char* nonce, const AttemptKey& attempt) {
    On([&] { nonces_->Add(nonce, attempt); });
  }
  void ForgetLater(const char* nonce) {
    On([&] { nonces_->ForgetLater(nonce); });
  }
  std::optional<AttemptKey> Find(const char* nonce) {
    std::optional<AttemptKey> found;
    On([&] { found = nonces_->Find(nonce); });
    return found;
  }
  void Pass(absl::Duration time) {
    for (; time > absl::ZeroDuration(); time -= absl::Seconds(5)) {
      clock_.Advance(absl::Seconds(5));
      loop_.Settle();
    }
  }

  runtime::FakeClock clock_;
  LoopThread loop_{&clock_};
  std::unique_ptr<AttemptNonces> nonces_;
};

TEST_F(AttemptNoncesTest, StandForTheirAttempts) {
  Add("a", {1, 2});
  Add("b", {3, 1});
  EXPECT_EQ(Find("a"), (AttemptKey{1, 2}));
  EXPECT_EQ(Find("b"), (AttemptKey{3, 1}));
  EXPECT_EQ(Find("c"), std::nullopt);
  On([&] { nonces_->Forget("a"); });
  EXPECT_EQ(Find("a"), std::nullopt);
  Pass(absl::Hours(1));
  EXPECT_EQ(Find("b"), (AttemptKey{3, 1})) << "a long attempt";
}

TEST_F(AttemptNoncesTest, AreForgottenAMinuteAfterTheEnd) {
  Add("a", {1, 1});
  Add("b", {2, 1});
  ForgetLater("a");
  Pass(absl::Seconds(30));
  ForgetLater("b");
  EXPECT_NE(Find("a"), std::nullopt);
  Pass(absl::Seconds(45));
  EXPECT_EQ(Find("a"), std::nullopt);
  EXPECT_NE(Find("b"), std::nullopt);
  Pass(absl::Seconds(60));
  EXPECT_EQ(Find("b"), std::nullopt);
}

TEST_F(AttemptNoncesTest, OneThatIsAddedAgainStays) {
  Add("a", {1, 1});
  ForgetLater("a");
  Pass(absl::Seconds(30));
  Add("a", {1, 1});
  Pass(absl::Minutes(5));
  EXPECT_NE(Find("a"), std::nullopt);
  ForgetLater("a");
  Pass(absl::Seconds(90));
  EXPECT_EQ(Find("a"), std::nullopt);
}

TEST_F(AttemptNoncesTest, OneThatIsNotThereIsNotForgottenLater) {
  ForgetLater("a");
  Add("a", {1, 1});
  Pass(absl::Minutes(5));
  EXPECT_NE(Find("a"), std::nullopt);
}

}  // namespace
}  // namespace trainer
