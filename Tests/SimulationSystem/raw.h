// A system call, not by `syscall`, which this process defines itself.
#pragma once

__attribute__((visibility("hidden"))) long raw(long number, long a, long b, long c, long d, long e, long f);
