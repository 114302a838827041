#ifndef WEB_METRICS_METRICS_HANDLER_H_
#define WEB_METRICS_METRICS_HANDLER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/thread_pool.h"
#include "web/http/message.h"
#include "web/http/server.h"

namespace web {

struct MetricsHandlerOptions {
  runtime::ThreadPool* pool = nullptr;  // Not owned; outlives the handler.
  std::function<std::string()> text;    // May block.
  // As in Guard.
  std::vector<std::string> hosts = {};
};

// Returns the handler of the port for Prometheus: GET /metrics returns `text`, and /healthz. A
// request must name this machine as its host, and needs no token. At most one text is made at a
// time; a request that arrives meanwhile is told to retry (503).
std::function<void(Request request, std::shared_ptr<Reply> reply)> MetricsHandler(
    MetricsHandlerOptions options);

}  // namespace web

#endif  // WEB_METRICS_METRICS_HANDLER_H_
