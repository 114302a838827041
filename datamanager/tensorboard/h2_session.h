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
// knowing a message: bytes come in and go out. It begins with the client's preface, as gRPC does on
// unencrypted connections. libnghttp2 does the work.
//
// A request is refused, without effect on others, if it is over kMaxRequestBytes, or if all
// unfinished requests of the connection are over kMaxUnfinishedBytes together.
//
// Not thread safe.
class H2Session {
 public:
  static constexpr std::size_t kMaxRequestBytes = std::size_t{4} << 20;
  static constexpr std::size_t kMaxUnfinishedBytes = std::size_t{16} << 20;
  static constexpr std::uint32_t kMaxStreams = 256;

  using StreamId = std::int32_t;
  // A call has come: its path, and its message with what gRPC puts before it. Called within
  // Receive(); Answer() is to follow, now or later.
  using OnCall = std::function<void(StreamId stream, std::string path, std::string body)>;

  explicit H2Session(OnCall on_call);
  ~H2Session();
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  // False: the bytes are no HTTP/2 or break its rules; the bytes left to send say so.
  bool Receive(std::string_view bytes);
  // Sends nothing if the stream has ended meanwhile.
  void Answer(StreamId stream, GrpcAnswer answer);
  // Appends the bytes to send now, at most somewhat more than `limit`. Appends nothing if nothing
  // waits, or if the client takes no more for now.
  void Produce(std::size_t limit, std::string* out);
  // Nothing will come or go any more.
  bool done() const;
  // Bytes of answers that Produce() has not given out yet.
  std::size_t unsent() const;
  // Calls that have begun to come and whose answers were not all sent.
  std::size_t streams() const;

 private:
  struct Stream;
  struct Callbacks;

  void Open();
  Stream* Find(StreamId id);
  // Answers without a message: the status stands in the headers.
  void Refuse(StreamId id, const Stream& stream, const absl::Status& why);
  void Forget(std::map<StreamId, std::unique_ptr<Stream>>::iterator stream);

  const OnCall on_call_;
  nghttp2_session* session_ = nullptr;
  std::map<StreamId, std::unique_ptr<Stream>> streams_;
  std::size_t unfinished_ = 0;  // Bytes of requests that are not whole.
  std::size_t unsent_ = 0;      // Bytes of answers that Produce() has not given out.
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_H2_SESSION_H_
