#ifndef WEB_API_LOG_SEARCH_ANSWER_H_
#define WEB_API_LOG_SEARCH_ANSWER_H_

#include <memory>

#include "bus/call/client.h"
#include "runtime/thread_pool.h"
#include "web/http/message.h"
#include "web/http/server.h"

namespace web {

// Answers "?grep=PATTERN&job=JOB&stderr=1&since=TIME&limit=N&cursor=NEXT" with matching lines of
// the output of all tasks, newest first (launcher/log/log_search.h). Returns at once; if the client
// disconnects, the search is cancelled. `client` and `pool` must outlive the search.
void SearchLogs(bus::Client& client, runtime::ThreadPool& pool, const Target& target,
                const std::shared_ptr<Reply>& reply);

}  // namespace web

#endif  // WEB_API_LOG_SEARCH_ANSWER_H_
