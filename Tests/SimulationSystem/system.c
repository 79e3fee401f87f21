#define _GNU_SOURCE
#include "include/simulation_system.h"
#include "raw.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// Where the monotonic clocks began.
static const uint64_t boot = 1780000000000000000ull;
static uint64_t now = 1790000000000000000ull;
static uint64_t state = 1;
static void (*wait_turn)(uint64_t due);

uint64_t simulation_now(void) { return now; }
void simulation_set_now(uint64_t nanoseconds) { now = nanoseconds; }
void simulation_seed(uint64_t seed) { state = seed; }
void simulation_on_wait(void (*turn)(uint64_t due)) { wait_turn = turn; }

// splitmix64 (Steele, Lea and Flood, 2014)
uint64_t simulation_random(void) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
    return mixed ^ (mixed >> 31);
}

long raw(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long result __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(result) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
#else
#error "the simulation knows the system calls of x86_64 and aarch64"
#endif
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

// MARK: Time

uint64_t simulation_real_now(void) {
    struct timespec time;
    raw(SYS_clock_gettime, CLOCK_REALTIME, (long)&time, 0, 0, 0, 0);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
    uint64_t shown = is_wall ? now : now - boot;
    // What a process has used is not part of the world.
    if (clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID) {
        return (int)raw(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
    }
    time->tv_sec = (time_t)(shown / 1000000000);
    time->tv_nsec = (long)(shown % 1000000000);
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    time->tv_sec = (time_t)(now / 1000000000);
    time->tv_usec = (suseconds_t)(now % 1000000000 / 1000);
    return 0;
}

time_t time(time_t *into) {
    time_t seconds = (time_t)(now / 1000000000);
    if (into) *into = seconds;
    return seconds;
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout) {
    long ready = raw(SYS_epoll_pwait, epoll, (long)events, count, 0, 0, 8);
    if (ready != 0 || timeout == 0 || !wait_turn) return (int)ready;
    wait_turn(timeout < 0 ? UINT64_MAX : now + (uint64_t)timeout * 1000000);
    return 0;
}

// MARK: Connections

static const char *sockets;

void simulation_sockets(const char *folder) { sockets = strdup(folder); }

// Redis' topologies have host and port. What listens at such an address here does so on a unix socket, and the descriptor, which is of
// the other family, becomes one to that.
int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    if (!sockets || address->sa_family != AF_INET) {
        return (int)raw(SYS_connect, descriptor, (long)address, length, 0, 0, 0);
    }
    const struct sockaddr_in *internet = (const struct sockaddr_in *)address;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    char host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &internet->sin_addr, host, sizeof host);
    int written = snprintf(local.sun_path, sizeof local.sun_path, "%s/%s:%d", sockets, host, ntohs(internet->sin_port));
    int own = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (own < 0 || written >= (int)sizeof local.sun_path) __builtin_trap();
    long result = raw(SYS_connect, own, (long)&local, sizeof local, 0, 0, 0);
    int error = result == 0 ? 0 : ECONNREFUSED;
    if (dup3(own, descriptor, O_CLOEXEC) < 0) __builtin_trap();
    close(own);
    errno = error;
    return error == 0 ? 0 : -1;
}

// MARK: Randomness

ssize_t getrandom(void *into, size_t count, unsigned flags) {
    (void)flags;
    unsigned char *bytes = into;
    for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)simulation_random();
    return (ssize_t)count;
}

int getentropy(void *into, size_t count) {
    getrandom(into, count, 0);
    return 0;
}

void arc4random_buf(void *into, size_t count) { getrandom(into, count, 0); }
uint32_t arc4random(void) { return (uint32_t)simulation_random(); }

// OpenSSL's, which would seed itself from the processor, too.
int RAND_bytes(unsigned char *into, int count) {
    getrandom(into, (size_t)count, 0);
    return 1;
}
int RAND_priv_bytes(unsigned char *into, int count) { return RAND_bytes(into, count); }

// Swift's library asks for random numbers this way.
long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long x[6];
    for (int i = 0; i < 6; i++) x[i] = va_arg(list, long);
    va_end(list);
    return number == SYS_getrandom ? getrandom((void *)x[0], (size_t)x[1], 0)
                                   : raw(number, x[0], x[1], x[2], x[3], x[4], x[5]);
}

// MARK: Files

// Foundation's UUID reads /dev/urandom.
static char is_random[65536];
// Files that processes lock, by their names.
static char is_lock[65536];

static int opened(int descriptor, const char *path) {
    if (descriptor >= 0 && descriptor < 65536) {
        size_t length = strlen(path);
        is_random[descriptor] = !strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random");
        is_lock[descriptor] = length >= 5 && !strcmp(path + length - 5, "/lock");
    }
    return descriptor;
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
    va_end(list);
    return opened((int)raw(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0), path);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < 65536) is_random[descriptor] = is_lock[descriptor] = 0;
    return (int)raw(SYS_close, descriptor, 0, 0, 0, 0, 0);
}

