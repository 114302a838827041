#ifndef DATAMANAGER_TENSORBOARD_GRPC_FRAMING_H_
#define DATAMANAGER_TENSORBOARD_GRPC_FRAMING_H_

// How gRPC puts messages into the body of an HTTP/2 stream. A message is behind one byte, 1 if it
// is compressed, and its length in four bytes, the largest first. Pure; any thread.

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace datamanager::tensorboard {

// The answer of a call: messages, framed one after the other, or an error.
struct GrpcAnswer {
  absl::Status status = absl::OkStatus();
  std::string frames;
};

// Appends `message` with its head.
void AppendFrame(std::string_view message, std::string* frames);

// The one message of a request. Unimplemented: the message is compressed; InvalidArgument: `body`
// holds no message, more than one, or a part of one. Valid as long as `body`.
absl::StatusOr<std::string_view> OnlyMessage(std::string_view body);

// A text as the trailer "grpc-message" has it: %XX for each byte that is not printable ASCII, and
// for "%".
std::string PercentEncoded(std::string_view text);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_GRPC_FRAMING_H_
