// The floor F1: libfcgi as its manual uses it. Four threads, each blocked in
// accept, one request per connection, the connection closed after the answer.
//
// Usage: floor_threads SOCKET-PATH

#include "floor.h"

#include <pthread.h>

enum { thread_count = 4 };

static void *serve(void *argument) {
    FCGX_Request request;
    if (FCGX_InitRequest(&request, *(int *)argument, 0) != 0) {
        exit(1);
    }
    while (FCGX_Accept_r(&request) == 0) {
        answer(&request);
        FCGX_Finish_r(&request);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: floor_threads SOCKET-PATH\n");
        return 2;
    }
    int listener = open_socket(arguments[1]);
    pthread_t threads[thread_count];
    for (int i = 0; i < thread_count; i++) {
        if (pthread_create(&threads[i], NULL, serve, &listener) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < thread_count; i++) {
        pthread_join(threads[i], NULL);
    }
    return 1;
}