void simulation_unlock(const char *folder) {
    size_t length = strlen(folder);
    int nothing = -1;
    for (char *each = is_lock; (each = memchr(each, 1, (size_t)(is_lock + sizeof is_lock - each))); each++) {
        int descriptor = (int)(each - is_lock);
        char link[64], path[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        ssize_t count = readlink(link, path, sizeof path - 1);
        if (count < 5) continue;
        path[count] = 0;
        if (strncmp(path, folder, length) != 0 || strcmp(path + count - 5, "/lock") != 0) continue;
        if (nothing < 0) nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nothing < 0 || dup2(nothing, descriptor) < 0) __builtin_trap();
        *each = 0;
    }
    if (nothing >= 0) close(nothing);
}

ssize_t read(int descriptor, void *into, size_t count) {
    if (descriptor >= 0 && descriptor < 65536 && is_random[descriptor]) return getrandom(into, count, 0);
    return raw(SYS_read, descriptor, (long)into, (long)count, 0, 0, 0);
}

// Numbers of inodes and times are the kernel's own: each file has the number of when it was first looked at, and the virtual
// time at which its stamp was first seen.
static struct seen {
    uint64_t device, inode, number, modified;
    int64_t stamp_seconds, stamp_nanoseconds;
} *seen;
static uint64_t seen_count, seen_room;

static struct seen *place_of(uint64_t device, uint64_t inode) {
    uint64_t place = ((device * 31 + inode) * 0x9e3779b97f4a7c15ull >> 32) % seen_room;
    while (seen[place].number && (seen[place].device != device || seen[place].inode != inode)) {
        place = (place + 1) % seen_room;
    }
    return &seen[place];
}

static void make_room(void) {
    struct seen *former = seen;
    uint64_t room = seen_room;
    seen_room = room ? 2 * room : 4096;
    seen = calloc(seen_room, sizeof *seen);
    if (!seen) __builtin_trap();
    for (uint64_t i = 0; i < room; i++) {
        if (former[i].number) *place_of(former[i].device, former[i].inode) = former[i];
    }
    free(former);
}

static struct seen *entry(uint64_t device, uint64_t inode, const struct timespec *stamp) {
    if (2 * seen_count >= seen_room) make_room();
    struct seen *found = place_of(device, inode);
    if (!found->number) {
        *found = (struct seen){device, inode, ++seen_count, now, stamp->tv_sec, stamp->tv_nsec};
    } else if (found->stamp_seconds != stamp->tv_sec || found->stamp_nanoseconds != stamp->tv_nsec) {
        found->modified = now;
        found->stamp_seconds = stamp->tv_sec;
        found->stamp_nanoseconds = stamp->tv_nsec;
    }
    return found;
}

void simulation_keep_stamp(const char *path, uint64_t number, uint64_t modified) {
    struct stat file;
    if (raw(SYS_newfstatat, AT_FDCWD, (long)path, (long)&file, AT_SYMLINK_NOFOLLOW, 0, 0) != 0) __builtin_trap();
    struct seen *found = entry(file.st_dev, file.st_ino, &file.st_ctim);
    found->number = number;
    found->modified = modified;
}

static int stamped(long result, struct stat *file) {
    if (result != 0) return -1;
    struct seen *found = entry(file->st_dev, file->st_ino, &file->st_ctim);
    file->st_ino = found->number;
    file->st_mtim.tv_sec = file->st_ctim.tv_sec = file->st_atim.tv_sec = (time_t)(found->modified / 1000000000);
    file->st_mtim.tv_nsec = file->st_ctim.tv_nsec = file->st_atim.tv_nsec = (long)(found->modified % 1000000000);
    return 0;
}

int fstatat(int folder, const char *restrict path, struct stat *restrict file, int flags) {
    return stamped(raw(SYS_newfstatat, folder, (long)path, (long)file, flags, 0, 0), file);
}
int stat(const char *restrict path, struct stat *restrict file) { return fstatat(AT_FDCWD, path, file, 0); }
int lstat(const char *restrict path, struct stat *restrict file) {
    return fstatat(AT_FDCWD, path, file, AT_SYMLINK_NOFOLLOW);
}
int fstat(int descriptor, struct stat *file) { return fstatat(descriptor, "", file, AT_EMPTY_PATH); }
int stat64(const char *restrict path, struct stat64 *restrict file) { return stat(path, (struct stat *)file); }
int lstat64(const char *restrict path, struct stat64 *restrict file) { return lstat(path, (struct stat *)file); }
int fstat64(int descriptor, struct stat64 *file) { return fstat(descriptor, (struct stat *)file); }

int statx(int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict file) {
    if (raw(SYS_statx, folder, (long)path, flags, mask, (long)file, 0) != 0) return -1;
    struct timespec stamp = {file->stx_ctime.tv_sec, file->stx_ctime.tv_nsec};
    struct seen *found = entry(makedev(file->stx_dev_major, file->stx_dev_minor), file->stx_ino, &stamp);
    file->stx_ino = found->number;
    struct statx_timestamp shown = {.tv_sec = (int64_t)(found->modified / 1000000000),
                                    .tv_nsec = (uint32_t)(found->modified % 1000000000)};
    file->stx_mtime = file->stx_ctime = file->stx_atime = file->stx_btime = shown;
    return 0;
}
