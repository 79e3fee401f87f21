// What Glibc's Swift module leaves out: epoll, eventfd, signalfd, accept4, memfd_create, and typed variadics.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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
static inline int cloakroom_errno(void) { return errno; }
static inline unsigned long cloakroom_thread(void) { return (unsigned long)pthread_self(); }
static inline void *cloakroom_map(size_t size, int protection, int fd) {
    void *address = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    return address == MAP_FAILED ? NULL : address;
}
