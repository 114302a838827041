#include "datamanager/tensorboard/h2_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <sys/types.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "datamanager/tensorboard/grpc_framing.h"

namespace datamanager::tensorboard {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// libnghttp2's client, connected to a session through strings.
class Client {
 public:
  struct Response {
    std::map<std::string, std::string> headers;  // Trailers included.
    std::string body;
    bool closed = false;
    std::uint32_t error = 0;
  };

  explicit Client(H2Session* server) : server_(server) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* self) {
          Of(self).responses_[frame->hd.stream_id].headers.emplace(
              std::string(reinterpret_cast<const char*>(name), name_size),
              std::string(reinterpret_cast<const char*>(value), value_size));
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                      std::size_t size, void* self) {
          Of(self).responses_[id].body.append(reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* self) {
          Of(self).responses_[id].closed = true;
          Of(self).responses_[id].error = error;
          return 0;
        });
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Client() { nghttp2_session_del(session_); }

  H2Session::StreamId Call(std::string_view path, std::string body) {
    const auto header = [](std::string_view name, std::string_view value) {
      return nghttp2_nv{reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
                        name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
    };
    const std::vector<nghttp2_nv> headers = {header(":method", "POST"),
                                             header(":scheme", "http"),
                                             header(":path", path),
                                             header(":authority", "x"),
                                             header("content-type", "application/grpc"),
                                             header("te", "trailers")};
    bodies_.push_back(std::make_unique<Body>(Body{std::move(body), 0}));
    nghttp2_data_provider data{};
    data.source.ptr = bodies_.back().get();
    data.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room,
                            std::uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
      Body& rest = *static_cast<Body*>(source->ptr);
      const std::size_t size = std::min(room, rest.text.size() - rest.sent);
      std::memcpy(to, rest.text.data() + rest.sent, size);
      rest.sent += size;
      if (rest.sent == rest.text.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
      return static_cast<ssize_t>(size);
    };
    return nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &data,
                                  nullptr);
  }

  // Exchanges bytes until both sides have nothing to send.
  void Talk() {
    for (;;) {
      const std::uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size > 0) {
        ASSERT_TRUE(server_->Receive(
            {reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)}));
        continue;
      }
      std::string answer;
      server_->Produce(100'000, &answer);
      if (answer.empty()) return;
      ASSERT_EQ(nghttp2_session_mem_recv(
                    session_, reinterpret_cast<const std::uint8_t*>(answer.data()), answer.size()),
                static_cast<ssize_t>(answer.size()));
    }
  }

  Response& response(H2Session::StreamId stream) { return responses_[stream]; }

 private:
  struct Body {
    std::string text;
    std::size_t sent = 0;
  };
  static Client& Of(void* self) { return *static_cast<Client*>(self); }

  H2Session* const server_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::map<H2Session::StreamId, Response> responses_;
};

class H2SessionTest : public ::testing::Test {
 protected:
  struct Call {
    H2Session::StreamId stream = 0;
    std::string path;
    std::string body;
  };
  std::vector<Call> calls_;
  H2Session session_{[this](H2Session::StreamId stream, std::string path, std::string body) {
    calls_.push_back({stream, std::move(path), std::move(body)});
  }};
  Client client_{&session_};
};

TEST_F(H2SessionTest, AnswersACallWithMessagesAndATrailer) {
  const auto stream = client_.Call("/service/Method", "question");
  client_.Talk();
  ASSERT_EQ(calls_.size(), 1u);
  EXPECT_EQ(calls_[0].path, "/service/Method");
  EXPECT_EQ(calls_[0].body, "question");
  EXPECT_EQ(session_.streams(), 1u);
  session_.Answer(calls_[0].stream, {.frames = "answer"});
  EXPECT_EQ(session_.unsent(), 6u);
  client_.Talk();
  const Client::Response& response = client_.response(stream);
  EXPECT_EQ(response.body, "answer");
  EXPECT_THAT(response.headers,
              ElementsAre(Pair(":status", "200"), Pair("content-type", "application/grpc"),
                          Pair("grpc-accept-encoding", "identity"), Pair("grpc-status", "0")));
  EXPECT_TRUE(response.closed);
  EXPECT_EQ(session_.unsent(), 0u);
  EXPECT_EQ(session_.streams(), 0u);
}

TEST_F(H2SessionTest, AnErrorIsInTheHeaders) {
  const auto stream = client_.Call("/x", "");
  client_.Talk();
  ASSERT_EQ(calls_.size(), 1u);
  session_.Answer(calls_[0].stream, {.status = absl::NotFoundError("no \xc3\xa4"), .frames = ""});
  client_.Talk();
  const Client::Response& response = client_.response(stream);
  EXPECT_EQ(response.body, "");
  EXPECT_THAT(response.headers,
              ElementsAre(Pair(":status", "200"), Pair("content-type", "application/grpc"),
                          Pair("grpc-message", "no %C3%A4"), Pair("grpc-status", "5")));
}

TEST_F(H2SessionTest, CallsAreAnsweredInAnyOrder) {
  const auto first = client_.Call("/1", "a");
  const auto second = client_.Call("/2", "b");
  client_.Talk();
  ASSERT_EQ(calls_.size(), 2u);
  session_.Answer(second, {.frames = "2"});
  client_.Talk();
  EXPECT_TRUE(client_.response(second).closed);
  EXPECT_FALSE(client_.response(first).closed);
  session_.Answer(first, {.frames = "1"});
  client_.Talk();
  EXPECT_EQ(client_.response(first).body, "1");
}

TEST_F(H2SessionTest, ALongAnswerIsSentAsTheClientTakesIt) {
  const auto stream = client_.Call("/x", "q");
  client_.Talk();
  const std::string answer(5'000'000, 'y');
  session_.Answer(stream, {.frames = answer});
  client_.Talk();
  EXPECT_EQ(client_.response(stream).body, answer);
  EXPECT_EQ(client_.response(stream).headers.at("grpc-status"), "0");
}

TEST_F(H2SessionTest, AnEndlessRequestIsRefusedAlone) {
  const auto endless = client_.Call("/x", std::string(H2Session::kMaxRequestBytes + 1, 'x'));
  const auto next = client_.Call("/y", "q");
  client_.Talk();
  EXPECT_EQ(client_.response(endless).error, std::uint32_t{NGHTTP2_ENHANCE_YOUR_CALM});
  ASSERT_EQ(calls_.size(), 1u);
  session_.Answer(next, {.frames = "answer"});
  client_.Talk();
  EXPECT_EQ(client_.response(next).body, "answer");
}

TEST_F(H2SessionTest, AnAnswerToNobodyIsDropped) {
  session_.Answer(17, {.frames = "x"});
  EXPECT_EQ(session_.unsent(), 0u);
  const auto stream = client_.Call("/x", "q");
  client_.Talk();
  session_.Answer(stream, {.frames = "once"});
  session_.Answer(stream, {.frames = "twice"});
  client_.Talk();
  EXPECT_EQ(client_.response(stream).body, "once");
}

TEST_F(H2SessionTest, WhatIsNoHttp2EndsTheConnection) {
  EXPECT_FALSE(session_.Receive("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
}

}  // namespace
}  // namespace datamanager::tensorboard
