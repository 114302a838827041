// Feeds arbitrary bytes to the parsers of everything that is read besides event files: a run's
// configuration, its provenance, and file names.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "absl/status/status.h"
#include "datamanager/brief/run_config.h"
#include "datamanager/brief/run_labels.h"
#include "datamanager/find/file_kind.h"

namespace {

using datamanager::FileKind;

void Require(bool holds) {
  if (!holds) abort();
}

void ReadConfig(std::string_view text) {
  const auto config = datamanager::RunConfig::Parse(text);
  if (!config.ok()) {
    Require(absl::IsInvalidArgument(config.status()));
    return;
  }
  std::string_view before;
  for (const datamanager::ConfigFacts& fact : config->facts()) {
    Require(before <= fact.name);
    before = fact.name;
    Require(fact.text.size() <= 8 * text.size() + 64);  // A number or an escape is a few bytes.
  }
}

void ReadLabels(std::string_view text) {
  const auto labels = datamanager::ParseRunLabels(text);
  if (!labels.ok()) {
    Require(absl::IsInvalidArgument(labels.status()));
    return;
  }
  Require(labels->labels.size() <= datamanager::RunLabels::kMaxLabels);
}

void ReadName(std::string_view name) {
  const datamanager::FileName parsed = datamanager::ParseFileName(name);
  Require(!parsed.created_s.has_value() || *parsed.created_s >= 0);
  if (parsed.kind == FileKind::kNone) Require(!datamanager::MakesARun(parsed.kind));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadConfig(text);
  ReadLabels(text);
  ReadName(text);
  return 0;
}
