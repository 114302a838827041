// A connection is in one of four phases: it waits for the first byte of a request, reads one, waits
// for its answer, or is closed. At most one read is pending, also while the connection waits for an
// answer: so it notices a disconnecting client, and the bytes read belong to the next request.
// Everything except Reply's own methods runs on the server's thread.

#include "web/http/connection.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "boost/asio/generic/stream_protocol.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/asio/write.hpp"
#include "boost/beast/core/flat_buffer.hpp"
#include "boost/beast/http/parser.hpp"
#include "boost/beast/http/read.hpp"
#include "boost/beast/http/string_body.hpp"
#include "web/http/problem.h"
#include "web/http/response_head.h"
#include "web/http/target.h"

namespace web {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Core = ServerCore;
using Socket = asio::generic::stream_protocol::socket;
using Parser = http::request_parser<http::string_body>;

// Limit of bytes read ahead from a client that pipelines requests.
constexpr std::size_t kReadAhead = 16 << 10;
constexpr std::size_t kReadAtOnce = 4 << 10;
// A longer body is written separately, which avoids copying it behind the header.
constexpr std::size_t kLongBody = 64 << 10;

// Unsent bytes of one request's answer, and whether the client has disconnected; shared by the
// Reply (any thread) and the Connection.
struct Progress {
  std::atomic<std::size_t> waiting = 0;
  std::atomic<bool> gone = false;
};

std::chrono::nanoseconds Nanoseconds(absl::Duration duration) {
  return absl::ToChronoNanoseconds(duration);
}

}  // namespace

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(Core* core, Door door, Socket socket)
      : core_(core), door_(door), socket_(std::move(socket)), deadline_(core->io) {}

  void Start(std::shared_ptr<Core> core);
  void Close();

  // Called by the Reply with the number of its request; ignored unless that request is current.
  void Send(std::uint64_t request, Response response);
  void Begin(std::uint64_t request, const Response& head);
  void Write(std::uint64_t request, std::string part);
  void End(std::uint64_t request);
  void Drop(std::uint64_t request);
  void SetProgress(std::uint64_t request, std::function<void()> progress);

 private:
  enum class Phase { kIdle, kReading, kAnswering, kClosed };

  void SetDeadline(absl::Duration duration);
  void AwaitRequest();
  void ReadMore();
  void OnBytes(error_code error, std::size_t count);
  void ReadHeader();
  void OnHeader(error_code error);
  void OnWhole(error_code error);
  std::optional<Response> WhyRefused(const Parser& parser) const;
  void Refuse(Response response);
  void Handle();
  bool Answers(std::uint64_t request) const {
    return phase_ == Phase::kAnswering && request == request_;
  }
  void Queue(std::string bytes, std::size_t counted = 0);
  void WriteNext();
  void OnWritten(error_code error);
  void Finish();

  Core* const core_;
  const Door door_;
  std::weak_ptr<Core> keeps_core_;  // Passed on to replies.
  Socket socket_;
  asio::steady_timer deadline_;
  std::uint64_t deadline_number_ = 0;
  Phase phase_ = Phase::kIdle;
  boost::beast::flat_buffer buffer_;
  bool is_reading_ = false;
  std::optional<Parser> parser_;

  // State of the request being answered.
  std::uint64_t request_ = 0;
  std::shared_ptr<Progress> progress_;
  std::function<void()> on_progress_;
  bool is_head_ = false;
  bool keep_alive_ = false;
  bool chunks_ = false;
  bool begun_ = false;
  bool answered_ = false;  // The whole answer is queued.

  struct Part {
    std::string bytes;
    std::size_t counted = 0;  // Bytes of it counted in `waiting`.
  };
  std::deque<Part> out_;
  bool is_writing_ = false;
};

