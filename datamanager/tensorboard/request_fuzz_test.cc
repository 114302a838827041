// Feeds arbitrary client bytes as a connection, as a request and as a blob key. The server answers,
// refuses or closes the connection; a key that was read is written as an equivalent key.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "datamanager/tensorboard/grpc_framing.h"
#include "datamanager/tensorboard/h2_session.h"
#include "datamanager/tensorboard/provider_messages.h"

namespace {

using datamanager::tensorboard::H2Session;

void Require(bool holds) {
  if (!holds) abort();
}

void ReadAsRequest(std::string_view bytes) {
  const auto request = datamanager::tensorboard::ParseSeriesRequest(bytes);
  if (request.ok()) (void)datamanager::tensorboard::CheckSeriesRequest(*request, true);
  (void)datamanager::tensorboard::ParseBlobKeyRequest(bytes);
  const auto key = datamanager::tensorboard::DecodeBlobKey(bytes);
  if (!key.ok()) return;
  const auto again =
      datamanager::tensorboard::DecodeBlobKey(datamanager::tensorboard::EncodeBlobKey(*key));
  Require(again.ok() && *again == *key);
}

// Answers each call with its own bytes.
void ReadAsConnection(std::string_view bytes) {
  H2Session session([&](H2Session::StreamId stream, const std::string&, std::string body) {
    Require(body.size() <= H2Session::kMaxRequestBytes);
    const auto message = datamanager::tensorboard::OnlyMessage(body);
    datamanager::tensorboard::GrpcAnswer answer;
    if (message.ok()) {
      ReadAsRequest(*message);
      datamanager::tensorboard::AppendFrame(*message, &answer.frames);
    } else {
      answer.status = message.status();
    }
    session.Answer(stream, std::move(answer));
  });
  // In two parts, as from a socket.
  const std::size_t half = bytes.size() / 2;
  std::string out;
  if (session.Receive(bytes.substr(0, half))) {
    session.Produce(100'000, &out);
    (void)session.Receive(bytes.substr(half));
  }
  session.Produce(200'000, &out);
  Require(session.streams() <= H2Session::kMaxStreams + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReadAsRequest(bytes);
  ReadAsConnection(bytes);
  // After the preface and empty settings, so that more than the first bytes are parsed.
  using namespace std::string_view_literals;
  ReadAsConnection(
      std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"sv).append(bytes));
  return 0;
}
