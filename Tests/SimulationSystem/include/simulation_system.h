// Time, randomness and the stamps of files for a whole process: what libraries call through their PLT, as libfcgi calls OS_Read.
#pragma once
#include <stdint.h>

/// Nanoseconds since 1970; moved by `epoll_wait` alone.
uint64_t simulation_now(void);
void simulation_set_now(uint64_t nanoseconds);
/// The machine's own, for what is compared with a real server.
uint64_t simulation_real_now(void);
/// The seed of all random numbers of the process.
void simulation_seed(uint64_t seed);
uint64_t simulation_random(void);
/// Connections to a literal IPv4 address go to the unix socket `HOST:PORT` of this folder.
void simulation_sockets(const char *folder);
/// What the end of a process does to the locks it holds (flock(2)): the files below a folder, open here, are no longer those. Their
/// descriptors stay taken, since what was killed never closes them.
void simulation_unlock(const char *folder);
/// Has a file that was copied keep the number and the time of what it was copied from, as on a disk after a loss of power.
void simulation_keep_stamp(const char *path, uint64_t number, uint64_t modified);
/// What fsync(2) and fdatasync(2) call in their places; its result is theirs.
void simulation_on_sync(int (*synced)(int descriptor));
/// From now on, files below a folder take so many bytes more, and then none: the disk is full.
void simulation_fill_disk(const char *folder, uint64_t rest);
void simulation_empty_disk(const char *folder);
/// What `epoll_wait` calls when no descriptor is ready, with when the loop's next timer is due, or UINT64_MAX: runs other
/// executors' jobs or moves the time.
void simulation_on_wait(void (*turn)(uint64_t due));
