#include "launcher/share/barrier_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "launcher/wire/shim_protocol.h"

namespace launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BarrierLineTest, SaysWhoMeetsWhereAndForHowLong) {
  const auto barrier = ParseBarrierLine(
      R"({"t":"barrier","name":"epoch 1","tasks":["chief-0","worker"],"timeout_s":1.5,"seq":7})");
  ASSERT_TRUE(barrier.ok()) << barrier.status();
  EXPECT_EQ(barrier->request.name, "epoch 1");
  EXPECT_THAT(barrier->request.parties, ElementsAre("chief-0", "worker"));
  EXPECT_EQ(barrier->request.timeout_ms, 1500u);
  EXPECT_EQ(barrier->seq, "7");
}

TEST(BarrierLineTest, ANameIsEnough) {
  const auto barrier = ParseBarrierLine(R"({"t":"barrier","name":"a","tasks":null,"more":[{}]})");
  ASSERT_TRUE(barrier.ok()) << barrier.status();
  EXPECT_THAT(barrier->request.parties, IsEmpty());
  EXPECT_EQ(barrier->request.timeout_ms, 0u);
  EXPECT_EQ(barrier->seq, "");
}

TEST(BarrierLineTest, WhatIsWrongIsNamed) {
  const std::string long_seq(300, '1');
  const struct {
    std::string line, what;
  } cases[] = {
      {"", "no JSON object"},
      {"[1]", "no JSON object"},
      {R"({"t":"barrier")", "no JSON object"},
      {R"({"t":"barrier"})", "\"name\""},
      {R"({"t":"barrier","name":1})", "\"name\""},
      {R"({"t":"barrier","name":"a","tasks":"worker"})", "\"tasks\""},
      {R"({"t":"barrier","name":"a","tasks":[1]})", "\"tasks\""},
      {R"({"t":"barrier","name":"a","timeout_s":"1"})", "\"timeout_s\""},
      {R"({"t":"barrier","name":"a","timeout_s":-1})", "\"timeout_s\""},
      {R"({"t":"barrier","name":"a","timeout_s":0})", "\"timeout_s\""},
      {R"({"t":"barrier","name":"a","timeout_s":1e300})", "\"timeout_s\""},
      {R"({"t":"barrier","name":"a","seq":")" + long_seq + "\"}", "\"seq\""},
  };
  for (const auto& wrong : cases) {
    const auto barrier = ParseBarrierLine(wrong.line);
    EXPECT_TRUE(absl::IsInvalidArgument(barrier.status())) << wrong.line;
    EXPECT_THAT(barrier.status().message(), HasSubstr(wrong.what)) << wrong.line;
  }
}

TEST(BarrierLineTest, TheAnswerEchoesWhatWasSent) {
  EXPECT_EQ(BarrierAnswer("7", 2), R"({"t":"ok","seq":7,"index":2})");
  EXPECT_EQ(BarrierAnswer("", 0), R"({"t":"ok","index":0})");
  EXPECT_EQ(BarrierAnswer("\"x\"", absl::DeadlineExceededError("who \"waits\"")),
            R"({"t":"error","seq":"x","code":"DEADLINE_EXCEEDED","error":"who \"waits\""})");
}

TEST(BarrierLineTest, NoAnswerIsTooLongForTheShim) {
  const std::string noise(5000, '\x01');
  const std::string answer = BarrierAnswer(std::string(256, '1'), absl::InternalError(noise));
  EXPECT_LE(answer.size(), kMaxBarrierAnswer);
  const ShimRequest request{.kind = ShimRequest::Kind::kBarrier, .number = ~0u, .line = answer};
  EXPECT_LT(request.Encode().size(), kMaxRequestPacket);
}

TEST(BarrierLineTest, ThePacketsAreReadAsTheyWereWritten) {
  const ShimBarrier barrier{.number = 3, .line = std::string(kMaxBarrierLine, 'a')};
  EXPECT_LT(barrier.Encode().size(), kMaxShimPacket);
  EXPECT_EQ(ShimBarrier::Decode(barrier.Encode()), barrier);
  EXPECT_EQ(ShimBarrier::Decode(ShimState{}.Encode()), std::nullopt);
  const auto answer = ShimRequest::Decode(
      ShimRequest{.kind = ShimRequest::Kind::kBarrier, .number = 3, .line = "ok"}.Encode());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->kind, ShimRequest::Kind::kBarrier);
  EXPECT_EQ(answer->number, 3u);
  EXPECT_EQ(answer->line, "ok");
}

}  // namespace
}  // namespace launcher