namespace {

class ReplyOfConnection : public Reply {
 public:
  ReplyOfConnection(std::shared_ptr<Core> core, std::weak_ptr<HttpConnection> connection,
                    std::uint64_t request, std::shared_ptr<Progress> progress)
      : core_(std::move(core)),
        connection_(std::move(connection)),
        request_(request),
        progress_(std::move(progress)) {}
  ~ReplyOfConnection() override {
    Do([request = request_](HttpConnection& connection) { connection.Drop(request); });
  }

  void Send(Response response) override {
    Do([request = request_, response = std::move(response)](HttpConnection& connection) mutable {
      connection.Send(request, std::move(response));
    });
  }
  void Begin(Response head) override {
    Do([request = request_, head = std::move(head)](HttpConnection& connection) {
      connection.Begin(request, head);
    });
  }
  void Write(std::string part) override {
    if (part.empty()) return;  // An empty chunk would end the body.
    progress_->waiting += part.size();
    Do([request = request_, part = std::move(part)](HttpConnection& connection) mutable {
      connection.Write(request, std::move(part));
    });
  }
  void End() override {
    Do([request = request_](HttpConnection& connection) { connection.End(request); });
  }
  std::size_t Waiting() const override { return progress_->waiting; }
  bool IsGone() const override { return progress_->gone; }
  void OnProgress(std::function<void()> progress) override {
    Do([request = request_, progress = std::move(progress)](HttpConnection& connection) mutable {
      connection.SetProgress(request, std::move(progress));
    });
  }

 private:
  template <typename F>
  void Do(F f) {
    asio::post(core_->io, [connection = connection_, f = std::move(f)]() mutable {
      if (const auto open = connection.lock()) f(*open);
    });
  }

  const std::shared_ptr<Core> core_;
  const std::weak_ptr<HttpConnection> connection_;
  const std::uint64_t request_;
  const std::shared_ptr<Progress> progress_;
};

}  // namespace

void HttpConnection::Start(std::shared_ptr<Core> core) {
  keeps_core_ = core;
  ++core_->connections;
  core_->open.insert(shared_from_this());
  // An idle new client has the same deadline as one that sends half a request.
  SetDeadline(core_->options.request_deadline);
  ReadMore();
}

void HttpConnection::SetDeadline(absl::Duration duration) {
  const std::uint64_t number = ++deadline_number_;
  if (duration == absl::InfiniteDuration()) {
    deadline_.cancel();
    return;
  }
  deadline_.expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(Nanoseconds(duration)));
  deadline_.async_wait([self = shared_from_this(), number](error_code error) {
    if (error || number != self->deadline_number_ || self->phase_ == Phase::kClosed) return;
    if (self->phase_ == Phase::kReading) ++self->core_->refused;
    self->Close();
  });
}

void HttpConnection::Close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  ++deadline_number_;
  deadline_.cancel();
  error_code ignored;
  socket_.close(ignored);
  out_.clear();
  if (progress_ != nullptr) progress_->gone = true;
  if (const auto progress = std::exchange(on_progress_, nullptr)) progress();
  --core_->connections;
  core_->open.erase(shared_from_this());
}

void HttpConnection::AwaitRequest() {
  phase_ = Phase::kIdle;
  SetDeadline(core_->options.idle_deadline);
  if (buffer_.size() > 0 && !is_reading_) {
    ReadHeader();
  } else {
    ReadMore();
  }
}

void HttpConnection::ReadMore() {
  if (is_reading_ || buffer_.size() >= kReadAhead) return;
  is_reading_ = true;
  socket_.async_read_some(buffer_.prepare(kReadAtOnce),
                          [self = shared_from_this()](error_code error, std::size_t count) {
                            self->OnBytes(error, count);
                          });
}

void HttpConnection::OnBytes(error_code error, std::size_t count) {
  is_reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error) return Close();
  buffer_.commit(count);
  if (phase_ == Phase::kIdle) ReadHeader();
}

