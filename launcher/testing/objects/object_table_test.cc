#include "launcher/testing/objects/object_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace launcher::testing {
namespace {

using Operation = ObjectRequest::Operation;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kAnn = 1, kBob = 2, kCid = 3;

class ObjectTableTest : public ::testing::Test {
 protected:
  std::uint64_t Make(Operation kind, std::int64_t number = 0) {
    ObjectRequest request;
    request.operation = kind;
    request.number = number;
    const auto answers = table_.Handle(0, ++ticket_, request, now_);
    return static_cast<std::uint64_t>(answers.at(0).reply.number);
  }
  // Makes a request. Returns the tickets of the answered requests, with 0 for this request.
  std::vector<ObjectTable::Ticket> Ask(std::uint64_t client, std::uint64_t object,
                                       Operation operation, absl::Duration timeout = {},
                                       std::int64_t number = 0, const std::string& text = {}) {
    ObjectRequest request;
    request.operation = operation;
    request.object = object;
    request.number = number;
    request.value = text;
    request.timeout = timeout;
    auto tickets = Note(table_.Handle(client, ++ticket_, request, now_));
    std::replace(tickets.begin(), tickets.end(), ticket_, ObjectTable::Ticket{0});
    return tickets;
  }
  std::vector<ObjectTable::Ticket> Note(const std::vector<ObjectTable::Answer>& answers) {
    std::vector<ObjectTable::Ticket> tickets;
    replies_.clear();
    for (const auto& answer : answers) {
      tickets.push_back(answer.ticket);
      replies_.push_back(answer.reply);
    }
    return tickets;
  }

