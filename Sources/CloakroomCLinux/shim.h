// What Glibc's Swift module leaves out: epoll, eventfd, signalfd, accept4, memfd_create, and typed variadics.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// glibc hides these behind _GNU_SOURCE, which Swift's view of the same headers is built without.
extern int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags);
extern int memfd_create(const char *name, unsigned int flags);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int lowest);
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1U
#endif

static inline int cloakroom_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }
static inline int cloakroom_memfd(const char *name) { return memfd_create(name, MFD_CLOEXEC); }
static inline int cloakroom_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
static inline int cloakroom_epoll_add(int ep, int fd, uint32_t events, uint64_t token) {
    struct epoll_event e = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
}
static inline int cloakroom_epoll_mod(int ep, int fd, uint32_t events, uint64_t token) {
    struct epoll_event e = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(ep, EPOLL_CTL_MOD, fd, &e);
}
static inline int cloakroom_epoll_del(int ep, int fd) { return epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL); }
static inline uint64_t cloakroom_event_token(const struct epoll_event *e) { return e->data.u64; }
// Of the heap, what is in objects; 0 where the C library tells nothing of its heap.
static inline size_t cloakroom_used_heap_bytes(void) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}
// What is resident and of no file (proc(5), statm); 0 where /proc is not there.
static inline size_t cloakroom_anonymous_bytes(void) {
    unsigned long resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) return 0;
    int found = fscanf(file, "%*u %lu %lu", &resident, &shared);
    fclose(file);
    return found == 2 && resident > shared ? (resident - shared) * (size_t)sysconf(_SC_PAGESIZE) : 0;
}
// What is resident, as the kernel counts it (proc(5), statm); 0 where /proc is not there.
static inline size_t cloakroom_resident_bytes(void) {
    unsigned long resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) return 0;
    int found = fscanf(file, "%*u %lu", &resident);
    fclose(file);
    return found == 1 ? resident * (size_t)sysconf(_SC_PAGESIZE) : 0;
}
static inline void cloakroom_trim_heap(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
// From where to where the heap reaches (proc(5), maps); 0 where that is not told.
static inline int cloakroom_heap_range(uintptr_t *low, uintptr_t *high) {
    char line[512];
    int found = 0;
    FILE *file = fopen("/proc/self/maps", "re");
    if (file == NULL) return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long from, to;
        if (strstr(line, "[heap]") == NULL || sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
        if (!found) *low = from;
        *high = to;
        found = 1;
    }
    fclose(file);
    return found;
}
static inline void cloakroom_advise(uintptr_t low, uintptr_t high, int advice) { madvise((void *)low, high - low, advice); }
// Of each huge page's range between the two: what madvise(2) is told where less than half of its pages are there, but some.
static inline void cloakroom_advise_sparse(uintptr_t low, uintptr_t high, int advice) {
    enum { unit = 2 << 20, most = unit / 4096 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = unit / page;
    unsigned char there[most];
    if (pages > most) return;
    for (uintptr_t at = (low + unit - 1) & ~(uintptr_t)(unit - 1); at + unit <= high; at += unit) {
        size_t resident = 0;
        if (mincore((void *)at, unit, there) != 0) continue;
        for (size_t index = 0; index < pages; index++) resident += there[index] & 1;
        if (resident > 0 && resident < pages / 2) madvise((void *)at, unit, advice);
    }
}
static inline int cloakroom_errno(void) { return errno; }
static inline unsigned long cloakroom_thread(void) { return (unsigned long)pthread_self(); }
static inline void *cloakroom_map(size_t size, int protection, int fd) {
    void *address = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    return address == MAP_FAILED ? NULL : address;
}

// Listening sockets: address structures are unions in disguise, which C fills in fewer words.
static inline int cloakroom_closed(int fd) {
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}
static inline int cloakroom_listen_unix(const char *path, int backlog) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) { errno = ENAMETOOLONG; return -1; }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    mode_t mask = umask(0117); // nginx, in the same group, may connect
    int bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    umask(mask);
    return bound == 0 && listen(fd, backlog) == 0 ? fd : cloakroom_closed(fd);
}
static inline int cloakroom_internet_address(const char *host, uint16_t port, struct sockaddr_storage *out, socklen_t *length) {
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        *length = sizeof *four;
        return AF_INET;
    }
    if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        *length = sizeof *six;
        return AF_INET6;
    }
    errno = EADDRNOTAVAIL;
    return -1;
}
static inline int cloakroom_listen_internet(const char *host, uint16_t port, int backlog) {
    struct sockaddr_storage address;
    socklen_t length;
    int family = cloakroom_internet_address(host, port, &address, &length), on = 1;
    if (family < 0) return -1;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    // SO_REUSEPORT lets a replacement bind before the one it replaces lets go.
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    return bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, backlog) == 0 ? fd : cloakroom_closed(fd);
}
// Starts a connection; 0 or EINPROGRESS in *error means it is on its way.
static inline int cloakroom_connect_unix(const char *path, int *error) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) { *error = ENAMETOOLONG; return -1; }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) { *error = errno; return -1; }
    *error = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    return fd;
}
static inline int cloakroom_connect_internet(const char *host, uint16_t port, int *error) {
    struct sockaddr_storage address;
    socklen_t length;
    int family = cloakroom_internet_address(host, port, &address, &length), on = 1;
    if (family < 0) { *error = errno; return -1; }
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) { *error = errno; return -1; }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *error = connect(fd, (struct sockaddr *)&address, length) == 0 ? 0 : errno;
    return fd;
}
static inline ssize_t cloakroom_send(int fd, const void *bytes, size_t count) { return send(fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL); }
static inline ssize_t cloakroom_receive(int fd, void *bytes, size_t capacity) { return recv(fd, bytes, capacity, MSG_DONTWAIT); }
// Who listens at the other end of a unix socket's connection; 0 where that is not told. The struct is hidden from Swift.
static inline pid_t cloakroom_peer_process(int fd) {
    struct { pid_t process; uid_t user; gid_t group; } peer;
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.process : 0;
}
static inline int cloakroom_is_address(const char *host) {
    struct in6_addr address;
    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}
