#include "registry/lease/lease_table.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace registry {
namespace {

using ::testing::ElementsAre;
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
  // Advances time like the table's owner, which calls Look() every half second.
  void Pass(absl::Duration time) {
    const absl::Duration end = now_ + time;
    while (now_ < end) {
      now_ = std::min(end, now_ + absl::Milliseconds(500));
      table_.Look(now_);
    }
  }
  // Returns "REASON NAME/INSTANCE" for each change after `from`.
  std::vector<std::string> ChangesAfter(std::uint64_t from) {
    std::vector<std::string> words;
    const auto changes = table_.ChangesSince(from);
    EXPECT_TRUE(changes.has_value());
    if (!changes.has_value()) return words;
    for (const msg::LeaseEventT* change : *changes) {
      EXPECT_EQ(change->revision, ++from);
      EXPECT_EQ(change->lease->revision, change->revision);
      words.push_back(absl::StrCat(change->reason, " ", PathOf(*change->lease)));
    }
    return words;
  }
  msg::LeaseState StateOf(std::uint64_t id) {
    const msg::LeaseT* const lease = table_.Find(id);
    return lease == nullptr ? msg::LeaseState::Gone : lease->state;
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
  now_ += absl::Seconds(60);  // No Look() meanwhile: this process was stopped.
  table_.Look(now_);
  EXPECT_EQ(StateOf(id), msg::LeaseState::Up);
  Pass(absl::Seconds(1));
  EXPECT_EQ(table_.Renew(id, now_), absl::OkStatus());
  EXPECT_THAT(ChangesAfter(0), ElementsAre("registered a/0")) << "not even suspected";
  Pass(absl::Seconds(7));
  EXPECT_EQ(table_.size(), 0u) << "a stall is forgiven once";
}

TEST_F(LeaseTableTest, AStallThatEndsWithARenewalOfOneIsForgivenAll) {
  const std::uint64_t first = Register(Lease("a"));
  const std::uint64_t second = Register(Lease("b"));
  Pass(absl::Seconds(2));
  now_ += absl::Seconds(60);
  EXPECT_EQ(table_.Renew(first, now_), absl::OkStatus());
  table_.Look(now_);
  EXPECT_EQ(StateOf(first), msg::LeaseState::Up);
  EXPECT_EQ(StateOf(second), msg::LeaseState::Up);
}

TEST_F(LeaseTableTest, ALateLeaseIsSuspectUntilItIsRenewed) {
  const std::uint64_t id = Register(Lease("a"));
  Pass(absl::Milliseconds(3500));
  EXPECT_EQ(StateOf(id), msg::LeaseState::Up);
  Pass(absl::Milliseconds(500));
  EXPECT_EQ(StateOf(id), msg::LeaseState::Suspect);
  Pass(absl::Milliseconds(1500));
  EXPECT_THAT(ChangesAfter(0), ElementsAre("registered a/0", "late a/0")) << "said once";
  EXPECT_EQ(table_.Renew(id, now_), absl::OkStatus());
  EXPECT_EQ(StateOf(id), msg::LeaseState::Up);
  EXPECT_EQ(table_.Renew(id, now_), absl::OkStatus());
  EXPECT_THAT(ChangesAfter(2), ElementsAre("renewed a/0"));
  Pass(absl::Seconds(6));
  EXPECT_THAT(ChangesAfter(3), ElementsAre("late a/0", "expired a/0"));
}

TEST_F(LeaseTableTest, AlsoOneOfTheShortestTimeIsSuspectBeforeItEnds) {
  msg::LeaseT lease = Lease("a");
  lease.ttl_ms = 1;  // Raised to 500 ms, the whole time between two Look() calls.
  const std::uint64_t id = Register(std::move(lease));
  Pass(absl::Milliseconds(500));
  EXPECT_EQ(StateOf(id), msg::LeaseState::Suspect);
  Pass(absl::Milliseconds(500));
  EXPECT_THAT(ChangesAfter(0), ElementsAre("registered a/0", "late a/0", "expired a/0"));
}

TEST_F(LeaseTableTest, ASuspectLeaseIsListedAndFound) {
  const std::uint64_t id = Register(Lease("a"));
  Pass(absl::Milliseconds(4500));
  ASSERT_EQ(table_.List({}).leases.size(), 1u);
  EXPECT_EQ(table_.List({}).leases[0]->state, msg::LeaseState::Suspect);
  EXPECT_EQ(table_.Lookup("a", "0").size(), 1u);
  EXPECT_EQ(Register(Lease("a")), id) << "registering again renews it";
  EXPECT_EQ(StateOf(id), msg::LeaseState::Up);
}

TEST_F(LeaseTableTest, RenewalsAtEachThirdAreNeverLate) {
  const std::uint64_t id = Register(Lease("a"));
  for (int i = 0; i < 30; ++i) {
    Pass(absl::Seconds(2));
    EXPECT_EQ(table_.Renew(id, now_), absl::OkStatus());
  }
  EXPECT_EQ(table_.revision(), 1u) << "a renewal is no change";
}

TEST_F(LeaseTableTest, ALookMakesNoMoreChangesThanItMay) {
  for (int i = 0; i < 7; ++i) Register(Lease("a", absl::StrCat(i)));
  now_ += absl::Milliseconds(900);
  table_.Look(now_);
  Pass(absl::Milliseconds(2600));
  EXPECT_EQ(table_.revision(), 7u);
  now_ += absl::Milliseconds(500);
  LeaseTable::Looked looked = table_.Look(now_, 3);
  EXPECT_EQ(looked.suspect, 3);
  EXPECT_TRUE(looked.more);
  EXPECT_TRUE(table_.Look(now_, 3).more);
  looked = table_.Look(now_, 3);
  EXPECT_EQ(looked.suspect, 1);
  EXPECT_FALSE(looked.more);
  EXPECT_EQ(table_.revision(), 14u);
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
  EXPECT_THAT(ChangesAfter(0), ElementsAre("registered a/0", "late a/0", "renewed a/0"))
      << "it was there all the time";
  Pass(absl::Seconds(3));
  EXPECT_EQ(table_.size(), 1u);
  msg::LeaseT more = Lease("a", "0", 1);
  more.endpoints = {"ipc:///new"};
  EXPECT_EQ(Register(std::move(more)), first);
  EXPECT_THAT(ChangesAfter(3), ElementsAre("registered a/0")) << "now it says something else";
  EXPECT_EQ(table_.Find(first)->endpoints.size(), 1u);
}

TEST_F(LeaseTableTest, InstancesOfOneNameLiveSideBySide) {
  Register(Lease("a", "0"));
  Register(Lease("a", "1"));
  Register(Lease("ab", "0"));
  EXPECT_EQ(table_.Lookup("a", "").size(), 2u);
  EXPECT_EQ(table_.Lookup("a", "1").size(), 1u);
  EXPECT_TRUE(table_.Lookup("a", "2").empty());
  EXPECT_TRUE(table_.Lookup("", "").empty());
  EXPECT_EQ(table_.List({.prefix = "a"}).leases.size(), 3u);
  EXPECT_EQ(table_.List({.prefix = "a/"}).leases.size(), 2u);
  EXPECT_EQ(table_.List({}).leases.size(), 3u);
}

TEST_F(LeaseTableTest, OldestComeFirstWhateverTheirNames) {
  const std::uint64_t z = Register(Lease("w", "z"));
  const std::uint64_t m = Register(Lease("w", "m"));
  const std::uint64_t a = Register(Lease("w", "a"));
  for (const auto& leases : {table_.Lookup("w", ""), table_.List({.prefix = "w"}).leases}) {
    ASSERT_EQ(leases.size(), 3u);
    EXPECT_EQ(leases[0]->id, z);
    EXPECT_EQ(leases[1]->id, m);
    EXPECT_EQ(leases[2]->id, a);
  }
}

TEST_F(LeaseTableTest, PagesFollowEachOtherWithoutHolesOrRepetitions) {
  for (int i = 0; i < 25; ++i) Register(Lease(i % 5 == 0 ? "b" : "a", absl::StrCat(99 - i)));
  for (const std::string prefix : {"", "a/", "b/"}) {
    std::vector<std::uint64_t> ids;
    LeaseTable::Found page;
    int pages = 0;
    do {
      page = table_.List({.prefix = prefix, .after = ids.empty() ? 0 : ids.back(), .limit = 5});
      ++pages;
      EXPECT_LE(page.leases.size(), 5u);
      for (const msg::LeaseT* lease : page.leases) ids.push_back(lease->id);
    } while (page.more);
    const std::size_t all = table_.List({.prefix = prefix}).leases.size();
    EXPECT_EQ(ids.size(), all) << prefix;
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ(pages, static_cast<int>(all / 5)) << "there is no empty page at the end";
  }
  EXPECT_FALSE(table_.List({.after = 25, .limit = 5}).more);
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

TEST_F(LeaseTableTest, RevisionsNeverRepeatOrGoBack) {
  // Each change that a watcher sees must have the revision after that of the change before.
  std::uint64_t seen = 0;
  const auto look = [&] {
    seen += ChangesAfter(seen).size();
    EXPECT_EQ(seen, table_.revision());
  };
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const std::uint64_t a = Register(Lease("a", "0", round));
    look();
    Register(Lease("b", absl::StrCat(round % 3), round));
    look();
    Pass(absl::Seconds(round % 7));
    look();
    (void)table_.Renew(a, now_);
    look();
    if (round % 5 == 0) (void)table_.Revoke(a, "revoked");
    look();
  }
  EXPECT_GT(seen, 60u);
}

TEST_F(LeaseTableTest, AFullTableRefuses) {
  for (int i = 0; i < 100; ++i) Register(Lease("a", absl::StrCat(i)));
  EXPECT_EQ(table_.Register(Lease("b"), now_, 1).status().code(),
            absl::StatusCode::kResourceExhausted);
  Register(Lease("a", "7", 9));  // A replacement needs no additional room.
}

TEST_F(LeaseTableTest, WhatAllLeasesSayTogetherIsBounded) {
  LeaseTable table({.max_bytes = 2000});
  const auto big = [](std::string name, std::uint64_t nonce, std::size_t bytes) {
    msg::LeaseT lease = Lease(std::move(name), "0", nonce);
    for (; bytes > 0; bytes -= 250) {
      lease.labels.push_back(std::make_unique<msg::KeyValueT>());
      lease.labels.back()->value = std::string(250, 'x');
    }
    return lease;
  };
  ASSERT_EQ(table.Register(big("a", 1, 1000), now_, 1).status(), absl::OkStatus());
  const std::size_t before = table.bytes();
  const auto refused = table.Register(big("b", 1, 1000), now_, 1);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("at most 2000"));
  EXPECT_EQ(table.Register(big("a", 2, 2000), now_, 1).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(table.size(), 1u) << "what was there stays when its successor is refused";
  EXPECT_EQ(table.revision(), 1u);
  EXPECT_EQ(table.bytes(), before);
  // A replacement of the same size fits; once all leases have ended, no bytes are counted.
  const auto second = table.Register(big("a", 2, 1000), now_, 1);
  ASSERT_EQ(second.status(), absl::OkStatus());
  EXPECT_EQ(table.bytes(), before);
  ASSERT_EQ(table.Revoke(*second, "revoked"), absl::OkStatus());
  EXPECT_EQ(table.bytes(), 0u);
}

TEST_F(LeaseTableTest, FewLargeChangesAreKeptAndManySmallOnes) {
  LeaseTable table({.max_changes = 1000, .max_change_bytes = 100'000});
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(table.Register(Lease("a", absl::StrCat(i)), now_, 1).status(), absl::OkStatus());
  }
  EXPECT_TRUE(table.ChangesSince(0).has_value());
  for (int i = 0; i < 20; ++i) {
    msg::LeaseT lease = Lease("big", absl::StrCat(i));
    for (int label = 0; label < 60; ++label) {
      lease.labels.push_back(std::make_unique<msg::KeyValueT>());
      lease.labels.back()->value = std::string(250, 'x');
    }
    ASSERT_EQ(table.Register(std::move(lease), now_, 1).status(), absl::OkStatus());
  }
  EXPECT_FALSE(table.ChangesSince(210).has_value());
  EXPECT_TRUE(table.ChangesSince(216).has_value());
}

TEST_F(LeaseTableTest, WhatCannotBePrintedIsRefused) {
  msg::LeaseT endpoint = Lease("a"), version = Lease("a"), label = Lease("a");
  endpoint.endpoints = {"ipc:///\x1b[2J"};
  version.version = "1\n2";
  label.labels.push_back(std::make_unique<msg::KeyValueT>());
  label.labels.back()->value = "\x9b";
  std::vector<msg::LeaseT> bad;
  bad.push_back(Lease("\x1b]0;title\x07"));
  bad.push_back(Lease("a", "0\r"));
  bad.push_back(std::move(endpoint));
  bad.push_back(std::move(version));
  bad.push_back(std::move(label));
  for (msg::LeaseT& lease : bad) {
    const auto id = table_.Register(std::move(lease), now_, 1);
    EXPECT_EQ(id.status().code(), absl::StatusCode::kInvalidArgument);
    const std::string why(id.status().message());
    EXPECT_THAT(why, HasSubstr("control characters"));
    EXPECT_EQ(why.find_first_of("\x1b\x07\r\n\x9b"), std::string::npos);
  }
  EXPECT_EQ(table_.revision(), 0u);
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
  EXPECT_EQ(table_.revision(), 1u) << "nor is it ever late";
}

}  // namespace
}  // namespace registry
