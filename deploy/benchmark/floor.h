// What both floors share: the fixed answer, and how one request is answered.

#pragma once

#include <fcgiapp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// A body of 200 bytes, about the size of a small JSON answer.
static const char body[] =
    "{\"status\":\"ok\",\"floor\":\"a fixed answer of two hundred bytes\",\"padding\":\""
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abc\"}\n";
_Static_assert(sizeof body - 1 == 200, "the fixed answer has 200 bytes");

static const char head[] = "Content-Type: application/json\r\nContent-Length: 200\r\n\r\n";

// Reads the request's body to its end, then writes the fixed answer into libfcgi's buffer.
// An unread rest of the body would make nginx answer 502 to about half of the larger POSTs.
static void answer(FCGX_Request *request) {
    char scratch[8192];
    while (FCGX_GetStr(scratch, sizeof scratch, request->in) == (int)sizeof scratch) {}
    FCGX_PutStr(head, sizeof head - 1, request->out);
    FCGX_PutStr(body, sizeof body - 1, request->out);
}

// Prepares libfcgi and opens the listening socket at `path`, or ends the process.
static int open_socket(const char *path) {
    // Without this libfcgi polls up to 2 s on every close.
    setenv("LIBFCGI_OS_CLOSE_POLL_TIMEOUT", "0", 1);
    if (FCGX_Init() != 0) {
        fprintf(stderr, "libfcgi does not start\n");
        exit(1);
    }
    // libfcgi's own handler only sets a flag.
    signal(SIGTERM, SIG_DFL);
    unlink(path);
    int listener = FCGX_OpenSocket(path, 4096);
    if (listener < 0) {
        perror(path);
        exit(1);
    }
    return listener;
}
