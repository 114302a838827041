#ifndef BUS_PROCESS_BACKUP_METHOD_H_
#define BUS_PROCESS_BACKUP_METHOD_H_

#include <string>

#include "bus/call/service.h"

namespace bus {

// Adds Backup to a service that has a database: copies the database, as of one moment, to the
// directory that the caller names (runtime/sqlite/database_copy.h), while the service continues.
// Call it before the service is started.
void AddBackupMethod(Service* service, std::string database);

}  // namespace bus

#endif  // BUS_PROCESS_BACKUP_METHOD_H_