void HttpConnection::ReadHeader() {
  phase_ = Phase::kReading;
  SetDeadline(core_->options.request_deadline);
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(kMaxHttpHeader));
  parser_->body_limit(kMaxHttpBody);
  http::async_read_header(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](error_code error, std::size_t) { self->OnHeader(error); });
}

// Returns a refusal that the header alone justifies, if any. The parser itself refuses an invalid
// or repeated length.
std::optional<Response> HttpConnection::WhyRefused(const Parser& parser) const {
  const auto& header = parser.get();
  if (header.version() != 10 && header.version() != 11) {
    return Problem(400, "the version is neither HTTP/1.0 nor HTTP/1.1");
  }
  if (header.find(http::field::transfer_encoding) != header.end()) {
    return Problem(411, "a request's body has a Content-Length and no Transfer-Encoding");
  }
  const auto length = parser.content_length();
  if (length && *length > kMaxHttpBody) {
    return Problem(413, absl::StrCat("the body is longer than ", kMaxHttpBody, " bytes"));
  }
  return std::nullopt;
}

void HttpConnection::OnHeader(error_code error) {
  if (phase_ == Phase::kClosed) return;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Refuse(
        Problem(431, absl::StrCat("the header is longer than ", kMaxHttpHeader, " bytes")));
  }
  if (error == http::error::body_limit) {
    return Refuse(Problem(413, absl::StrCat("the body is longer than ", kMaxHttpBody, " bytes")));
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error == asio::error::connection_reset) {
    return Close();
  }
  if (error) return Refuse(Problem(400, absl::StrCat("no HTTP request: ", error.message())));
  if (auto refused = WhyRefused(*parser_)) return Refuse(*std::move(refused));
  const auto expect = parser_->get().find(http::field::expect);
  if (expect != parser_->get().end()) {
    Queue("HTTP/1.1 100 Continue\r\n\r\n");
  }
  http::async_read(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](error_code end, std::size_t) { self->OnWhole(end); });
}

void HttpConnection::OnWhole(error_code error) {
  if (phase_ == Phase::kClosed) return;
  if (error == http::error::body_limit) {
    return Refuse(Problem(413, absl::StrCat("the body is longer than ", kMaxHttpBody, " bytes")));
  }
  if (error == http::error::partial_message || error == asio::error::connection_reset)
    return Close();
  if (error) return Refuse(Problem(400, absl::StrCat("no HTTP request: ", error.message())));
  Handle();
}

// Answers an invalid request and closes the connection, because the start of the next request is
// unknown.
void HttpConnection::Refuse(Response response) {
  ++core_->refused;
  phase_ = Phase::kAnswering;
  progress_ = std::make_shared<Progress>();
  ++request_;
  is_head_ = false;
  keep_alive_ = false;
  begun_ = false;
  answered_ = false;
  Send(request_, std::move(response));
}

void HttpConnection::Handle() {
  const auto core = keeps_core_.lock();
  if (core == nullptr) return Close();
  phase_ = Phase::kAnswering;
  SetDeadline(absl::InfiniteDuration());
  ++core_->requests;
  ++request_;
  const auto& message = parser_->get();
  progress_ = std::make_shared<Progress>();
  is_head_ = message.method() == http::verb::head;
  keep_alive_ = message.keep_alive();
  chunks_ = message.version() == 11;
  begun_ = false;
  answered_ = false;
  auto reply = std::make_shared<ReplyOfConnection>(core, weak_from_this(), request_, progress_);
  const auto method = message.method_string();
  const auto raw_target = message.target();
  auto target = ParseTarget({raw_target.data(), raw_target.size()});
  if (!target.ok()) {
    return Send(request_,
                Problem(400, absl::StrCat("the path is refused: ", target.status().message())));
  }
  Request request = {.door = door_,
                     .method = std::string(method.data(), method.size()),
                     .target = *std::move(target)};
  for (const auto& field : message) {
    request.headers.emplace_back(
        absl::AsciiStrToLower({field.name_string().data(), field.name_string().size()}),
        std::string(field.value().data(), field.value().size()));
  }
  request.body = std::move(parser_->get().body());
  if (buffer_.size() == 0) ReadMore();
  core_->options.handler(std::move(request), std::move(reply));
}

