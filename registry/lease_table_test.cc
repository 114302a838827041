#include "registry/lease_table.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace registry {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kStart = absl::Hours(5);

msg::LeaseT Lease(std::string name, std::string instance = "0", std::uint64_t nonce = 1) {
  msg::LeaseT lease;
  lease.name = std::move(name);
  lease.instance = std::move(instance);
  lease.nonce = nonce;
  return lease;
}

class LeaseTableTest : public ::testing::Test {
 protected:
  std::uint64_t Register(msg::LeaseT lease) {
    const auto id = table_.Register(std::move(lease), now_, 1);
    EXPECT_EQ(id.status(), absl::OkStatus());
    return id.value_or(0);
  }
  // Lets time pass as the owner of the table does: it looks every half second.
  void Pass(absl::Duration time) {
    const absl::Duration end = now_ + time;
    while (now_ < end) {
      now_ = std::min(end, now_ + absl::Milliseconds(500));
      table_.Expire(now_);
    }
  }
  std::string LastReason() {
    const auto changes = table_.ChangesSince(table_.revision() - 1);
    return changes.has_value() && changes->size() == 1 ? changes->front()->reason : "?";
  }

  absl::Duration now_ = kStart;
  LeaseTable table_{{.epoch = 42, .max_leases = 100, .max_changes = 10}};
};

TEST_F(LeaseTableTest, ALeaseHoldsForItsTimeAndNoLonger) {
  Register(Lease("a"));
  Pass(absl::Milliseconds(5500));
  EXPECT_EQ(table_.Lookup("a", "").size(), 1u);
  Pass(absl::Milliseconds(500));
  EXPECT_TRUE(table_.Lookup("a", "").empty());
  EXPECT_EQ(LastReason(), "expired");
}

