#ifndef WEB_API_API_H_
#define WEB_API_API_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "nlohmann/json.hpp"
#include "runtime/clock.h"
#include "runtime/thread_pool.h"
#include "web/api/run_list.h"
#include "web/http/guard.h"
#include "web/http/message.h"
#include "web/http/server.h"
#include "web/session/sessions.h"
#include "web/views/saved_views.h"

namespace web {

// Serves the routes of docs/page.md ("HTTP"). Requests pass the guard and, through the port, need a
// token. Contains no logic of its own: it passes requests on to the services.
class Api {
 public:
  struct Options {
    bus::Client* client = nullptr;        // These five are not owned, and must outlive the Api.
    runtime::ThreadPool* pool = nullptr;  // For blocking calls.
    Sessions* sessions = nullptr;
    SavedViews* views = nullptr;
    runtime::Clock* clock = runtime::Clock::Real();
    std::vector<std::string> hosts = {};  // In addition to localhost; see guard.h.
    // Returns the page's address without a key: "http://127.0.0.1:7710/"; empty without a port.
    std::function<std::string()> address = {};
    // Opens a stream of events. Any thread.
    std::function<void(std::vector<std::string> topics, std::string last_id,
                       std::shared_ptr<Reply> reply)>
        open_stream = {};
  };
  explicit Api(Options options);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // Answers now or later, through `reply`. Any thread; does not block.
  void Handle(Request request, std::shared_ptr<Reply> reply);

 private:
  using Segments = std::vector<std::string>;

  static Response AnswerFile(const Request& request);
  std::optional<Response> RefuseStranger(const Request& request) const;
  Response Exchange(const Request& request) const;
  Response NewKey(const Request& request) const;
  void OpenStream(const Request& request, std::shared_ptr<Reply> reply) const;
  // Handles the request on the thread pool.
  void Later(Request request, Segments path, std::shared_ptr<Reply> reply);
  void ExportPoints(const Target& target, const std::shared_ptr<Reply>& reply);
  Response AnswerOrFail(const Request& request, const Segments& path);
  Response Answer(const Request& request, const Segments& path);
  Response Runs(const Target& target);
  Response Trials(const Target& target) const;
  Response Jobs(const Target& target) const;
  Response Logs(const Target& target, const std::string& thing) const;
  Response Blob(const Target& target, const std::string& run) const;
  Response Series(const Request& request) const;
  absl::StatusOr<std::string> LogDirectory() const;
  absl::StatusOr<nlohmann::json> ViewsAnswer() const;
  Response ChangeView(const Request& request, const std::string& name,
                      const std::string& action) const;
  Response Act(const Request& request, const Segments& path) const;

  const Options options_;
  const Guard guard_;
  RunList runs_;
  std::atomic<int> exports_ = 0;  // Exports in progress.
};

}  // namespace web

#endif  // WEB_API_API_H_
