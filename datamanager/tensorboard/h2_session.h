#ifndef DATAMANAGER_TENSORBOARD_H2_SESSION_H_
#define DATAMANAGER_TENSORBOARD_H2_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "datamanager/tensorboard/grpc_framing.h"

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

  static std::unique_ptr<H2Session> Create(OnCall on_call);
  virtual ~H2Session() = default;

  // False: the bytes are no HTTP/2 or break its rules; the bytes left to send say so.
  virtual bool Receive(std::string_view bytes) = 0;
  // Sends nothing if the stream has ended meanwhile.
  virtual void Answer(StreamId stream, GrpcAnswer answer) = 0;
  // Appends the bytes to send now, at most somewhat more than `limit`. Appends nothing if nothing
  // waits, or if the client takes no more for now.
  virtual void Produce(std::size_t limit, std::string* out) = 0;
  // Nothing will come or go any more.
  virtual bool done() const = 0;
  // Bytes of answers that Produce() has not given out yet.
  virtual std::size_t unsent() const = 0;
  // Calls that have begun to come and whose answers were not all sent.
  virtual std::size_t streams() const = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_H2_SESSION_H_