TEST_F(LeaseTableTest, ARenewedLeaseLives) {
  const std::uint64_t id = Register(Lease("a"));
  for (int i = 0; i < 10; ++i) {
    Pass(absl::Seconds(2));
    EXPECT_EQ(table_.Renew(id, now_), absl::OkStatus());
  }
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(LeaseTableTest, RenewingWhatHasEndedIsNotFound) {
  const std::uint64_t id = Register(Lease("a"));
  Pass(absl::Seconds(7));
  EXPECT_EQ(table_.Renew(id, now_).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(table_.Revoke(id, "x").code(), absl::StatusCode::kNotFound);
}

TEST_F(LeaseTableTest, ItsOwnStallEndsNoLease) {
  const std::uint64_t id = Register(Lease("a"));
  Pass(absl::Seconds(2));
  now_ += absl::Seconds(60);  // Nobody looked: this process was stopped.
  EXPECT_EQ(table_.Expire(now_), 0);
  EXPECT_EQ(table_.Renew(id, now_), absl::OkStatus());
  Pass(absl::Seconds(7));
  EXPECT_EQ(table_.size(), 0u) << "a stall is forgiven once";
}

TEST_F(LeaseTableTest, AnotherProcessReplacesALeaseOfTheSameName) {
  const std::uint64_t first = Register(Lease("a", "0", 1));
  const std::uint64_t second = Register(Lease("a", "0", 2));
  EXPECT_NE(first, second);
  EXPECT_EQ(table_.Find(first), nullptr);
  EXPECT_EQ(table_.size(), 1u);
  const auto changes = table_.ChangesSince(1);
  ASSERT_TRUE(changes.has_value());
  ASSERT_EQ(changes->size(), 2u);
  EXPECT_EQ((*changes)[0]->reason, "replaced");
  EXPECT_EQ((*changes)[0]->lease->state, msg::LeaseState::Gone);
}

TEST_F(LeaseTableTest, TheSameProcessKeepsItsIdWhenItAsksAgain) {
  const std::uint64_t first = Register(Lease("a", "0", 1));
  Pass(absl::Seconds(5));
  EXPECT_EQ(Register(Lease("a", "0", 1)), first);
  Pass(absl::Seconds(5));
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(LeaseTableTest, InstancesOfOneNameLiveSideBySide) {
  Register(Lease("a", "0"));
  Register(Lease("a", "1"));
  Register(Lease("ab", "0"));
  EXPECT_EQ(table_.Lookup("a", "").size(), 2u);
  EXPECT_EQ(table_.Lookup("a", "1").size(), 1u);
  EXPECT_EQ(table_.List("a").size(), 3u);
  EXPECT_EQ(table_.List("a/").size(), 2u);
  EXPECT_EQ(table_.List("").size(), 3u);
}

TEST_F(LeaseTableTest, EveryChangeHasTheNextRevision) {
  const std::uint64_t id = Register(Lease("a"));
  EXPECT_EQ(table_.revision(), 1u);
  EXPECT_EQ(table_.Find(id)->revision, 1u);
  ASSERT_EQ(table_.Revoke(id, "revoked"), absl::OkStatus());
  EXPECT_EQ(table_.revision(), 2u);
  const auto changes = table_.ChangesSince(0);
  ASSERT_TRUE(changes.has_value());
  ASSERT_EQ(changes->size(), 2u);
  EXPECT_EQ((*changes)[0]->revision, 1u);
  EXPECT_EQ((*changes)[1]->revision, 2u);
  EXPECT_EQ((*changes)[1]->epoch, 42u);
  EXPECT_EQ((*changes)[1]->reason, "revoked");
  EXPECT_TRUE(table_.ChangesSince(2)->empty());
}

TEST_F(LeaseTableTest, OldChangesAreForgottenAndThatIsSaid) {
  for (int i = 0; i < 20; ++i) Register(Lease("a", absl::StrCat(i)));
  EXPECT_FALSE(table_.ChangesSince(9).has_value());
  EXPECT_EQ(table_.ChangesSince(10)->size(), 10u);
  EXPECT_FALSE(table_.ChangesSince(21).has_value()) << "a revision of another registry";
}

TEST_F(LeaseTableTest, AFullTableRefuses) {
  for (int i = 0; i < 100; ++i) Register(Lease("a", absl::StrCat(i)));
  EXPECT_EQ(table_.Register(Lease("b"), now_, 1).status().code(),
            absl::StatusCode::kResourceExhausted);
  Register(Lease("a", "7", 9));  // A replacement has room.
}

TEST_F(LeaseTableTest, BadNamesAndLabelsAreRefused) {
  const auto why = [&](msg::LeaseT lease) {
    const auto id = table_.Register(std::move(lease), now_, 1);
    EXPECT_EQ(id.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(id.status().message());
  };
  EXPECT_THAT(why(Lease("")), HasSubstr("name"));
  EXPECT_THAT(why(Lease("a/b")), HasSubstr("\"/\""));
  EXPECT_THAT(why(Lease("a", std::string(81, 'x'))), HasSubstr("instance"));
  msg::LeaseT labels = Lease("a");
  for (int i = 0; i < 65; ++i) labels.labels.push_back(std::make_unique<msg::KeyValueT>());
  EXPECT_THAT(why(std::move(labels)), HasSubstr("64"));
}

TEST_F(LeaseTableTest, TheTimeToLiveIsTheCallersWithinBounds) {
  msg::LeaseT lease = Lease("a");
  lease.ttl_ms = 1000;
  const std::uint64_t id = Register(std::move(lease));
  EXPECT_EQ(table_.Find(id)->ttl_ms, 1000u);
  msg::LeaseT tiny = Lease("b");
  tiny.ttl_ms = 1;
  EXPECT_EQ(table_.Find(Register(std::move(tiny)))->ttl_ms, 500u);
}

TEST_F(LeaseTableTest, AnImmortalLeaseNeverExpires) {
  ASSERT_EQ(table_.Register(Lease("registry"), now_, 1, /*immortal=*/true).status(),
            absl::OkStatus());
  Pass(absl::Seconds(60));
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(table_.NextExpiry(), absl::InfiniteDuration());
}

}  // namespace
}  // namespace registry
