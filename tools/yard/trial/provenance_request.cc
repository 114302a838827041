#include "tools/yard/trial/provenance_request.h"

#include <algorithm>
#include <cstddef>

#include "flatbuffers/flatbuffers.h"
#include "nlohmann/json.hpp"
#include "tools/yard/follow/request_room.h"
#include "tools/yard/trial/git_state.h"

namespace yard {
namespace {

// Limits for provenance that includes the arguments, which it contains twice and which are stored
// with the trial. Longer provenance omits them.
constexpr std::size_t kLong = 480 << 10;
constexpr std::size_t kManyArguments = 9'000;

std::size_t RoomIn(const msg::RunTrialRequestT& request) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(msg::RunTrialRequest::Pack(builder, &request));
  return kRequestRoom - std::min<std::size_t>(kRequestRoom, builder.GetSize());
}

std::string TextOf(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

void AddProvenance(const Provenance& provenance, const std::string& first,
                   msg::RunTrialRequestT* request) {
  msg::TrialOptionsT& options = *request->options;
  const std::size_t room = RoomIn(*request);
  auto json = ToJson(provenance, request->argv, request->seed);
  if (!options.function.empty()) json["function"] = options.function;
  if (first.empty()) options.provenance_diff = provenance.git.diff;
  if (!first.empty() && !provenance.git.diff.empty()) json["git"]["diff_of"] = first;
  if (!first.empty() && json.contains("git")) {
    json["git"].erase("untracked");
    json["git"].erase("filtered");
  }
  options.provenance = TextOf(json);
  if (options.provenance.size() > std::min(kLong, room) || request->argv.size() > kManyArguments) {
    json.erase("command");
    json.erase("argv");
    json["argv_words"] = request->argv.size();
    options.provenance = TextOf(json);
  }
  const std::size_t left = room - std::min(room, options.provenance.size());
  if (options.provenance_diff.size() <= left) return;
  options.provenance_diff.resize(left);
  EndAtAWholeFile(&options.provenance_diff);
  json["git"]["diff_bytes"] = options.provenance_diff.size();
  json["git"]["diff_is_cut"] = true;
  options.provenance = TextOf(json);
}

}  // namespace yard