// The addresses of a name as text, each with a line feed behind it, as many as there is room for; their length, 0 for none.
static inline size_t cloakroom_resolve(const char *host, char *text, size_t capacity) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return 0;
    size_t used = 0;
    for (struct addrinfo *next = found; next != NULL; next = next->ai_next) {
        char literal[NI_MAXHOST];
        if (getnameinfo(next->ai_addr, next->ai_addrlen, literal, sizeof literal, NULL, 0, NI_NUMERICHOST) != 0) continue;
        size_t length = strlen(literal);
        // One of a link is more than an address.
        if (!cloakroom_is_address(literal) || length >= capacity - used) continue;
        memcpy(text + used, literal, length);
        text[used + length] = '\n';
        used += length + 1;
    }
    freeaddrinfo(found);
    return used;
}

// A descriptor for log lines that never blocks and that shares no flags with whoever gave us the original.
static inline int cloakroom_open_lines(int original) {
    struct stat status;
    char path[32];
    if (fstat(original, &status) != 0) return -1;
    // A file's offset is shared, so that lines of several writers do not overwrite each other; files do not block.
    if (S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode)) return fcntl(original, F_DUPFD_CLOEXEC, 3);
    snprintf(path, sizeof path, "/proc/self/fd/%d", original);
    int fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 ? fd : fcntl(original, F_DUPFD_CLOEXEC, 3);
}
static inline int cloakroom_is_socket(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}
static inline uint64_t cloakroom_counter_add(uint64_t *counter, uint64_t value) {
    return __atomic_add_fetch(counter, value, __ATOMIC_RELAXED);
}
static inline uint64_t cloakroom_counter_read(const uint64_t *counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); }

// What one process writes over and over and others read whole: a turn, odd while it is written, and the words behind it
// (Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", MSPC 2012).
static inline void cloakroom_report_write(uint64_t *report, const uint64_t *words, size_t count) {
    uint64_t turn = __atomic_load_n(report, __ATOMIC_RELAXED);
    __atomic_store_n(report, turn + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (size_t index = 0; index < count; index++) __atomic_store_n(report + 1 + index, words[index], __ATOMIC_RELAXED);
    __atomic_store_n(report, turn + 2, __ATOMIC_RELEASE);
}
// 0 where nothing was written yet, or something was while this read.
static inline int cloakroom_report_read(const uint64_t *report, uint64_t *words, size_t count) {
    uint64_t turn = __atomic_load_n(report, __ATOMIC_ACQUIRE);
    if (turn == 0 || turn % 2 == 1) return 0;
    for (size_t index = 0; index < count; index++) words[index] = __atomic_load_n(report + 1 + index, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(report, __ATOMIC_RELAXED) == turn;
}

// A timer that a loop waits for like any descriptor, set to an instant of CLOCK_MONOTONIC in nanoseconds; 0 takes it down.
static inline int cloakroom_timer(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }
static inline int cloakroom_timer_set(int fd, uint64_t instant) {
    struct itimerspec at = {.it_value = {.tv_sec = (time_t)(instant / 1000000000), .tv_nsec = (long)(instant % 1000000000)}};
    return timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

// How a child ended; -1 if it ended otherwise. Stopped and continued children are not told.
static inline int cloakroom_exited(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
static inline int cloakroom_signalled(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : -1; }
static inline int cloakroom_pipe(int ends[2]) {
    int made = pipe(ends);
    if (made == 0) { fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC); }
    return made;
}
static inline int cloakroom_duplicate(int fd, int lowest) { return fcntl(fd, F_DUPFD_CLOEXEC, lowest); }
extern char **environ;
static inline int cloakroom_pidfd(pid_t child) { return (int)syscall(SYS_pidfd_open, child, 0); }
static inline int cloakroom_close_on_exec(int fd, int closes) { return fcntl(fd, F_SETFD, closes ? FD_CLOEXEC : 0); }
static inline int cloakroom_nonblocking(int fd) { return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

// Raises how many files the process may have open, as far as it may; gives how many it then may.
static inline uint64_t cloakroom_allow_files(uint64_t count) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    if (limit.rlim_cur < count) {
        limit.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    }
    return limit.rlim_cur;
}

// Whether the process leaves a core file when it crashes, and lets other processes of its user read its memory.
static inline int cloakroom_set_dumpable(int dumpable) { return prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0, 0); }
static inline int cloakroom_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1; }

// One datagram to a unix socket; a name that begins with @ is abstract (unix(7)).
static inline int cloakroom_send_datagram(const char *path, const char *text, size_t count) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) { errno = ENAMETOOLONG; return -1; }
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    ssize_t sent = sendto(fd, text, count, MSG_NOSIGNAL, (struct sockaddr *)&address,
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
    return sent == (ssize_t)count ? 0 : -1;
}

static inline char *const *cloakroom_environment(void) { return environ; }

// getopt_long(3) keeps its place in globals, which Swift does not let us touch.
static inline void cloakroom_options_begin(void) { optind = 0; opterr = 0; }
static inline int cloakroom_options_next(int count, char **words, const struct option *table) { return getopt_long(count, words, ":h", table, NULL); }
static inline const char *cloakroom_option_value(void) { return optarg; }
static inline int cloakroom_options_index(void) { return optind; }
