#ifndef DATAMANAGER_TENSORBOARD_H2_SESSION_H_
#define DATAMANAGER_TENSORBOARD_H2_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "datamanager/tensorboard/grpc_framing.h"

struct nghttp2_session;

namespace datamanager::tensorboard {

// The server's side of one HTTP/2 connection that carries gRPC, without a socket and without
// interpreting messages: bytes go in and out. The connection begins with the client's preface, as
// gRPC does on unencrypted connections. libnghttp2 does the work.
//
// A request is refused, without effect on others, if it exceeds kMaxRequestBytes, or if all
// incomplete requests of the connection together exceed kMaxUnfinishedBytes.
//
// Not thread safe.
class H2Session {
 public:
  static constexpr std::size_t kMaxRequestBytes = std::size_t{4} << 20;
  static constexpr std::size_t kMaxUnfinishedBytes = std::size_t{16} << 20;
  static constexpr std::uint32_t kMaxStreams = 256;

  using StreamId = std::int32_t;
  // Handles a call, given its path and its message with gRPC's framing. Runs within Receive();
  // Answer() must follow, now or later.
  using OnCall = std::function<void(StreamId stream, std::string path, std::string body)>;

  explicit H2Session(OnCall on_call);
  ~H2Session();
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  // Returns false if the bytes are not valid HTTP/2; the bytes left to send tell the client.
  bool Receive(std::string_view bytes);
  // Sends nothing if the stream has ended meanwhile.
  void Answer(StreamId stream, GrpcAnswer answer);
  // Appends the bytes to send now, at most slightly more than `limit`. Appends nothing if nothing
  // is waiting, or if the client's flow control allows nothing now.
  void Produce(std::size_t limit, std::string* out);
  // True once nothing will be received or sent any more.
  bool done() const;
  // Bytes of answers that Produce() has not returned yet.
  std::size_t unsent() const;
  // Number of calls that have started to arrive and whose answers were not completely sent.
  std::size_t streams() const;

 private:
  struct Stream;
  struct Callbacks;

  void Open();
  Stream* Find(StreamId id);
  // Sends an answer without a message; the status is in the headers.
  void Refuse(StreamId id, const Stream& stream, const absl::Status& why);
  void Forget(std::map<StreamId, std::unique_ptr<Stream>>::iterator stream);

  const OnCall on_call_;
  nghttp2_session* session_ = nullptr;
  std::map<StreamId, std::unique_ptr<Stream>> streams_;
  std::size_t unfinished_ = 0;  // Bytes of incomplete requests.
  std::size_t unsent_ = 0;      // Bytes of answers that Produce() has not given out.
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_H2_SESSION_H_
