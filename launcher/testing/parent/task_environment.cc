#include "launcher/testing/parent/task_environment.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

extern char** environ;

namespace launcher::testing {
namespace {

void Add(const std::string& entry, std::map<std::string, std::string>* values) {
  const auto equals = entry.find('=');
  if (equals == std::string::npos) return;
  (*values)[entry.substr(0, equals)] = entry.substr(equals + 1);
}

}  // namespace

std::vector<std::string> TaskEnvironment(const RunOptions& options, const ClusterSpec& cluster,
                                         const std::string& type, int index) {
  std::map<std::string, std::string> values;
  for (char** entry = environ; *entry != nullptr; ++entry) Add(*entry, &values);
  // Makes glog write all messages to stderr, which the runner reads.
  values["GLOG_logtostderr"] = "1";
  values["GLOG_minloglevel"] = "0";
  for (const std::string& entry : options.environment) Add(entry, &values);
  values["TF_CONFIG"] = TfConfigOf(cluster, options.rpc_layer, type, index);
  if (options.grpc_fail_fast) values["GRPC_FAIL_FAST"] = *options.grpc_fail_fast ? "True" : "False";
  if (!options.share_gpu) {
    const auto gpus = options.gpus ? *options.gpus : VisibleGpus();
    values["CUDA_VISIBLE_DEVICES"] = absl::StrJoin(GpusOf(cluster, type, index, gpus), ",");
  }
  std::vector<std::string> entries;
  entries.reserve(values.size());
  for (const auto& [name, value] : values) entries.push_back(absl::StrCat(name, "=", value));
  return entries;
}

}  // namespace launcher::testing
