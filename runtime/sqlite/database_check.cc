#include "runtime/sqlite/database_check.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace runtime {

bool WasLeftOpen(const std::string& path) {
  // A connection that closes the database removes the write-ahead log after emptying it.
  struct stat about {};
  return stat((path + "-wal").c_str(), &about) == 0 && about.st_size > 0;
}

std::string FirstEntryIn(const std::string& directory) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().native()[0] != '.') return entry->path();
  }
  return "";
}

std::string DamageOf(const std::string& path) {
  try {
    SQLite::Database database(path, SQLite::OPEN_READONLY, 10'000);
    SQLite::Statement check(database, "PRAGMA quick_check(5)");
    std::string damage;
    while (check.executeStep()) {
      const std::string line = check.getColumn(0).getString();
      if (line != "ok") absl::StrAppend(&damage, damage.empty() ? "" : "; ", line);
    }
    return damage;
  } catch (const SQLite::Exception& error) {
    return error.what();
  }
}

}  // namespace runtime