void HttpConnection::Send(std::uint64_t request, Response response) {
  if (!Answers(request) || begun_ || answered_) return;
  std::string bytes = ResponseHead(response, Framing::kLength, keep_alive_);
  answered_ = true;
  if (is_head_) return Queue(std::move(bytes));
  if (response.body.size() <= kLongBody) return Queue(std::move(bytes) + response.body);
  out_.push_back({std::move(bytes)});
  Queue(std::move(response.body));
}

void HttpConnection::Begin(std::uint64_t request, const Response& head) {
  if (!Answers(request) || begun_ || answered_) return;
  begun_ = true;
  if (!chunks_) keep_alive_ = false;
  Queue(ResponseHead(head, chunks_ ? Framing::kChunks : Framing::kUntilClosed, keep_alive_));
}

void HttpConnection::Write(std::uint64_t request, std::string part) {
  if (!Answers(request) || !begun_ || answered_) return;
  if (is_head_) {
    progress_->waiting -= part.size();
    return;
  }
  const std::size_t counted = part.size();
  Queue(chunks_ ? absl::StrCat(absl::Hex(counted), "\r\n", part, "\r\n") : std::move(part),
        counted);
}

void HttpConnection::End(std::uint64_t request) {
  if (!Answers(request) || !begun_ || answered_) return;
  answered_ = true;
  on_progress_ = nullptr;
  Queue(chunks_ && !is_head_ ? "0\r\n\r\n" : "");
}

void HttpConnection::Drop(std::uint64_t request) {
  if (!Answers(request) || answered_) return;
  if (begun_) return Close();
  Send(request, Problem(500, "the request was not answered", kSeeTheLog));
}

void HttpConnection::SetProgress(std::uint64_t request, std::function<void()> progress) {
  if (!Answers(request)) return progress();
  on_progress_ = std::move(progress);
  if (out_.empty()) on_progress_();
}

void HttpConnection::Queue(std::string bytes, std::size_t counted) {
  out_.push_back({std::move(bytes), counted});
  if (!is_writing_) WriteNext();
}

void HttpConnection::WriteNext() {
  is_writing_ = true;
  SetDeadline(core_->options.write_deadline);
  asio::async_write(
      socket_, asio::buffer(out_.front().bytes),
      [self = shared_from_this()](error_code error, std::size_t) { self->OnWritten(error); });
}

void HttpConnection::OnWritten(error_code error) {
  is_writing_ = false;
  if (phase_ == Phase::kClosed) return;
  if (error) return Close();
  if (progress_ != nullptr) progress_->waiting -= out_.front().counted;
  out_.pop_front();
  if (!out_.empty()) return WriteNext();
  // Part of a body is still expected, as after "100 Continue".
  if (phase_ == Phase::kReading) return SetDeadline(core_->options.request_deadline);
  SetDeadline(absl::InfiniteDuration());
  if (answered_) return Finish();
  if (on_progress_) on_progress_();
}

void HttpConnection::Finish() {
  on_progress_ = nullptr;
  if (!keep_alive_) {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    return Close();
  }
  AwaitRequest();
}

void StartConnection(const std::shared_ptr<ServerCore>& core, Door door, int family,
                     runtime::UniqueFd fd) {
  Socket socket(core->io);
  error_code error;
  socket.assign(asio::generic::stream_protocol(family, 0), fd.get(), error);
  if (error) return;
  fd.release();
  std::make_shared<HttpConnection>(core.get(), door, std::move(socket))->Start(core);
}

void CloseConnections(ServerCore* core) {
  for (const auto& connection : std::exchange(core->open, {})) connection->Close();
}

}  // namespace web
