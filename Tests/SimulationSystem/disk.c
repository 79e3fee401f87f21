#define _GNU_SOURCE
#include "include/simulation_system.h"
#include "raw.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Nothing here waits for a disk: files are on a tmpfs, and what of them would have been on a disk is known to who is told.
static int (*on_sync)(int descriptor);

void simulation_on_sync(int (*synced)(int descriptor)) { on_sync = synced; }

int fsync(int descriptor) { return on_sync ? on_sync(descriptor) : 0; }
int fdatasync(int descriptor) { return fsync(descriptor); }

// MARK: Full disks

static struct full {
    char folder[PATH_MAX];
    uint64_t rest;
} full[16];
static int full_count;

void simulation_fill_disk(const char *folder, uint64_t rest) {
    if (full_count == sizeof full / sizeof *full) __builtin_trap();
    snprintf(full[full_count].folder, PATH_MAX, "%s", folder);
    full[full_count++].rest = rest;
}

void simulation_empty_disk(const char *folder) {
    for (int i = 0; i < full_count; i++) {
        if (!strcmp(full[i].folder, folder)) full[i--] = full[--full_count];
    }
}

// Also where a file only gets other bytes: not every file system writes in place.
static int has_room(int descriptor, size_t count) {
    if (full_count == 0) return 1;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 1;
    path[length] = 0;
    for (int i = 0; i < full_count; i++) {
        if (strncmp(path, full[i].folder, strlen(full[i].folder)) != 0) continue;
        if (full[i].rest < count) full[i].rest = 0;
        if (full[i].rest == 0 && count > 0) {
            errno = ENOSPC;
            return 0;
        }
        full[i].rest -= count;
    }
    return 1;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (!has_room(descriptor, count)) return -1;
    return raw(SYS_write, descriptor, (long)bytes, (long)count, 0, 0, 0);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (!has_room(descriptor, count)) return -1;
    return raw(SYS_pwrite64, descriptor, (long)bytes, (long)count, (long)offset, 0, 0);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) __attribute__((alias("pwrite")));
