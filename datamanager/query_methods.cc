#include "datamanager/query_methods.h"

#include "bus/schema/datamanager_methods.h"
#include "datamanager/answer/importance_answer.h"
#include "datamanager/answer/run_answers.h"
#include "datamanager/answer/scalar_answer.h"
#include "datamanager/answer/value_answer.h"
#include "datamanager/serve.h"

namespace datamanager {

void AddQueryMethods(bus::Service* service, RunSource* source, runtime::ThreadPool* pool) {
  using rpc::Datamanager;
  // `make` and what it makes an answer of.
  const auto from = [source](auto make) {
    return [source, make](const auto& request) { return make(request, source); };
  };
  Serve<Datamanager::ReadScalars>(service, pool, from(&MakeScalarAnswer));
  Serve<Datamanager::ReadValues>(service, pool, from(&MakeValueAnswer));
  Serve<Datamanager::ReadBlob>(service, pool, from(&MakeBlobAnswer));
  Serve<Datamanager::ReadGraph>(service, pool, from(&MakeGraphAnswer));
  Serve<Datamanager::HParams>(service, pool, from(&MakeHParamsAnswer));
  Serve<Datamanager::Importance>(service, pool, from(&MakeImportanceAnswer));
  Serve<Datamanager::Lineage>(service, pool, from(&MakeLineageAnswer));
  Serve<Datamanager::Files>(service, pool, from(&MakeFilesAnswer));
}

}  // namespace datamanager
