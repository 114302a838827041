#include "runtime/sqlite/restored_state.h"

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "runtime/file/file.h"

namespace runtime {
namespace {

constexpr std::size_t kMaxFile = 1 << 20;
// Stores the id of the last restoration that the database has applied.
constexpr char kTable[] = "CREATE TABLE IF NOT EXISTS restorations (id TEXT PRIMARY KEY)";

bool IsIn(const std::string& path, const std::string& directory) {
  return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

}  // namespace

std::string RestoredState::Moved(const std::string& path) const {
  for (const auto& [from, to] : moved) {
    if (IsIn(path, from)) return to + path.substr(from.size());
  }
  return path;
}

std::string RestoredState::Encode() const {
  nlohmann::json moves = nlohmann::json::array();
  for (const auto& [from, to] : moved) moves.push_back({{"from", from}, {"to", to}});
  return nlohmann::json({{"id", id}, {"moved", moves}})
             .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) +
         "\n";
}

absl::StatusOr<RestoredState> RestoredState::Decode(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto bad = absl::DataLossError("it is not what yard backup --restore wrote");
  const auto word = [](const nlohmann::json& in, const char* name) -> std::string {
    const auto found = in.is_object() ? in.find(name) : in.end();
    return found != in.end() && found->is_string() ? found->get<std::string>() : "";
  };
  RestoredState state{.id = word(json, "id"), .moved = {}};
  if (state.id.empty() || !json.contains("moved") || !json["moved"].is_array()) return bad;
  for (const auto& move : json["moved"]) {
    state.moved.emplace_back(word(move, "from"), word(move, "to"));
    if (!state.moved.back().first.starts_with('/') || !state.moved.back().second.starts_with('/')) {
      return bad;
    }
  }
  return state;
}

absl::StatusOr<std::optional<RestoredState>> RestoredState::Read(
    const std::string& state_directory) {
  const std::string path = absl::StrCat(state_directory, "/", std::string(RestoredState::kFile));
  const auto text = ReadFile(path, kMaxFile);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  if (!text.ok()) return text.status();
  auto state = Decode(*text);
  if (!state.ok()) {
    return absl::Status(state.status().code(), absl::StrCat(path, ": ", state.status().message()));
  }
  return *std::move(state);
}

absl::Status ApplyRestored(SQLite::Database& database,
                           const std::function<void(const RestoredState&)>& apply) {
  const auto state =
      RestoredState::Read(std::filesystem::path(database.getFilename()).parent_path().string());
  if (!state.ok()) return state.status();
  if (!state->has_value()) return absl::OkStatus();
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  database.exec(kTable);
  SQLite::Statement known(database, "SELECT 1 FROM restorations WHERE id = ?");
  known.bind(1, (*state)->id);
  if (known.executeStep()) return absl::OkStatus();
  known.reset();
  apply(**state);
  database.exec("DELETE FROM restorations");
  SQLite::Statement note(database, "INSERT INTO restorations (id) VALUES (?)");
  note.bind(1, (*state)->id);
  note.exec();
  transaction.commit();
  return absl::OkStatus();
}

}  // namespace runtime
