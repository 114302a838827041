// Six steps of no training, in C.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static FILE *to, *from;  // The yard, if there is one.
static char reply[1 << 20];

static void open_yard(void) {
  const char *said = getenv("YARD_FD");
  int fd;
  unsigned long inode;
  struct stat about;
  if (said == NULL || sscanf(said, "%d:%lu", &fd, &inode) != 2 || fstat(fd, &about) != 0) return;
  if (!S_ISSOCK(about.st_mode) || about.st_ino != inode) return;
  to = fdopen(fd, "w");
  from = fdopen(fd, "r");
}

static void ask(const char *line) {
  reply[0] = '\0';
  fprintf(to ? to : stdout, "%s\n", line);
  if (to == NULL) return;  // By hand: prints and goes on.
  if (fflush(to) != 0 || fgets(reply, sizeof reply, from) == NULL) exit(1);
  if (strstr(reply, "\"error\"") == NULL) return;
  fprintf(stderr, "refused: %s", reply);
  exit(1);
}

// The checkpoint's file; its directory is the "path" of the last reply.
static void save(int step) {
  char directory[4096], text[8192];
  snprintf(text, sizeof text, "{\"t\":\"ckpt_begin\",\"step\":%d}", step);
  ask(text);
  const char *path = strstr(reply, "\"path\":");
  if (path == NULL || sscanf(path, "\"path\": \"%4095[^\"]", directory) != 1) return;
  snprintf(text, sizeof text, "%s/step", directory);
  FILE *file = fopen(text, "w");
  if (file == NULL || fprintf(file, "%d\n", step) < 0 || fclose(file) != 0) exit(1);
  snprintf(text, sizeof text, "{\"t\":\"ckpt_end\",\"path\":\"%s\"}", directory);
  ask(text);
}

int main(void) {
  char text[4096];
  const char *checkpoint = getenv("YARD_CHECKPOINT");
  int step = 0, stop = 0;
  open_yard();
  if (checkpoint != NULL && checkpoint[0] != '\0') {
    snprintf(text, sizeof text, "%s/step", checkpoint);
    FILE *file = fopen(text, "r");
    if (file == NULL || fscanf(file, "%d", &step) != 1) return 1;
    fclose(file);
  }
  while (step < 6 && !stop) {
    step++;
    snprintf(text, sizeof text, "{\"t\":\"report\",\"m\":{\"loss\":%g},\"step\":%d}", 1.0 / step, step);
    ask(text);
    stop = strstr(reply, "\"stop\"") != NULL;
    if (to != NULL && (stop || step % 2 == 0)) save(step);
  }
  return 0;
}
