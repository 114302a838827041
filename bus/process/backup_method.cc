#include "bus/process/backup_method.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/schema/common_methods.h"
#include "runtime/file/file.h"
#include "runtime/sqlite/database_copy.h"

namespace bus {
namespace {

absl::StatusOr<msg::BackupReplyT> BackUp(const std::string& database,
                                         const std::string& directory) {
  if (!std::filesystem::path(directory).is_absolute()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", directory, "\" is no absolute path of a directory"));
  }
  if (absl::Status made = runtime::MakeDirectories(directory, 0700); !made.ok()) return made;
  const std::string copy =
      (std::filesystem::path(directory) / std::filesystem::path(database).filename()).string();
  const auto bytes = runtime::CopyDatabase(database, copy);
  if (!bytes.ok()) return bytes.status();
  msg::BackupReplyT reply;
  reply.files = {copy};
  reply.bytes = *bytes;
  return reply;
}

}  // namespace

void AddBackupMethod(Service* service, std::string database) {
  service->Handle<rpc::Common::Backup>(
      [database = std::move(database)](const CallContext&, const msg::BackupRequestT& request) {
        return BackUp(database, request.directory);
      });
}

}  // namespace bus
