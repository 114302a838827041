#ifndef DATAMANAGER_TENSORBOARD_GRPC_FRAMING_H_
#define DATAMANAGER_TENSORBOARD_GRPC_FRAMING_H_

// gRPC's framing of messages in the body of an HTTP/2 stream: a message follows one byte, which is
// 1 if the message is compressed, and its length in four bytes, big endian. Pure; any thread.

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

// Appends `message` with its frame header.
void AppendFrame(std::string_view message, std::string* frames);

// Returns the single message of a request. Unimplemented: the message is compressed;
// InvalidArgument: `body` contains no message, more than one, or a partial one. Valid as long as
// `body`.
absl::StatusOr<std::string_view> OnlyMessage(std::string_view body);

// Encodes a text for the trailer "grpc-message": %XX for each byte that is not printable ASCII, and
// for "%".
std::string PercentEncoded(std::string_view text);

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_GRPC_FRAMING_H_
