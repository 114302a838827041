#include "datamanager/tensorboard/socket_giver.h"

#include <optional>
#include <utility>

#include "datamanager/tensorboard/socket_packet.h"

namespace datamanager::tensorboard {

std::unique_ptr<SocketGiver> SocketGiver::Give(Options options) {
  auto connection = ConnectForPackets(options.path);
  if (!connection.ok()) return nullptr;
  if (!SendPacket(connection->get(), options.line, options.sockets)) return nullptr;
  return std::unique_ptr<SocketGiver>(new SocketGiver(std::move(options), *std::move(connection)));
}

SocketGiver::SocketGiver(Options options, runtime::UniqueFd connection)
    : options_(std::move(options)), connection_(std::move(connection)) {
  watch_ = options_.loop->Watch(connection_.get(), runtime::EventLoop::Readiness::kReadable,
                                [this] { Read(); });
  patience_.Start(options_.loop, options_.patience, [this] { End("it does not answer"); });
}

void SocketGiver::Read() {
  const auto packet = ReceivePacket(connection_.get());
  if (!packet.has_value()) return End("it has ended");
  if (served_ || packet->text != kTaken) return End(packet->text);
  served_ = true;
  patience_.Cancel();
}

void SocketGiver::End(std::string why) {
  Forget();
  // `ended` may destroy this object.
  const auto ended = std::move(options_.ended);
  ended(why, served_);
}

void SocketGiver::Forget() {
  if (watch_ != 0) options_.loop->Unwatch(std::exchange(watch_, 0));
  patience_.Cancel();
  connection_.reset();
}

}  // namespace datamanager::tensorboard
