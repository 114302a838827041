#ifndef WEB_HTTP_CONNECTION_H_
#define WEB_HTTP_CONNECTION_H_

// One client connection of the server (server.h); only the server uses this header.

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <utility>

#include "boost/asio/io_context.hpp"
#include "runtime/file/unique_fd.h"
#include "web/http/message.h"
#include "web/http/server.h"

namespace web {

class HttpConnection;  // In connection.cc.

// State shared by the server, its connections and replies; the last owner destroys it.
struct ServerCore {
  explicit ServerCore(HttpServer::Options server_options) : options(std::move(server_options)) {}

  const HttpServer::Options options;
  boost::asio::io_context io = boost::asio::io_context(1);
  std::atomic<std::size_t> connections = 0;
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> turned_away = 0;
  // Open connections. Destroyed before `io`, because their sockets use it.
  std::unordered_set<std::shared_ptr<HttpConnection>> open = {};
};

// Reads requests from an accepted socket `fd` of this address family and answers them, until the
// client disconnects or a limit is reached. Call on the server's thread.
void StartConnection(const std::shared_ptr<ServerCore>& core, Door door, int family,
                     runtime::UniqueFd fd);
// Closes all connections. Call on the server's thread.
void CloseConnections(ServerCore* core);

}  // namespace web

#endif  // WEB_HTTP_CONNECTION_H_
