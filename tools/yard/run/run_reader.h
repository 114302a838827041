#ifndef TOOLS_YARD_RUN_RUN_READER_H_
#define TOOLS_YARD_RUN_RUN_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/schema/envelope_generated.h"
#include "tools/yard/cli/context.h"
#include "tools/yard/follow/follow.h"

namespace yard {

// How a verb asks the data manager for runs. On the verb's thread; every call blocks. Until the
// first scan of the run directory has ended the data manager cannot answer: the reader joins that
// scan, for at most a minute, and says so once on stderr. Errors: those of the data manager; a name
// that fits several things is NotFound, as everywhere.
class RunReader {
 public:
  // `verb`: whose notices these are. The context outlives the reader.
  RunReader(Context& context, const char* verb) : context_(context), verb_(verb) {}

  template <typename M>
  absl::StatusOr<typename M::ReplyT> Call(const typename M::RequestT& request) {
    return WhenScanned([&](bus::Client& client) { return client.Call<M>(request, Patient()); });
  }
  // `on_part` gets the end of the answer, too.
  template <typename M>
  absl::Status Stream(const typename M::RequestT& request,
                      const std::function<bool(const typename M::ReplyT& part)>& on_part) {
    bool has_begun = false;  // Then it is not asked again: nothing may come twice.
    auto end = WhenScanned(
        [&](bus::Client& client) {
          return client.Stream<M>(
              request,
              [&](const typename M::ReplyT& part) {
                has_begun = true;
                return on_part(part);
              },
              Patient());
        },
        &has_begun);
    if (!end.ok()) return end.status();
    (void)on_part(*end);
    return absl::OkStatus();
  }

  // The runs that `request` is about, page by page; at most `request.limit` of them, if that is
  // not 0. `on_page` gets each page.
  absl::Status Runs(msg::RunsRequestT request,
                    const std::function<void(const msg::RunsReplyT& page)>& on_page);
  // A run by its name, a unique prefix of it, or the trial that wrote it.
  absl::StatusOr<msg::RunT> Run(const std::string& name);
  // The names of the runs of `names` (each as for Run()) and of those that `query`, unless it is
  // empty, is true of, the newest first; each once. At most `most`: ResourceExhausted. NotFound if
  // no run is among them.
  absl::StatusOr<std::vector<std::string>> Names(const std::vector<std::string>& names,
                                                 const std::string& query, std::size_t most);
  // A pattern for RunsRequest: the names that begin so.
  static std::string PatternOf(const std::string& beginning);
  // The names of a query that no run has, and what may have been meant: "no run has los; did you
  // mean loss?". Text of names is printable. Empty, too, if the data manager does not say.
  std::vector<std::string> WhatIsUnknown(const std::string& query);
  // All tags of a run whose names `pattern` (empty: any) finds, from all pages; the first `most`
  // of them (`total` says how many there are).
  absl::StatusOr<msg::TagsReplyT> Tags(const std::string& run, const std::string& pattern = "",
                                       std::size_t most = std::numeric_limits<std::size_t>::max());
  // The parts that cannot be had of runs (by their whole names): "run a is not whole: cannot open
  // ...". A sentence for each run of which something is missing, printable.
  absl::StatusOr<std::vector<std::string>> Losses(const std::vector<std::string>& runs);

 private:
  template <typename Ask>
  auto WhenScanned(const Ask& ask, const bool* has_begun = nullptr)
      -> decltype(ask(std::declval<bus::Client&>())) {
    auto client = context_.client();
    if (!client.ok()) return client.status();
    auto reply = ask(**client);
    if (!absl::IsUnavailable(reply.status()) || (has_begun != nullptr && *has_begun) ||
        !JoinScan(**client, reply.status())) {
      return reply;
    }
    return ask(**client);
  }
  // True: the first scan was under way, and has ended. `why` has its progress.
  bool JoinScan(bus::Client& client, const absl::Status& why);
  // The data manager looks for new runs now. False: it has not within a minute.
  static bool Reload(bus::Client& client);

  Context& context_;
  const char* const verb_;
};

// Notice on stderr about runs that a query could not be asked of yet; empty for none.
std::string UndecidedNotice(std::uint64_t undecided);
// The same about one that cannot be read (`why`, DataLoss, names it) while others can.
std::string UnreadableNotice(const absl::Status& why);
// The same about a run that is still being read.
std::string IncompleteNotice(const std::string& run);

}  // namespace yard

#endif  // TOOLS_YARD_RUN_RUN_READER_H_
