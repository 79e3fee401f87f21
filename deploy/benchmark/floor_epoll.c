// The floor F2: the least a single-threaded server can cost when libfcgi does
// the parsing. One thread, epoll, connections kept open between requests.
//
// It trusts nginx to send each request in a single write: libfcgi reads from the
// socket and would block on half a record. A real worker may not do that.
//
// Usage: floor_epoll SOCKET-PATH

#define _GNU_SOURCE
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { events_per_turn = 256 };

// Takes every waiting connection and gives each an `FCGX_Request` of its own.
static void accept_all(int epoll, int listener) {
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (descriptor < 0) {
            return;
        }
        FCGX_Request *request = malloc(sizeof *request);
        // -1: libfcgi never accepts another connection by itself.
        if (request == NULL || FCGX_InitRequest(request, -1, 0) != 0) {
            exit(1);
        }
        request->ipcFd = descriptor;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = request};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) {
            perror("epoll_ctl");
            exit(1);
        }
    }
}

// Answers one request. Frees the connection when the peer or the request ends it.
static void turn(FCGX_Request *request) {
    // Accept_r begins with Finish_r, which closes connections that are not to be kept.
    request->keepConnection = 1;
    if (FCGX_Accept_r(request) == 0) {
        answer(request);
        FCGX_Finish_r(request);
    }
    if (request->ipcFd < 0) {
        free(request);
    }
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: floor_epoll SOCKET-PATH\n");
        return 2;
    }
    int listener = open_socket(arguments[1]);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (fcntl(listener, F_SETFL, O_NONBLOCK) != 0 || epoll < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) {
        perror("epoll");
        return 1;
    }
    for (;;) {
        struct epoll_event events[events_per_turn];
        int ready = epoll_wait(epoll, events, events_per_turn, -1);
        if (ready < 0 && errno != EINTR) {
            perror("epoll_wait");
            return 1;
        }
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == NULL) {
                accept_all(epoll, listener);
            } else {
                turn(events[i].data.ptr);
            }
        }
    }
}
