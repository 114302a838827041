#ifndef WEB_API_API_H_
#define WEB_API_API_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bus/call/client.h"
#include "runtime/clock.h"
#include "runtime/thread_pool.h"
#include "web/http/message.h"
#include "web/http/server.h"
#include "web/session/sessions.h"
#include "web/views/saved_views.h"

namespace web {

// Serves the routes of docs/page.md ("HTTP"), behind the guard, and behind a token for requests
// through the port. Decides nothing itself: it passes each request on to the services.
class Api {
 public:
  struct Options {
    bus::Client* client = nullptr;        // These five are not owned, and outlive the Api.
    runtime::ThreadPool* pool = nullptr;  // For calls that block.
    Sessions* sessions = nullptr;
    SavedViews* views = nullptr;
    runtime::Clock* clock = runtime::Clock::Real();
    std::vector<std::string> hosts = {};  // Besides localhost; see guard.h.
    // The address of the page without a key: "http://127.0.0.1:7710/"; empty: there is no port.
    std::function<std::string()> address = {};
    // Begins a stream of events; any thread.
    std::function<void(std::vector<std::string> topics, std::string last_id,
                       std::shared_ptr<Reply> reply)>
        open_stream = {};
  };
  static std::unique_ptr<Api> Create(Options options);
  virtual ~Api() = default;

  // Answers at once or later. On any thread; does not block.
  virtual void Handle(Request request, std::shared_ptr<Reply> reply) = 0;
};

}  // namespace web

#endif  // WEB_API_API_H_
