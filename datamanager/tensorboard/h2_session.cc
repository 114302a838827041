// nghttp2 passes the session to each callback as user data, and runs callbacks only within
// nghttp2_session_mem_recv() or _mem_send(). A stream is in the map from its first header until
// nghttp2 reports that it is closed.

#include "datamanager/tensorboard/h2_session.h"

#include <nghttp2/nghttp2.h>
#include <sys/types.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace datamanager::tensorboard {
namespace {

constexpr std::uint32_t kWindow = 1 << 20;  // Receive window of a stream; most requests fit.

// nghttp2 copies both strings.
nghttp2_nv Header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

struct H2Session::Stream {
  std::string path;
  std::string body;
  bool called = false;
  std::string frames;  // Messages of the answer.
  std::size_t sent = 0;
  std::string trailer_status;
};

// The library calls these; `user_data` is the session.
struct H2Session::Callbacks {
  static H2Session& Of(void* user_data) { return *static_cast<H2Session*>(user_data); }

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      Of(user_data).streams_[frame->hd.stream_id] = std::make_unique<Stream>();
    }
    return 0;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* user_data) {
    Stream* const stream = Of(user_data).Find(frame->hd.stream_id);
    if (stream != nullptr &&
        std::string_view(reinterpret_cast<const char*>(name), name_size) == ":path") {
      stream->path.assign(reinterpret_cast<const char*>(value), value_size);
    }
    return 0;
  }

  static int OnData(nghttp2_session* session, std::uint8_t, std::int32_t id,
                    const std::uint8_t* data, std::size_t size, void* user_data) {
    H2Session& self = Of(user_data);
    Stream* const stream = self.Find(id);
    if (stream == nullptr || stream->called) return 0;
    if (stream->body.size() + size > kMaxRequestBytes ||
        self.unfinished_ + size > kMaxUnfinishedBytes) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_ENHANCE_YOUR_CALM);
      return 0;
    }
    stream->body.append(reinterpret_cast<const char*>(data), size);
    self.unfinished_ += size;
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    const bool ends = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (!ends || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    H2Session& self = Of(user_data);
    Stream* const stream = self.Find(frame->hd.stream_id);
    if (stream == nullptr || stream->called) return 0;
    stream->called = true;
    self.unfinished_ -= stream->body.size();
    self.on_call_(frame->hd.stream_id, std::move(stream->path),
                  std::exchange(stream->body, std::string()));
    return 0;
  }

  static int OnClose(nghttp2_session*, std::int32_t id, std::uint32_t, void* user_data) {
    H2Session& self = Of(user_data);
    const auto stream = self.streams_.find(id);
    if (stream != self.streams_.end()) self.Forget(stream);
    return 0;
  }

  static ssize_t OnRead(nghttp2_session* session, std::int32_t id, std::uint8_t* to,
                        std::size_t room, std::uint32_t* flags, nghttp2_data_source* source,
                        void* user_data) {
    Stream& stream = *static_cast<Stream*>(source->ptr);
    const std::size_t size = std::min(room, stream.frames.size() - stream.sent);
    std::memcpy(to, stream.frames.data() + stream.sent, size);
    stream.sent += size;
    Of(user_data).unsent_ -= size;
    if (stream.sent == stream.frames.size()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const nghttp2_nv status = Header("grpc-status", stream.trailer_status);
      nghttp2_submit_trailer(session, id, &status, 1);
    }
    return static_cast<ssize_t>(size);
  }
};

H2Session::H2Session(OnCall on_call) : on_call_(std::move(on_call)) { Open(); }

H2Session::~H2Session() { nghttp2_session_del(session_); }

bool H2Session::Receive(std::string_view bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return nghttp2_session_mem_recv(session_, data, bytes.size()) ==
         static_cast<ssize_t>(bytes.size());
}

void H2Session::Answer(StreamId id, GrpcAnswer answer) {
  Stream* const stream = Find(id);
  if (stream == nullptr || !stream->called || !stream->trailer_status.empty()) return;
  stream->trailer_status = absl::StrCat(static_cast<int>(answer.status.code()));
  if (!answer.status.ok() || answer.frames.empty()) return Refuse(id, *stream, answer.status);
  stream->frames = std::move(answer.frames);
  unsent_ += stream->frames.size();
  const std::vector<nghttp2_nv> headers = {Header(":status", "200"),
                                           Header("content-type", "application/grpc"),
                                           Header("grpc-accept-encoding", "identity")};
  nghttp2_data_provider frames{};
  frames.source.ptr = stream;
  frames.read_callback = &Callbacks::OnRead;
  nghttp2_submit_response(session_, id, headers.data(), headers.size(), &frames);
}

void H2Session::Produce(std::size_t limit, std::string* out) {
  while (out->size() < limit) {
    const std::uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size <= 0) return;
    out->append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
}

bool H2Session::done() const {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

std::size_t H2Session::unsent() const { return unsent_; }

std::size_t H2Session::streams() const { return streams_.size(); }

void H2Session::Open() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &Callbacks::OnBeginHeaders);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &Callbacks::OnData);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Callbacks::OnFrame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Callbacks::OnClose);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  // Otherwise a client that opens and closes streams for ever would use more and more memory.
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_session_server_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams},
                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
}

H2Session::Stream* H2Session::Find(StreamId id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

void H2Session::Refuse(StreamId id, const Stream& stream, const absl::Status& why) {
  const std::string message = PercentEncoded({why.message().data(), why.message().size()});
  std::vector<nghttp2_nv> headers = {Header(":status", "200"),
                                     Header("content-type", "application/grpc"),
                                     Header("grpc-status", stream.trailer_status)};
  if (!message.empty()) headers.push_back(Header("grpc-message", message));
  nghttp2_submit_response(session_, id, headers.data(), headers.size(), nullptr);
}

void H2Session::Forget(std::map<StreamId, std::unique_ptr<Stream>>::iterator stream) {
  unsent_ -= stream->second->frames.size() - stream->second->sent;
  unfinished_ -= stream->second->body.size();
  streams_.erase(stream);
}

}  // namespace datamanager::tensorboard
