#include "datamanager/run_methods.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/call/name_list.h"
#include "bus/schema/common_methods.h"
#include "datamanager/answer/query_terms.h"
#include "datamanager/answer_calls.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/listing_methods.h"
#include "datamanager/point_topics.h"
#include "datamanager/query/run_query.h"
#include "datamanager/query_methods.h"
#include "datamanager/read/run_data.h"
#include "runtime/text/utf8.h"

namespace datamanager {
namespace {

// Lists the tags of a run; omits those that are not in memory.
void ListTags(RunCatalog& catalog, std::string_view run, bus::NameList& names) {
  const auto name = catalog.FindName(run);
  if (!name.ok()) return;
  const RunSource::Request request = {
      .run = *name, .need = RunSource::Need::kCounts, .cached_only = true, .take_part = true};
  (void)catalog.Read(request, [&](const RunSource::View& view) {
    for (const RunData::TagId id : view.data.TagsByName()) {
      if (!names.Add("tag", runtime::LossyUtf8(view.data.tag_name(id)), view.data.tag(id).plugin()))
        break;
    }
    return absl::OkStatus();
  });
}

// Returns the names in the query `of` that no run has; the note of each is the name that was
// probably meant.
absl::StatusOr<msg::NamesReplyT> UnknownNames(RunCatalog& catalog,
                                              const msg::NamesRequestT& request) {
  const auto query = RunQuery::Parse(request.of);
  if (!query.ok()) return query.status();
  const auto unknown = UnknownTerms(*query, catalog);
  if (!unknown.ok()) return unknown.status();
  bus::NameList names(request);
  for (const UnknownTerm& one : *unknown) {
    names.Add("unknown", runtime::LossyUtf8(one.term), runtime::LossyUtf8(one.meant));
  }
  return names.Take();
}

// Newest runs first.
absl::StatusOr<msg::NamesReplyT> Names(RunCatalog& catalog, const msg::NamesRequestT& request) {
  if (request.kind == "unknown") return UnknownNames(catalog, request);
  bus::NameList names(request);
  if (names.Wants("run")) {
    for (const RunCatalog::RunInfo& run : catalog.Runs()) {
      if (!names.Add("run", runtime::LossyUtf8(run.listed->name))) break;
    }
  }
  if (names.Wants("tag") && !request.of.empty()) ListTags(catalog, request.of, names);
  return names.Take();
}

}  // namespace

void AddRunMethods(bus::Service* service, RunCatalog* catalog, runtime::ThreadPool* pool,
                   runtime::EventLoop* loop) {
  AddListingMethods(service, catalog, pool);
  AddQueryMethods(service, catalog, pool);
  service->Handle<rpc::Common::Names>(
      [catalog](const bus::CallContext&, const auto& request) { return Names(*catalog, request); });
  service->Handle<rpc::Common::Ends>([catalog](const bus::CallContext&, const auto& request) {
    return EndsOfPoints(*catalog, request);
  });
  AnswerCalls<rpc::Common::Since>(service, pool, [catalog, loop](const auto& request) {
    return MakePointsSince(request, catalog, loop);
  });
}

}  // namespace datamanager
