/* The whole initrd: loads the modules named in /modules, in that order, mounts the root disk, and hands over to systemd.
 * Whatever fails is said on the console; a machine that does not boot is a row that did not hold. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static int failed(const char *what) {
  printf("init: %s: %s\n", what, strerror(errno));
  return 1;
}

static void load(const char *module) {
  int file = open(module, O_RDONLY | O_CLOEXEC);
  if (file < 0 || (syscall(SYS_finit_module, file, "", 0) && errno != EEXIST)) failed(module);
  if (file >= 0) close(file);
}

int main(void) {
  if (mount("dev", "/dev", "devtmpfs", 0, 0)) return failed("/dev");
  FILE *list = fopen("/modules", "r");
  char module[256];
  while (list && fgets(module, sizeof module, list)) {
    module[strcspn(module, "\n")] = 0;
    load(module);
  }
  /* Until the disk has been found: 5 s. */
  for (int turn = 0; turn < 500 && access("/dev/vda", F_OK); turn++) usleep(10 * 1000);
  if (mount("/dev/vda", "/root", "ext4", MS_NOATIME, 0)) return failed("/dev/vda");
  if (mount("/dev", "/root/dev", 0, MS_MOVE, 0)) return failed("/root/dev");
  if (chdir("/root") || mount(".", "/", 0, MS_MOVE, 0) || chroot(".") || chdir("/")) return failed("/root");
  execl("/sbin/init", "/sbin/init", (char *)0);
  return failed("/sbin/init");
}