  ObjectTable table_;
  ObjectTable::Ticket ticket_ = 0;
  absl::Duration now_ = absl::Seconds(1000);
  std::vector<ObjectReply> replies_;
};

TEST_F(ObjectTableTest, AnEventLetsEverybodyGo) {
  const auto event = Make(Operation::kMakeEvent);
  EXPECT_THAT(Ask(kAnn, event, Operation::kWait, absl::Seconds(1)), IsEmpty());
  const auto ann = ticket_;
  EXPECT_THAT(Ask(kBob, event, Operation::kWait, absl::Seconds(1)), IsEmpty());
  const auto bob = ticket_;
  EXPECT_THAT(Ask(kCid, event, Operation::kSet), ElementsAre(0, ann, bob));
  Ask(kCid, event, Operation::kClear);
  Ask(kCid, event, Operation::kWait);
  EXPECT_EQ(replies_.at(0).status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ObjectTableTest, ALockGoesToThoseWhoWaitInTheirOrder) {
  const auto lock = Make(Operation::kMakeLock);
  EXPECT_THAT(Ask(kAnn, lock, Operation::kAcquire), ElementsAre(0));
  EXPECT_THAT(Ask(kBob, lock, Operation::kAcquire, absl::Seconds(5)), IsEmpty());
  const auto bob = ticket_;
  EXPECT_THAT(Ask(kCid, lock, Operation::kAcquire, absl::Seconds(5)), IsEmpty());
  const auto cid = ticket_;
  EXPECT_THAT(Ask(kAnn, lock, Operation::kRelease), ElementsAre(0, bob));
  EXPECT_THAT(Ask(kBob, lock, Operation::kRelease), ElementsAre(0, cid));
  Ask(kCid, lock, Operation::kRelease);
  Ask(kCid, lock, Operation::kRelease);
  EXPECT_EQ(replies_.at(0).status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ObjectTableTest, ALockOutlivesItsHolder) {
  const auto lock = Make(Operation::kMakeLock);
  Ask(kAnn, lock, Operation::kAcquire);
  EXPECT_THAT(Ask(kBob, lock, Operation::kAcquire, absl::Seconds(5)), IsEmpty());
  const auto bob = ticket_;
  EXPECT_THAT(Note(table_.ClientGone(kAnn, "worker-0")), ElementsAre(bob));
  EXPECT_EQ(replies_.at(0).value, "worker-0") << "who is told";
  Ask(kBob, lock, Operation::kRelease);
  Ask(kCid, lock, Operation::kAcquire);
  EXPECT_EQ(replies_.at(0).value, "") << "once";
}

TEST_F(ObjectTableTest, HandsNothingToAProcessThatIsGone) {
  const auto queue = Make(Operation::kMakeQueue);
  EXPECT_THAT(Ask(kAnn, queue, Operation::kTake, absl::Seconds(5)), IsEmpty());
  EXPECT_THAT(Ask(kBob, queue, Operation::kTake, absl::Seconds(5)), IsEmpty());
  const auto bob = ticket_;
  EXPECT_THAT(Note(table_.ClientGone(kAnn, "worker-0")), IsEmpty());
  EXPECT_THAT(Ask(kCid, queue, Operation::kPut, {}, 0, "item"), ElementsAre(0, bob));
  EXPECT_EQ(replies_.at(1).value, "item");
}

TEST_F(ObjectTableTest, GivesBackTheUnitsOfAProcessThatIsGone) {
  const auto semaphore = Make(Operation::kMakeSemaphore, 3);
  for (int i = 0; i < 3; ++i) Ask(kAnn, semaphore, Operation::kAcquire);
  Ask(kAnn, semaphore, Operation::kRelease, {}, 1);
  Ask(kBob, semaphore, Operation::kAcquire);
  EXPECT_THAT(Ask(kCid, semaphore, Operation::kAcquire, absl::Seconds(5)), IsEmpty());
  const auto cid = ticket_;
  EXPECT_THAT(Note(table_.ClientGone(kAnn, "worker-0")), ElementsAre(cid));
  Ask(kCid, semaphore, Operation::kGet);
  EXPECT_EQ(replies_.at(0).number, 1);
}

TEST_F(ObjectTableTest, AFullQueueMakesWait) {
  const auto queue = Make(Operation::kMakeQueue, 1);
  Ask(kAnn, queue, Operation::kPut, {}, 0, "a");
  EXPECT_THAT(Ask(kAnn, queue, Operation::kPut, absl::Seconds(5), 0, "b"), IsEmpty());
  const auto put = ticket_;
  EXPECT_THAT(Ask(kBob, queue, Operation::kTake), ElementsAre(0, put));
  EXPECT_EQ(replies_.at(0).value, "a");
  Ask(kBob, queue, Operation::kTake);
  EXPECT_EQ(replies_.at(0).value, "b");
}

TEST_F(ObjectTableTest, ACounterLetsGoWhoWaitsForLess) {
  const auto counter = Make(Operation::kMakeCounter, -1);
  EXPECT_THAT(Ask(kAnn, counter, Operation::kWait, absl::Seconds(5), 2), IsEmpty());
  const auto ann = ticket_;
  EXPECT_THAT(Ask(kBob, counter, Operation::kAdd, {}, 2), ElementsAre(0));
  EXPECT_EQ(replies_.at(0).number, 1);
  EXPECT_THAT(Ask(kBob, counter, Operation::kAdd, {}, 5), ElementsAre(0, ann));
  EXPECT_EQ(replies_.at(1).number, 6);
}

TEST_F(ObjectTableTest, EveryWaitEnds) {
  const auto event = Make(Operation::kMakeEvent);
  EXPECT_EQ(table_.NextTimeout(), absl::InfiniteDuration());
  Ask(kAnn, event, Operation::kWait, absl::Seconds(5));
  const auto late = ticket_;
  Ask(kBob, event, Operation::kWait, absl::Seconds(2));
  const auto early = ticket_;
  EXPECT_EQ(table_.NextTimeout(), now_ + absl::Seconds(2));
  EXPECT_THAT(Note(table_.Expire(now_ + absl::Seconds(2))), ElementsAre(early));
  EXPECT_EQ(replies_.at(0).status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Note(table_.Expire(now_ + absl::Seconds(9))), ElementsAre(late));
}

TEST_F(ObjectTableTest, WhoWaitsForWhatIsRemovedIsTold) {
  const auto event = Make(Operation::kMakeEvent);
  Ask(kAnn, event, Operation::kWait, absl::Seconds(5));
  const auto ann = ticket_;
  EXPECT_THAT(Ask(kBob, event, Operation::kRemove), ElementsAre(ann, 0));
  EXPECT_EQ(replies_.at(0).status.code(), absl::StatusCode::kNotFound);
  Ask(kBob, event, Operation::kSet);
  EXPECT_EQ(replies_.at(0).status.code(), absl::StatusCode::kNotFound);
}

TEST_F(ObjectTableTest, ABarrierLetsAllGoTogetherAgainAndAgain) {
  const auto barrier = Make(Operation::kMakeBarrier, 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Ask(kAnn, barrier, Operation::kWait, absl::Seconds(5)), IsEmpty());
    const auto ann = ticket_;
    EXPECT_THAT(Ask(kBob, barrier, Operation::kWait, absl::Seconds(5)), ElementsAre(ann, 0));
    EXPECT_EQ(replies_.at(0).number, 0);
    EXPECT_EQ(replies_.at(1).number, 1);
  }
}

TEST_F(ObjectTableTest, ABarrierBreaksWithATimeoutAndWithAnEnd) {
  const auto barrier = Make(Operation::kMakeBarrier, 3);
  Ask(kAnn, barrier, Operation::kWait, absl::Seconds(5));
  const auto ann = ticket_;
  Ask(kBob, barrier, Operation::kWait, absl::Seconds(9));
  const auto bob = ticket_;
  EXPECT_THAT(Note(table_.Expire(now_ + absl::Seconds(5))), ElementsAre(ann, bob));
  EXPECT_EQ(replies_.at(0).status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(replies_.at(1).status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Ask(kCid, barrier, Operation::kWait, absl::Seconds(5)), ElementsAre(0));
  EXPECT_EQ(replies_.at(0).status.code(), absl::StatusCode::kFailedPrecondition);
  Ask(kCid, barrier, Operation::kClear);
  EXPECT_THAT(Ask(kAnn, barrier, Operation::kWait, absl::Seconds(5)), IsEmpty());
  EXPECT_THAT(Ask(kBob, barrier, Operation::kWait, absl::Seconds(5)), IsEmpty());
  const auto left = ticket_;
  EXPECT_THAT(Note(table_.ClientGone(kAnn, "worker-0")), ElementsAre(left));
  EXPECT_EQ(replies_.at(0).status.message(), "the barrier is broken: worker-0 has ended");
}

TEST_F(ObjectTableTest, RefusesWhatAnObjectCannotDo) {
  const auto event = Make(Operation::kMakeEvent);
  Ask(kAnn, event, Operation::kTake, absl::Seconds(5));
  EXPECT_EQ(replies_.at(0).status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace launcher::testing
