#include "datamanager/listing_methods.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/datamanager_methods.h"
#include "datamanager/answer/answer.h"
#include "datamanager/answer/listing_pages.h"
#include "datamanager/answer/run_answer_maker.h"
#include "datamanager/answer/tag_pages.h"
#include "datamanager/answer_calls.h"
#include "datamanager/catalog/run_source.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

absl::StatusOr<msg::RunsReplyT> Runs(RunCatalog& catalog, const msg::RunsRequestT& request) {
  std::vector<RunCatalog::RunInfo> runs;
  if (request.run.empty()) {
    const auto names = catalog.Names();
    if (!names.ok()) return names.status();
    runs = catalog.Runs();
  } else {
    auto run = catalog.Describe(request.run);
    if (!run.ok()) return run.status();
    runs.push_back(*std::move(run));
  }
  auto page = RunsPage(request, runs, catalog);
  if (page.ok()) {
    const RunTable::ScanStatus whole = catalog.GetScanStatus();
    page->logdir = runtime::LossyUtf8(catalog.root());
    page->state = static_cast<msg::ManagerState>(whole.state);
    page->unreadable_count = whole.unreadable.count;
    for (const absl::Status& reason : whole.unreadable.reasons) {
      page->unreadable.push_back(runtime::LossyUtf8(std::string(reason.message())));
    }
  }
  return page;
}

// Answers with the result of `page` for one run, once enough of the run was read.
template <typename Reply, typename Request>
class PageAnswer : public RunAnswerMaker<Reply> {
 public:
  using typename RunAnswerMaker<Reply>::Part;
  using Page = absl::StatusOr<Reply> (*)(const RunSource::View& view, const Request& request);

  PageAnswer(RunSource::Request run, const Request& request, Page page, RunSource* source)
      : RunAnswerMaker<Reply>(source), run_(std::move(run)), request_(request), page_(page) {}

  absl::StatusOr<Part> Next() override {
    absl::StatusOr<Reply> reply = absl::InternalError("nobody looked");
    const absl::Status read = this->Read(run_, [&](const RunSource::View& view) {
      reply = page_(view, request_);
      return reply.status();
    });
    if (!read.ok()) return read;
    return Part{*std::move(reply), true};
  }

 private:
  const RunSource::Request run_;
  const Request request_;
  const Page page_;
};

template <typename M>
void ServePage(bus::Service* service, RunCatalog* catalog, runtime::ThreadPool* pool,
               RunSource::Need need,
               typename PageAnswer<typename M::ReplyT, typename M::RequestT>::Page page) {
  using Reply = typename M::ReplyT;
  using Request = typename M::RequestT;
  AnswerCalls<M>(
      service, pool,
      [=](const Request& request) -> absl::StatusOr<std::unique_ptr<AnswerMaker<Reply>>> {
        auto run = catalog->FindName(request.run);
        if (!run.ok()) return run.status();
        return std::make_unique<PageAnswer<Reply, Request>>(
            RunSource::Request{
                .run = *std::move(run), .need = need, .cached_only = request.cached_only},
            request, page, catalog);
      });
}

}  // namespace

void AddListingMethods(bus::Service* service, RunCatalog* catalog, runtime::ThreadPool* pool) {
  service->Handle<rpc::Datamanager::Runs>(
      [catalog](const bus::CallContext&, const auto& request) { return Runs(*catalog, request); });
  ServePage<rpc::Datamanager::Tags>(service, catalog, pool, RunSource::Need::kCounts, &TagsPage);
  ServePage<rpc::Datamanager::Scalars>(service, catalog, pool, RunSource::Need::kPoints,
                                       &ScalarsPage);
}

}  // namespace datamanager
