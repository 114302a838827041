#include "datamanager/query_methods.h"

#include "bus/schema/datamanager_methods.h"
#include "datamanager/answer/importance_answer.h"
#include "datamanager/answer/run_answers.h"
#include "datamanager/answer/scalar_answer.h"
#include "datamanager/answer/value_answer.h"
#include "datamanager/answer_calls.h"

namespace datamanager {

void AddQueryMethods(bus::Service* service, RunSource* source, runtime::ThreadPool* pool) {
  using rpc::Datamanager;
  // Binds `source` to a function that makes answers.
  const auto from = [source](auto make) {
    return [source, make](const auto& request) { return make(request, source); };
  };
  AnswerCalls<Datamanager::ReadScalars>(service, pool, from(&MakeScalarAnswer));
  AnswerCalls<Datamanager::ReadValues>(service, pool, from(&MakeValueAnswer));
  AnswerCalls<Datamanager::ReadBlob>(service, pool, from(&MakeBlobAnswer));
  AnswerCalls<Datamanager::ReadGraph>(service, pool, from(&MakeGraphAnswer));
  AnswerCalls<Datamanager::HParams>(service, pool, from(&MakeHParamsAnswer));
  AnswerCalls<Datamanager::Importance>(service, pool, from(&MakeImportanceAnswer));
  AnswerCalls<Datamanager::Lineage>(service, pool, from(&MakeLineageAnswer));
  AnswerCalls<Datamanager::Files>(service, pool, from(&MakeFilesAnswer));
}

}  // namespace datamanager
