#ifndef BUS_PROCESS_BACKUP_METHOD_H_
#define BUS_PROCESS_BACKUP_METHOD_H_

#include <string>

#include "bus/call/service.h"

namespace bus {

// Backup of a service that has a database: a copy of it, of one moment, in the directory that the
// caller names (runtime/sqlite/database_copy.h), while the service goes on. To be added before the
// service is started.
void AddBackupMethod(Service* service, std::string database);

}  // namespace bus

#endif  // BUS_PROCESS_BACKUP_METHOD_H_
