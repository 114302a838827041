#include "bus/wire/receive.h"

#include <cstring>
#include <string>
#include <vector>

#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "flatbuffers/flatbuffers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bus {
namespace {

using ::testing::HasSubstr;

msg::EnvelopeT Request() {
  msg::EnvelopeT envelope;
  envelope.kind = msg::Kind::Request;
  envelope.corr = 7;
  envelope.method = "Register";
  envelope.head = std::make_unique<msg::Head>(1, 2, 3, 4);
  msg::RegisterRequestT body;
  body.lease = std::make_unique<msg::LeaseT>();
  body.lease->name = "launcher";
  body.lease->endpoints = {"ipc:///x", "ipc:///y"};
  body.lease->process = std::make_unique<msg::ProcessIdentityT>();
  envelope.body.Set(std::move(body));
  return envelope;
}

std::vector<std::uint8_t> Bytes(const msg::EnvelopeT& envelope) {
  const Frame frame = Encode(envelope);
  return {frame.bytes().begin(), frame.bytes().end()};
}

std::string WhyNot(std::span<const std::uint8_t> bytes, std::size_t limit = kMaxMessageBytes) {
  const auto received = Receive(bytes, limit);
  EXPECT_EQ(received.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(received.status().message());
}

TEST(ReceiveTest, TakesAGoodMessage) {
  const auto bytes = Bytes(Request());
  const auto received = Receive(bytes, kMaxMessageBytes);
  ASSERT_EQ(received.status(), absl::OkStatus());
  EXPECT_EQ((*received)->corr(), 7u);
  EXPECT_TRUE(received->body_known());
  EXPECT_EQ((*received)->body_as_RegisterRequest()->lease()->name()->str(), "launcher");
}

TEST(ReceiveTest, CopiesMisalignedBytes) {
  const auto good = Bytes(Request());
  for (std::size_t offset = 1; offset < 8; ++offset) {
    std::vector<std::uint64_t> storage(good.size() / 8 + 2);
    auto* const place = reinterpret_cast<std::uint8_t*>(storage.data()) + offset;
    std::memcpy(place, good.data(), good.size());
    const auto received = Receive({place, good.size()}, kMaxMessageBytes);
    ASSERT_EQ(received.status(), absl::OkStatus());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*received)->head()) % 8, 0u);
    EXPECT_EQ((*received)->head()->seq(), 3u);
  }
}

TEST(ReceiveTest, RefusesWhatIsNotAMessage) {
  EXPECT_THAT(WhyNot({}), HasSubstr("short"));
  const std::string http = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_THAT(WhyNot({reinterpret_cast<const std::uint8_t*>(http.data()), http.size()}),
              HasSubstr("not a message"));
  auto other = Bytes(Request());
  other[4] = 'X';  // Damages the file identifier.
  EXPECT_THAT(WhyNot(other), HasSubstr("not a message"));
}

TEST(ReceiveTest, RefusesMoreThanTheLimit) {
  const auto bytes = Bytes(Request());
  EXPECT_THAT(WhyNot(bytes, bytes.size() - 1), HasSubstr("too long"));
}

TEST(ReceiveTest, RefusesEveryTruncation) {
  const auto bytes = Bytes(Request());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto received = Receive({bytes.data(), size}, kMaxMessageBytes);
    // (Missing padding at the end is accepted.)
    if (size + 8 < bytes.size()) {
      EXPECT_FALSE(received.ok()) << size;
    }
  }
}

TEST(ReceiveTest, KnowsAnUnknownBodyWithoutTouchingIt) {
  auto bytes = Bytes(Request());
  // Only the union's type tag has this byte value.
  const auto tag = static_cast<std::uint8_t>(msg::Body::RegisterRequest);
  bool found = false;
  for (std::uint8_t& byte : bytes) {
    if (byte != tag) continue;
    byte = 250;
    const auto received = Receive(bytes, kMaxMessageBytes);
    if (received.ok() && static_cast<int>((*received)->body_type()) == 250) {
      found = true;
      EXPECT_FALSE(received->body_known());
      EXPECT_EQ((*received)->corr(), 7u);
    }
    byte = tag;
  }
  EXPECT_TRUE(found);
}

TEST(ReceiveTest, RefusesAnUnknownKind) {
  msg::EnvelopeT envelope = Request();
  envelope.kind = static_cast<msg::Kind>(200);
  EXPECT_THAT(WhyNot(Bytes(envelope)), HasSubstr("unknown kind 200"));
}

TEST(ReceiveTest, RefusesTooManyTables) {
  msg::EnvelopeT envelope;
  msg::ListReplyT list;
  for (unsigned i = 0; i < kMaxTables; ++i) list.leases.push_back(std::make_unique<msg::LeaseT>());
  envelope.body.Set(std::move(list));
  EXPECT_THAT(WhyNot(Bytes(envelope)), HasSubstr("not a message"));
}

TEST(ReceiveTest, RefusesLongNames) {
  msg::EnvelopeT envelope = Request();
  envelope.method = std::string(129, 'x');
  EXPECT_THAT(WhyNot(Bytes(envelope)), HasSubstr("128"));
}

TEST(EnvelopeTest, StatusTravels) {
  const absl::Status status = absl::FailedPreconditionError("not now");
  EXPECT_EQ(FromWire(ToWire(status).get()), status);
  EXPECT_EQ(ToWire(absl::OkStatus()), nullptr);
  EXPECT_TRUE(ToWire(absl::UnavailableError(""))->retryable);
  msg::StatusT odd;
  odd.code = 99;
  EXPECT_EQ(FromWire(&odd).code(), absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace bus
